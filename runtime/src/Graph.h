//===- Graph.h - graph storage -----------------------------------------------------------------------------------===//
//
// A graph is an edge list in the user's order, and never changes. What is made from it (orders, degrees, derived
// graphs) is made when first wanted, by whichever thread comes first, and kept.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_GRAPH_H
#define GNNRT_SRC_GRAPH_H

#include "Array.h"
#include "Order.h"

#include <gnnrt/abi.h>

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>

namespace gnnrt {

/// Nodes and edges are numbered in int32, with room to read ahead.
inline constexpr int64_t maxGraphSize = std::numeric_limits<int32_t>::max() - readAhead;

/// A value made once, when first asked for.
template <typename T> class Lazy {
public:
  Lazy() = default;
  ~Lazy() { delete value.load(std::memory_order_relaxed); }
  Lazy(const Lazy &) = delete;
  Lazy &operator=(const Lazy &) = delete;

  /// `make` returns a std::unique_ptr<T>; if it throws, the next call tries again.
  template <typename Make> const T *get(std::mutex &mutex, Make &&make) {
    const T *known = value.load(std::memory_order_acquire);
    if (known)
      return known;
    std::lock_guard<std::mutex> lock(mutex);
    known = value.load(std::memory_order_relaxed);
    if (!known) {
      known = make().release();
      value.store(known, std::memory_order_release);
    }
    return known;
  }

private:
  std::atomic<const T *> value{nullptr};
};

} // namespace gnnrt

struct gnnrt_graph {
  gnnrt_graph(int64_t numSrc, int64_t numDst, int64_t numEdges)
      : numSrc(numSrc), numDst(numDst), numEdges(numEdges), src(gnnrt::arrayWithReadAhead<int32_t>(numEdges)),
        dst(gnnrt::arrayWithReadAhead<int32_t>(numEdges)) {}

  int64_t numSrc, numDst, numEdges;
  gnnrt::Array<int32_t> src, dst;
  gnnrt::Array<int32_t> maps[2]; // of a derived graph: see gnnrt_graph_map
  gnnrt_graph *owner = nullptr;  // of a derived graph: the graph it was made from, which owns it
  std::atomic<int64_t> references{1};

  // Made when wanted, also of a graph that is otherwise constant.
  mutable std::mutex mutex;
  mutable gnnrt::Lazy<gnnrt_order> inOrder, outOrder;
  mutable gnnrt::Lazy<gnnrt::Array<int32_t>> inDegree, outDegree;
  mutable gnnrt::Lazy<gnnrt_graph> derived[GNNRT_DERIVE_FILTER]; // by GNNRT_DERIVE_*
};

#endif
