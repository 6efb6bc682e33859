// Reverse mode: expands gnn.vjp and gnn.back into plain ops.
//
// A vjp's body is inlined where it stands, which leaves a tape: the ops of the forward sweep in order. Each back walks
// the tape in reverse and asks each op on the active path for its adjoint. Nothing is known of single ops here.
#include "gnnc/Dialect/Grouping.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

/// The values an op depends on, those that its regions use from outside included.
SmallVector<Value> inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  inputs.append(captured.begin(), captured.end());
  return inputs;
}

/// How an op is called in messages: without its dialect, as users write most of them.
StringRef nameOf(Operation *op) { return op->getName().stripDialect(); }

/// A constant 0, broadcast or not.
bool isZero(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getSource();
  return matchPattern(value, m_AnyZeroFloat());
}

/// Structure and constants: what is always at hand and need not be marked as kept.
bool isStructural(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return isa<GnnGraphType>(value.getType());
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<SizeOp>(op))
    return true;
  auto isSmall = [](Type type) { return !isa<RankedTensorType>(type) || cast<RankedTensorType>(type).getRank() == 0; };
  if (op->hasTrait<Structural>() && llvm::all_of(op->getOperandTypes(), isSmall))
    return true;
  auto broadcast = dyn_cast<BroadcastOp>(op);
  return broadcast && isStructural(broadcast.getSource());
}

/// Turning an active value into a whole number, which rule 18 of the language wants to be marked.
bool isRounding(Operation *op) {
  return isa<arith::FPToSIOp, arith::FPToUIOp, math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
             math::TruncOp>(op);
}

/// The forward sweep of a vjp after its body was inlined.
struct Tape {
  SmallVector<Operation *> ops;
  /// Stand-ins for the operands of the vjp: an operand that the body also captures is constant there.
  SmallVector<Value> wrt;
  SmallVector<Value> results;
  DenseSet<Value> active;

  bool isActive(Operation *op) const {
    return llvm::any_of(inputsOf(op), [&](Value v) { return active.contains(v); });
  }
};

/// Markers of kept values: one for each value, right after it.
class Markers {
public:
  Value get(Value value, Operation *reader) {
    if (isStructural(value) || value.getDefiningOp<SavedOp>())
      return note(value, reader);
    Value &marker = markers[value];
    if (!marker) {
      // One that an inner derivative made will do.
      for (Operation *user : value.getUsers())
        if (isa<SavedOp>(user) && user->getBlock() == value.getParentBlock())
          return note(marker = user->getResult(0), reader);
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      marker = SavedOp::create(builder, value.getLoc(), value);
    }
    return note(marker, reader);
  }

private:
  /// Writes down which op's derivative reads a marker, for the memory report.
  static Value note(Value marker, Operation *reader) {
    if (auto saved = marker.getDefiningOp<SavedOp>()) {
      SmallVector<Attribute> readers;
      if (auto known = saved->getAttrOfType<ArrayAttr>("readers"))
        readers.assign(known.begin(), known.end());
      auto name = StringAttr::get(reader->getContext(), nameOf(reader));
      if (!llvm::is_contained(readers, name)) {
        readers.push_back(name);
        saved->setAttr("readers", ArrayAttr::get(reader->getContext(), readers));
      }
    }
    return marker;
  }

  DenseMap<Value, Value> markers;
};

/// One reverse sweep over a tape, built in front of a back.
class Sweep final : public ReverseSweep {
public:
  Sweep(const Tape &tape, Markers &markers, BackOp back) : tape(tape), markers(markers), back(back), ops(back) {}

  /// Replaces the back by gradients. Ops that have no derivative are added to `refused`, with an error each.
  LogicalResult run(DenseSet<Operation *> &refused) {
    seed();
    bool ok = true;
    for (Operation *op : llvm::reverse(tape.ops)) {
      bool reached = llvm::any_of(op->getResults(), [&](Value r) { return adjoints.contains(r); });
      if (reached && tape.isActive(op))
        ok &= succeeded(visit(op, refused));
    }
    SmallVector<Value> gradients;
    for (auto [x, gradient] : llvm::zip_equal(tape.wrt, back.getGradients())) {
      Value x_adj = adjoints.lookup(x);
      gradients.push_back(x_adj ? x_adj : splat(ops, back.getLoc(), cast<RankedTensorType>(gradient.getType()), 0.0));
    }
    back.replaceAllUsesWith(gradients);
    back.erase();
    return success(ok);
  }

  Value adjointOf(Value result) override { return adjoints.lookup(result); }
  bool isActive(Value value) const override { return tape.active.contains(value); }
  Value saved(Value value) override { return markers.get(value, current); }

  void add(Value operand, Value contribution) override {
    if (!isActive(operand))
      return;
    Value &x_adj = adjoints[operand];
    if (!x_adj) {
      x_adj = contribution;
      return;
    }
    Value sum = arith::AddFOp::create(ops, loc(), x_adj, contribution);
    if (isSelected(x_adj) || isSelected(contribution))
      markSelected(sum);
    x_adj = sum;
  }

  Value times(Value adjoint, Value partial) override {
    if (!isSelected(adjoint))
      return arith::MulFOp::create(ops, loc(), adjoint, partial);
    Value product = PmulOp::create(ops, loc(), adjoint, partial);
    markSelected(product);
    return product;
  }
  void markSelected(Value adjoint) override { selected.insert(adjoint); }
  bool isSelected(Value adjoint) const override { return selected.contains(adjoint); }

  OpBuilder &builder() override { return ops; }
  Location loc() const override { return current ? current->getLoc() : back->getLoc(); }

private:
  void seed() {
    auto cotangents = back.getCotangents().begin();
    for (Value y : tape.results) {
      if (!isFloat(y))
        continue;
      Value y_adj = *cotangents++;
      // A cotangent that is known to be 0 reaches nothing, and asks nothing for a derivative.
      if (!isZero(y_adj))
        add(y, y_adj);
    }
  }

  LogicalResult visit(Operation *op, DenseSet<Operation *> &refused) {
    current = op;
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    if (rule)
      return rule.buildAdjoint(*this);
    bool isFirst = refused.insert(op).second;
    if (auto call = dyn_cast<ExternCallOp>(op); call && isFirst)
      op->emitError() << "'" << call.getSymbol()
                      << "' is extern and has no derivative; give it a rule with custom_vjp, or mark it nondiff(...)";
    else if (isFirst)
      op->emitError() << nameOf(op) << " has no derivative; mark it nondiff(...) if that is meant";
    return failure();
  }

  const Tape &tape;
  Markers &markers;
  BackOp back;
  OpBuilder ops;
  Operation *current = nullptr;
  DenseMap<Value, Value> adjoints;
  DenseSet<Value> selected;
};

/// Moves the body of a vjp to where it stands and erases the vjp, except for its tape's users, which are returned.
Tape inlineBody(VjpOp vjp, SmallVectorImpl<BackOp> &backs) {
  Tape tape;
  Block &body = vjp.getBody().front();
  OpBuilder builder(vjp);
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), vjp.getWrt())) {
    auto standIn = UnrealizedConversionCastOp::create(builder, vjp.getLoc(), operand.getType(), operand);
    argument.replaceAllUsesWith(standIn.getResult(0));
    tape.wrt.push_back(standIn.getResult(0));
  }
  Operation *yield = body.getTerminator();
  tape.results.assign(yield->operand_begin(), yield->operand_end());
  yield->erase();
  for (Operation &op : body)
    tape.ops.push_back(&op);
  vjp->getBlock()->getOperations().splice(vjp->getIterator(), body.getOperations());
  for (auto [result, value] : llvm::zip_equal(vjp.getValues(), tape.results))
    result.replaceAllUsesWith(value);
  for (Operation *user : vjp.getTape().getUsers())
    backs.push_back(cast<BackOp>(user));
  // Users are listed last first.
  std::reverse(backs.begin(), backs.end());
  return tape;
}

/// What depends on the operands by floating-point data flow. Fails where an active value is turned into a whole number.
LogicalResult findActive(Tape &tape, DenseSet<Operation *> &refused) {
  tape.active.insert(tape.wrt.begin(), tape.wrt.end());
  bool ok = true;
  for (Operation *op : tape.ops) {
    if (isa<NondiffOp>(op) || !tape.isActive(op))
      continue;
    bool isUsed =
        llvm::any_of(op->getResults(), [&](Value r) { return !r.use_empty() || llvm::is_contained(tape.results, r); });
    if (isRounding(op) && isUsed) {
      op->emitError() << (isa<arith::FPToSIOp, arith::FPToUIOp>(op) ? "turning a value into an integer" : "rounding")
                      << " loses its derivative; write nondiff(...) around the value if that is meant";
      refused.insert(op);
      ok = false;
    }
    for (Value result : op->getResults())
      if (isFloat(result))
        tape.active.insert(result);
  }
  return success(ok);
}

struct DifferentiatePass : gnnc::gnn::impl::DifferentiateBase<DifferentiatePass> {
  void runOnOperation() override {
    // Innermost first; of those side by side the first one, since a later body may hold backs of an earlier tape.
    auto next = [&]() {
      VjpOp found;
      getOperation()->walk([&](VjpOp vjp) {
        found = vjp;
        return WalkResult::interrupt();
      });
      return found;
    };
    bool ok = true;
    for (VjpOp vjp = next(); vjp;) {
      ok &= succeeded(expand(vjp));
      vjp = next();
      // A derivative is simplified before the next one goes over it.
      OpPassManager simplify(func::FuncOp::getOperationName());
      simplify.addPass(createCanonicalizerPass());
      simplify.addPass(createCSEPass());
      if (vjp && (!ok || failed(runPipeline(simplify, getOperation()))))
        return signalPassFailure();
      vjp = next();
    }
    if (!ok)
      return signalPassFailure();
    // What is left of rules is what they were put in place of.
    getOperation()->walk([](CustomRuleOp op) {
      Block &body = op.getBody().front();
      for (auto [argument, input] : llvm::zip_equal(body.getArguments(), op.getInputs()))
        argument.replaceAllUsesWith(input);
      Operation *yield = body.getTerminator();
      SmallVector<Value> results(yield->operand_begin(), yield->operand_end());
      yield->erase();
      op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
      op.replaceAllUsesWith(results);
      op.erase();
    });
  }

  LogicalResult expand(VjpOp vjp) {
    SmallVector<BackOp> backs;
    Tape tape = inlineBody(vjp, backs);
    Markers markers;
    DenseSet<Operation *> refused;
    bool ok = backs.empty() || succeeded(findActive(tape, refused));
    for (BackOp back : backs)
      ok &= succeeded(Sweep(tape, markers, back).run(refused));
    vjp.erase();
    for (Value standIn : tape.wrt) {
      Operation *cast = standIn.getDefiningOp();
      standIn.replaceAllUsesWith(cast->getOperand(0));
      cast->erase();
    }
    return success(ok);
  }
};

} // namespace
