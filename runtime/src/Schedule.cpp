//===- Schedule.cpp - how work is cut into tasks -----------------------------------------------------------------===//
#include "Schedule.h"

#include <algorithm>

using namespace gnnrt;

namespace {

// A task of an order: at most `most` entries and rows, so that sums within a piece stay short and hubs are shared out;
// on small graphs less, for there to be some 64 tasks, but not so little that handing them out costs more than they do.
constexpr int64_t mostUnits = 4096, fewestUnits = 256, wantedTasks = 64;
// Tasks without an order count elements, which are far cheaper than edges.
constexpr int64_t mostElements = 32768, fewestElements = 4096;
// A cut reduction: at least this many terms a piece, so that the partial results stay small beside the input.
constexpr int64_t fewestTerms = 256, mostTerms = 4096;

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// The work of a piece when `count` items of `work` elements are done.
int64_t elementsPerPiece(int64_t count, int64_t work) {
  int64_t total;
  if (__builtin_mul_overflow(count, work, &total))
    return mostElements;
  return std::clamp(ceilDiv(total, wantedTasks), fewestElements, mostElements);
}

Pieces cut(int64_t count, int64_t size) { return {count, size, ceilDiv(count, size)}; }

} // namespace

Schedule gnnrt::scheduleRows(const int64_t *ptr, int64_t rows) {
  Schedule schedule;
  int64_t total = ptr[rows] + rows;
  int64_t most = std::clamp(ceilDiv(total, wantedTasks), fewestUnits, mostUnits);
  int64_t begin = 0, units = 0; // the open task: rows [begin, row)
  auto close = [&](int64_t row) {
    if (begin < row)
      schedule.tasks.push_back({begin, row, ptr[begin], ptr[row], -1, 0, -1});
    begin = row;
    units = 0;
  };
  for (int64_t row = 0; row < rows; ++row) {
    int64_t entries = ptr[row + 1] - ptr[row];
    if (entries <= most) {
      if (units + entries + 1 > most)
        close(row);
      units += entries + 1;
      continue;
    }
    close(row);
    int64_t pieces = ceilDiv(entries, most);
    for (int64_t piece = 0; piece < pieces; ++piece)
      schedule.tasks.push_back({row, row + 1, ptr[row] + entries * piece / pieces,
                                ptr[row] + entries * (piece + 1) / pieces, schedule.slots + piece, 0, schedule.slots});
    schedule.cuts.push_back({row, schedule.slots, schedule.slots + pieces});
    schedule.slots += pieces;
    begin = row + 1;
  }
  close(rows);
  std::sort(schedule.tasks.begin(), schedule.tasks.end(), [](const gnnrt_task &a, const gnnrt_task &b) {
    if ((a.slot < 0) != (b.slot < 0))
      return b.slot < 0;
    return a.row_begin != b.row_begin ? a.row_begin < b.row_begin : a.slot < b.slot;
  });
  return schedule;
}

Pieces gnnrt::cutRows(int64_t rows, int64_t rowWork) {
  rowWork = std::max<int64_t>(rowWork, 1);
  return cut(rows, std::max<int64_t>(elementsPerPiece(rows, rowWork) / rowWork, 1));
}

Pieces gnnrt::cutReduction(int64_t entries, int64_t entryWork) {
  entryWork = std::max<int64_t>(entryWork, 1);
  Pieces pieces = cut(entries, std::clamp(elementsPerPiece(entries, entryWork) / entryWork, fewestTerms, mostTerms));
  pieces.pieces = std::max<int64_t>(pieces.pieces, 1);
  return pieces;
}
