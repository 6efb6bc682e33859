// Graphs among the inputs: their parts in data files, edge files, random ones; see Inputs.h.
#include "Inputs.h"
#include "Random.h"
#include <algorithm>

namespace gnnrun {

void Inputs::bindNodeSizes(const Arg &arg, Sizes &sizes) const {
  std::string origin;
  if (arg.src == arg.dst)
    if (std::optional<int64_t> size = metadataSize(partOf(arg.path, "num_nodes"), origin))
      sizes.bind(arg.src, *size, origin);
  if (std::optional<int64_t> size = metadataSize(partOf(arg.path, "num_src"), origin))
    sizes.bind(arg.src, *size, origin);
  if (std::optional<int64_t> size = metadataSize(partOf(arg.path, "num_dst"), origin))
    sizes.bind(arg.dst, *size, origin);
  if (std::optional<int64_t> size = metadataSize(partOf(arg.path, "num_graphs"), origin))
    sizes.bind(partOf(arg.path, "graphs"), *size, origin);
}

const gnnrt_graph *Inputs::graph(const Arg &arg, Sizes &sizes) {
  auto it = graphs.find(arg.path);
  if (it == graphs.end()) {
    Graph made = makeGraph(arg, sizes);
    if (!made)
      return nullptr;
    it = graphs.emplace(arg.path, std::move(made)).first;
  }
  const gnnrt_graph *graph = it->second.get();
  std::string origin = fmt::format("graph {}", arg.path);
  sizes.bind(arg.src, gnnrt_graph_num_src(graph), origin);
  sizes.bind(arg.dst, gnnrt_graph_num_dst(graph), origin);
  sizes.bind(arg.edges, gnnrt_graph_num_edges(graph), origin);
  return graph;
}

Graph Inputs::graphFromEdges(const Arg &arg, const EdgeList &edges, const std::string &origin, bool counted,
                             Sizes &sizes) {
  auto numNodes = [&](const std::string &set, const std::vector<int64_t> &ends, std::optional<int64_t> given) {
    if (given)
      sizes.bind(set, *given, origin);
    else if (counted && !sizes.find(set))
      sizes.bind(set, ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end()) + 1,
                 origin + " (its largest node)");
    return sizes.find(set).value_or(0);
  };
  std::vector<int64_t> srcEnds = edges.src, dstEnds = edges.dst;
  if (arg.src == arg.dst) {
    srcEnds.insert(srcEnds.end(), edges.dst.begin(), edges.dst.end());
    if (edges.numSrc && edges.numDst && *edges.numSrc != *edges.numDst)
      fail("{} is a matrix of {} rows and {} columns, but {} is a graph over one set of nodes: it must be square",
           origin, *edges.numSrc, *edges.numDst, arg.path);
  }
  int64_t numSrc = numNodes(arg.src, srcEnds, edges.numSrc), numDst = numNodes(arg.dst, dstEnds, edges.numDst);
  std::vector<int64_t> shape{static_cast<int64_t>(edges.src.size())};
  Tensor src(DType::I64, shape), dst(DType::I64, shape);
  std::copy(edges.src.begin(), edges.src.end(), src.data<int64_t>());
  std::copy(edges.dst.begin(), edges.dst.end(), dst.data<int64_t>());
  return runtime.graphFromCoo(arg.path, numSrc, numDst, src, dst);
}

Graph Inputs::makeGraph(const Arg &arg, Sizes &sizes) {
  if (auto it = edgeFiles.find(arg.path); it != edgeFiles.end())
    return graphFromEdges(arg, it->second.first, it->second.second, true, sizes);

  auto nodes = [&](const std::string &set, const std::string &origin) {
    std::optional<int64_t> size = sizes.find(set);
    if (!size)
      fail("{} does not say how many nodes {} has; give --size {}=NUMBER, or {}.{} in the file's metadata", origin, set,
           set, fileName(arg.path),
           arg.src == arg.dst ? "num_nodes"
           : set == arg.src   ? "num_src"
                              : "num_dst");
    return *size;
  };
  std::optional<Found> src = integers(partOf(arg.path, "src")), dst = integers(partOf(arg.path, "dst"));
  if (src && dst)
    return runtime.graphFromCoo(arg.path, nodes(arg.src, src->origin), nodes(arg.dst, dst->origin), *src->tensor,
                                *dst->tensor);
  if (src || dst)
    fail("{} is there, but {} is not: a graph has both ends of its edges", src ? src->origin : dst->origin,
         fileName(partOf(arg.path, src ? "dst" : "src")));

  std::optional<Found> indptr = integers(partOf(arg.path, "indptr")), indices = integers(partOf(arg.path, "indices"));
  if (indptr && indices) {
    if (arg.src == arg.dst && indptr->tensor->count() > 0)
      sizes.bind(arg.src, indptr->tensor->count() - 1, indptr->origin);
    return runtime.graphFromCsr(arg.path, nodes(arg.src, indptr->origin), *indptr->tensor, *indices->tensor);
  }
  if (std::optional<Found> dense = raw(arg.path)) {
    if (!isReal(dense->tensor->dtype()) || dense->tensor->rank() != 2)
      fail("{} is no graph: a matrix of reals, or {}.src and {}.dst, are expected", dense->origin, fileName(arg.path),
           fileName(arg.path));
    return runtime.graphFromDense(arg.path, *dense->tensor);
  }

  auto spec = randomSpecs.find(arg.path);
  if (spec == randomSpecs.end())
    spec = randomSpecs.find("");
  if (spec == randomSpecs.end())
    return nullptr;
  if (spec->second.numSrc)
    sizes.bind(arg.src, *spec->second.numSrc, "--random");
  if (spec->second.numDst)
    sizes.bind(arg.dst, *spec->second.numDst, "--random");
  std::optional<int64_t> numSrc = sizes.find(arg.src), numDst = sizes.find(arg.dst);
  if (!numSrc || !numDst)
    failUsage("--random does not say how many nodes {} has: give nodes=NUMBER in it", arg.path);
  EdgeList edges = randomGraph(spec->second, *numSrc, *numDst, arg.src == arg.dst, keyOf(options.seed, arg.path));
  return graphFromEdges(arg, edges, "--random", false, sizes);
}

} // namespace gnnrun
