//===- Sizes.h - the sizes of index sets -------------------------------------------------------------------------===//
//
// A call's graphs and tensors determine the size of every set; all dimensions must agree with them.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_SIZES_H
#define GNNRT_SRC_SIZES_H

#include <gnnrt/abi.h>

#include <optional>
#include <string>

namespace gnnrt {

/// The size, or nothing if a set in it is not known (yet). Throws Failure (too large).
std::optional<int64_t> evaluate(const gnnrt_size &size, const int64_t *sizes);
/// "2*F + 1", in the user's names.
std::string sizeText(const gnnrt_entry_desc &entry, const gnnrt_size &size);
/// "[g.nodes, 2*F]"
std::string dimsText(const gnnrt_entry_desc &entry, const gnnrt_arg_desc &arg);
std::string setName(const gnnrt_entry_desc &entry, int32_t set);

/// Fills frame.sizes from the arguments, -1 for sets that the body makes, and checks every dimension. Tensors have the
/// right rank already. Throws Failure (shape).
void bindSizes(gnnrt_frame &frame);
/// Checks outputs whose shape depends on sets that the body has made meanwhile.
void checkPendingSizes(gnnrt_frame &frame);

} // namespace gnnrt

#endif
