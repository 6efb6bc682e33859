// Verifiers of the ops on graph structure, sizes and random numbers.
#include "Checks.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

/// The nodes at an end of a graph's edges.
static SizeAttr nodesAt(GnnGraphType graph, Direction end) {
  return end == Direction::Src ? graph.getSrc() : graph.getDst();
}

LogicalResult EndpointOp::verify() {
  return haveSizes(*this, "the result", getResult(), getGraph().getType().getEdges());
}

LogicalResult DegreeOp::verify() {
  return haveSizes(*this, "the result", getResult(), nodesAt(getGraph().getType(), getEnd()));
}

LogicalResult AddSelfLoopsOp::verify() {
  GnnGraphType before = getGraph().getType(), after = getResult().getType();
  if (before.getSrc() != before.getDst())
    return emitOpError() << "a graph from " << before.getSrc().str() << " to " << before.getDst().str()
                         << " has no self loops: both ends of its edges have to be the same set";
  if (after.getSrc() != before.getSrc() || after.getDst() != before.getDst())
    return emitOpError() << "the nodes stay the same: the result should be a graph on " << before.getSrc().str();
  return haveSizes(*this, "the second result", getOld(), after.getEdges());
}

LogicalResult OrderOp::verify() {
  GnnGraphType graph = getGraph().getType();
  auto expected = OrderType::get(getContext(), nodesAt(graph, getEnd()), graph.getEdges());
  if (getResult().getType() == expected)
    return success();
  return emitOpError() << "the result is " << getResult().getType() << ", but should be " << expected;
}

LogicalResult OrderByOp::verify() {
  SizeAttr entries = product(getContext(), dimsOf(getIndex()));
  if (getResult().getType().getEntries() == entries)
    return success();
  return emitOpError() << "the order has " << getResult().getType().getEntries().str()
                       << " entries, but the index array has " << entries.str();
}

LogicalResult IotaOp::verify() {
  if (failed(isDim(*this, getDim(), getResult().getType().getRank(), "the result")))
    return failure();
  if (!isa<IntegerType>(elementOf(getResult())))
    return emitOpError() << "counts in integers, but the result has elements of type " << elementOf(getResult());
  return success();
}

LogicalResult SizeOp::verify() {
  if (!elementOf(getResult()).isIntOrFloat())
    return emitOpError() << "a size is an integer or floating-point number, not " << elementOf(getResult());
  return success();
}

LogicalResult FoldKeyOp::verify() {
  for (Value key : {Value(getKey()), Value(getResult())})
    if (!elementOf(key).isSignlessInteger(64))
      return emitOpError() << "a key is an i64, not " << elementOf(key);
  if (!elementOf(getNumber()).isSignlessInteger())
    return emitOpError() << "a key is folded with an integer, not " << elementOf(getNumber());
  return success();
}

LogicalResult UniformOp::verify() {
  if (!elementOf(getKey()).isSignlessInteger(64))
    return emitOpError() << "a key is an i64, not " << elementOf(getKey());
  return isFloat(*this, "the result", getResult());
}
