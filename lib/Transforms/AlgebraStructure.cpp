// Folds what a graph's structure alone says: degrees, equal derived graphs, and draws whose outcome is known.
#include "Algebra.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_ALGEBRASTRUCTURE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

/// The scalar constant that a value repeats.
static Attribute knownElement(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getSource();
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return {};
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  return dense && dense.isSplat() ? dense.getSplatValue<Attribute>() : Attribute();
}

std::optional<double> gnnc::gnn::knownNumber(Value value) {
  auto number = dyn_cast_or_null<FloatAttr>(knownElement(value));
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

Value gnnc::gnn::degreeOf(OpBuilder &builder, Location loc, EndpointOp end) {
  auto graph = cast<GnnGraphType>(end.getGraph().getType());
  SizeAttr nodes = end.getEnd() == Direction::Src ? graph.getSrc() : graph.getDst();
  return DegreeOp::create(builder, loc, tensorType(nodes, builder.getI32Type()), end.getEnd(), end.getGraph());
}

namespace {

/// Σ over the edges of a node of a constant is the constant times the degree. An infinite one would make isolated nodes
/// NaN.
struct SumOfConstant : OpRewritePattern<SegmentReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SegmentReduceOp op, PatternRewriter &rewriter) const override {
    SegmentReduceOp sum = edgeSum(op.getResult());
    std::optional<double> number = sum ? knownNumber(sum.getSource()) : std::nullopt;
    if (!number || !std::isfinite(*number))
      return failure();
    Location loc = sum.getLoc();
    Value degree = degreeOf(rewriter, loc, sum.getIndices()[0].getDefiningOp<EndpointOp>());
    RankedTensorType type = tensorType(dimsOf(degree), elementOf(sum.getResult()));
    Value count = arith::SIToFPOp::create(rewriter, loc, type, degree);
    if (*number != 1)
      count = arith::MulFOp::create(rewriter, loc, count, splat(rewriter, loc, type, *number));
    rewriter.replaceOp(
        sum, broadcastTo(rewriter, loc, cast<RankedTensorType>(sum.getResult().getType()), count, sum.getDims()));
    return success();
  }
};

/// Draws are in [0, 1): what compares one with a number outside is known.
struct ComparedDraw : OpRewritePattern<arith::CmpFOp> {
  using OpRewritePattern::OpRewritePattern;

  static std::optional<bool> outcome(arith::CmpFPredicate predicate, double bound) {
    using P = arith::CmpFPredicate;
    bool below = bound < 0, atMost = bound <= 0, above = bound >= 1;
    switch (predicate) {
    case P::OGE:
    case P::UGE:
      return atMost ? std::optional(true) : above ? std::optional(false) : std::nullopt;
    case P::OGT:
    case P::UGT:
      return below ? std::optional(true) : above ? std::optional(false) : std::nullopt;
    case P::OLT:
    case P::ULT:
      return above ? std::optional(true) : atMost ? std::optional(false) : std::nullopt;
    case P::OLE:
    case P::ULE:
      return above ? std::optional(true) : below ? std::optional(false) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

  static arith::CmpFPredicate swapped(arith::CmpFPredicate predicate) {
    using P = arith::CmpFPredicate;
    switch (predicate) {
    case P::OGE:
      return P::OLE;
    case P::UGE:
      return P::ULE;
    case P::OGT:
      return P::OLT;
    case P::UGT:
      return P::ULT;
    case P::OLT:
      return P::OGT;
    case P::ULT:
      return P::UGT;
    case P::OLE:
      return P::OGE;
    case P::ULE:
      return P::UGE;
    default:
      return predicate;
    }
  }

  LogicalResult matchAndRewrite(arith::CmpFOp op, PatternRewriter &rewriter) const override {
    std::optional<bool> known;
    if (op.getLhs().getDefiningOp<UniformOp>()) {
      if (std::optional<double> bound = knownNumber(op.getRhs()))
        known = outcome(op.getPredicate(), *bound);
    } else if (op.getRhs().getDefiningOp<UniformOp>()) {
      if (std::optional<double> bound = knownNumber(op.getLhs()))
        known = outcome(swapped(op.getPredicate()), *bound);
    }
    if (!known)
      return failure();
    rewriter.replaceOp(op, splat(rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()), *known));
    return success();
  }
};

/// A choice by a repeated constant is made.
struct KnownChoice : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    auto condition = dyn_cast_or_null<IntegerAttr>(knownElement(op.getCondition()));
    if (!condition)
      return failure();
    rewriter.replaceOp(op, condition.getValue().isZero() ? op.getFalseValue() : op.getTrueValue());
    return success();
  }
};

/// Whether a set occurs in a type of a function's arguments or results, whose names users know.
bool isVisible(func::FuncOp func, int64_t set) {
  bool found = false;
  AttrTypeWalker walker;
  walker.addWalk([&](SizeAttr size) { size.forEachSet([&](int64_t id) { found |= id == set; }); });
  walker.walk(func.getFunctionType());
  return found;
}

/// Makes one of two graphs that come from the same in the same way, and one index set of the two of their edges (and
/// nodes). CSE cannot: the types differ by these sets.
void mergeDerivedGraphs(func::FuncOp func) {
  DominanceInfo dominance(func);
  SmallVector<DeriveOp> known;
  func.walk([&](DeriveOp op) {
    for (DeriveOp earlier : known) {
      if (earlier.getHow() != op.getHow() || earlier->getOperands() != op->getOperands() ||
          !dominance.properlyDominates(earlier, op))
        continue;
      GnnGraphType kept = earlier.getResult().getType(), gone = op.getResult().getType();
      llvm::SmallDenseMap<int64_t, SizeAttr> merged;
      bool canMerge = true;
      for (auto [from, to] : {std::pair(gone.getEdges(), kept.getEdges()), std::pair(gone.getSrc(), kept.getSrc())}) {
        if (from == to)
          continue;
        std::optional<int64_t> set = from.getSet();
        canMerge &= set && !isVisible(func, *set);
        if (set)
          merged[*set] = to;
      }
      if (!canMerge)
        continue;
      AttrTypeReplacer replacer;
      replacer.addReplacement([&](SizeAttr size) {
        SizeAttr replaced = size.substitute([&](int64_t id) {
          auto it = merged.find(id);
          return it == merged.end() ? SizeAttr::set(size.getContext(), id) : it->second;
        });
        return std::make_pair(Attribute(replaced), WalkResult::skip());
      });
      replacer.recursivelyReplaceElementsIn(func, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
      op->replaceAllUsesWith(earlier);
      op->erase();
      return;
    }
    known.push_back(op);
  });
}

struct AlgebraStructurePass : gnnc::gnn::impl::AlgebraStructureBase<AlgebraStructurePass> {
  void runOnOperation() override {
    mergeDerivedGraphs(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<SumOfConstant, ComparedDraw, KnownChoice>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
