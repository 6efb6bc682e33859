//===- Launch.cpp - running kernels on a context's threads -------------------------------------------------------===//
#include "Combine.h"
#include "Frame.h"
#include "Order.h"
#include "Profile.h"
#include "Schedule.h"
#include "ThreadPool.h"

using namespace gnnrt;

namespace {

void checkPhases(const gnnrt_phase *phases, int32_t count) {
  if (count < 1)
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: a group of ", count, " phases");
  for (int32_t i = 0; i < count; ++i) {
    const gnnrt_phase &phase = phases[i];
    if (phase.num_combines < 0 || phase.sweeps < 0 || phase.sweeps > 1 || (phase.num_combines > 0 && !phase.sweeps))
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: phase ", i, " of a group has ", phase.num_combines,
           " combinations and ", phase.sweeps, " sweeps");
    checkCombines(phase.combines, phase.num_combines);
  }
}

/// Runs one phase of a group on the cut rows; with the first one go all whole rows.
void runPhase(ThreadPool &pool, gnnrt_kernel kernel, void *const *args, const gnnrt_order &order, int32_t number,
              const gnnrt_phase &phase) {
  const Schedule &schedule = order.schedule;
  const gnnrt_task *whole = schedule.tasks.data() + schedule.slots;
  int64_t numWhole = number == 0 ? int64_t(schedule.tasks.size()) - schedule.slots : 0;
  int64_t numCut = phase.sweeps ? schedule.slots : int64_t(schedule.cuts.size());
  pool.forEach(numCut + numWhole, [&](int64_t i) {
    gnnrt_task task;
    if (i >= numCut) {
      task = whole[i - numCut];
      task.phase = -1;
    } else if (phase.sweeps) {
      task = schedule.tasks[i];
      task.phase = number;
    } else {
      const CutRow &cut = schedule.cuts[i];
      task = {cut.row, cut.row + 1, order.view.ptr[cut.row], order.view.ptr[cut.row + 1], -1, number, cut.slotBegin};
    }
    kernel(args, &task);
  });
  combineRows(pool, schedule.cuts.data(), int64_t(schedule.cuts.size()), phase.combines, phase.num_combines);
}

} // namespace

int32_t gnnrt_launch_order(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                           const gnnrt_order *order, const gnnrt_combine *combines, int32_t num_combines) {
  return frame->guarded([&] {
    Measured measured(*frame, *step);
    ThreadPool &pool = *frame->context.pool;
    const Schedule &schedule = order->schedule;
    checkCombines(combines, num_combines);
    const gnnrt_task *tasks = schedule.tasks.data();
    pool.forEach(int64_t(schedule.tasks.size()), [&](int64_t i) { kernel(args, &tasks[i]); });
    combineRows(pool, schedule.cuts.data(), int64_t(schedule.cuts.size()), combines, num_combines);
  });
}

int32_t gnnrt_launch_group(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                           const gnnrt_order *order, const gnnrt_phase *phases, int32_t num_phases) {
  return frame->guarded([&] {
    Measured measured(*frame, *step);
    checkPhases(phases, num_phases);
    int32_t needed = order->schedule.cuts.empty() ? 1 : num_phases;
    for (int32_t i = 0; i < needed; ++i)
      runPhase(*frame->context.pool, kernel, args, *order, i, phases[i]);
  });
}

int32_t gnnrt_launch_rows(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                          int64_t rows, int64_t row_work) {
  return frame->guarded([&] {
    Measured measured(*frame, *step);
    Pieces pieces = cutRows(rows, row_work);
    frame->context.pool->forEach(pieces.pieces, [&](int64_t i) {
      gnnrt_task task = {pieces.begin(i), pieces.end(i), 0, 0, -1, 0, -1};
      kernel(args, &task);
    });
  });
}

int32_t gnnrt_launch_cut(gnnrt_frame *frame, const gnnrt_step *step, gnnrt_kernel kernel, void *const *args,
                         int64_t entries, int64_t entry_work, const gnnrt_combine *combines, int32_t num_combines) {
  return frame->guarded([&] {
    Measured measured(*frame, *step);
    ThreadPool &pool = *frame->context.pool;
    Pieces pieces = cutReduction(entries, entry_work);
    checkCombines(combines, num_combines);
    pool.forEach(pieces.pieces, [&](int64_t i) {
      gnnrt_task task = {
          0, 1, pieces.begin(i), pieces.end(i), pieces.pieces == 1 ? -1 : i, 0, pieces.pieces == 1 ? -1 : 0};
      kernel(args, &task);
    });
    if (pieces.pieces == 1)
      return;
    CutRow row = {0, 0, pieces.pieces};
    combineRows(pool, &row, 1, combines, num_combines);
  });
}

int64_t gnnrt_cut_slots(int64_t entries, int64_t entry_work) { return cutReduction(entries, entry_work).pieces; }
