//===- Launch.cpp - running kernels on a context's threads -------------------------------------------------------===//
#include "Combine.h"
#include "Frame.h"
#include "Order.h"
#include "Schedule.h"
#include "ThreadPool.h"

using namespace gnnrt;

int32_t gnnrt_launch_order(gnnrt_frame *frame, const char *, gnnrt_kernel kernel, void *const *args,
                           const gnnrt_order *order, const gnnrt_combine *combines, int32_t num_combines) {
  return frame->guarded([&] {
    ThreadPool &pool = *frame->context.pool;
    const Schedule &schedule = order->schedule;
    checkCombines(combines, num_combines);
    const gnnrt_task *tasks = schedule.tasks.data();
    pool.forEach(int64_t(schedule.tasks.size()), [&](int64_t i) { kernel(args, &tasks[i]); });
    combineRows(pool, schedule.cuts.data(), int64_t(schedule.cuts.size()), combines, num_combines);
  });
}

int32_t gnnrt_launch_rows(gnnrt_frame *frame, const char *, gnnrt_kernel kernel, void *const *args, int64_t rows,
                          int64_t row_work) {
  return frame->guarded([&] {
    Pieces pieces = cutRows(rows, row_work);
    frame->context.pool->forEach(pieces.pieces, [&](int64_t i) {
      gnnrt_task task = {pieces.begin(i), pieces.end(i), 0, 0, -1};
      kernel(args, &task);
    });
  });
}

int32_t gnnrt_launch_cut(gnnrt_frame *frame, const char *, gnnrt_kernel kernel, void *const *args, int64_t entries,
                         int64_t entry_work, const gnnrt_combine *combines, int32_t num_combines) {
  return frame->guarded([&] {
    ThreadPool &pool = *frame->context.pool;
    Pieces pieces = cutReduction(entries, entry_work);
    checkCombines(combines, num_combines);
    pool.forEach(pieces.pieces, [&](int64_t i) {
      gnnrt_task task = {0, 1, pieces.begin(i), pieces.end(i), pieces.pieces == 1 ? -1 : i};
      kernel(args, &task);
    });
    if (pieces.pieces == 1)
      return;
    CutRow row = {0, 0, pieces.pieces};
    combineRows(pool, &row, 1, combines, num_combines);
  });
}

int64_t gnnrt_cut_slots(int64_t entries, int64_t entry_work) { return cutReduction(entries, entry_work).pieces; }
