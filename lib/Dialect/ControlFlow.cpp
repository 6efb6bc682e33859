// Branches and loops: verifiers, and the removal of what they carry or yield for nothing.
//
// Bodies see values from outside; what a loop changes it carries. None of the rules unrolls a loop or turns a branch
// into a selection, which would compute both of its sides.
#include "Checks.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// `have` are the types `want` in order, or an error says which differs.
static LogicalResult areTypes(Operation *op, StringRef what, TypeRange have, TypeRange want) {
  if (have.size() != want.size())
    return op->emitOpError() << "needs " << counted(want.size(), what) << ", but has " << have.size();
  for (auto [i, type, expected] : llvm::enumerate(have, want))
    if (type != expected)
      return op->emitOpError() << what << " #" << i << " is " << type << ", but should be " << expected;
  return success();
}

/// What a loop carries has one type all the way, and is no tape, which is of one place in the program.
static LogicalResult verifyCarried(Operation *op, TypeRange carried, ValueRange inits, Block &body) {
  if (failed(areTypes(op, "carried argument", carried, inits.getTypes())) ||
      failed(areTypes(op, "result", op->getResultTypes(), inits.getTypes())) ||
      failed(areTypes(op, "yielded value", body.getTerminator()->getOperandTypes(), inits.getTypes())))
    return failure();
  for (Type type : inits.getTypes())
    if (!isa<RankedTensorType>(type))
      return op->emitOpError() << "carries tensors only, not " << type;
  return success();
}

LogicalResult IfOp::verify() {
  for (Block *block : {&thenBlock(), &elseBlock()})
    if (failed(areTypes(*this, "yielded value", block->getTerminator()->getOperandTypes(), getResultTypes())))
      return failure();
  return success();
}

LogicalResult ForOp::verify() {
  if (getLower().getType() != getUpper().getType())
    return emitOpError() << "counts from " << getLower().getType() << " to " << getUpper().getType()
                         << ": both bounds have one type";
  TypeRange arguments = block().getArgumentTypes();
  if (arguments.empty() || arguments.front() != getLower().getType())
    return emitOpError() << "the body's first argument is the number at hand, of type " << getLower().getType();
  return verifyCarried(*this, arguments.drop_front(), getInits(), block());
}

LogicalResult WhileOp::verify() {
  Operation *condition = conditionBlock().getTerminator();
  if (condition->getNumOperands() != 1 || !isa<RankedTensorType>(condition->getOperand(0).getType()) ||
      cast<RankedTensorType>(condition->getOperand(0).getType()).getRank() != 0 ||
      !elementOf(condition->getOperand(0)).isSignlessInteger(1))
    return emitOpError() << "the first region yields one condition";
  if (failed(areTypes(*this, "argument of the condition", conditionBlock().getArgumentTypes(), getInits().getTypes())))
    return failure();
  return verifyCarried(*this, block().getArgumentTypes(), getInits(), block());
}

LogicalResult DefineSizeOp::verify() {
  if (!getSize().getSet())
    return emitOpError() << "defines a set, not " << getSize().str();
  if (getResult().getType() != getNumber().getType())
    return emitOpError() << "gives its number on: the result is " << getNumber().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

/// The loop without the carried values of `drop`, whose results and arguments nobody uses any more.
static void dropCarried(RewriterBase &rewriter, Operation *loop, const llvm::BitVector &drop) {
  unsigned first = isa<ForOp>(loop) ? 2 : 0;
  SmallVector<Value> operands(loop->getOperands().take_front(first));
  SmallVector<Type> types;
  for (auto [k, type] : llvm::enumerate(loop->getResultTypes()))
    if (!drop.test(k)) {
      operands.push_back(loop->getOperand(first + k));
      types.push_back(type);
    }
  OperationState state(loop->getLoc(), loop->getName(), operands, types);
  state.propertiesAttr = loop->getPropertiesAsAttribute();
  state.addAttributes(loop->getDiscardableAttrDictionary().getValue());
  for (Region &region : loop->getRegions())
    state.addRegion()->takeBody(region);
  Operation *smaller = rewriter.create(state);
  for (auto [r, region] : llvm::enumerate(smaller->getRegions())) {
    Block &block = region.front();
    llvm::BitVector arguments(block.getNumArguments());
    for (unsigned k : drop.set_bits())
      arguments.set(k + (isa<ForOp>(loop) ? 1 : 0));
    rewriter.modifyOpInPlace(smaller, [&] { block.eraseArguments(arguments); });
    if (r + 1 == smaller->getNumRegions())
      rewriter.modifyOpInPlace(block.getTerminator(), [&] { block.getTerminator()->eraseOperands(drop); });
  }
  unsigned next = 0;
  for (unsigned k = 0; k < drop.size(); ++k)
    if (!drop.test(k))
      rewriter.replaceAllUsesWith(loop->getResult(k), smaller->getResult(next++));
  rewriter.eraseOp(loop);
}

static ArrayRef<BlockArgument> carriedOf(ForOp loop) { return loop.carried(); }
static ArrayRef<BlockArgument> carriedOf(WhileOp loop) { return loop.carried(); }

namespace {
/// What every iteration hands on as it was is not carried.
template <typename Loop> struct DropUnchanged : OpRewritePattern<Loop> {
  using OpRewritePattern<Loop>::OpRewritePattern;
  LogicalResult matchAndRewrite(Loop loop, PatternRewriter &rewriter) const override {
    Operation *yield = loop.block().getTerminator();
    llvm::BitVector drop(loop.getNumResults());
    for (auto [k, argument] : llvm::enumerate(carriedOf(loop))) {
      Value next = yield->getOperand(k), init = loop.getInits()[k];
      if (next != argument && next != init)
        continue;
      drop.set(k);
      rewriter.replaceAllUsesWith(argument, init);
      if constexpr (std::is_same_v<Loop, WhileOp>)
        rewriter.replaceAllUsesWith(loop.conditionBlock().getArgument(k), init);
      rewriter.replaceAllUsesWith(loop.getResult(k), init);
    }
    if (drop.none())
      return failure();
    dropCarried(rewriter, loop, drop);
    return success();
  }
};

/// What is carried only to compute itself is not carried.
template <typename Loop> struct DropUnused : OpRewritePattern<Loop> {
  using OpRewritePattern<Loop>::OpRewritePattern;
  LogicalResult matchAndRewrite(Loop loop, PatternRewriter &rewriter) const override {
    Operation *yield = loop.block().getTerminator();
    llvm::BitVector live(loop.getNumResults());
    SmallVector<Value> work;
    auto keep = [&](unsigned k) {
      if (live.test(k))
        return;
      live.set(k);
      work.push_back(yield->getOperand(k));
    };
    for (auto [k, result] : llvm::enumerate(loop.getResults()))
      if (!result.use_empty())
        keep(k);
    auto keepInputs = [&](Operation *op) {
      llvm::append_range(work, op->getOperands());
      SetVector<Value> captured;
      getUsedValuesDefinedAbove(op->getRegions(), captured);
      llvm::append_range(work, captured);
    };
    for (Region &region : loop->getRegions()) {
      for (Operation &op : region.front().without_terminator())
        if (!wouldOpBeTriviallyDead(&op))
          keepInputs(&op);
      if (&region != &loop.getBody())
        llvm::append_range(work, region.front().getTerminator()->getOperands());
    }
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner()->getParentOp() != loop.getOperation())
          continue;
        int k = int(argument.getArgNumber()) - (isa<ForOp>(loop.getOperation()) ? 1 : 0);
        if (k >= 0)
          keep(k);
      } else if (loop->isProperAncestor(value.getDefiningOp())) {
        keepInputs(value.getDefiningOp());
      }
    }
    if (live.all())
      return failure();
    llvm::BitVector drop = live;
    drop.flip();
    // What still mentions them is dead.
    for (unsigned k : drop.set_bits()) {
      rewriter.replaceAllUsesWith(carriedOf(loop)[k], loop.getInits()[k]);
      if constexpr (std::is_same_v<Loop, WhileOp>)
        rewriter.replaceAllUsesWith(loop.conditionBlock().getArgument(k), loop.getInits()[k]);
    }
    dropCarried(rewriter, loop, drop);
    return success();
  }
};

/// A loop that visibly never runs is not there.
struct DropEmptyLoop : OpRewritePattern<ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ForOp loop, PatternRewriter &rewriter) const override {
    DenseIntElementsAttr lower, upper;
    if (!matchPattern(loop.getLower(), m_Constant(&lower)) || !matchPattern(loop.getUpper(), m_Constant(&upper)) ||
        lower.getSplatValue<APInt>().slt(upper.getSplatValue<APInt>()))
      return failure();
    rewriter.replaceOp(loop, loop.getInits());
    return success();
  }
};

/// A branch whose condition is known.
struct KnownBranch : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    DenseIntElementsAttr condition;
    if (!matchPattern(op.getCondition(), m_Constant(&condition)))
      return failure();
    Block &block = condition.getSplatValue<APInt>().isZero() ? op.elseBlock() : op.thenBlock();
    Operation *yield = block.getTerminator();
    SmallVector<Value> values(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&block, op);
    rewriter.replaceOp(op, values);
    return success();
  }
};

/// Results that nobody reads, or that are one value from outside whatever the condition.
struct DropBranchResults : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    Operation *onTrue = op.thenBlock().getTerminator(), *onFalse = op.elseBlock().getTerminator();
    llvm::BitVector drop(op.getNumResults());
    SmallVector<Type> types;
    for (auto [k, result] : llvm::enumerate(op.getResults())) {
      if (onTrue->getOperand(k) == onFalse->getOperand(k))
        rewriter.replaceAllUsesWith(result, onTrue->getOperand(k));
      if (result.use_empty())
        drop.set(k);
      else
        types.push_back(result.getType());
    }
    if (drop.none())
      return failure();
    for (Operation *yield : {onTrue, onFalse})
      rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(drop); });
    auto smaller = IfOp::create(rewriter, op.getLoc(), types, op.getCondition());
    smaller.getThenRegion().takeBody(op.getThenRegion());
    smaller.getElseRegion().takeBody(op.getElseRegion());
    unsigned next = 0;
    for (auto [k, result] : llvm::enumerate(op.getResults()))
      if (!drop.test(k))
        rewriter.replaceAllUsesWith(result, smaller.getResult(next++));
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void ForOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<DropUnchanged<ForOp>, DropUnused<ForOp>, DropEmptyLoop>(ctx);
}

void WhileOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<DropUnchanged<WhileOp>, DropUnused<WhileOp>>(ctx);
}

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<KnownBranch, DropBranchResults>(ctx);
}
