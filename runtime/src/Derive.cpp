//===- Derive.cpp - graphs made from graphs and from tensors -----------------------------------------------------===//
//
// What depends on a graph alone is made once and kept with it; the rest belongs to the call.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Derive.h"

#include "Failure.h"
#include "Frame.h"

#include <algorithm>
#include <numeric>

using namespace gnnrt;

namespace {

void checkEdges(int64_t edges) {
  if (edges > maxGraphSize)
    fail(GNNRT_ERROR_TOO_LARGE, "a graph with ", edges, " edges is made here: at most ", maxGraphSize,
         " are supported");
}

using Nodes = std::vector<int32_t>;

/// Some of a graph's edges, by number.
std::unique_ptr<gnnrt_graph> someEdges(const gnnrt_graph &from, const std::vector<int32_t> &old) {
  Nodes src, dst;
  src.reserve(old.size());
  dst.reserve(old.size());
  for (int32_t e : old) {
    src.push_back(from.src[e]);
    dst.push_back(from.dst[e]);
  }
  return graphOf(from.numSrc, from.numDst, src, dst, old);
}

template <typename Keep> std::unique_ptr<gnnrt_graph> filter(const gnnrt_graph &from, Keep &&keep) {
  std::vector<int32_t> old;
  for (int64_t e = 0; e < from.numEdges; ++e)
    if (keep(e))
      old.push_back(int32_t(e));
  return someEdges(from, old);
}

/// The user's edges in their order (without self loops if they are replaced), then the new loops in order of nodes.
std::unique_ptr<gnnrt_graph> addSelfLoops(const gnnrt_graph &from, int32_t how) {
  if (from.numSrc != from.numDst)
    fail(GNNRT_ERROR_SHAPE, "self loops need a graph over one node set, but this one has ", from.numSrc,
         " source nodes and ", from.numDst, " target nodes");
  Nodes src, dst;
  std::vector<int32_t> old;
  std::vector<bool> wanted(size_t(from.numDst), true); // nodes that get a loop
  auto add = [&](int32_t u, int32_t v, int32_t edge) {
    src.push_back(u);
    dst.push_back(v);
    old.push_back(edge);
  };
  for (int64_t e = 0; e < from.numEdges; ++e) {
    bool isLoop = from.src[e] == from.dst[e];
    if (isLoop && how == GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS)
      wanted[size_t(from.src[e])] = false;
    if (!isLoop || how != GNNRT_DERIVE_REPLACE_SELF_LOOPS)
      add(from.src[e], from.dst[e], int32_t(e));
  }
  for (int64_t v = 0; v < from.numDst; ++v)
    if (wanted[size_t(v)])
      add(int32_t(v), int32_t(v), -1);
  return graphOf(from.numSrc, from.numDst, src, dst, old);
}

/// One edge for each pair of nodes that has any, by source and then by target; the map leads from old to new edges.
std::unique_ptr<gnnrt_graph> coalesce(const gnnrt_graph &from) {
  std::vector<int32_t> order(size_t(from.numEdges));
  std::iota(order.begin(), order.end(), 0);
  auto ends = [&](int32_t e) { return std::pair(from.src[e], from.dst[e]); };
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return ends(a) != ends(b) ? ends(a) < ends(b) : a < b; });
  Nodes src, dst;
  std::vector<int32_t> merged(size_t(from.numEdges));
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || ends(order[k]) != ends(order[k - 1])) {
      src.push_back(from.src[order[k]]);
      dst.push_back(from.dst[order[k]]);
    }
    merged[size_t(order[k])] = int32_t(src.size()) - 1;
  }
  std::unique_ptr<gnnrt_graph> graph = graphOf(from.numSrc, from.numDst, src, dst);
  graph->maps[0] = arrayOf(merged);
  return graph;
}

std::unique_ptr<gnnrt_graph> reverse(const gnnrt_graph &from) {
  auto graph = std::make_unique<gnnrt_graph>(from.numDst, from.numSrc, from.numEdges);
  std::copy_n(from.dst.data(), from.dst.size(), graph->src.data());
  std::copy_n(from.src.data(), from.src.size(), graph->dst.data());
  return graph;
}

/// All edges, then the reverse of each that is no loop.
std::unique_ptr<gnnrt_graph> symmetrize(const gnnrt_graph &from) {
  Nodes src(from.src.data(), from.src.data() + from.numEdges), dst(from.dst.data(), from.dst.data() + from.numEdges);
  std::vector<int32_t> old(size_t(from.numEdges));
  std::iota(old.begin(), old.end(), 0);
  for (int64_t e = 0; e < from.numEdges; ++e)
    if (from.src[e] != from.dst[e]) {
      src.push_back(from.dst[e]);
      dst.push_back(from.src[e]);
      old.push_back(int32_t(e));
    }
  return graphOf(from.numSrc, from.numDst, src, dst, old);
}

/// All pairs (a, b) of entries with the same number, by b and then by a.
std::unique_ptr<gnnrt_graph> meeting(const int32_t *first, const int32_t *second, int64_t count, int64_t numbers) {
  std::unique_ptr<gnnrt_order> rows = makeOrder(first, count, numbers);
  int64_t edges = 0;
  for (int64_t b = 0; b < count; ++b)
    if (second[b] >= 0)
      edges += rows->ptr[second[b] + 1] - rows->ptr[second[b]];
  checkEdges(edges);
  Nodes src, dst;
  src.reserve(size_t(edges));
  dst.reserve(size_t(edges));
  for (int64_t b = 0; b < count; ++b)
    for (int64_t p = second[b] < 0 ? 0 : rows->ptr[second[b]]; second[b] >= 0 && p < rows->ptr[second[b] + 1]; ++p) {
      src.push_back(rows->perm[p]);
      dst.push_back(int32_t(b));
    }
  return graphOf(count, count, src, dst);
}

std::unique_ptr<gnnrt_graph> pairs(const int32_t *group, int64_t nodes) {
  int32_t groups = nodes ? *std::max_element(group, group + nodes) + 1 : 0;
  return meeting(group, group, nodes, std::max(groups, 0));
}

/// The nodes that are kept, and the edges between them; maps: the old edges, the old nodes.
std::unique_ptr<gnnrt_graph> induced(const gnnrt_graph &from, const uint8_t *keep) {
  std::vector<int32_t> place(size_t(from.numSrc), -1), nodes, old;
  for (int64_t v = 0; v < from.numSrc; ++v)
    if (keep[v]) {
      place[size_t(v)] = int32_t(nodes.size());
      nodes.push_back(int32_t(v));
    }
  Nodes src, dst;
  for (int64_t e = 0; e < from.numEdges; ++e) {
    int32_t a = place[size_t(from.src[e])], b = place[size_t(from.dst[e])];
    if (a < 0 || b < 0)
      continue;
    src.push_back(a);
    dst.push_back(b);
    old.push_back(int32_t(e));
  }
  std::unique_ptr<gnnrt_graph> graph = graphOf(int64_t(nodes.size()), int64_t(nodes.size()), src, dst);
  graph->maps[0] = arrayOf(old);
  graph->maps[1] = arrayOf(nodes);
  return graph;
}

std::unique_ptr<gnnrt_graph> dense(const uint8_t *mask, int64_t rows, int64_t columns) {
  Nodes src, dst;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (mask[i * columns + j]) {
        src.push_back(int32_t(i));
        dst.push_back(int32_t(j));
      }
  return graphOf(rows, columns, src, dst);
}

std::unique_ptr<gnnrt_graph> ofEdges(const DeriveInputs &inputs, int64_t numSrc, int64_t numDst) {
  const auto *src = static_cast<const int32_t *>(inputs.tensors[0]);
  const auto *dst = static_cast<const int32_t *>(inputs.tensors[1]);
  return graphOf(numSrc, numDst, Nodes(src, src + inputs.sizes[0]), Nodes(dst, dst + inputs.sizes[0]));
}

std::unique_ptr<gnnrt_graph> make(gnnrt_frame &frame, int32_t how, const gnnrt_graph *graph, int64_t numSrc,
                                  int64_t numDst, const DeriveInputs &inputs) {
  auto bytes = [&] { return static_cast<const uint8_t *>(inputs.tensors[0]); };
  switch (how) {
  case GNNRT_DERIVE_ADD_SELF_LOOPS:
  case GNNRT_DERIVE_ADD_MISSING_SELF_LOOPS:
  case GNNRT_DERIVE_REPLACE_SELF_LOOPS:
    return addSelfLoops(*graph, how);
  case GNNRT_DERIVE_REMOVE_SELF_LOOPS:
    return filter(*graph, [&](int64_t e) { return graph->src[e] != graph->dst[e]; });
  case GNNRT_DERIVE_COALESCE:
    return coalesce(*graph);
  case GNNRT_DERIVE_REVERSE:
    return reverse(*graph);
  case GNNRT_DERIVE_SYMMETRIZE:
    return symmetrize(*graph);
  case GNNRT_DERIVE_LINE:
    return meeting(graph->dst.data(), graph->src.data(), graph->numEdges, graph->numDst);
  case GNNRT_DERIVE_FILTER:
    return filter(*graph, [&](int64_t e) { return bytes()[e] != 0; });
  case GNNRT_DERIVE_INDUCED:
    return induced(*graph, bytes());
  case GNNRT_DERIVE_EDGES:
    return ofEdges(inputs, numSrc, numDst);
  case GNNRT_DERIVE_DENSE:
    return dense(bytes(), inputs.sizes[0], inputs.sizes[1]);
  case GNNRT_DERIVE_PAIRS:
    return pairs(static_cast<const int32_t *>(inputs.tensors[0]), inputs.sizes[0]);
  case GNNRT_DERIVE_NEAREST:
    return nearestNeighbours(frame, inputs);
  case GNNRT_DERIVE_RADIUS:
    return withinRadius(frame, inputs);
  default:
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: no such way to make a graph: ", how);
  }
}

} // namespace

Array<int32_t> gnnrt::arrayOf(const std::vector<int32_t> &values) {
  Array<int32_t> array = arrayWithReadAhead<int32_t>(int64_t(values.size()));
  std::copy(values.begin(), values.end(), array.data());
  padAhead(array);
  return array;
}

std::unique_ptr<gnnrt_graph> gnnrt::graphOf(int64_t numSrc, int64_t numDst, const std::vector<int32_t> &src,
                                            const std::vector<int32_t> &dst, const std::vector<int32_t> &old) {
  checkEdges(int64_t(src.size()));
  auto graph = std::make_unique<gnnrt_graph>(numSrc, numDst, int64_t(src.size()));
  std::copy(src.begin(), src.end(), graph->src.data());
  std::copy(dst.begin(), dst.end(), graph->dst.data());
  padAhead(graph->src);
  padAhead(graph->dst);
  graph->maps[0] = arrayOf(old);
  return graph;
}

const int32_t *gnnrt_graph_map(const gnnrt_graph *graph, int32_t number) { return graph->maps[number].data(); }

const gnnrt_graph *gnnrt_derive(gnnrt_frame *frame, int32_t how, const gnnrt_graph *graph, int64_t num_src,
                                int64_t num_dst, const void *const *tensors, const int64_t *sizes, int32_t dtype,
                                int32_t count) {
  const gnnrt_graph *made = nullptr;
  frame->guarded([&] {
    DeriveInputs inputs{tensors, sizes, dtype, count};
    if (how >= 0 && how < GNNRT_DERIVE_FILTER) {
      made = graph->derived[how].get(graph->mutex, [&] {
        std::unique_ptr<gnnrt_graph> derived = make(*frame, how, graph, num_src, num_dst, inputs);
        derived->owner = const_cast<gnnrt_graph *>(graph); // for reference counts, which are the one thing that changes
        return derived;
      });
      return;
    }
    frame->graphs.push_back(make(*frame, how, graph, num_src, num_dst, inputs));
    made = frame->graphs.back().get();
  });
  return made;
}
