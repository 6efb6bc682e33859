// What the passes of algebra share: which index arrays count as ends of edges, and factors of products.
#ifndef GNNC_LIB_TRANSFORMS_ALGEBRA_H
#define GNNC_LIB_TRANSFORMS_ALGEBRA_H

#include "gnnc/Dialect/Grouping.h"

#include "mlir/IR/PatternMatch.h"

namespace gnnc::gnn {

/// The gather that makes `value`, if it is along one dimension by an end of edges: its entries are edges, those of its
/// source nodes, of which there are taken to be fewer, and none is missing.
inline GatherOp edgeGather(mlir::Value value) {
  auto gather = value.getDefiningOp<GatherOp>();
  if (!gather || gather.getIndices().size() != 1 || !gather.getIndices()[0].getDefiningOp<EndpointOp>())
    return {};
  return gather;
}

/// The sum that makes `value`, if it is that of edges into the nodes at one of their ends.
inline SegmentReduceOp edgeSum(mlir::Value value) {
  auto sum = value.getDefiningOp<SegmentReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::Sum || sum.getEmpty() || sum.getIndices().size() != 1 ||
      !sum.getIndices()[0].getDefiningOp<EndpointOp>())
    return {};
  return sum;
}

/// Whether a broadcast only adds dimensions: no dimension of size 1 is repeated.
inline bool onlyAddsDims(BroadcastOp broadcast) {
  for (auto [size, dim] : llvm::zip_equal(dimsOf(broadcast.getSource()), broadcast.getDims()))
    if (size != dimsOf(broadcast.getResult())[dim])
      return false;
  return true;
}

/// The number that all elements of a value are, if it is a known one.
std::optional<double> knownNumber(mlir::Value value);

/// How many edges go into each node at the end that an index array holds, as an integer.
mlir::Value degreeOf(mlir::OpBuilder &builder, mlir::Location loc, EndpointOp end);

} // namespace gnnc::gnn

#endif
