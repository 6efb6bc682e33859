// Buffers that are alive at the same time never overlap, plans are repeatable, and reading a little over an end is
// safe.
#include "Support.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace gnnrt_test;

namespace {

struct Request {
  std::vector<int64_t> bytes;
  std::vector<gnnrt_lifetime> lives;
};

Request randomRequest(std::mt19937 &random) {
  Request request;
  int count = int(random() % 60), steps = 1 + int(random() % 40);
  for (int i = 0; i < count; ++i) {
    int32_t first = int32_t(random() % steps), last = first + int32_t(random() % (steps - first));
    static constexpr int64_t limits[] = {1, 100, 5000, 300000};
    request.bytes.push_back(int64_t(random() % limits[random() % 4]));
    request.lives.push_back({first, last});
  }
  return request;
}

std::vector<char *> reserve(gnnrt_frame *frame, const Request &request) {
  std::vector<void *> pointers(request.bytes.size());
  EXPECT_EQ(gnnrt_reserve(frame, int32_t(pointers.size()), request.bytes.data(), request.lives.data(), pointers.data()),
            0);
  std::vector<char *> result;
  for (void *pointer : pointers)
    result.push_back(static_cast<char *>(pointer));
  return result;
}

TEST(Arena, RandomPlansNeverOverlap) {
  Context context;
  std::mt19937 random(4);
  for (int repetition = 0; repetition < 300; ++repetition) {
    Request request = randomRequest(random);
    withFrame(context, [&](gnnrt_frame *frame) {
      std::vector<char *> at = reserve(frame, request);
      for (size_t i = 0; i < at.size(); ++i) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(at[i]) % 64, 0u);
        std::memset(at[i], 1, size_t(request.bytes[i]) + 64); // vectors may run over the end
        for (size_t j = 0; j < i; ++j) {
          bool together =
              request.lives[i].first <= request.lives[j].last && request.lives[j].first <= request.lives[i].last;
          bool apart = at[i] + request.bytes[i] + 64 <= at[j] || at[j] + request.bytes[j] + 64 <= at[i];
          EXPECT_TRUE(!together || apart) << i << " and " << j;
        }
      }
      return 0;
    });
  }
}

TEST(Arena, MemoryOfTheDeadIsUsedAgain) {
  Context context;
  Request request{{1000000, 1000000, 1000000}, {{0, 1}, {1, 2}, {2, 3}}};
  withFrame(context, [&](gnnrt_frame *frame) {
    std::vector<char *> at = reserve(frame, request);
    EXPECT_EQ(at[0], at[2]);
    EXPECT_NE(at[0], at[1]);
    return 0;
  });
}

TEST(Arena, PlansRepeat) {
  std::mt19937 random(5);
  Request request = randomRequest(random), other = randomRequest(random);
  std::vector<ptrdiff_t> offsets[2];
  for (auto &seen : offsets) {
    Context context;
    for (const Request *now : {&other, &request, &request})
      withFrame(context, [&](gnnrt_frame *frame) {
        std::vector<char *> at = reserve(frame, *now);
        seen.clear();
        for (char *pointer : at)
          seen.push_back(pointer - *std::min_element(at.begin(), at.end()));
        return 0;
      });
  }
  EXPECT_EQ(offsets[0], offsets[1]);
}

TEST(Arena, ReservingTwiceInACallKeepsTheFirst) {
  Context context;
  for (int64_t size : {100, 3000000, 10})
    for (int repetition = 0; repetition < 2; ++repetition)
      withFrame(context, [&](gnnrt_frame *frame) {
        char *first = reserve(frame, {{size}, {{0, 0}}})[0];
        std::memset(first, 1, size_t(size));
        char *second = reserve(frame, {{2 * size}, {{0, 0}}})[0];
        std::memset(second, 2, size_t(2 * size));
        EXPECT_EQ(std::count(first, first + size, 1), size);
        return 0;
      });
}

TEST(Arena, IterationsUseTheSameMemory) {
  Context context;
  withFrame(context, [&](gnnrt_frame *frame) {
    char *kept = reserve(frame, {{1000}, {{0, 0}}})[0];
    std::memset(kept, 7, 1000);
    std::vector<char *> seen;
    for (int64_t iteration = 0; iteration < 50; ++iteration) {
      gnnrt_mark mark;
      gnnrt_frame_mark(frame, &mark);
      // Growing at first, then the same.
      int64_t size = 4000000 + std::min<int64_t>(iteration, 5) * 1000000;
      char *memory = reserve(frame, {{size}, {{0, 0}}})[0];
      std::memset(memory, int(iteration), size_t(size));
      seen.push_back(memory);
      const int32_t index[] = {0, 1, 1};
      EXPECT_NE(gnnrt_order_by(frame, index, 3, 2), nullptr);
      gnnrt_frame_release(frame, &mark);
    }
    EXPECT_EQ(seen[10], seen[49]);
    EXPECT_EQ(std::count(kept, kept + 1000, 7), 1000);
    return 0;
  });
}

TEST(Arena, NoBuffersAndEmptyBuffers) {
  Context context;
  withFrame(context, [&](gnnrt_frame *frame) {
    EXPECT_TRUE(reserve(frame, {}).empty());
    std::vector<char *> at = reserve(frame, {{0, 0}, {{0, 5}, {0, 5}}});
    EXPECT_NE(at[0], at[1]);
    at[0][0] = at[1][0] = 1;
    return 0;
  });
}

gnnrt_status reserveOne(Context &context, int64_t bytes, gnnrt_lifetime life = {0, 0}) {
  return withFrame(context, [&](gnnrt_frame *frame) {
    void *pointer;
    return gnnrt_reserve(frame, 1, &bytes, &life, &pointer);
  });
}

TEST(Arena, MoreThanThereIs) {
  Context context;
  EXPECT_EQ(reserveOne(context, int64_t(1) << 50), GNNRT_ERROR_MEMORY);
  EXPECT_EQ(context.error(), "out of memory: this call needs 1.0 PiB of working memory");
  EXPECT_EQ(reserveOne(context, INT64_MAX), GNNRT_ERROR_TOO_LARGE);
  EXPECT_EQ(context.error(), "an intermediate value of this call is larger than memory can be");
  EXPECT_EQ(reserveOne(context, -1), GNNRT_ERROR_TOO_LARGE);
  EXPECT_EQ(reserveOne(context, 1, {3, 2}), GNNRT_ERROR_INTERNAL);
  EXPECT_EQ(reserveOne(context, 1000), GNNRT_OK); // the context is as good as before
}

TEST(Pages, LargeBlocksBeginWhereHugePagesDo) {
  constexpr uintptr_t huge = uintptr_t(2) << 20;
  for (int64_t bytes : {int64_t(4) << 20, (int64_t(5) << 20) + 3, int64_t(64) << 20}) {
    Context context;
    withFrame(context, [&](gnnrt_frame *frame) {
      gnnrt_lifetime life = {0, 0};
      void *memory = nullptr;
      EXPECT_EQ(gnnrt_reserve(frame, 1, &bytes, &life, &memory), 0);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % huge, 0u);
      std::memset(memory, 1, size_t(bytes) + 64);
      return 0;
    });
  }
  Context context;
  int64_t edges = 2000000;
  std::vector<int32_t> src(edges), dst(edges);
  for (int64_t e = 0; e < edges; ++e) {
    src[e] = int32_t(e % 1000);
    dst[e] = int32_t(e % 999);
  }
  Graph graph(context, 1000, 1000, src, dst);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(gnnrt_graph_src(graph)) % huge, 0u);
  withFrame(context, [&](gnnrt_frame *frame) {
    const gnnrt_order_view &seen = view(gnnrt_in_order(frame, graph));
    for (const int32_t *array : {seen.perm, seen.other}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array) % huge, 0u);
      EXPECT_EQ(array[edges + 63], array[edges - 1]);
    }
    return 0;
  });
}

} // namespace
