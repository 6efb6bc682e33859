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

SizeAttr DeriveOp::mostEdges() {
  if (!getGraph())
    return {};
  SizeAttr edges = getGraph().getType().getEdges();
  switch (getHow()) {
  case Derivation::AddSelfLoops:
  case Derivation::AddMissingSelfLoops:
  case Derivation::ReplaceSelfLoops:
    return edges.add(getGraph().getType().getDst());
  case Derivation::Symmetrize:
    return edges.scale(2);
  case Derivation::Line:
    return edges.mul(edges);
  default:
    return edges;
  }
}

LogicalResult DeriveOp::verify() {
  struct Shape {
    bool ofGraph;
    unsigned fewest, most, maps;
  };
  auto expected = [&]() -> Shape {
    switch (getHow()) {
    case Derivation::AddSelfLoops:
    case Derivation::AddMissingSelfLoops:
    case Derivation::ReplaceSelfLoops:
    case Derivation::RemoveSelfLoops:
    case Derivation::Coalesce:
    case Derivation::Symmetrize:
      return {true, 0, 0, 1};
    case Derivation::Reverse:
    case Derivation::Line:
      return {true, 0, 0, 0};
    case Derivation::Filter:
      return {true, 1, 1, 1};
    case Derivation::Induced:
      return {true, 1, 1, 2};
    case Derivation::Edges:
      return {false, 2, 2, 0};
    case Derivation::Dense:
    case Derivation::Pairs:
      return {false, 1, 1, 0};
    case Derivation::Nearest:
      return {false, 2, 3, 0};
    case Derivation::Radius:
      return {false, 3, 4, 1};
    }
    return {};
  }();
  if (expected.ofGraph != bool(getGraph()))
    return emitOpError() << (expected.ofGraph ? "needs a" : "takes no") << " graph that it is made of";
  if (getInputs().size() < expected.fewest || getInputs().size() > expected.most)
    return emitOpError() << "has " << getInputs().size() << " operands beside the graph, but needs " << expected.fewest
                         << (expected.most > expected.fewest ? " or one more" : "");
  if (getMaps().size() != expected.maps)
    return emitOpError() << "has " << getMaps().size() << " maps, but should have " << expected.maps;
  GnnGraphType made = getResult().getType(), from = getGraph() ? getGraph().getType() : GnnGraphType();
  bool keepsNodes =
      from && getHow() != Derivation::Reverse && getHow() != Derivation::Line && getHow() != Derivation::Induced;
  if (keepsNodes && (made.getSrc() != from.getSrc() || made.getDst() != from.getDst()))
    return emitOpError() << "the nodes stay the same: the result should be a graph from " << from.getSrc().str()
                         << " to " << from.getDst().str();
  bool ofOneSet =
      from && getHow() != Derivation::Coalesce && getHow() != Derivation::Reverse && getHow() != Derivation::Filter;
  if (ofOneSet && from.getSrc() != from.getDst())
    return emitOpError() << "a graph from " << from.getSrc().str() << " to " << from.getDst().str()
                         << " has no self loops or paths: both ends of its edges have to be the same set";
  if (getHow() == Derivation::Coalesce)
    return haveSizes(*this, "the map", getMaps()[0], getGraph().getType().getEdges());
  for (auto [k, map] : llvm::enumerate(getMaps()))
    if (dimsOf(map).front() != (k == 0 ? made.getEdges() : made.getSrc()))
      return emitOpError() << "map " << k << " is over " << dimsOf(map).front().str() << ", but should be over "
                           << (k == 0 ? made.getEdges() : made.getSrc()).str();
  return success();
}

LogicalResult SearchOp::verify() {
  bool isOfGraph = getWhat() == Search::EdgeIds;
  if (isOfGraph != bool(getGraph()))
    return emitOpError() << (isOfGraph ? "needs a graph" : "takes no graph");
  size_t fewest = isOfGraph ? 2 : 1, most = getWhat() == Search::Order ? 1 : 2;
  if (getInputs().size() < fewest || getInputs().size() > most)
    return emitOpError() << "has " << getInputs().size() << " operands";
  return success();
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
