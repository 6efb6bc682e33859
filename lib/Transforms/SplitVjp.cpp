// Makes the pair f_fwd, f_bwd of an exported vjp, for hosts with an autograd of their own.
//
// The function at hand computes f's results and then gradients. What f's results need is the forward function; the rest
// is the backward one. A forward value that the backward function reads is computed again if it follows from graphs,
// constants and scalars alone, without a contraction, or if only the call finds out how large it is; else it is a
// residual: a result of the one, an argument of the other, for which the caller makes room.
#include "gnnc/Dialect/EntryAttrs.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_SPLITVJP
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

Value throughMarker(Value value) {
  while (auto saved = value.getDefiningOp<SavedOp>())
    value = saved.getX();
  return value;
}

/// What an op reads, those values included that its regions use from outside.
SmallVector<Value> inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  inputs.append(captured.begin(), captured.end());
  return inputs;
}

bool isScalar(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getRank() == 0;
}

class Splitter {
public:
  Splitter(func::FuncOp both, DictionaryAttr marks)
      : both(both), numArgs(marks.getAs<IntegerAttr>("args").getInt()),
        numResults(marks.getAs<IntegerAttr>("results").getInt()), of(marks.getAs<StringAttr>("of").getValue()),
        yield(both.getBody().front().getTerminator()) {}

  LogicalResult run() {
    findMadeSets();
    findForward();
    SymbolTable symbols(both->getParentOfType<ModuleOp>());
    func::FuncOp backward = makeBackward();
    if (failed(tellSizes())) {
      backward.erase();
      return failure();
    }
    func::FuncOp forward = makeForward();
    symbols.insert(forward, both->getIterator());
    symbols.insert(backward, both->getIterator());
    symbols.erase(both);
    return success();
  }

private:
  /// The sets of graphs that are made from more than a graph of the caller.
  void findMadeSets() {
    both.walk([&](DeriveOp op) {
      auto from = op.getGraph() ? cast<GnnGraphType>(op.getGraph().getType()) : GnnGraphType();
      if (op.isOfGraphAlone() && !isMade(from.getEdges()))
        return;
      for (SizeAttr size : {op.getResult().getType().getEdges(), op.getResult().getType().getSrc()})
        if (std::optional<int64_t> set = size.getSet();
            set && (size != (from ? from.getSrc() : SizeAttr())) &&
            llvm::none_of(op.getInputs(), [&](Value v) { return llvm::is_contained(dimsOf(v), size); }))
          madeSets.insert(*set);
    });
  }

  bool isMade(SizeAttr size) const {
    bool made = false;
    size.forEachSet([&](int64_t id) { made |= madeSets.contains(id); });
    return made;
  }

  /// The ops that f's own results need.
  void findForward() {
    auto need = [&](SmallVector<Value> work) {
      while (!work.empty()) {
        Operation *op = work.pop_back_val().getDefiningOp();
        if (op && forwardOps.insert(op).second)
          llvm::append_range(work, inputsOf(op));
      }
    };
    need(SmallVector<Value>(yield->operand_begin(), yield->operand_begin() + numResults));
    // Types may have a size without reading what defines it.
    for (auto define : both.getBody().front().getOps<DefineSizeOp>())
      if (dependsOnArguments(define.getNumber()))
        need({define.getResult()});
  }

  /// The caller makes room for the residuals, so their sizes have to follow from its arguments: a number of iterations
  /// that is an argument becomes a size. Fails where it is computed.
  LogicalResult tellSizes() {
    Builder b(both.getContext());
    DenseMap<int64_t, DefineSizeOp> computed;
    both.walk([&](DefineSizeOp define) {
      auto argument = dyn_cast<BlockArgument>(throughMarker(define.getNumber()));
      bool isScalar = argument && argument.getOwner()->getParentOp() == both &&
                      both.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attrs::kind) &&
                      both.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attrs::kind).getValue() == "scalar";
      if (isScalar)
        both.setArgAttr(argument.getArgNumber(), attrs::set, b.getI64IntegerAttr(define.getSet()));
      else
        computed[define.getSet()] = define;
    });
    DefineSizeOp culprit;
    for (Value residual : residuals)
      for (SizeAttr size : dimsOf(residual))
        size.forEachSet([&](int64_t id) {
          if (DefineSizeOp define = computed.lookup(id))
            culprit = define;
        });
    if (culprit)
      return culprit.emitError() << "'export vjp' of a function that keeps states whose number is computed in the call "
                                    "is not supported yet";
    return success();
  }

  /// Whether a value depends on f's arguments alone, not on cotangents.
  bool dependsOnArguments(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getArgNumber() < numArgs;
    return llvm::all_of(inputsOf(value.getDefiningOp()), [&](Value v) { return dependsOnArguments(v); });
  }

  bool isForward(Value value) const {
    if (Operation *op = value.getDefiningOp())
      return forwardOps.contains(op);
    return cast<BlockArgument>(value).getArgNumber() < numArgs;
  }

  /// Whether a forward value is cheaply computed again by the backward function.
  bool isRecomputed(Value value) {
    value = throughMarker(value);
    if (isa<GnnGraphType, OrderType>(value.getType()) || value.getDefiningOp<DeriveOp>() ||
        llvm::any_of(dimsOf(value), [&](SizeAttr size) { return isMade(size); }))
      return true;
    auto [known, isNew] = recomputed.try_emplace(value, false);
    if (!isNew)
      return known->second;
    Operation *op = value.getDefiningOp();
    bool answer = op && isPure(op) && !isa<ContractOp>(op) && op->getNumRegions() == 0 &&
                  llvm::all_of(op->getOperands(), [&](Value v) { return isScalar(v) || isRecomputed(v); });
    // A scalar costs nothing to keep, unless there is nothing to keep.
    if (answer && isScalar(value))
      answer = llvm::all_of(op->getOperands(), [&](Value v) { return isRecomputed(v); });
    return recomputed[value] = answer;
  }

  /// Whether a value is another one with its elements repeated: that one is kept in its place.
  static bool isMoved(Value value) {
    return isa_and_present<BroadcastOp, GatherOp, ReshapeOp, TransposeOp>(value.getDefiningOp());
  }

  /// The backward function's form of a value, made at its first use.
  Value inBackward(Value value) {
    value = throughMarker(value);
    if (Value known = map.lookupOrNull(value))
      return known;
    if (isForward(value) && !isRecomputed(value) && !isMoved(value)) {
      residuals.push_back(value);
      Value argument = body->addArgument(value.getType(), value.getLoc());
      map.map(value, argument);
      return argument;
    }
    Operation *op = value.getDefiningOp();
    for (Value input : inputsOf(op))
      map.map(input, inBackward(input));
    builder.clone(*op, map);
    return map.lookup(value);
  }

  /// f's graphs, the residuals, the cotangents -> gradients.
  func::FuncOp makeBackward() {
    auto type = FunctionType::get(both.getContext(), {}, {});
    auto backward = func::FuncOp::create(builder, both.getLoc(), of + "_bwd", type);
    body = backward.addEntryBlock();
    builder.setInsertionPointToStart(body);
    SmallVector<DictionaryAttr> argAttrs;
    auto passOn = [&](BlockArgument argument) {
      map.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
      argAttrs.push_back(both.getArgAttrDict(argument.getArgNumber()));
    };
    for (BlockArgument argument : both.getArguments().take_front(numArgs))
      if (isa<GnnGraphType>(argument.getType()))
        passOn(argument);
    size_t graphs = argAttrs.size();
    for (BlockArgument argument : both.getArguments().drop_front(numArgs))
      passOn(argument);

    SmallVector<Value> gradients;
    for (Value gradient : yield->getOperands().drop_front(numResults))
      gradients.push_back(inBackward(gradient));
    func::ReturnOp::create(builder, yield->getLoc(), gradients);
    moveResiduals(graphs, argAttrs);

    backward.setType(FunctionType::get(both.getContext(), body->getArgumentTypes(), ValueRange(gradients).getTypes()));
    copyEntry(backward);
    backward.setAllArgAttrs(argAttrs);
    for (unsigned k = 0; k < gradients.size(); ++k)
      backward.setResultAttrs(k, both.getResultAttrDict(numResults + k));
    return backward;
  }

  /// Residuals were added as arguments when they were met, behind the cotangents; they belong before them.
  void moveResiduals(size_t place, SmallVectorImpl<DictionaryAttr> &argAttrs) {
    size_t behind = body->getNumArguments() - residuals.size();
    for (size_t k = 0; k < residuals.size(); ++k) {
      Value old = body->getArgument(behind + 2 * k);
      Value argument = body->insertArgument(place + k, old.getType(), old.getLoc());
      body->getArgument(behind + 2 * k + 1).replaceAllUsesWith(argument);
      argAttrs.insert(argAttrs.begin() + place + k, residualAttr(k));
    }
    body->eraseArguments(behind + residuals.size(), residuals.size());
  }

  /// f's arguments -> f's results, the residuals.
  func::FuncOp makeForward() {
    OpBuilder atEnd(both.getContext());
    IRMapping copied;
    SmallVector<Type> types(both.getArgumentTypes().take_front(numArgs));
    SmallVector<Value> results(yield->operand_begin(), yield->operand_begin() + numResults);
    results.append(residuals);
    auto forward = func::FuncOp::create(atEnd, both.getLoc(), of + "_fwd",
                                        FunctionType::get(both.getContext(), types, ValueRange(results).getTypes()));
    Block *block = forward.addEntryBlock();
    atEnd.setInsertionPointToStart(block);
    for (unsigned k = 0; k < numArgs; ++k)
      copied.map(both.getArgument(k), block->getArgument(k));
    for (Operation &op : both.getBody().front().without_terminator())
      if (forwardOps.contains(&op))
        atEnd.clone(op, copied);
    for (Value &result : results)
      result = copied.lookup(result);
    func::ReturnOp::create(atEnd, yield->getLoc(), results);
    copyEntry(forward);
    for (unsigned k = 0; k < numArgs; ++k)
      forward.setArgAttrs(k, both.getArgAttrDict(k));
    for (unsigned k = 0; k < numResults; ++k)
      forward.setResultAttrs(k, both.getResultAttrDict(k));
    for (unsigned k = 0; k < residuals.size(); ++k)
      forward.setResultAttrs(numResults + k, residualAttr(k));
    forward->setAttr(attrs::vjp, pairAttr());
    return forward;
  }

  /// {of, forward, backward, wrt}, for the manifest. A gradient's path is that of its argument and "_adj".
  DictionaryAttr pairAttr() {
    Builder b(both.getContext());
    SmallVector<Attribute> wrt;
    for (unsigned k = numResults; k < both.getNumResults(); ++k)
      if (auto path = both.getResultAttrOfType<StringAttr>(k, attrs::path)) {
        StringRef name = path.getValue();
        name.consume_back("_adj");
        wrt.push_back(b.getStringAttr(name));
      }
    return b.getDictionaryAttr(
        {b.getNamedAttr("of", b.getStringAttr(of)), b.getNamedAttr("forward", b.getStringAttr(of + "_fwd")),
         b.getNamedAttr("backward", b.getStringAttr(of + "_bwd")), b.getNamedAttr("wrt", b.getArrayAttr(wrt))});
  }

  DictionaryAttr residualAttr(size_t k) {
    Builder b(both.getContext());
    return b.getDictionaryAttr(b.getNamedAttr(attrs::residual, b.getI64IntegerAttr(k)));
  }

  /// Both are entry points like the function that they come from.
  void copyEntry(func::FuncOp function) {
    for (NamedAttribute attr : both->getDiscardableAttrs())
      if (attr.getName() != attrs::exportVjp)
        function->setAttr(attr.getName(), attr.getValue());
  }

  func::FuncOp both;
  unsigned numArgs, numResults;
  std::string of;
  Operation *yield;
  DenseSet<int64_t> madeSets;
  DenseSet<Operation *> forwardOps;
  DenseMap<Value, bool> recomputed;
  SmallVector<Value> residuals;
  // The backward function while it is made.
  OpBuilder builder{both.getContext()};
  Block *body = nullptr;
  IRMapping map;
};

struct SplitVjpPass : gnnc::gnn::impl::SplitVjpBase<SplitVjpPass> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto marks = function->getAttrOfType<DictionaryAttr>(attrs::exportVjp);
      if (marks && failed(Splitter(function, marks).run()))
        signalPassFailure();
    }
  }
};

} // namespace
