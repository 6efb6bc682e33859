// Every allocation of the runtime may fail: the call then reports it and changes nothing, and the context goes on.
#include "Support.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

/// Allocations until one fails; negative: none does. Of the thread that tests.
thread_local int64_t allocationsLeft = -1;

void *allocate(size_t bytes, size_t alignment) {
  if (allocationsLeft >= 0 && allocationsLeft-- == 0) {
    allocationsLeft = 0; // and so do all that follow
    return nullptr;
  }
  return alignment <= alignof(max_align_t)
             ? std::malloc(bytes ? bytes : 1)
             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment + alignment);
}

void *allocateOrThrow(size_t bytes, size_t alignment) {
  if (void *memory = allocate(bytes, alignment))
    return memory;
  throw std::bad_alloc();
}

} // namespace

// These replace the global ones, also for the runtime's shared object.
void *operator new(size_t bytes) { return allocateOrThrow(bytes, 1); }
void *operator new[](size_t bytes) { return allocateOrThrow(bytes, 1); }
void *operator new(size_t bytes, std::align_val_t alignment) { return allocateOrThrow(bytes, size_t(alignment)); }
void *operator new[](size_t bytes, std::align_val_t alignment) { return allocateOrThrow(bytes, size_t(alignment)); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes, 1); }
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes, 1); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

using namespace gnnrt_test;

namespace {

/// Runs `attempt` with the first, second, ... allocation failing until none does. Returns how many did.
template <typename Attempt> int64_t failEach(Attempt &&attempt) {
  for (int64_t number = 0;; ++number) {
    allocationsLeft = number;
    gnnrt_status status = attempt();
    bool failed = allocationsLeft == 0;
    allocationsLeft = -1;
    if (status == GNNRT_OK)
      return number;
    EXPECT_TRUE(failed);
    EXPECT_EQ(status, GNNRT_ERROR_MEMORY);
  }
}

TEST(Allocation, OfContexts) {
  gnnrt_context *context = nullptr;
  EXPECT_GT(failEach([&] { return gnnrt_context_create(2, &context); }), 2);
  gnnrt_context_destroy(context);
}

TEST(Allocation, OfGraphs) {
  Context context;
  std::vector<int32_t> src = {0, 1, 2}, dst = {1, 1, 1}, indptr = {0, 1, 3};
  std::vector<float> dense = {0, 1, 1, 0};
  Tensor tsrc(src), tdst(dst), tptr(indptr), tsources(src), tdense(dense, {2, 2});
  gnnrt_graph *graph = nullptr;
  EXPECT_GE(failEach([&] { return gnnrt_graph_from_coo(context, 3, 3, tsrc, tdst, &graph); }), 3);
  EXPECT_EQ(context.error(), "out of memory");
  gnnrt_graph_release(graph);
  EXPECT_GE(failEach([&] { return gnnrt_graph_from_csr(context, 3, tptr, tsources, &graph); }), 3);
  gnnrt_graph_release(graph);
  EXPECT_GE(failEach([&] { return gnnrt_graph_from_dense(context, tdense, &graph); }), 3);
  gnnrt_graph_release(graph);
}

int32_t useEverything(gnnrt_frame *frame, void **buffers, int64_t *) {
  auto *graph = static_cast<const gnnrt_graph *>(buffers[0]);
  const gnnrt_graph *loops =
      gnnrt_derive(frame, GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS, graph, 0, 0, nullptr, nullptr, 0, 0);
  if (!loops || !gnnrt_in_order(frame, loops) || !gnnrt_out_order(frame, graph) ||
      !gnnrt_graph_in_degree(frame, graph) || !gnnrt_order_by(frame, static_cast<int32_t *>(buffers[1]), 3, 3))
    return GNNRT_ERROR_MEMORY;
  int64_t bytes[] = {100, 200};
  gnnrt_lifetime lives[] = {{0, 1}, {1, 2}};
  void *pointers[2];
  if (int32_t status = gnnrt_reserve(frame, 2, bytes, lives, pointers))
    return status;
  *static_cast<float *>(gnnrt_frame_output(frame, 2)) = 5;
  return 0;
}

TEST(Allocation, OfCalls) {
  const int64_t lone[] = {1, 1, 0};
  const gnnrt_size dims[] = {{lone, 3, 0}};
  const gnnrt_arg_desc args[] = {
      {"g", nullptr, GNNRT_ARG_GRAPH, GNNRT_INPUT, -1, 0, {0, 0, 1}, 0, {}},
      {"i", dims, GNNRT_ARG_TENSOR, GNNRT_INPUT, GNNRT_INDEX, 1, {0, -1, -1}, 0, {}},
      {"p", nullptr, GNNRT_ARG_TENSOR, GNNRT_INOUT, GNNRT_F32, 0, {-1, -1, -1}, 0, {}},
  };
  const char *const sets[] = {"g.nodes", "g.edges"};
  const gnnrt_entry_desc entry = {"all", args, sets, useEverything, 3, 2, GNNRT_ABI_VERSION, 0};
  Context context;
  Graph graph(context, 3, 3, {0, 1, 1}, {1, 1, 2});
  std::vector<int64_t> index = {0, 2, 1};
  std::vector<float> p = {1};
  Tensor tindex(index), tp(p, {});
  gnnrt_value values[] = {graphValue(graph), tensorValue(tindex), tensorValue(tp)};
  int64_t failures = failEach([&] {
    EXPECT_EQ(p[0], 1);
    return gnnrt_status(gnnrt_call(context, &entry, values, 3));
  });
  EXPECT_GT(failures, 10);
  EXPECT_EQ(p[0], 5);
  // Once warm, a call allocates for the order of its index array alone.
  int64_t again = failEach([&] { return gnnrt_status(gnnrt_call(context, &entry, values, 3)); });
  EXPECT_LT(again, 8);
}

} // namespace
