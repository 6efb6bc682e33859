// Canonicalisation across ops: broadcasts move towards results, and values that are visibly equal become one.
//
// Like the folders, every rule is exact to the bit: a sum over a broadcast is not turned into a product, since that
// rounds differently and is wrong for infinities and size 0.
#include "Splat.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace {
/// op(broadcast(a), broadcast(b)) is broadcast(op(a, b)): the work is done on fewer elements. The operand with the most
/// dimensions sets the size; the dimensions of the others have to be among its own.
struct BroadcastAfterElementwise : RewritePattern {
  explicit BroadcastAfterElementwise(MLIRContext *ctx) : RewritePattern(MatchAnyOpTypeTag(), 1, ctx) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 || op->getNumOperands() == 0)
      return failure();
    SmallVector<BroadcastOp> operands;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      if (!broadcast)
        return failure();
      operands.push_back(broadcast);
    }
    BroadcastOp widest = *llvm::max_element(
        operands, [](BroadcastOp a, BroadcastOp b) { return a.getDims().size() < b.getDims().size(); });
    ArrayRef<SizeAttr> sizes = dimsOf(widest.getSource());

    SmallVector<SmallVector<int64_t>> positions;
    for (BroadcastOp broadcast : operands) {
      SmallVector<int64_t> &dims = positions.emplace_back();
      for (auto [dim, size] : llvm::zip_equal(broadcast.getDims(), dimsOf(broadcast.getSource()))) {
        const int64_t *at = llvm::find(widest.getDims(), dim);
        if (at == widest.getDims().end())
          return failure();
        dims.push_back(at - widest.getDims().begin());
        if (size != sizes[dims.back()])
          return failure();
      }
    }

    SmallVector<Value> narrowed;
    for (auto [broadcast, dims] : llvm::zip_equal(operands, positions))
      narrowed.push_back(rewriter.createOrFold<BroadcastOp>(
          op->getLoc(), tensorType(sizes, elementOf(broadcast.getSource())), broadcast.getSource(), dims));
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(narrowed);
    state.addTypes(tensorType(sizes, elementOf(op->getResult(0))));
    state.addAttributes(op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *small = rewriter.create(state);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op->getResult(0).getType(), small->getResult(0), widest.getDims());
    return success();
  }
};

/// A shape op on a splat is that splat in another shape.
template <typename OpTy> struct ShapeOfSplat : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Value scalar = splatScalar(op.getSource());
    if (!scalar || scalar == op.getSource())
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), scalar, ArrayRef<int64_t>{});
    return success();
  }
};

/// A product with ones, a difference from zeros and the like, where these are broadcast: arith sees only its constants.
template <typename OpTy> struct NeutralRight : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    auto isNeutral = [](Value value) {
      std::optional<APFloat> number = splatFloat(value);
      if (!number)
        return false;
      if constexpr (std::is_same_v<OpTy, arith::MulFOp> || std::is_same_v<OpTy, arith::DivFOp>)
        return number->isExactlyValue(1.0);
      // x + -0 is x, but -0 + 0 is 0; for a difference it is the other way round.
      return number->isZero() && number->isNegative() == std::is_same_v<OpTy, arith::AddFOp>;
    };
    constexpr bool commutes = std::is_same_v<OpTy, arith::MulFOp> || std::is_same_v<OpTy, arith::AddFOp>;
    if (isNeutral(op.getRhs()))
      rewriter.replaceOp(op, op.getLhs());
    else if (commutes && isNeutral(op.getLhs()))
      rewriter.replaceOp(op, op.getRhs());
    else
      return failure();
    return success();
  }
};

/// A slice that is one of the pieces of a concat is that piece, so what `concat` makes and `split` undoes is gone.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getSource().getDefiningOp<ConcatOp>();
    if (!concat || op.getStep() != 1 || concat.getDim() != op.getDim())
      return failure();
    SizeAttr at = SizeAttr::constant(op.getContext(), 0);
    for (Value piece : concat.getSources()) {
      if (at == op.getFrom() && piece.getType() == op.getType()) {
        rewriter.replaceOp(op, piece);
        return success();
      }
      at = at.add(dimsOf(piece)[op.getDim()]);
    }
    return failure();
  }
};

/// Neighbouring slices that make up their whole source, joined again, are the source.
struct ConcatOfSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    Value source;
    SizeAttr at = SizeAttr::constant(op.getContext(), 0);
    for (Value piece : op.getSources()) {
      auto slice = piece.getDefiningOp<SliceOp>();
      if (!slice || slice.getDim() != op.getDim() || slice.getStep() != 1 || slice.getFrom() != at ||
          (source && slice.getSource() != source))
        return failure();
      source = slice.getSource();
      at = at.add(dimsOf(piece)[op.getDim()]);
    }
    if (source.getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, source);
    return success();
  }
};

/// What is gathered from a splat is that splat, if no index is none or the fill is the same scalar.
struct GatherOfSplat : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    Value scalar = splatScalar(op.getSource());
    if (!scalar)
      return failure();
    std::optional<APFloat> number = splatFloat(scalar);
    bool noneGivesTheSame = op.getFill() ? op.getFill() == scalar : number && number->isPosZero();
    bool neverNone = llvm::all_of(
        op.getIndices(), [](Value index) { return isa_and_nonnull<EndpointOp, IotaOp>(index.getDefiningOp()); });
    if (!noneGivesTheSame && !neverNone)
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), scalar, ArrayRef<int64_t>{});
    return success();
  }
};

/// An entry that is written twice in a row was written once.
struct UpdateOfUpdate : OpRewritePattern<UpdateIndexOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UpdateIndexOp op, PatternRewriter &rewriter) const override {
    auto earlier = op.getTarget().getDefiningOp<UpdateIndexOp>();
    if (!earlier || earlier.getDim() != op.getDim() || earlier.getPosition() != op.getPosition())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getTargetMutable().assign(earlier.getTarget()); });
    return success();
  }
};
} // namespace

void UpdateIndexOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *ctx) {
  patterns.add<UpdateOfUpdate>(ctx);
}

void GnnDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<BroadcastAfterElementwise, ShapeOfSplat<ReshapeOp>, ShapeOfSplat<TransposeOp>, ShapeOfSplat<SliceOp>,
               ShapeOfSplat<SelectIndexOp>, NeutralRight<arith::MulFOp>, NeutralRight<arith::DivFOp>,
               NeutralRight<arith::SubFOp>, NeutralRight<arith::AddFOp>, SliceOfConcat, ConcatOfSlices, GatherOfSplat>(
      getContext());
}
