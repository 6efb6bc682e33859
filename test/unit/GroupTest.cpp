// Groups: several steps over each row, phase by phase where a row is cut.
#include "Support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>

using namespace gnnrt_test;

namespace {

/// Records the tasks it is given, in the order of their begin.
struct Recorder {
  std::mutex mutex;
  std::vector<gnnrt_task> tasks;

  static void kernel(void *const *args, const gnnrt_task *task) {
    auto *self = static_cast<Recorder *>(args[0]);
    std::lock_guard<std::mutex> lock(self->mutex);
    self->tasks.push_back(*task);
  }
};

std::vector<int32_t> repeated(std::vector<std::pair<int32_t, int64_t>> runs) {
  std::vector<int32_t> index;
  for (auto [row, count] : runs)
    index.insert(index.end(), size_t(count), row);
  return index;
}

/// The phase that a task belongs to when all phases of cut rows follow each other; whole rows go with the first.
int64_t step(const gnnrt_task &task) { return std::max<int64_t>(task.phase, 0); }

/// Each whole row is in one task of phase -1, each cut row's entries are covered once by every phase that sweeps, and
/// the row comes once in each that does not; phases of cut rows follow each other.
void expectCover(const std::vector<int32_t> &index, int64_t rows, const std::vector<int32_t> &sweeps) {
  Context context(3);
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        const gnnrt_order *order = gnnrt_order_by(frame, index.data(), int64_t(index.size()), rows);
                        const gnnrt_order_view &seen = view(order);
                        std::vector<gnnrt_phase> phases;
                        for (int32_t sweep : sweeps)
                          phases.push_back({nullptr, 0, sweep});
                        Recorder recorder;
                        void *args[] = {&recorder};
                        EXPECT_EQ(gnnrt_launch_group(frame, Step("record"), Recorder::kernel, args, order,
                                                     phases.data(), int32_t(phases.size())),
                                  0);
                        EXPECT_TRUE(
                            std::is_sorted(recorder.tasks.begin(), recorder.tasks.end(),
                                           [](const gnnrt_task &a, const gnnrt_task &b) { return step(a) < step(b); }));
                        std::vector<int> wholeRows(rows);
                        std::vector<bool> cut(rows);
                        std::vector<std::vector<int>> entries(sweeps.size(), std::vector<int>(seen.entries));
                        std::vector<std::vector<int>> rowSeen(sweeps.size(), std::vector<int>(rows));
                        std::vector<std::vector<int>> slots(sweeps.size(), std::vector<int>(seen.num_slots));
                        for (const gnnrt_task &task : recorder.tasks) {
                          if (task.phase < 0) {
                            EXPECT_EQ(task.phase, -1);
                            EXPECT_EQ(task.slot, -1);
                            EXPECT_EQ(task.entry_begin, seen.ptr[task.row_begin]);
                            EXPECT_EQ(task.entry_end, seen.ptr[task.row_end]);
                            for (int64_t r = task.row_begin; r < task.row_end; ++r)
                              ++wholeRows[r];
                            continue;
                          }
                          EXPECT_LT(task.phase, int64_t(sweeps.size()));
                          EXPECT_EQ(task.row_end, task.row_begin + 1);
                          cut[task.row_begin] = true;
                          ++rowSeen[task.phase][task.row_begin];
                          for (int64_t e = task.entry_begin; e < task.entry_end; ++e)
                            ++entries[task.phase][e];
                          EXPECT_EQ(task.slot >= 0, sweeps[task.phase] == 1);
                          EXPECT_GE(task.first_slot, 0);
                          if (task.entry_begin == seen.ptr[task.row_begin] && task.slot >= 0)
                            EXPECT_EQ(task.first_slot, task.slot);
                          if (task.slot >= 0) {
                            ++slots[task.phase][task.slot];
                            EXPECT_LE(task.entry_end - task.entry_begin, 4096);
                          }
                        }
                        for (int64_t row = 0; row < rows; ++row) {
                          EXPECT_EQ(wholeRows[row], cut[row] ? 0 : 1) << "row " << row;
                          for (size_t phase = 0; phase < sweeps.size(); ++phase) {
                            if (!sweeps[phase])
                              EXPECT_EQ(rowSeen[phase][row], cut[row] ? 1 : 0);
                            for (int64_t e = seen.ptr[row]; e < seen.ptr[row + 1]; ++e)
                              EXPECT_EQ(entries[phase][e], cut[row] ? 1 : 0) << "phase " << phase << ", entry " << e;
                          }
                        }
                        for (size_t phase = 0; phase < sweeps.size(); ++phase)
                          EXPECT_EQ(std::count(slots[phase].begin(), slots[phase].end(), 1),
                                    sweeps[phase] ? seen.num_slots : 0);
                        return 0;
                      }),
            GNNRT_OK)
      << context.error();
}

TEST(Group, CoversEachEntryOnceInEveryPhase) {
  std::mt19937 random(2);
  std::vector<int32_t> mixed(30000);
  for (int32_t &entry : mixed)
    entry = int32_t(random() % 1000);
  for (const std::vector<int32_t> &sweeps : std::vector<std::vector<int32_t>>{{1}, {0}, {1, 0, 1}, {0, 1, 1}}) {
    expectCover({}, 0, sweeps);
    expectCover({}, 3, sweeps);
    expectCover({0}, 1, sweeps);
    expectCover(repeated({{3, 20000}}), 7, sweeps);                            // a hub between isolated nodes
    expectCover(repeated({{0, 9000}, {1, 3}, {2, 4097}, {9, 1}}), 10, sweeps); // hubs beside small rows
    expectCover(mixed, 1000, sweeps);
  }
}

TEST(Group, WithoutCutRowsIsOneLaunch) {
  Context context(2);
  std::vector<int32_t> index = repeated({{0, 100}, {2, 100}});
  withFrame(context, [&](gnnrt_frame *frame) {
    const gnnrt_order *order = gnnrt_order_by(frame, index.data(), int64_t(index.size()), 4);
    Recorder recorder;
    void *args[] = {&recorder};
    gnnrt_phase phases[] = {{nullptr, 0, 1}, {nullptr, 0, 0}, {nullptr, 0, 1}};
    EXPECT_EQ(gnnrt_launch_group(frame, Step("record"), Recorder::kernel, args, order, phases, 3), 0);
    int64_t rows = 0;
    for (const gnnrt_task &task : recorder.tasks) {
      EXPECT_EQ(task.phase, -1);
      rows += task.row_end - task.row_begin;
    }
    EXPECT_EQ(rows, 4);
    return 0;
  });
}

// A softmax over the in-edges of each node that weighs the nodes at their other ends, and the mean weight, as generated
// code does it: largest value; sum of exponentials and count (two results of one phase); their inverse, which is of the
// row alone; the weighted sum.
struct Attention {
  const gnnrt_order_view *order;
  int64_t width;
  const float *score, *x; // by edge, by node
  float *most, *total, *scale, *out;
  int32_t *count;
  float *mostSlots, *totalSlots, *outSlots;
  int32_t *countSlots;

  void run(const gnnrt_task &task, int64_t phase, int64_t row, int64_t begin, int64_t end) {
    bool piece = task.slot >= 0;
    if (phase == 0) {
      float value = -INFINITY;
      for (int64_t p = begin; p < end; ++p)
        value = std::max(value, score[order->perm[p]]);
      (piece ? mostSlots[task.slot] : most[row]) = value;
    } else if (phase == 1) {
      float sum = 0;
      for (int64_t p = begin; p < end; ++p)
        sum += std::exp(score[order->perm[p]] - most[row]);
      (piece ? totalSlots[task.slot] : total[row]) = sum;
      (piece ? countSlots[task.slot] : count[row]) = int32_t(end - begin);
    } else if (phase == 2) {
      EXPECT_EQ(count[row], order->ptr[row + 1] - order->ptr[row]);
      EXPECT_EQ(count[row], end - begin);
      scale[row] = 1 / total[row];
    } else {
      float *to = piece ? outSlots + task.slot * width : out + row * width;
      std::fill(to, to + width, 0.0f);
      for (int64_t p = begin; p < end; ++p)
        for (int64_t c = 0; c < width; ++c)
          to[c] += std::exp(score[order->perm[p]] - most[row]) * scale[row] * x[order->other[p] * width + c];
    }
  }

  static void kernel(void *const *args, const gnnrt_task *task) {
    auto *self = static_cast<Attention *>(args[0]);
    if (task->phase >= 0)
      return self->run(*task, task->phase, task->row_begin, task->entry_begin, task->entry_end);
    for (int64_t row = task->row_begin; row < task->row_end; ++row)
      for (int64_t phase = 0; phase < 4; ++phase)
        self->run(*task, phase, row, self->order->ptr[row], self->order->ptr[row + 1]);
  }
};

std::vector<float> attend(int32_t threads, const gnnrt_graph *graph, const std::vector<float> &score,
                          const std::vector<float> &x, int64_t width) {
  Context context(threads);
  int64_t nodes = gnnrt_graph_num_dst(graph);
  // One row, and below one slot, more than needed: memory of no elements has an address, too.
  std::vector<float> most(nodes + 1, 7), total(nodes + 1, 7), scale(nodes + 1, 7), out((nodes + 1) * width, 7);
  std::vector<int32_t> count(nodes + 1, 7);
  EXPECT_EQ(
      withFrame(
          context,
          [&](gnnrt_frame *frame) {
            const gnnrt_order *order = gnnrt_in_order(frame, graph);
            int64_t slots = view(order).num_slots;
            std::vector<float> mostSlots(slots + 1, 9), totalSlots(slots + 1, 9), outSlots((slots + 1) * width, 9);
            std::vector<int32_t> countSlots(slots + 1, 9);
            Attention attention = {&view(order),      width,           score.data(),     x.data(),     most.data(),
                                   total.data(),      scale.data(),    out.data(),       count.data(), mostSlots.data(),
                                   totalSlots.data(), outSlots.data(), countSlots.data()};
            gnnrt_combine max = {mostSlots.data(), most.data(), nullptr, nullptr, 1, GNNRT_COMBINE_MAX, GNNRT_F32};
            gnnrt_combine sums[] = {
                {totalSlots.data(), total.data(), nullptr, nullptr, 1, GNNRT_COMBINE_SUM, GNNRT_F32},
                {countSlots.data(), count.data(), nullptr, nullptr, 1, GNNRT_COMBINE_SUM, GNNRT_I32}};
            gnnrt_combine sum = {outSlots.data(), out.data(), nullptr, nullptr, width, GNNRT_COMBINE_SUM, GNNRT_F32};
            gnnrt_phase phases[] = {{&max, 1, 1}, {sums, 2, 1}, {nullptr, 0, 0}, {&sum, 1, 1}};
            void *args[] = {&attention};
            return gnnrt_launch_group(frame, Step("attention"), Attention::kernel, args, order, phases, 4);
          }),
      GNNRT_OK)
      << context.error();
  out.resize(nodes * width);
  return out;
}

TEST(Group, AttentionWithHubsIsTheSameToTheBitForAnyThreads) {
  std::mt19937 random(3);
  int64_t nodes = 700, width = 3;
  std::vector<int32_t> src, dst;
  for (int64_t e = 0; e < 40000; ++e) {
    src.push_back(int32_t(random() % nodes));
    dst.push_back(e % 4 == 0 ? 17 : e % 4 == 1 ? 18 : int32_t(random() % (nodes / 2))); // the upper half is isolated
  }
  Context context;
  Graph graph(context, nodes, nodes, src, dst);
  std::vector<float> score(src.size()), x(nodes * width);
  for (std::vector<float> *values : {&score, &x})
    for (float &value : *values)
      value = float(random() % 2000001) * 1e-6f - 1.0f;
  std::vector<float> one = attend(1, graph, score, x, width);
  std::vector<double> weights(nodes), exact(nodes * width);
  for (size_t e = 0; e < src.size(); ++e) {
    weights[dst[e]] += std::exp(double(score[e]));
    for (int64_t c = 0; c < width; ++c)
      exact[dst[e] * width + c] += std::exp(double(score[e])) * x[src[e] * width + c];
  }
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t c = 0; c < width; ++c)
      EXPECT_NEAR(one[v * width + c], weights[v] > 0 ? exact[v * width + c] / weights[v] : 0, 1e-5) << v;
  for (int repetition = 0; repetition < 5; ++repetition)
    for (int32_t threads : {1, 2, 3}) {
      std::vector<float> again = attend(threads, graph, score, x, width);
      EXPECT_EQ(std::memcmp(one.data(), again.data(), one.size() * sizeof(float)), 0) << threads << " threads";
    }
}

TEST(Group, OfAGraphWithoutEdges) {
  Context context;
  Graph isolated(context, 5, 5, {}, {}), empty(context, 0, 0, {}, {});
  EXPECT_EQ(attend(2, isolated, {}, std::vector<float>(10), 2), std::vector<float>(10, 0.0f));
  EXPECT_TRUE(attend(2, empty, {}, {}, 2).empty());
}

std::string refusal(const std::vector<gnnrt_phase> &phases) {
  Context context;
  std::vector<int32_t> index = {0};
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        const gnnrt_order *order = gnnrt_order_by(frame, index.data(), 1, 1);
                        Recorder recorder;
                        void *args[] = {&recorder};
                        int32_t status = gnnrt_launch_group(frame, Step("record"), Recorder::kernel, args, order,
                                                            phases.data(), int32_t(phases.size()));
                        EXPECT_TRUE(recorder.tasks.empty());
                        return status;
                      }),
            GNNRT_ERROR_INTERNAL);
  return context.error();
}

TEST(Group, RefusesPhasesThatDoNotExist) {
  EXPECT_EQ(refusal({}), "a fault of gnnc itself: a group of 0 phases");
  EXPECT_EQ(refusal({{nullptr, 0, 1}, {nullptr, 0, 2}}),
            "a fault of gnnc itself: phase 1 of a group has 0 combinations and 2 sweeps");
  EXPECT_EQ(refusal({{nullptr, -1, 1}}), "a fault of gnnc itself: phase 0 of a group has -1 combinations and 1 sweeps");
}

TEST(Group, RefusesCombinationsThatCannotBe) {
  float partial = 0, out = 0;
  gnnrt_combine good = {&partial, &out, nullptr, nullptr, 1, GNNRT_COMBINE_SUM, GNNRT_F32}, bad = good;
  bad.kind = 99;
  EXPECT_EQ(refusal({{nullptr, 0, 1}, {&bad, 1, 1}}),
            "a fault of gnnc itself: partial results cannot be combined (kind 99, f32)");
  EXPECT_EQ(refusal({{&good, 1, 0}}), "a fault of gnnc itself: phase 0 of a group has 1 combinations and 0 sweeps");
}

} // namespace
