// Where graphs come from besides safetensors: MatrixMarket files, edge lists, and a generator of awkward random graphs.
#ifndef GNN_RUN_GRAPHSOURCE_H
#define GNN_RUN_GRAPHSOURCE_H

#include "Tensor.h"

namespace gnnrun {

struct EdgeList {
  std::vector<int64_t> src, dst;
  std::vector<double> weight;            // empty, or one per edge
  std::optional<int64_t> numSrc, numDst; // where the file says so
};

/// A .mtx file (coordinate format; entry (i, j) is an edge i→j, a symmetric one both ways), otherwise lines
/// `src dst [weight]`, counted from 0, with # or % comments.
EdgeList readEdgeFile(const std::string &path);

/// "nodes=20,edges=60,isolated,loops,duplicates,hub"; `src=` and `dst=` instead of `nodes=` for two node sets.
struct RandomGraphSpec {
  std::optional<int64_t> numSrc, numDst, edges;
  bool isolated = false, loops = false, duplicates = false, hub = false;

  static RandomGraphSpec parse(const std::string &text);
};

/// Exactly spec.edges edges (3 per node where not given) in random order. `square` says that both ends are of one set:
/// then self loops appear only if asked for. isolated: the last two nodes have no edge.
EdgeList randomGraph(const RandomGraphSpec &spec, int64_t numSrc, int64_t numDst, bool square, uint64_t key);

} // namespace gnnrun

#endif
