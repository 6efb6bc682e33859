//===- Schedule.h - how work is cut into tasks -------------------------------------------------------------------===//
//
// Tasks are cut by the graph, or by sizes, alone. The number of threads plays no part, so the same sums are formed in
// the same order on any machine.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_SCHEDULE_H
#define GNNRT_SRC_SCHEDULE_H

#include <gnnrt/abi.h>

#include <vector>

namespace gnnrt {

/// A row that is cut into pieces, whose results lie in slots [slotBegin, slotEnd).
struct CutRow {
  int64_t row, slotBegin, slotEnd;
};

struct Schedule {
  std::vector<gnnrt_task> tasks; // first the pieces, the one of slot s at place s, then whole rows
  std::vector<CutRow> cuts;
  int64_t slots = 0;
};

/// Tasks of about equal work, counted in entries and rows; a row longer than a task is cut.
Schedule scheduleRows(const int64_t *ptr, int64_t rows);

/// `count` items cut into `pieces` parts of `size`, the last one shorter.
struct Pieces {
  int64_t count, size, pieces;
  int64_t begin(int64_t piece) const { return piece * size; }
  int64_t end(int64_t piece) const { return piece + 1 == pieces ? count : (piece + 1) * size; }
};

/// Whole rows of about `rowWork` elements each. At least one piece unless there are no rows.
Pieces cutRows(int64_t rows, int64_t rowWork);
/// The entries of one long reduction. At least one piece, also of no entries: somebody must write the result.
Pieces cutReduction(int64_t entries, int64_t entryWork);

} // namespace gnnrt

#endif
