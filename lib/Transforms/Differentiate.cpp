// Reverse mode: expands gnn.vjp and gnn.back into plain ops.
//
// A vjp's body is inlined where it stands, which leaves a tape: the ops of the forward sweep in order. Each back walks
// the tape in reverse and asks each op on the active path for its adjoint. Nothing is known of single ops here but
// branches and loops, which ReverseControlFlow.cpp reverses.
#include "Reverse.h"
#include "gnnc/Dialect/Memory.h"
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

bool gnnc::gnn::isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

SmallVector<Value> gnnc::gnn::inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  inputs.append(captured.begin(), captured.end());
  return inputs;
}

namespace {

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

} // namespace

Value Markers::get(Value value, Operation *reader) {
  // Writes down which op's derivative reads a marker, for the memory report.
  auto note = [&](Value marker) {
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
  };
  if (isStructural(value) || value.getDefiningOp<SavedOp>())
    return note(value);
  Value &marker = markers[value];
  if (!marker) {
    // One that an inner derivative made will do.
    for (Operation *user : value.getUsers())
      if (isa<SavedOp>(user) && user->getBlock() == value.getParentBlock())
        return note(marker = user->getResult(0));
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    marker = SavedOp::create(builder, value.getLoc(), value);
  }
  return note(marker);
}

//===----------------------------------------------------------------------===//
// The sweep
//===----------------------------------------------------------------------===//

LogicalResult Sweep::run(DenseSet<Location> &refusedOps) {
  refused = &refusedOps;
  seed();
  bool ok = succeeded(reverse(tape.ops));
  SmallVector<Value> gradients;
  for (auto [x, gradient] : llvm::zip_equal(tape.wrt, back.getGradients())) {
    Value x_adj = adjoints.lookup(x);
    gradients.push_back(x_adj ? x_adj : splat(ops, back.getLoc(), cast<RankedTensorType>(gradient.getType()), 0.0));
  }
  back.replaceAllUsesWith(gradients);
  back.erase();
  return success(ok);
}

void Sweep::add(Value operand, Value contribution) {
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

void Sweep::accumulate(Value operand, llvm::function_ref<Value(Value)> f) {
  if (!isActive(operand))
    return;
  Value old = adjoints.lookup(operand), sum = f(old);
  if (old && isSelected(old))
    markSelected(sum);
  adjoints[operand] = sum;
}

Value Sweep::times(Value adjoint, Value partial) {
  if (!isSelected(adjoint))
    return arith::MulFOp::create(ops, loc(), adjoint, partial);
  Value product = PmulOp::create(ops, loc(), adjoint, partial);
  markSelected(product);
  return product;
}

void Sweep::seed() {
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

LogicalResult Sweep::reverse(ArrayRef<Operation *> forward) {
  bool ok = true;
  for (Operation *op : llvm::reverse(forward)) {
    bool reached = llvm::any_of(op->getResults(), [&](Value r) { return adjoints.contains(r); });
    if (reached && tape.isActive(op))
      ok &= succeeded(visit(op));
  }
  return success(ok);
}

LogicalResult Sweep::visit(Operation *op) {
  current = op;
  if (auto branch = dyn_cast<IfOp>(op))
    return visitIf(branch);
  if (auto loop = dyn_cast<ForOp>(op))
    return visitFor(loop);
  if (auto rule = dyn_cast<DifferentiableOpInterface>(op))
    return rule.buildAdjoint(*this);
  bool isFirst = refused->insert(op->getLoc()).second;
  if (auto call = dyn_cast<ExternCallOp>(op); call && isFirst)
    op->emitError() << "'" << call.getSymbol()
                    << "' is extern and has no derivative; give it a rule with custom_vjp, or mark it nondiff(...)";
  else if (isFirst)
    op->emitError() << nameOf(op) << " has no derivative; mark it nondiff(...) if that is meant";
  return failure();
}

//===----------------------------------------------------------------------===//
// Tapes
//===----------------------------------------------------------------------===//

void Tape::activate(Block::iterator begin, Block::iterator end) {
  for (Operation &op : llvm::make_range(begin, end))
    activate(&op);
}

void Tape::activate(Operation *op) {
  if (isa<NondiffOp>(op) || !isActive(op))
    return;
  auto mark = [&](Value to, Value from) { return active.contains(from) && isFloat(to) && active.insert(to).second; };
  if (auto branch = dyn_cast<IfOp>(op)) {
    for (Block *block : {&branch.thenBlock(), &branch.elseBlock()}) {
      activate(block->begin(), block->end());
      for (auto [result, value] : llvm::zip(op->getResults(), block->getTerminator()->getOperands()))
        mark(result, value);
    }
    return;
  }
  SmallVector<Carried> carried = carriedBy(op);
  if (isa<ForOp, WhileOp>(op)) {
    for (const Carried &c : carried)
      mark(c.argument, c.init->get());
    for (bool changed = true; changed;) {
      changed = false;
      Block &body = op->getRegions().back().front();
      activate(body.begin(), body.end());
      for (const Carried &c : carried)
        changed |= mark(c.argument, c.next->get());
    }
    for (const Carried &c : carried)
      mark(c.result, c.argument);
    return;
  }
  for (Value result : op->getResults())
    if (isFloat(result))
      active.insert(result);
}

namespace {

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

/// Finds what depends on the operands. Fails where an active value is turned into a whole number.
LogicalResult findActive(Tape &tape, DenseSet<Location> &refused) {
  tape.active.insert(tape.wrt.begin(), tape.wrt.end());
  bool ok = true;
  for (Operation *outer : tape.ops) {
    tape.activate(outer);
    outer->walk([&](Operation *op) {
      if (!isRounding(op) || !tape.isActive(op))
        return;
      bool isUsed = llvm::any_of(op->getResults(),
                                 [&](Value r) { return !r.use_empty() || llvm::is_contained(tape.results, r); });
      if (!isUsed)
        return;
      op->emitError() << (isa<arith::FPToSIOp, arith::FPToUIOp>(op) ? "turning a value into an integer" : "rounding")
                      << " loses its derivative; write nondiff(...) around the value if that is meant";
      refused.insert(op->getLoc());
      ok = false;
    });
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
    DenseSet<Location> refused;
    bool ok = backs.empty() || succeeded(findActive(tape, refused));
    if (!backs.empty())
      prepareLoops(tape, tape.ops);
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
