// How long it takes to sum rows of an array of 64 MiB over the edges of a random graph, as row kernels do it, with the
// array in a context's working memory. With --small-pages the process goes without huge pages.
#include <gnnrt/abi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/prctl.h>
#include <vector>

namespace {

constexpr int64_t width = 16, nodes = int64_t(1) << 20, edges = 8 * nodes, repetitions = 15;

/// y[v] = sum of x over the nodes at the other ends of v's edges. Arguments: the order, x, y.
void gather(void *const *args, const gnnrt_task *task) {
  auto *order = static_cast<const gnnrt_order_view *>(args[0]);
  auto *x = static_cast<const float *>(args[1]);
  auto *y = static_cast<float *>(args[2]);
  for (int64_t row = task->row_begin; row < task->row_end; ++row) {
    float sum[width] = {};
    for (int64_t p = order->ptr[row]; p < order->ptr[row + 1]; ++p) {
      __builtin_prefetch(x + order->other[p + 16] * width);
      for (int64_t c = 0; c < width; ++c)
        sum[c] += x[order->other[p] * width + c];
    }
    std::memcpy(y + row * width, sum, sizeof(sum));
  }
}

int32_t measure(gnnrt_frame *frame, void **buffers, int64_t *) {
  const gnnrt_order *order = gnnrt_in_order(frame, static_cast<const gnnrt_graph *>(buffers[0]));
  int64_t bytes[] = {nodes * width * 4, nodes * width * 4};
  gnnrt_lifetime lives[] = {{0, 1}, {0, 1}};
  void *memory[2];
  if (!order || gnnrt_reserve(frame, 2, bytes, lives, memory))
    return GNNRT_ERROR_MEMORY;
  std::fill_n(static_cast<float *>(memory[0]), nodes * width, 1.0f);
  std::vector<double> seconds;
  const gnnrt_step step = {"gather", 0, 0};
  void *args[] = {(void *)order, memory[0], memory[1]};
  for (int64_t i = 0; i < repetitions; ++i) {
    auto begin = std::chrono::steady_clock::now();
    if (int32_t status = gnnrt_launch_order(frame, &step, gather, args, order, nullptr, 0))
      return status;
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("median %.1f ms, least %.1f ms of %d\n", seconds[repetitions / 2] * 1e3, seconds[0] * 1e3,
              int(repetitions));
  return GNNRT_OK;
}

DLTensor vector(std::vector<int32_t> &values, int64_t *length) {
  *length = int64_t(values.size());
  return {values.data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, length, nullptr, 0};
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "--small-pages") == 0)
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): the same graph in every run
  std::vector<int32_t> src(edges), dst(edges);
  for (int64_t e = 0; e < edges; ++e) {
    src[size_t(e)] = int32_t(random() % nodes);
    dst[size_t(e)] = int32_t(random() % nodes);
  }
  int64_t lengths[2];
  DLTensor from = vector(src, &lengths[0]), to = vector(dst, &lengths[1]);
  gnnrt_context *context;
  gnnrt_graph *graph;
  const gnnrt_arg_desc arg = {"g", nullptr, GNNRT_ARG_GRAPH, GNNRT_INPUT, 0, 0, {0, 0, 1}, 0, {}};
  const char *sets[] = {"g.nodes", "g.edges"};
  const gnnrt_entry_desc entry = {"gather", &arg, sets, measure, 1, 2, GNNRT_ABI_VERSION, 0};
  gnnrt_value value;
  if (gnnrt_context_create(1, &context) || gnnrt_graph_from_coo(context, nodes, nodes, &from, &to, &graph))
    return 1;
  value.graph = graph;
  int32_t status = gnnrt_call(context, &entry, &value, 1);
  if (status)
    std::fprintf(stderr, "%s\n", gnnrt_last_error(context));
  gnnrt_graph_release(graph);
  gnnrt_context_destroy(context);
  return status ? 1 : 0;
}
