// Tasks cover everything once, do not depend on threads, and results are the same to the bit for any number of them.
#include "Support.h"

#include <cstring>
#include <mutex>
#include <random>

using namespace gnnrt_test;

namespace {

/// Records the tasks it is given.
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

void expectCover(const std::vector<int32_t> &index, int64_t rows) {
  Context context(3);
  withFrame(context, [&](gnnrt_frame *frame) {
    const gnnrt_order *order = gnnrt_order_by(frame, index.data(), int64_t(index.size()), rows);
    const gnnrt_order_view &seen = view(order);
    Recorder recorder;
    void *args[] = {&recorder};
    EXPECT_EQ(gnnrt_launch_order(frame, Step("record"), Recorder::kernel, args, order, nullptr, 0), 0);
    std::vector<int> rowsSeen(rows), entriesSeen(seen.entries), slotsSeen(seen.num_slots);
    for (const gnnrt_task &task : recorder.tasks) {
      for (int64_t e = task.entry_begin; e < task.entry_end; ++e)
        ++entriesSeen[e];
      if (task.slot >= 0) {
        EXPECT_EQ(task.row_end, task.row_begin + 1);
        EXPECT_GT(task.entry_end, task.entry_begin);
        EXPECT_LE(task.entry_end - task.entry_begin, 4096);
        ++slotsSeen[task.slot];
      } else {
        EXPECT_EQ(task.entry_begin, seen.ptr[task.row_begin]);
        EXPECT_EQ(task.entry_end, seen.ptr[task.row_end]);
        EXPECT_LE(task.entry_end - task.entry_begin + task.row_end - task.row_begin, 4097);
        for (int64_t r = task.row_begin; r < task.row_end; ++r)
          ++rowsSeen[r];
      }
    }
    for (int64_t e = 0; e < seen.entries; ++e)
      EXPECT_EQ(entriesSeen[e], 1) << "entry " << e;
    for (int64_t s = 0; s < seen.num_slots; ++s)
      EXPECT_EQ(slotsSeen[s], 1) << "slot " << s;
    for (int64_t r = 0; r < rows; ++r) {
      bool cut = false;
      for (const gnnrt_task &task : recorder.tasks)
        cut |= task.slot >= 0 && task.row_begin == r;
      EXPECT_EQ(rowsSeen[r], cut ? 0 : 1) << "row " << r;
    }
    return 0;
  });
}

TEST(Schedule, CoversEachEntryAndRowOnce) {
  expectCover({}, 0);
  expectCover({}, 3);
  expectCover({0}, 1);
  expectCover(repeated({{0, 255}}), 1);
  expectCover(repeated({{0, 256}, {1, 257}, {2, 258}}), 5);
  expectCover(repeated({{3, 100000}}), 7);                            // a hub between isolated nodes
  expectCover(repeated({{0, 50000}, {1, 3}, {2, 4097}, {9, 1}}), 10); // hubs beside small rows
  std::mt19937 random(2);
  std::vector<int32_t> index(30000);
  for (int32_t &entry : index)
    entry = int32_t(random() % 1000);
  expectCover(index, 1000);
}

TEST(Schedule, RowsAreCutIntoWholeRows) {
  Context context(2);
  for (int64_t rows : {0, 1, 5, 1000, 100001})
    for (int64_t work : {0, 1, 64, 100000})
      withFrame(context, [&](gnnrt_frame *frame) {
        Recorder recorder;
        void *args[] = {&recorder};
        EXPECT_EQ(gnnrt_launch_rows(frame, Step("record"), Recorder::kernel, args, rows, work), 0);
        std::vector<int> seen(rows);
        for (const gnnrt_task &task : recorder.tasks) {
          EXPECT_EQ(task.slot, -1);
          for (int64_t r = task.row_begin; r < task.row_end; ++r)
            ++seen[r];
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), rows);
        return 0;
      });
}

TEST(Schedule, AReductionIsCutAsItsSlotsSay) {
  Context context(2);
  for (int64_t entries : {0, 1, 255, 256, 257, 5000, 100001})
    for (int64_t work : {0, 1, 64, 100000})
      withFrame(context, [&](gnnrt_frame *frame) {
        Recorder recorder;
        void *args[] = {&recorder};
        EXPECT_EQ(gnnrt_launch_cut(frame, Step("record"), Recorder::kernel, args, entries, work, nullptr, 0), 0);
        EXPECT_EQ(int64_t(recorder.tasks.size()), gnnrt_cut_slots(entries, work));
        std::vector<int> seen(entries);
        for (const gnnrt_task &task : recorder.tasks) {
          EXPECT_EQ(task.slot >= 0, recorder.tasks.size() > 1);
          EXPECT_EQ(task.row_begin, 0);
          EXPECT_EQ(task.row_end, 1);
          EXPECT_LE(task.entry_end - task.entry_begin, 4096);
          for (int64_t e = task.entry_begin; e < task.entry_end; ++e)
            ++seen[e];
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), entries);
        return 0;
      });
}

// y[r] = sum of x over the row's entries, as generated code does it: args are x, y, partial, the order and the width.
void sumKernel(void *const *args, const gnnrt_task *task) {
  const float *x = static_cast<const float *>(args[0]);
  float *y = static_cast<float *>(args[1]), *partial = static_cast<float *>(args[2]);
  const auto *order = static_cast<const gnnrt_order_view *>(args[3]);
  int64_t width = *static_cast<const int64_t *>(args[4]);
  for (int64_t row = task->row_begin; row < task->row_end; ++row) {
    float *to = task->slot >= 0 ? partial + task->slot * width : y + row * width;
    int64_t begin = task->slot >= 0 ? task->entry_begin : order->ptr[row];
    int64_t end = task->slot >= 0 ? task->entry_end : order->ptr[row + 1];
    std::fill(to, to + width, 0.0f);
    for (int64_t e = begin; e < end; ++e)
      for (int64_t c = 0; c < width; ++c)
        to[c] += x[order->perm[e] * width + c];
  }
}

std::vector<float> sumByRow(int32_t threads, const gnnrt_graph *graph, std::vector<float> &x, int64_t width) {
  Context context(threads);
  std::vector<float> y(gnnrt_graph_num_dst(graph) * width, -1);
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        const gnnrt_order *order = gnnrt_in_order(frame, graph);
                        int64_t slots = view(order).num_slots, bytes = slots * width * 4;
                        gnnrt_lifetime life = {0, 0};
                        void *partial;
                        if (gnnrt_reserve(frame, 1, &bytes, &life, &partial))
                          return 1;
                        void *args[] = {x.data(), y.data(), partial, (void *)order, &width};
                        gnnrt_combine sum = {partial, y.data(), nullptr, nullptr, width, GNNRT_COMBINE_SUM, GNNRT_F32};
                        return gnnrt_launch_order(frame, Step("sum"), sumKernel, args, order, &sum, 1);
                      }),
            GNNRT_OK)
      << context.error();
  return y;
}

TEST(Launch, SumsOnAHubAreTheSameToTheBitForAnyThreads) {
  std::mt19937 random(3);
  int64_t hub = 100000, nodes = 2000, width = 5;
  std::vector<int32_t> src, dst;
  for (int64_t e = 0; e < hub + 20000; ++e) {
    src.push_back(int32_t(random() % nodes));
    dst.push_back(e < hub ? 17 : int32_t(random() % nodes));
  }
  Context context;
  Graph graph(context, nodes, nodes, src, dst);
  std::vector<float> x(src.size() * width);
  for (float &value : x)
    value = float(random() % 2000001) * 1e-6f - 1.0f;
  std::vector<float> one = sumByRow(1, graph, x, width);
  std::vector<double> exact(nodes * width);
  for (size_t e = 0; e < src.size(); ++e)
    for (int64_t c = 0; c < width; ++c)
      exact[dst[e] * width + c] += x[e * width + c];
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(one[i], exact[i], 1e-3) << i;
  for (int repetition = 0; repetition < 5; ++repetition)
    for (int32_t threads : {1, 2, 3, 8}) {
      std::vector<float> again = sumByRow(threads, graph, x, width);
      EXPECT_EQ(std::memcmp(one.data(), again.data(), one.size() * sizeof(float)), 0) << threads << " threads";
    }
}

TEST(Launch, TwentyMillionOnesSumToTwentyMillion) {
  Context context(2);
  int64_t count = 20000000, slots = gnnrt_cut_slots(count, 1);
  std::vector<float> x(count, 1.0f), partial(slots);
  float total = 0;
  withFrame(context, [&](gnnrt_frame *frame) {
    void *args[] = {x.data(), partial.data(), &total};
    gnnrt_combine sum = {partial.data(), &total, nullptr, nullptr, 1, GNNRT_COMBINE_SUM, GNNRT_F32};
    return gnnrt_launch_cut(
        frame, Step("sum"),
        [](void *const *args, const gnnrt_task *task) {
          const float *x = static_cast<const float *>(args[0]);
          float sum = 0;
          for (int64_t e = task->entry_begin; e < task->entry_end; ++e)
            sum += x[e];
          (task->slot >= 0 ? static_cast<float *>(args[1])[task->slot] : *static_cast<float *>(args[2])) = sum;
        },
        args, count, 1, &sum, 1);
  });
  EXPECT_EQ(total, 2e7f);
}

TEST(Launch, ManySmallLaunchesOnManyThreads) {
  Context context(4);
  withFrame(context, [&](gnnrt_frame *frame) {
    std::vector<int64_t> seen(100000);
    void *args[] = {seen.data()};
    for (int repetition = 0; repetition < 500; ++repetition)
      gnnrt_launch_rows(
          frame, Step("count"),
          [](void *const *args, const gnnrt_task *task) {
            for (int64_t r = task->row_begin; r < task->row_end; ++r)
              ++static_cast<int64_t *>(args[0])[r];
          },
          args, repetition % 100 * 1000, 1);
    for (int64_t r = 0; r < 100000; ++r)
      EXPECT_EQ(seen[r], 5 * (99 - r / 1000)) << r;
    return 0;
  });
}

} // namespace
