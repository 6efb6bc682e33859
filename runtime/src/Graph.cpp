//===- Graph.cpp - ownership of graphs, and their degrees ---------------------------------------------===//
#include "Graph.h"

#include "Failure.h"
#include "Frame.h"

using namespace gnnrt;

namespace {

/// A derived graph lives as long as the one it was made from.
gnnrt_graph *ownerOf(gnnrt_graph *graph) {
  while (graph->owner)
    graph = graph->owner;
  return graph;
}

std::unique_ptr<Array<int32_t>> countEntries(const int32_t *index, int64_t count, int64_t rows) {
  auto degree = std::make_unique<Array<int32_t>>(arrayWithReadAhead<int32_t>(rows));
  std::fill_n(degree->data(), rows, 0);
  for (int64_t i = 0; i < count; ++i)
    ++(*degree)[index[i]];
  padAhead(*degree);
  return degree;
}

} // namespace

void gnnrt_graph_retain(gnnrt_graph *graph) {
  if (graph)
    ownerOf(graph)->references.fetch_add(1, std::memory_order_relaxed);
}

void gnnrt_graph_release(gnnrt_graph *graph) {
  if (!graph)
    return;
  gnnrt_graph *owner = ownerOf(graph);
  if (owner->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete owner;
}

int64_t gnnrt_graph_num_src(const gnnrt_graph *graph) { return graph ? graph->numSrc : 0; }
int64_t gnnrt_graph_num_dst(const gnnrt_graph *graph) { return graph ? graph->numDst : 0; }
int64_t gnnrt_graph_num_edges(const gnnrt_graph *graph) { return graph ? graph->numEdges : 0; }
const int32_t *gnnrt_graph_src(const gnnrt_graph *graph) { return graph ? graph->src.data() : nullptr; }
const int32_t *gnnrt_graph_dst(const gnnrt_graph *graph) { return graph ? graph->dst.data() : nullptr; }

const int32_t *gnnrt_graph_in_degree(gnnrt_frame *frame, const gnnrt_graph *graph) {
  const int32_t *degree = nullptr;
  frame->guarded([&] {
    degree = graph->inDegree
                 .get(graph->mutex, [&] { return countEntries(graph->dst.data(), graph->numEdges, graph->numDst); })
                 ->data();
  });
  return degree;
}

const int32_t *gnnrt_graph_out_degree(gnnrt_frame *frame, const gnnrt_graph *graph) {
  const int32_t *degree = nullptr;
  frame->guarded([&] {
    degree = graph->outDegree
                 .get(graph->mutex, [&] { return countEntries(graph->src.data(), graph->numEdges, graph->numSrc); })
                 ->data();
  });
  return degree;
}
