//===- Search.cpp - edges by their ends, and the order of numbers ------------------------------------------------===//
#include "Failure.h"
#include "Frame.h"
#include "Graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace gnnrt;

namespace {

/// The first edge from u to v, looked for at the end that has fewer; -1 if there is none.
int32_t edgeBetween(const gnnrt_graph &graph, const gnnrt_order &in, const gnnrt_order &out, int32_t u, int32_t v) {
  int64_t outBegin = out.ptr[u], outEnd = out.ptr[u + 1], inBegin = in.ptr[v], inEnd = in.ptr[v + 1];
  if (outEnd - outBegin <= inEnd - inBegin) {
    for (int64_t p = outBegin; p < outEnd; ++p)
      if (graph.dst[out.perm[p]] == v)
        return out.perm[p];
  } else {
    for (int64_t p = inBegin; p < inEnd; ++p)
      if (graph.src[in.perm[p]] == u)
        return in.perm[p];
  }
  return -1;
}

/// Whether one number is less than another; NaN is the largest.
template <typename T> bool isLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return !std::isnan(a) && std::isnan(b);
  return a < b;
}

template <typename T> void sortPositions(const T *x, int64_t count, int32_t *out) {
  std::iota(out, out + count, 0);
  std::sort(out, out + count,
            [&](int32_t a, int32_t b) { return isLess(x[a], x[b]) || (!isLess(x[b], x[a]) && a < b); });
}

/// The largest of each group in descending order, equal ones in theirs.
template <typename T>
void largest(const T *x, int64_t count, const int32_t *group, int64_t groups, int64_t wanted, int32_t *out) {
  std::fill_n(out, groups * wanted, -1);
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return isLess(x[b], x[a]) || (!isLess(x[a], x[b]) && a < b); });
  std::vector<int64_t> taken(static_cast<size_t>(groups));
  for (int32_t i : order) {
    int32_t g = group ? group[i] : 0;
    if (g >= 0 && taken[size_t(g)] < wanted)
      out[g * wanted + taken[size_t(g)]++] = i;
  }
}

template <typename Work> void withType(int32_t dtype, const void *data, Work &&work) {
  switch (dtype) {
  case GNNRT_F32:
    return work(static_cast<const float *>(data));
  case GNNRT_F64:
    return work(static_cast<const double *>(data));
  case GNNRT_I32:
    return work(static_cast<const int32_t *>(data));
  case GNNRT_I64:
    return work(static_cast<const int64_t *>(data));
  default:
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: elements of type ", dtype, " have no order");
  }
}

void findEdges(gnnrt_frame &frame, const char *place, const gnnrt_graph &graph, const int32_t *from, const int32_t *to,
               int64_t count, int32_t *out) {
  const gnnrt_order *in = gnnrt_in_order(&frame, &graph), *back = gnnrt_out_order(&frame, &graph);
  if (!in || !back)
    return;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = -1;
    if (from[i] < 0 || to[i] < 0)
      continue;
    out[i] = edgeBetween(graph, *in, *back, from[i], to[i]);
    if (out[i] < 0)
      fail(GNNRT_ERROR_INDEX, *place ? text(place, ": ") : "", "entry ", i, " asks for an edge from ", from[i], " to ",
           to[i], ", but the graph has none");
  }
}

} // namespace

int32_t gnnrt_search(gnnrt_frame *frame, const char *place, int32_t what, const gnnrt_graph *graph,
                     const void *const *tensors, const int64_t *sizes, int32_t dtype, int32_t count, int64_t rows,
                     int64_t columns, int32_t *out) {
  return frame->guarded([&] {
    auto index = [&](int32_t k) { return count > k ? static_cast<const int32_t *>(tensors[k]) : nullptr; };
    switch (what) {
    case GNNRT_SEARCH_EDGE_IDS:
      findEdges(*frame, place, *graph, index(0), index(1), rows * columns, out);
      if (frame->status != GNNRT_OK)
        return;
      break;
    case GNNRT_SEARCH_ORDER:
      withType(dtype, tensors[0], [&](const auto *x) { sortPositions(x, columns, out); });
      break;
    case GNNRT_SEARCH_LARGEST:
      withType(dtype, tensors[0], [&](const auto *x) { largest(x, sizes[0], index(1), rows, columns, out); });
      break;
    default:
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: no such search: ", what);
    }
  });
}
