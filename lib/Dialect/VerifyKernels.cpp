// Verifiers of row kernels, of what stands in and before them, and of matrix products.
#include "Checks.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

namespace {
/// The checks of one kernel, in the order in which its text reads.
class KernelVerifier {
public:
  explicit KernelVerifier(KernelOp op) : op(op) {}

  LogicalResult verify() {
    if (failed(iterators()) || failed(operandMaps()) || failed(results()) || failed(body()))
      return failure();
    return success();
  }

private:
  KernelOp op;
  SmallVector<IteratorKind> kinds;
  bool reduces = false, innerReduces = false; // by any iterator, by one that is not the segment
  bool isShare = false;
  SmallVector<bool> entryResults; // whether a result has a value for each entry

  LogicalResult iterators();
  LogicalResult operandMaps();
  LogicalResult results();
  LogicalResult body();
  LogicalResult shareBody(Operation *yield);
  /// `map` takes the iterators and as many symbols as `symbols` at most, and gives one position for each dimension.
  LogicalResult accesses(AffineMap map, unsigned symbols, Type tensor, StringRef what, unsigned number);
  LogicalResult countIs(StringRef what, size_t have, size_t want, StringRef per);
};
} // namespace

LogicalResult KernelVerifier::countIs(StringRef what, size_t have, size_t want, StringRef per) {
  if (have == want)
    return success();
  return op.emitOpError() << what << " has " << counted(have, "value") << " for " << counted(want, per);
}

LogicalResult KernelVerifier::iterators() {
  for (Attribute attr : op.getIterators()) {
    auto kind = dyn_cast<IteratorKindAttr>(attr);
    if (!kind)
      return op.emitOpError() << "iterators has to hold #gnn<iterator ...>, not " << attr;
    kinds.push_back(kind.getValue());
    reduces |= kind.getValue() != IteratorKind::Parallel;
    innerReduces |= kind.getValue() == IteratorKind::Reduction;
  }
  ArrayRef<SizeAttr> space = op.getSpace().getSizes();
  if (failed(countIs("space", space.size(), kinds.size(), "iterator")))
    return failure();

  OrderType order = op.getOrder() ? cast<OrderType>(op.getOrder().getType()) : OrderType();
  bool segmented = false;
  for (auto [i, kind] : llvm::enumerate(kinds)) {
    if (kind != IteratorKind::Segment)
      continue;
    if (i != 1 || kinds[0] != IteratorKind::Parallel)
      return op.emitOpError()
             << "a segment iterator has to be the second one, after a parallel one that counts the rows";
    segmented = true;
  }
  if (segmented != static_cast<bool>(order))
    return op.emitOpError() << (segmented ? "has a segment iterator, so it needs an order"
                                          : "has an order, but no segment iterator runs over it");
  if (order && (space[0] != order.getRows() || space[1] != order.getEntries()))
    return op.emitOpError() << "the space begins with " << sizesText(space.take_front(2)) << ", but the order groups "
                            << order.getEntries().str() << " entries into " << order.getRows().str() << " rows";
  return success();
}

LogicalResult KernelVerifier::accesses(AffineMap map, unsigned symbols, Type tensor, StringRef what, unsigned number) {
  if (map.getNumDims() != kinds.size())
    return op.emitOpError() << "the map of " << what << " #" << number << " takes "
                            << counted(map.getNumDims(), "iterator") << " of " << kinds.size();
  if (map.getNumSymbols() > symbols)
    return op.emitOpError() << "the map of " << what << " #" << number << " takes "
                            << counted(map.getNumSymbols(), "symbol") << " of " << symbols;
  if (map.getNumResults() != static_cast<unsigned>(cast<RankedTensorType>(tensor).getRank()))
    return op.emitOpError() << "the map of " << what << " #" << number << " gives "
                            << counted(map.getNumResults(), "position") << ", but the tensor has "
                            << counted(cast<RankedTensorType>(tensor).getRank(), "dimension");
  return success();
}

LogicalResult KernelVerifier::operandMaps() {
  unsigned indices = op.getIndices().size(), symbols = indices + op.getOffsets().getSizes().size();
  if (failed(countIs("indexMaps", op.getIndexMaps().size(), indices, "index operand")) ||
      failed(countIs("maps", op.getMaps().size(), op.getInputs().size(), "input")) ||
      failed(countIs("maybeNone", op.getMaybeNone().size(), indices, "index operand")))
    return failure();
  for (auto [i, attr, index] : llvm::enumerate(op.getIndexMaps(), op.getIndices())) {
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    if (failed(accesses(map, symbols, index.getType(), "index operand", i)))
      return failure();
    for (unsigned later = i; later < indices; ++later)
      if (map.isFunctionOfSymbol(later))
        return op.emitOpError() << "the map of index operand #" << i << " uses the value of index operand #" << later
                                << ", which is read after it";
  }
  for (auto [i, attr, input] : llvm::enumerate(op.getMaps(), op.getInputs()))
    if (failed(accesses(cast<AffineMapAttr>(attr).getValue(), symbols, input.getType(), "input", i)))
      return failure();
  return success();
}

LogicalResult KernelVerifier::results() {
  unsigned count = op.getNumResults();
  if (count == 0)
    return op.emitOpError() << "needs at least one result";
  if (failed(countIs("resultMaps", op.getResultMaps().size(), count, "result")) ||
      failed(countIs("combines", op.getCombines().size(), count, "result")))
    return failure();
  if (!op.getInits().empty() && op.getInits().getTypes() != op.getResultTypes())
    return op.emitOpError() << "inits, where there are any, have to have the types of the results";
  unsigned symbols = op.getIndices().size() + op.getOffsets().getSizes().size();
  for (auto [i, attr, type] : llvm::enumerate(op.getResultMaps(), op.getResultTypes())) {
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    if (failed(accesses(map, symbols, type, "result", i)))
      return failure();
    bool ofEntries = map.getNumResults() > 0 && kinds.size() > 1 && kinds[1] == IteratorKind::Segment &&
                     map.getResult(0) == getAffineDimExpr(1, op.getContext()) && isa<GroupOp>(op->getParentOp());
    for (auto [d, kind] : llvm::enumerate(kinds))
      if (kind != IteratorKind::Parallel && map.isFunctionOfDim(d) && !(ofEntries && d == 1))
        return op.emitOpError() << "the map of result #" << i << " uses iterator " << d << ", which is reduced";
    entryResults.push_back(ofEntries);
  }
  for (auto [i, attr] : llvm::enumerate(op.getCombines())) {
    auto combine = dyn_cast<CombineKindAttr>(attr);
    if (!combine)
      return op.emitOpError() << "combines has to hold #gnn<combine ...>, not " << attr;
    isShare |= combine.getValue() == CombineKind::Share;
    if ((entryResults[i] ? innerReduces : reduces) == (combine.getValue() == CombineKind::None))
      return op.emitOpError() << "result #" << i
                              << (reduces ? " has to say how it is combined: an iterator is reduced"
                                          : " has nothing to combine: all iterators are parallel");
  }
  if (!op.getEmpties())
    return success();
  if (failed(countIs("empties", op.getEmpties()->size(), count, "result")))
    return failure();
  for (auto [i, attr, result] : llvm::enumerate(*op.getEmpties(), op.getResults())) {
    auto number = dyn_cast<TypedAttr>(attr);
    if (number ? number.getType() != elementOf(result) : !isa<UnitAttr>(attr))
      return op.emitOpError() << "what result #" << i << " is where nothing is combined has to be a number of type "
                              << elementOf(result) << ", or unit for the usual one, not " << attr;
  }
  return success();
}

LogicalResult KernelVerifier::body() {
  SmallVector<Type> arguments;
  for (Value input : op.getInputs())
    arguments.push_back(elementOf(input));
  arguments.append(op.getIndices().size(), IntegerType::get(op.getContext(), 32));
  arguments.append(kinds.size(), IndexType::get(op.getContext()));
  Block &block = op.getBody().front();
  if (block.getArgumentTypes() != TypeRange(arguments)) {
    InFlightDiagnostic diag = op.emitOpError() << "the body has to take (";
    llvm::interleaveComma(arguments, diag);
    return diag << "): the inputs' elements, the index operands' values, the iterators";
  }

  Operation *yield = block.getTerminator();
  if (isShare)
    return shareBody(yield);
  if (yield->getNumOperands() != op.getNumResults())
    return op.emitOpError() << "the body yields " << yield->getNumOperands() << " values for " << op.getNumResults()
                            << " results";
  for (auto [i, value, result, attr] : llvm::enumerate(yield->getOperands(), op.getResults(), op.getCombines())) {
    CombineKind combine = cast<CombineKindAttr>(attr).getValue();
    if (combine == CombineKind::Tag) {
      CombineKind before = i ? cast<CombineKindAttr>(op.getCombines()[i - 1]).getValue() : CombineKind::None;
      if (before != CombineKind::Max && before != CombineKind::Min)
        return op.emitOpError() << "result #" << i << " is a tag, so a max or min has to stand before it";
    }
    if (combine == CombineKind::ArgMax || combine == CombineKind::ArgMin) {
      if (!elementOf(result).isSignlessInteger(32))
        return op.emitOpError() << "result #" << i << " is the number of a winner, an i32, not " << elementOf(result);
    } else if (value.getType() != elementOf(result)) {
      return op.emitOpError() << "the body yields " << value.getType() << " for result #" << i
                              << ", whose elements are " << elementOf(result);
    }
  }
  return success();
}

LogicalResult KernelVerifier::shareBody(Operation *yield) {
  auto holds = [&](unsigned operand, Type type) { return yield->getOperand(operand).getType() == type; };
  if (op.getNumResults() != 1 || !op.getOrder())
    return op.emitOpError() << "that shares has one result and an order";
  if (yield->getNumOperands() != 3 || !holds(0, elementOf(op.getResult(0))) ||
      !holds(1, IntegerType::get(op.getContext(), 32)) || !holds(2, IntegerType::get(op.getContext(), 1)))
    return op.emitOpError() << "that shares yields a value of its result, an i32 for a tag and an i1";
  AffineMap map = cast<AffineMapAttr>(op.getResultMaps()[0]).getValue();
  if (map.getNumResults() == 0 || !isa<AffineSymbolExpr>(map.getResult(0)))
    return op.emitOpError() << "that shares writes at an index in the first dimension of its result";
  return success();
}

LogicalResult KernelOp::verify() { return KernelVerifier(*this).verify(); }

/// Which of its kernels reads what at which row is for the pass that makes groups; here stands what the lowering would
/// stumble over.
LogicalResult GroupOp::verify() {
  Operation *yield = getBody().front().getTerminator();
  if (yield->getOperandTypes() != getResultTypes())
    return emitOpError() << "yields values of other types than its results";
  for (Value value : yield->getOperands())
    if (!value.getDefiningOp<KernelOp>() || value.getDefiningOp()->getBlock() != &getBody().front())
      return emitOpError() << "yields only what its own kernels make";
  for (Operation &op : getBody().front().without_terminator()) {
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel)
      return emitOpError() << "holds kernels only, not " << op.getName();
    if (kernel.getOrder() ? kernel.getOrder() != getOrder()
                          : kernel.getSpace().getSizes().empty() ||
                                kernel.getSpace().getSizes()[0] != cast<OrderType>(getOrder().getType()).getRows())
      return kernel.emitOpError() << "has to be over the entries or the rows of its group's order";
    for (auto [i, size] : llvm::enumerate(kernel.getSpace().getSizes()))
      if (i >= (kernel.getOrder() ? 2u : 1u) && !size.getConstant())
        return kernel.emitOpError() << "iterator " << i << " of a kernel in a group has to have a constant size";
  }
  return success();
}

LogicalResult RandomBitsOp::verify() {
  Type key = getKey().getType();
  auto vector = dyn_cast<VectorType>(key);
  Type word = IntegerType::get(getContext(), 32), bits = vector ? Type(vector.clone(word)) : word;
  if (!getElementTypeOrSelf(key).isInteger(64) || getCounter().getType() != key)
    return emitOpError() << "takes a key and a counter of one type, i64 or a vector of it, not " << key << " and "
                         << getCounter().getType();
  if (getResult().getType() != bits)
    return emitOpError() << "gives " << bits << ", not " << getResult().getType();
  return success();
}

LogicalResult CheckIndexOp::verify() {
  if (!elementOf(getPosition()).isSignlessInteger())
    return emitOpError() << "a position is an integer, not " << elementOf(getPosition());
  return sameElement(*this, "the result", getResult(), "the position", getPosition());
}

LogicalResult GemmOp::verify() {
  if (failed(isFloat(*this, "the left operand", getLhs())) ||
      failed(sameElement(*this, "the right operand", getRhs(), "the left operand", getLhs())) ||
      failed(sameElement(*this, "the result", getResult(), "the left operand", getLhs())))
    return failure();
  if (getInit() && getInit().getType() != getResult().getType())
    return emitOpError() << "the init has to have the type of the result";
  auto holds = [&](StringRef what, Value tensor, SizeAttr rows, SizeAttr cols) -> LogicalResult {
    SizeAttr have = product(getContext(), dimsOf(tensor)), want = rows.mul(cols);
    if (have == want)
      return success();
    return emitOpError() << what << " has " << have.str() << " elements, but is read as a matrix of " << want.str();
  };
  if (failed(holds("the left operand", getLhs(), getM(), getK())) ||
      failed(holds("the right operand", getRhs(), getK(), getN())))
    return failure();
  return holds("the result", getResult(), getM(), getN());
}
