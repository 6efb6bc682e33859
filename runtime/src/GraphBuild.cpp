//===- GraphBuild.cpp - graphs from edge lists, CSR and dense matrices -------------------------------------------===//
//
// Everything is validated on the way in, so that later code may trust what a graph holds.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Boundary.h"
#include "Graph.h"
#include "Tensor.h"

using namespace gnnrt;

namespace {

/// An integer vector of the caller: int32 or int64, of any alignment.
struct IntVector {
  const char *data;
  int64_t length;
  bool wide;

  int64_t operator[](int64_t i) const { return wide ? load<int64_t>(data, i) : load<int32_t>(data, i); }
};

IntVector intVector(std::string_view name, const DLTensor *tensor) {
  TensorView view = viewTensor(name, tensor);
  int32_t dtype = dtypeOf(tensor->dtype);
  if (dtype != GNNRT_I32 && dtype != GNNRT_I64)
    fail(GNNRT_ERROR_DTYPE, "`", name, "` has elements of type ", dtypeName(tensor->dtype),
         ", but must be int32 or int64");
  if (tensor->ndim != 1)
    fail(GNNRT_ERROR_SHAPE, "`", name, "` has ", tensor->ndim, " dimensions, but must be a vector");
  return {view.data, view.elements, dtype == GNNRT_I64};
}

void checkCount(int64_t count, const char *what) {
  if (count < 0)
    fail(GNNRT_ERROR_ARGUMENT, "a graph cannot have ", count, " ", what);
  if (count > maxGraphSize)
    fail(GNNRT_ERROR_TOO_LARGE, "a graph with ", count, " ", what, ": at most ", maxGraphSize, " are supported");
}

/// Copies node numbers, checking each.
void copyNodes(std::string_view name, const IntVector &from, int64_t nodes, const char *kind, Array<int32_t> &to) {
  for (int64_t i = 0; i < from.length; ++i) {
    int64_t node = from[i];
    if (node < 0 || node >= nodes)
      fail(GNNRT_ERROR_INDEX, "`", name, "[", i, "]` is ", node, ", but there ", nodes == 1 ? "is " : "are ", nodes,
           " ", kind, nodes == 1 ? " node" : " nodes", ": it must be at least 0 and below ", nodes);
    to[i] = int32_t(node);
  }
  padAhead(to);
}

std::unique_ptr<gnnrt_graph> fromCoo(int64_t numSrc, int64_t numDst, const DLTensor *src, const DLTensor *dst) {
  checkCount(numSrc, "source nodes");
  checkCount(numDst, "target nodes");
  IntVector from = intVector("src", src), to = intVector("dst", dst);
  if (from.length != to.length)
    fail(GNNRT_ERROR_SHAPE, "`src` has ", from.length, " entries, but `dst` has ", to.length,
         ": an edge list needs one of each for every edge");
  checkCount(from.length, "edges");
  auto graph = std::make_unique<gnnrt_graph>(numSrc, numDst, from.length);
  copyNodes("src", from, numSrc, "source", graph->src);
  copyNodes("dst", to, numDst, "target", graph->dst);
  return graph;
}

std::unique_ptr<gnnrt_graph> fromCsr(int64_t numSrc, const DLTensor *indptr, const DLTensor *indices) {
  checkCount(numSrc, "source nodes");
  IntVector ptr = intVector("indptr", indptr), columns = intVector("indices", indices);
  if (ptr.length == 0)
    fail(GNNRT_ERROR_SHAPE, "`indptr` is empty, but must have one entry more than there are target nodes");
  int64_t numDst = ptr.length - 1;
  checkCount(numDst, "target nodes");
  checkCount(columns.length, "edges");
  if (ptr[0] != 0)
    fail(GNNRT_ERROR_INDEX, "`indptr[0]` is ", ptr[0], ", but must be 0");
  for (int64_t v = 0; v < numDst; ++v)
    if (ptr[v + 1] < ptr[v])
      fail(GNNRT_ERROR_INDEX, "`indptr[", v + 1, "]` is ", ptr[v + 1], ", less than `indptr[", v, "]`, which is ",
           ptr[v], ": row pointers must not decrease");
  if (ptr[numDst] != columns.length)
    fail(GNNRT_ERROR_SHAPE, "`indptr` ends with ", ptr[numDst], ", but `indices` has ", columns.length, " entries");
  auto graph = std::make_unique<gnnrt_graph>(numSrc, numDst, columns.length);
  copyNodes("indices", columns, numSrc, "source", graph->src);
  for (int64_t v = 0; v < numDst; ++v)
    std::fill(graph->dst.data() + ptr[v], graph->dst.data() + ptr[v + 1], int32_t(v));
  padAhead(graph->dst);
  return graph;
}

template <typename T> std::unique_ptr<gnnrt_graph> fromDense(const char *a, int64_t numSrc, int64_t numDst) {
  // Equality, not a difference from zero: -0 is no edge, NaN is one.
  int64_t edges = 0;
  for (int64_t i = 0; i < numSrc * numDst; ++i)
    edges += !(load<T>(a, i) == T(0));
  checkCount(edges, "edges");
  auto graph = std::make_unique<gnnrt_graph>(numSrc, numDst, edges);
  int64_t edge = 0;
  for (int64_t i = 0; i < numSrc; ++i)
    for (int64_t j = 0; j < numDst; ++j)
      if (!(load<T>(a, i * numDst + j) == T(0))) {
        graph->src[edge] = int32_t(i);
        graph->dst[edge++] = int32_t(j);
      }
  padAhead(graph->src);
  padAhead(graph->dst);
  return graph;
}

std::unique_ptr<gnnrt_graph> fromDense(const DLTensor *a) {
  TensorView view = viewTensor("a", a);
  int32_t dtype = dtypeOf(a->dtype);
  if (dtype != GNNRT_F32 && dtype != GNNRT_F64)
    fail(GNNRT_ERROR_DTYPE, "`a` has elements of type ", dtypeName(a->dtype), ", but must be f32 or f64");
  if (a->ndim != 2)
    fail(GNNRT_ERROR_SHAPE, "`a` has ", a->ndim, " dimensions, but an adjacency matrix has 2");
  checkCount(a->shape[0], "source nodes");
  checkCount(a->shape[1], "target nodes");
  return dtype == GNNRT_F32 ? fromDense<float>(view.data, a->shape[0], a->shape[1])
                            : fromDense<double>(view.data, a->shape[0], a->shape[1]);
}

/// Makes a graph for the caller, or leaves NULL and the message.
template <typename Make> gnnrt_status build(gnnrt_context *ctx, gnnrt_graph **out, Make &&make) {
  if (out)
    *out = nullptr;
  return guarded(ctx, [&] {
    if (!out)
      fail(GNNRT_ERROR_ARGUMENT, "`out`, where the graph is to be put, is a null pointer");
    *out = make().release();
  });
}

} // namespace

gnnrt_status gnnrt_graph_from_coo(gnnrt_context *ctx, int64_t num_src, int64_t num_dst, const DLTensor *src,
                                  const DLTensor *dst, gnnrt_graph **out) {
  return build(ctx, out, [&] { return fromCoo(num_src, num_dst, src, dst); });
}

gnnrt_status gnnrt_graph_from_csr(gnnrt_context *ctx, int64_t num_src, const DLTensor *indptr, const DLTensor *indices,
                                  gnnrt_graph **out) {
  return build(ctx, out, [&] { return fromCsr(num_src, indptr, indices); });
}

gnnrt_status gnnrt_graph_from_dense(gnnrt_context *ctx, const DLTensor *a, gnnrt_graph **out) {
  return build(ctx, out, [&] { return fromDense(a); });
}
