//===- Graph.cpp - ownership of graphs, and what is derived from one ---------------------------------------------===//
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

/// The user's edges in their order (without self loops if they are replaced), then the new loops in order of nodes.
std::unique_ptr<gnnrt_graph> addSelfLoops(const gnnrt_graph &from, int32_t existing) {
  int64_t nodes = from.numDst;
  Array<uint8_t> wanted(nodes); // nodes that get a loop
  std::fill_n(wanted.data(), nodes, uint8_t(1));
  int64_t loops = 0;
  for (int64_t e = 0; e < from.numEdges; ++e)
    if (from.src[e] == from.dst[e]) {
      ++loops;
      if (existing == GNNRT_LOOPS_SKIP)
        wanted[from.src[e]] = 0;
    }
  int64_t kept = existing == GNNRT_LOOPS_REPLACE ? from.numEdges - loops : from.numEdges;
  int64_t edges = kept + std::count(wanted.data(), wanted.data() + nodes, uint8_t(1));
  if (edges > maxGraphSize)
    fail(GNNRT_ERROR_TOO_LARGE, "a graph with ", edges, " edges (self loops included): at most ", maxGraphSize,
         " are supported");

  auto graph = std::make_unique<gnnrt_graph>(nodes, nodes, edges);
  graph->maps[0] = arrayWithReadAhead<int32_t>(edges);
  int64_t edge = 0;
  auto add = [&](int32_t src, int32_t dst, int32_t old) {
    graph->src[edge] = src;
    graph->dst[edge] = dst;
    graph->maps[0][edge++] = old;
  };
  for (int64_t e = 0; e < from.numEdges; ++e)
    if (existing != GNNRT_LOOPS_REPLACE || from.src[e] != from.dst[e])
      add(from.src[e], from.dst[e], int32_t(e));
  for (int64_t v = 0; v < nodes; ++v)
    if (wanted[v])
      add(int32_t(v), int32_t(v), -1);
  padAhead(graph->src);
  padAhead(graph->dst);
  padAhead(graph->maps[0]);
  return graph;
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

const gnnrt_graph *gnnrt_add_self_loops(gnnrt_frame *frame, const gnnrt_graph *graph, int32_t existing) {
  const gnnrt_graph *made = nullptr;
  frame->guarded([&] {
    if (existing < 0 || existing > GNNRT_LOOPS_REPLACE)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: no such way to add self loops: ", existing);
    if (graph->numSrc != graph->numDst)
      fail(GNNRT_ERROR_SHAPE, "self loops need a graph over one node set, but this one has ", graph->numSrc,
           " source nodes and ", graph->numDst, " target nodes");
    made = graph->withSelfLoops[existing].get(graph->mutex, [&] {
      std::unique_ptr<gnnrt_graph> derived = addSelfLoops(*graph, existing);
      derived->owner = const_cast<gnnrt_graph *>(graph); // for reference counts, which are the one thing that changes
      return derived;
    });
  });
  return made;
}

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
