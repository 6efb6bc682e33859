// Takes factors that depend on the row alone out of sums over a row's entries.
//
// In a softmax that weighs a sum this is the division by the total, so that one pass over the edges makes both. All
// rewrites are exact but for rounding, and rows without entries stay exactly 0. Where a factor is infinite, terms that
// are 0 no longer make NaN of their row.
#include "Algebra.h"
#include "gnnc/Dialect/Elementwise.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_ALGEBRAROWS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

using Dims = SmallVector<int64_t>;

/// A factor of a product: a value whose dimensions stand at `dims` of the product.
struct Factor {
  Value value;
  Dims dims;
  bool isInverse = false;

  bool operator==(const Factor &other) const {
    return value == other.value && dims == other.dims && isInverse == other.isInverse;
  }
};

/// The factors of a value, read through broadcasts.
void factorsOf(Value value, const Dims &dims, bool isInverse, SmallVectorImpl<Factor> &factors) {
  if (auto product = value.getDefiningOp<arith::MulFOp>()) {
    factorsOf(product.getLhs(), dims, isInverse, factors);
    factorsOf(product.getRhs(), dims, isInverse, factors);
  } else if (auto quotient = value.getDefiningOp<arith::DivFOp>()) {
    factorsOf(quotient.getLhs(), dims, isInverse, factors);
    factorsOf(quotient.getRhs(), dims, !isInverse, factors);
  } else if (auto broadcast = value.getDefiningOp<BroadcastOp>(); broadcast && onlyAddsDims(broadcast)) {
    Dims inner;
    for (int64_t dim : broadcast.getDims())
      inner.push_back(dims[dim]);
    factorsOf(broadcast.getSource(), inner, isInverse, factors);
  } else if (std::optional<double> number = knownNumber(value); !number || *number != 1) {
    factors.push_back({value, dims, isInverse});
  }
}

SmallVector<Factor> factorsOf(Value value) {
  SmallVector<Factor> factors;
  factorsOf(value, llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(value.getType()).getRank())), false,
            factors);
  return factors;
}

/// `start` times factors whose dims are positions in its type; null starts with the first factor that is not inverse.
Value multiply(OpBuilder &builder, Location loc, RankedTensorType type, Value start, ArrayRef<Factor> factors) {
  for (bool inverse : {false, true})
    for (const Factor &factor : factors) {
      if (factor.isInverse != inverse)
        continue;
      Value value = broadcastTo(builder, loc, type, factor.value, factor.dims);
      if (inverse)
        start = arith::DivFOp::create(builder, loc, start ? start : splat(builder, loc, type, 1), value);
      else
        start = start ? arith::MulFOp::create(builder, loc, start, value).getResult() : value;
    }
  return start ? start : splat(builder, loc, type, 1);
}

/// What a value is in rows of a sum by `index` that have no entries, where that follows from how it is made.
std::optional<double> inEmptyRow(Value value, Value index, unsigned depth = 0) {
  if (depth > 16)
    return std::nullopt;
  if (std::optional<double> number = knownNumber(value))
    return number;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto reduce = dyn_cast<SegmentReduceOp>(op)) {
    if (reduce.getIndices().size() != 1 || reduce.getIndices()[0] != index || value != reduce.getResult())
      return std::nullopt;
    if (reduce.getEmpty())
      return knownNumber(reduce.getEmpty());
    return reduce.getKind() == ReduceKind::Prod ? 1 : 0;
  }
  if (auto degree = dyn_cast<DegreeOp>(op)) {
    auto end = index.getDefiningOp<EndpointOp>();
    return end && end.getGraph() == degree.getGraph() && end.getEnd() == degree.getEnd() ? std::optional(0.0)
                                                                                         : std::nullopt;
  }
  SmallVector<double> x;
  for (Value operand : op->getOperands()) {
    std::optional<double> number = inEmptyRow(operand, index, depth + 1);
    if (!number)
      return std::nullopt;
    x.push_back(*number);
  }
  return TypeSwitch<Operation *, std::optional<double>>(op)
      .Case<BroadcastOp, ReshapeOp, NondiffOp, SavedOp, arith::SIToFPOp>([&](auto) { return x[0]; })
      .Case<arith::NegFOp>([&](auto) { return -x[0]; })
      .Case<arith::AddFOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubFOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulFOp>([&](auto) { return x[0] * x[1]; })
      .Case<arith::DivFOp>([&](auto) { return x[0] / x[1]; })
      .Case<arith::MaximumFOp>([&](auto) { return std::max(x[0], x[1]); })
      .Case<math::SqrtOp>([&](auto) { return std::sqrt(x[0]); })
      .Case<math::RsqrtOp>([&](auto) { return 1 / std::sqrt(x[0]); })
      .Case<math::ExpOp>([&](auto) { return std::exp(x[0]); })
      .Case<math::LogOp>([&](auto) { return std::log(x[0]); })
      .Case<arith::SelectOp>([&](auto) { return x[0] != 0 ? x[1] : x[2]; })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) -> std::optional<double> {
        switch (cmp.getPredicate()) {
        case arith::CmpFPredicate::OEQ:
          return x[0] == x[1];
        case arith::CmpFPredicate::OGT:
          return x[0] > x[1];
        case arith::CmpFPredicate::OGE:
          return x[0] >= x[1];
        case arith::CmpFPredicate::OLT:
          return x[0] < x[1];
        case arith::CmpFPredicate::OLE:
          return x[0] <= x[1];
        default:
          return std::nullopt;
        }
      })
      .Default([](auto) { return std::nullopt; });
}

/// Whether a value is finite whatever the data: numbers made from counts, and the guarded root of a degree,
/// where(d > 0, rsqrt(d), 0), which is 0 for an infinite d and for NaN.
bool isFinite(Value value) {
  if (std::optional<double> number = knownNumber(value))
    return std::isfinite(*number);
  Operation *op = value.getDefiningOp();
  if (isa_and_present<BroadcastOp, ReshapeOp, NondiffOp, SavedOp>(op))
    return isFinite(op->getOperand(0));
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    auto root = select.getTrueValue().getDefiningOp<math::RsqrtOp>();
    auto above = select.getCondition().getDefiningOp<arith::CmpFOp>();
    bool isGuarded = root && above && above.getPredicate() == arith::CmpFPredicate::OGT &&
                     above.getLhs() == root.getOperand() && knownNumber(above.getRhs()).value_or(-1) >= 0;
    return (isGuarded || isFinite(select.getTrueValue())) && isFinite(select.getFalseValue());
  }
  return isa_and_present<arith::SIToFPOp>(op);
}

/// Whether only entries of a row read its value, so that nothing reads that of a row without entries.
bool onlyEntriesRead(Value rows, Value index, unsigned depth = 0) {
  return depth < 8 && llvm::all_of(
                          rows.getUsers(),
                          [&](Operation *user) {
                            if (auto gather = dyn_cast<GatherOp>(user))
                              return gather.getSource() == rows && gather.getIndices().size() == 1 &&
                                     gather.getIndices()[0] == index;
                            bool isRowwise = user->hasTrait<OpTrait::Elementwise>() || isa<BroadcastOp>(user);
                            return isRowwise && user->getNumResults() == 1 &&
                                   onlyEntriesRead(user->getResult(0), index, depth + 1);
                          });
}

/// A sum over the entries of rows, with the factors of its terms.
class RowSum {
public:
  static std::optional<RowSum> match(SegmentReduceOp op) {
    if (op.getKind() != ReduceKind::Sum || op.getEmpty() || op.getIndices().size() != 1 ||
        cast<RankedTensorType>(op.getIndices()[0].getType()).getRank() != 1)
      return std::nullopt;
    return RowSum(op);
  }

  int64_t at() { return op.getAt(); }
  Value index() { return op.getIndices()[0]; }
  RankedTensorType type() { return cast<RankedTensorType>(op.getResult().getType()); }

  /// Where a dimension of the terms stands in the result; the entries' dimension is that of rows.
  int64_t rowDim(int64_t dim) {
    int64_t target = op.getDims()[0];
    if (dim == at())
      return target;
    int64_t other = dim < at() ? dim : dim - 1;
    return other < target ? other : other + 1;
  }
  Dims rowDims(ArrayRef<int64_t> dims) {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return rowDim(dim); });
  }

  /// A factor that does not differ between the entries of a row, as a factor of rows.
  std::optional<Factor> ofRow(const Factor &factor) {
    auto done = [&](Value value) -> std::optional<Factor> {
      Dims dims = rowDims(factor.dims);
      return llvm::is_sorted(dims) ? std::optional(Factor{value, dims, factor.isInverse}) : std::nullopt;
    };
    if (!llvm::is_contained(factor.dims, at()))
      return done(factor.value);
    auto gather = factor.value.getDefiningOp<GatherOp>();
    if (gather && gather.getIndices().size() == 1 && gather.getIndices()[0] == index() &&
        factor.dims[gather.getDims()[0]] == at())
      return done(gather.getSource());
    return std::nullopt;
  }

  /// Whether a row without entries would not be 0 by itself.
  bool mayLeaveZero(const Factor &factor) {
    if (!factor.isInverse && isFinite(factor.value))
      return false;
    std::optional<double> number = inEmptyRow(factor.value, index());
    return !number || !std::isfinite(factor.isInverse ? 1 / *number : *number);
  }

  /// A value of rows, but 0 for those without entries.
  Value zeroWhereEmpty(OpBuilder &builder, Value value, EndpointOp end) {
    Expr degree(builder, op.getLoc(), degreeOf(builder, op.getLoc(), end));
    Value isEmpty = broadcastTo(builder, op.getLoc(), tensorType(dimsOf(value), builder.getI1Type()),
                                degree.equalsInteger(degree.constant(0)), op.getDims());
    return degree.with(isEmpty).choose(0.0, degree.with(value));
  }

  SegmentReduceOp op;

private:
  explicit RowSum(SegmentReduceOp op) : op(op) {}
};

/// Σ_e a_e z_{i_e}, where i is what the sum goes by, is z Σ_e a_e.
struct RowFactor : OpRewritePattern<SegmentReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SegmentReduceOp op, PatternRewriter &rewriter) const override {
    std::optional<RowSum> sum = RowSum::match(op);
    if (!sum)
      return failure();
    SmallVector<Factor> inside, outside;
    for (const Factor &factor : factorsOf(op.getSource())) {
      if (std::optional<Factor> row = sum->ofRow(factor))
        outside.push_back(*row);
      else
        inside.push_back(factor);
    }
    if (outside.empty() ||
        (inside.empty() && llvm::all_of(outside, [](const Factor &f) { return knownNumber(f.value); })))
      return failure();

    // A row without entries is 0, also where a factor is infinite there.
    bool isGuarded = llvm::any_of(outside, [&](const Factor &factor) { return sum->mayLeaveZero(factor); }) &&
                     !onlyEntriesRead(op.getResult(), sum->index());
    auto end = sum->index().getDefiningOp<EndpointOp>();
    if (isGuarded && !end)
      return failure();

    // The terms that are left have the dimensions of their factors only.
    Dims kept{sum->at()};
    for (const Factor &factor : inside)
      kept.append(factor.dims);
    llvm::sort(kept);
    kept.erase(llvm::unique(kept), kept.end());
    Location loc = op.getLoc();
    SmallVector<SizeAttr> sizes;
    for (int64_t dim : kept)
      sizes.push_back(dimsOf(op.getSource())[dim]);
    for (Factor &factor : inside)
      for (int64_t &dim : factor.dims)
        dim = llvm::find(kept, dim) - kept.begin();
    RankedTensorType type = sum->type();
    Value terms = multiply(rewriter, loc, tensorType(sizes, type.getElementType()), {}, inside);

    int64_t place = llvm::find(kept, sum->at()) - kept.begin();
    Dims places = sum->rowDims(kept);
    int64_t target = sum->op.getDims()[0];
    llvm::sort(places);
    sizes.clear();
    for (int64_t dim : places)
      sizes.push_back(dimsOf(type)[dim]);
    Value rows = SegmentReduceOp::create(rewriter, loc, TypeRange{tensorType(sizes, type.getElementType())},
                                         ReduceKind::Sum, terms, op.getIndices(), Value(), place,
                                         ArrayRef<int64_t>{llvm::find(places, target) - places.begin()})
                     .getResult();
    Value result = multiply(rewriter, loc, type, broadcastTo(rewriter, loc, type, rows, places), outside);
    if (isGuarded)
      result = sum->zeroWhereEmpty(rewriter, result, end);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Σ_e a_e Σ_d g_{i_e, d} m_{e, d} is Σ_d g_d (Σ_e a_e m_{e, d}): the row sums that the derivative of a softmax needs
/// are dot products of the upstream gradient with the output. That is done where the sum in brackets is there already,
/// or where m is summed by the same index anyway, with other factors: then one more sum beside that one spares the dot
/// product for each entry. A difference (Σ_d g_d m_d - k_{i_e}) is taken apart for it.
struct SumOfDotProducts : OpRewritePattern<SegmentReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SegmentReduceOp op, PatternRewriter &rewriter) const override {
    std::optional<RowSum> sum = RowSum::match(op);
    if (!sum || op.getDims()[0] != sum->at())
      return failure();
    SmallVector<Factor> factors = factorsOf(op.getSource());
    for (const Factor &factor : factors) {
      if (factor.isInverse ||
          static_cast<int64_t>(factor.dims.size()) != cast<RankedTensorType>(op.getSource().getType()).getRank())
        continue;
      SmallVector<Factor> others = llvm::filter_to_vector(factors, [&](const Factor &f) { return !(f == factor); });
      if (others.size() + 1 != factors.size())
        continue;
      auto difference = factor.value.getDefiningOp<arith::SubFOp>();
      std::optional<Factor> row;
      if (difference)
        row = sum->ofRow({difference.getRhs(), factor.dims, false});
      auto dot = (row ? difference.getLhs() : factor.value).getDefiningOp<ReduceOp>();
      if (dot && dot.getKind() == ReduceKind::Sum && succeeded(rewrite(*sum, dot, others, row, rewriter)))
        return success();
    }
    return failure();
  }

  static LogicalResult rewrite(RowSum &sum, ReduceOp dot, ArrayRef<Factor> others, const std::optional<Factor> &row,
                               PatternRewriter &rewriter) {
    SegmentReduceOp op = sum.op;
    Location loc = op.getLoc();
    // Dimension k of the terms is dimension wide[k] of what the dot product reduces.
    auto terms = cast<RankedTensorType>(dot.getSource().getType());
    Dims wide = otherDims(terms.getRank(), dot.getDims());
    int64_t at = wide[op.getAt()];
    SmallVector<Factor> inner, outer;
    for (const Factor &factor : factorsOf(dot.getSource())) {
      auto gather = factor.value.getDefiningOp<GatherOp>();
      bool isRow = gather && gather.getIndices().size() == 1 && gather.getIndices()[0] == sum.index() &&
                   factor.dims[gather.getDims()[0]] == at;
      if (isRow)
        outer.push_back({gather.getSource(), factor.dims, factor.isInverse});
      else
        inner.push_back(factor);
    }
    if (outer.empty())
      return failure();
    SmallVector<Factor> reduced = llvm::filter_to_vector(inner, [&](const Factor &factor) {
      return llvm::any_of(dot.getDims(), [&](int64_t d) { return llvm::is_contained(factor.dims, d); });
    });
    for (const Factor &factor : others)
      inner.push_back(
          {factor.value, llvm::map_to_vector(factor.dims, [&](int64_t d) { return wide[d]; }), factor.isInverse});
    Value known = find(op, at, terms, [&](ArrayRef<Factor> theirs) { return sameFactors(theirs, inner); });
    bool rides =
        !known && find(op, at, terms, [&](ArrayRef<Factor> theirs) {
                    return llvm::all_of(reduced, [&](const Factor &f) { return llvm::is_contained(theirs, f); });
                  }) != Value();
    if (!known && (reduced.empty() || !rides))
      return failure();
    bool isSafe = onlyEntriesRead(op.getResult(), sum.index()) ||
                  (llvm::none_of(outer, [&](const Factor &factor) { return sum.mayLeaveZero(factor); }) &&
                   (!row || !sum.mayLeaveZero(*row)));
    auto end = sum.index().getDefiningOp<EndpointOp>();
    if (!isSafe && !end)
      return failure();

    if (!known) {
      Value product = multiply(rewriter, loc, terms, {}, inner);
      known = SegmentReduceOp::create(rewriter, loc, TypeRange{typeOfRows(terms, at, op)}, ReduceKind::Sum, product,
                                      op.getIndices(), Value(), at, ArrayRef<int64_t>{at})
                  .getResult();
    }
    Value product = multiply(rewriter, loc, cast<RankedTensorType>(known.getType()), known, outer);
    Value result = ReduceOp::create(rewriter, loc, op.getResult().getType(), ReduceKind::Sum, product, dot.getDims());
    if (row) {
      auto type = cast<RankedTensorType>(op.getSource().getType());
      Value rest = SegmentReduceOp::create(rewriter, loc, TypeRange{sum.type()}, ReduceKind::Sum,
                                           multiply(rewriter, loc, type, {}, others), op.getIndices(), Value(),
                                           op.getAt(), op.getDims())
                       .getResult();
      Value part = multiply(rewriter, loc, sum.type(), rest, *row);
      result = arith::SubFOp::create(rewriter, loc, result, part);
    }
    rewriter.replaceOp(op, isSafe ? result : sum.zeroWhereEmpty(rewriter, result, end));
    return success();
  }

  /// The type of a sum of terms by what `op` goes by.
  static RankedTensorType typeOfRows(RankedTensorType terms, int64_t at, SegmentReduceOp op) {
    SmallVector<SizeAttr> sizes(dimsOf(terms));
    sizes[at] = dimsOf(op.getResult())[op.getDims()[0]];
    return tensorType(sizes, terms.getElementType());
  }

  static bool sameFactors(ArrayRef<Factor> some, ArrayRef<Factor> others) {
    return some.size() == others.size() &&
           llvm::all_of(others, [&](const Factor &f) { return llvm::count(some, f) == llvm::count(others, f); });
  }

  /// A sum by the same index, before `op`, of terms whose factors are wanted.
  static Value find(SegmentReduceOp op, int64_t at, Type terms, llvm::function_ref<bool(ArrayRef<Factor>)> wanted) {
    for (Operation *user : op.getIndices()[0].getUsers()) {
      auto other = dyn_cast<SegmentReduceOp>(user);
      if (!other || other == op || other.getKind() != ReduceKind::Sum || other.getEmpty() ||
          other.getIndices() != op.getIndices() || static_cast<int64_t>(other.getAt()) != at ||
          other.getDims()[0] != at || other.getSource().getType() != terms || other->getBlock() != op->getBlock() ||
          !other->isBeforeInBlock(op))
        continue;
      if (wanted(factorsOf(other.getSource())))
        return other.getResult();
    }
    return {};
  }
};

/// The adjoint of leaky_relu, u where c else 0, plus slope times (0 where c else u), is u times (1 where c else slope).
struct LeakySlope : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    for (auto [taken, left] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto here = taken.getDefiningOp<arith::SelectOp>();
      auto scaled = left.getDefiningOp<PmulOp>();
      auto there = scaled ? scaled.getC().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
      if (!here || !there || here.getCondition() != there.getCondition() ||
          here.getTrueValue() != there.getFalseValue() || knownNumber(here.getFalseValue()) != 0 ||
          knownNumber(there.getTrueValue()) != 0)
        continue;
      std::optional<double> slope = knownNumber(scaled.getA());
      if (!slope || !std::isfinite(*slope))
        continue;
      Value one = splat(rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()), 1);
      Value factor = arith::SelectOp::create(rewriter, op.getLoc(), here.getCondition(), one, scaled.getA());
      rewriter.replaceOpWithNewOp<arith::MulFOp>(op, here.getTrueValue(), factor);
      return success();
    }
    return failure();
  }
};

struct AlgebraRowsPass : gnnc::gnn::impl::AlgebraRowsBase<AlgebraRowsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RowFactor>(&getContext(), /*benefit=*/2);
    patterns.add<SumOfDotProducts, LeakySlope>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
