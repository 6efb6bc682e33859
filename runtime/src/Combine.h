//===- Combine.h - combining the pieces of cut rows --------------------------------------------------------------===//
#ifndef GNNRT_SRC_COMBINE_H
#define GNNRT_SRC_COMBINE_H

#include "Schedule.h"

#include <gnnrt/abi.h>

namespace gnnrt {

class ThreadPool;

/// Throws Failure (internal) for kinds and element types that do not exist.
void checkCombines(const gnnrt_combine *combines, int32_t count);

/// Combines the slots of each cut row pairwise, neighbours first, in an order that depends on the number of slots
/// alone, and writes the row. The partial results are used up.
void combineRows(ThreadPool &pool, const CutRow *rows, int64_t numRows, const gnnrt_combine *combines, int32_t count);

} // namespace gnnrt

#endif
