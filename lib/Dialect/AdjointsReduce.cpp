// Adjoints of what combines entries: reductions, segment reductions, softmax, contraction; and of the gather.
//
// x_adj is the adjoint of x. Reductions over dimensions and over segments share their rules through Grouping.
#include "gnnc/Dialect/Elementwise.h"
#include "gnnc/Dialect/Grouping.h"

using namespace mlir;
using namespace gnnc::gnn;

/// max, min: the entries equal to their group's extremum share its adjoint evenly; where that is NaN, the NaNs do.
static void addExtremum(ReverseSweep &sweep, const Grouping &groups, Value operand, Value extremum, Value y_adj) {
  Value x_adj = shareExtremum(sweep.builder(), sweep.loc(), groups, sweep.saved(operand), extremum, y_adj);
  sweep.markSelected(x_adj);
  sweep.add(operand, x_adj);
}

/// prod: by counting zeros, so that it is exact with any number of them, to second order. With q the factors that are
/// not 0 (1 in place of the others), z the zeros, P = prod q, and n, S the number and the sum of the zeros, the product
/// is, to second order in z, P W with W = 1 for n = 0, S for n = 1, (S^2 - sum z^2) / 2 for n = 2, else 0.
static void addProduct(ReverseSweep &sweep, const Grouping &groups, Value operand, Value y_adj) {
  Expr x(sweep.builder(), sweep.loc(), sweep.saved(operand));
  Expr isZero = x.equals(0.0);
  Expr q = isZero.choose(1.0, x), z = isZero.choose(x, 0.0);
  Expr n = x.with(groups.sum(isZero.indicator(groups.entriesType()))), sum = x.with(groups.sum(z));
  Expr product = x.with(y_adj) * x.with(groups.combine(ReduceKind::Prod, q));
  Expr none = n.equals(0.0), one = n.equals(1.0), two = n.equals(2.0);
  Expr pairs = n.constant(0.5) * (sum * sum - x.with(groups.sum(z * z)));
  Expr w = none.choose(1.0, one.choose(sum, two.choose(pairs, 0.0)));
  Expr forOthers = x.with(groups.spread(product * w)) / q;
  Expr forLone = x.with(groups.spread(one.choose(product, 0.0)));
  Expr forPair = x.with(groups.spread(two.choose(product, 0.0))) * (x.with(groups.spread(sum)) - z);
  Expr x_adj = isZero.choose(forLone + forPair, forOthers);
  sweep.markSelected(x_adj);
  sweep.add(operand, x_adj);
}

/// softmax: x_adj = y (y_adj - sum y y_adj).
static void addSoftmax(ReverseSweep &sweep, const Grouping &groups, Value operand, Value result) {
  Expr y(sweep.builder(), sweep.loc(), sweep.saved(result)), y_adj = y.with(sweep.adjointOf(result));
  sweep.add(operand, y * (y_adj - y.with(groups.spread(groups.sum(y * y_adj)))));
}

/// logsumexp: x_adj = exp(x - y) y_adj. Where everything is -inf, so is y, and the gradient is 0.
static void addLogSumExp(ReverseSweep &sweep, const Grouping &groups, Value operand, Value result) {
  Expr x(sweep.builder(), sweep.loc(), sweep.saved(operand)), y = x.with(sweep.saved(result));
  Expr shift = y.equals(-INFINITY).choose(0.0, y);
  Expr weight = (x - x.with(groups.spread(shift))).apply<math::ExpOp>();
  if (Value outside = groups.outside())
    weight = x.with(outside).choose(0.0, weight);
  sweep.add(operand, weight * x.with(groups.spread(sweep.adjointOf(result))));
}

LogicalResult ReduceOp::buildAdjoint(ReverseSweep &sweep) {
  auto type = cast<RankedTensorType>(getSource().getType());
  Grouping groups = Grouping::along(sweep.builder(), sweep.loc(), type, getDims());
  Value y_adj = sweep.adjointOf(getResult());
  switch (getKind()) {
  case ReduceKind::Sum:
    sweep.add(getSource(), groups.spread(y_adj));
    break;
  case ReduceKind::Prod:
    addProduct(sweep, groups, getSource(), y_adj);
    break;
  case ReduceKind::Max:
  case ReduceKind::Min:
    addExtremum(sweep, groups, getSource(), sweep.saved(getResult()), y_adj);
    break;
  }
  return success();
}

LogicalResult SoftmaxOp::buildAdjoint(ReverseSweep &sweep) {
  auto type = cast<RankedTensorType>(getSource().getType());
  addSoftmax(sweep, Grouping::along(sweep.builder(), sweep.loc(), type, getDims()), getSource(), getResult());
  return success();
}

LogicalResult LogSumExpOp::buildAdjoint(ReverseSweep &sweep) {
  auto type = cast<RankedTensorType>(getSource().getType());
  addLogSumExp(sweep, Grouping::along(sweep.builder(), sweep.loc(), type, getDims()), getSource(), getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Segments and gathers
//===----------------------------------------------------------------------===//

/// The adjoint goes back by the transpose, a segment sum; the fill gets that of all entries that are none.
LogicalResult GatherOp::buildAdjoint(ReverseSweep &sweep) {
  OpBuilder &builder = sweep.builder();
  Location loc = sweep.loc();
  Value y_adj = sweep.adjointOf(getResult());
  SmallVector<Value> indices;
  for (Value index : getIndices())
    indices.push_back(sweep.saved(index));
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  Grouping groups = Grouping::by(builder, loc, result, source, indices, gatherPosition(getDims()), getDims());
  if (sweep.isActive(getSource()))
    sweep.add(getSource(), groups.sum(y_adj));
  if (Value outside = getFill() && sweep.isActive(getFill()) ? groups.outside() : Value()) {
    Expr filled = Expr(builder, loc, outside).choose(Expr(builder, loc, y_adj), 0.0);
    sweep.add(getFill(), sumOver(builder, loc, filled, otherDims(result.getRank(), {})));
  }
  return success();
}

LogicalResult SegmentReduceOp::buildAdjoint(ReverseSweep &sweep) {
  OpBuilder &builder = sweep.builder();
  Location loc = sweep.loc();
  Value y_adj = sweep.adjointOf(getResult());
  SmallVector<Value> indices;
  for (Value index : getIndices())
    indices.push_back(sweep.saved(index));
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  Grouping groups = Grouping::by(builder, loc, source, result, indices, getAt(), getDims());
  if (sweep.isActive(getSource())) {
    switch (getKind()) {
    case ReduceKind::Sum:
      sweep.add(getSource(), groups.spread(y_adj));
      break;
    case ReduceKind::Prod:
      addProduct(sweep, groups, getSource(), y_adj);
      break;
    case ReduceKind::Max:
    case ReduceKind::Min: {
      // The extremum is one of the values compared with, bit for bit: a value that is computed again is computed in
      // the same way.
      Value extremum = sweep.saved(getResult());
      if (getAt() != 0 || getDims() != ArrayRef<int64_t>{0} ||
          cast<RankedTensorType>(indices[0].getType()).getRank() != 1) {
        addExtremum(sweep, groups, getSource(), extremum, y_adj);
        break;
      }
      Value x_adj = ShareOp::create(builder, loc, source, y_adj, extremum, sweep.saved(getSource()), indices[0]);
      sweep.markSelected(x_adj);
      sweep.add(getSource(), x_adj);
      break;
    }
    }
  }
  if (getEmpty() && sweep.isActive(getEmpty())) {
    // What an empty segment gives gets the adjoints of all of these.
    auto indexType = cast<RankedTensorType>(indices[0].getType());
    SmallVector<SizeAttr> targets;
    for (int64_t d : getDims())
      targets.push_back(dimsOf(result)[d]);
    RankedTensorType counted = tensorType(targets, result.getElementType());
    SmallVector<int64_t> leading = llvm::to_vector(llvm::seq<int64_t>(0, targets.size()));
    Grouping entries = Grouping::by(builder, loc, tensorType(dimsOf(indexType), result.getElementType()), counted,
                                    indices, 0, leading);
    Expr count(builder, loc, entries.sum(splat(builder, loc, entries.entriesType(), 1)));
    // The targets stand in the result in any order.
    SmallVector<int64_t> order = leading, places;
    llvm::sort(order, [&](int64_t a, int64_t b) { return getDims()[a] < getDims()[b]; });
    SmallVector<SizeAttr> sorted;
    for (int64_t k : order) {
      places.push_back(getDims()[k]);
      sorted.push_back(targets[k]);
    }
    if (!llvm::is_sorted(order))
      count = count.with(TransposeOp::create(builder, loc, tensorType(sorted, result.getElementType()), count, order));
    Value empty = broadcastTo(builder, loc, tensorType(dimsOf(result), builder.getI1Type()), count.equals(0.0), places);
    Expr given = count.with(empty).choose(count.with(y_adj), 0.0);
    sweep.add(getEmpty(), sumOver(builder, loc, given, otherDims(result.getRank(), {})));
  }
  return success();
}

/// Linear in y, with what attains the extremum held constant: y_adj is the mean of the adjoints of those who share.
LogicalResult ShareOp::buildAdjoint(ReverseSweep &sweep) {
  if (!sweep.isActive(getY()))
    return success();
  auto source = cast<RankedTensorType>(getSource().getType());
  Grouping groups = Grouping::by(sweep.builder(), sweep.loc(), source, cast<RankedTensorType>(getY().getType()),
                                 sweep.saved(getIndex()), 0, {0});
  Expr x(sweep.builder(), sweep.loc(), sweep.saved(getSource()));
  Expr winners = x.with(attainsExtremum(sweep.builder(), sweep.loc(), groups, x, sweep.saved(getExtremum())));
  Expr count = x.with(groups.sum(winners.indicator(source)));
  Expr sum = x.with(groups.sum(winners.choose(x.with(sweep.adjointOf(getResult())), 0.0)));
  sweep.add(getY(), sum / count.binary<arith::MaximumFOp>(count.constant(1)));
  return success();
}

/// The type of one value per segment.
static RankedTensorType segmentsType(RankedTensorType entries, SizeAttr segments) {
  SmallVector<SizeAttr> sizes(dimsOf(entries));
  sizes[0] = segments;
  return tensorType(sizes, entries.getElementType());
}

LogicalResult SegmentSoftmaxOp::buildAdjoint(ReverseSweep &sweep) {
  auto type = cast<RankedTensorType>(getSource().getType());
  addSoftmax(sweep,
             Grouping::by(sweep.builder(), sweep.loc(), type, segmentsType(type, getSegments()),
                          sweep.saved(getIndex()), 0, {0}),
             getSource(), getResult());
  return success();
}

LogicalResult SegmentLogSumExpOp::buildAdjoint(ReverseSweep &sweep) {
  auto type = cast<RankedTensorType>(getSource().getType());
  addLogSumExp(sweep,
               Grouping::by(sweep.builder(), sweep.loc(), type, cast<RankedTensorType>(getResult().getType()),
                            sweep.saved(getIndex()), 0, {0}),
               getSource(), getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// The adjoint of one operand is the contraction of y_adj with the other. Labels that stand on that operand alone and
/// were summed are repeated.
static Value contractionAdjoint(ReverseSweep &sweep, Value y_adj, ArrayRef<int64_t> resultLabels, Value other,
                                ArrayRef<int64_t> otherLabels, RankedTensorType type, ArrayRef<int64_t> labels,
                                bool otherFirst) {
  SmallVector<int64_t> kept, places;
  SmallVector<SizeAttr> sizes;
  for (auto [place, label] : llvm::enumerate(labels)) {
    if (!llvm::is_contained(resultLabels, label) && !llvm::is_contained(otherLabels, label))
      continue;
    kept.push_back(label);
    places.push_back(place);
    sizes.push_back(dimsOf(type)[place]);
  }
  Value saved = sweep.saved(other);
  RankedTensorType keptType = tensorType(sizes, type.getElementType());
  Value product =
      otherFirst
          ? ContractOp::create(sweep.builder(), sweep.loc(), keptType, saved, y_adj, otherLabels, resultLabels, kept)
          : ContractOp::create(sweep.builder(), sweep.loc(), keptType, y_adj, saved, resultLabels, otherLabels, kept);
  return broadcastTo(sweep.builder(), sweep.loc(), type, product, places);
}

LogicalResult ContractOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  if (sweep.isActive(getLhs()))
    sweep.add(getLhs(), contractionAdjoint(sweep, y_adj, getResultLabels(), getRhs(), getRhsLabels(),
                                           cast<RankedTensorType>(getLhs().getType()), getLhsLabels(), false));
  if (sweep.isActive(getRhs()))
    sweep.add(getRhs(), contractionAdjoint(sweep, y_adj, getResultLabels(), getLhs(), getLhsLabels(),
                                           cast<RankedTensorType>(getRhs().getType()), getRhsLabels(), true));
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult SigmoidOp::buildAdjoint(ReverseSweep &sweep) {
  Expr y(sweep.builder(), sweep.loc(), sweep.saved(getResult()));
  sweep.add(getX(), sweep.times(sweep.adjointOf(getResult()), y * (1.0 - y)));
  return success();
}

LogicalResult SoftplusOp::buildAdjoint(ReverseSweep &sweep) {
  Expr x(sweep.builder(), sweep.loc(), sweep.saved(getX()));
  sweep.add(getX(), sweep.times(sweep.adjointOf(getResult()), x.apply<SigmoidOp>()));
  return success();
}

LogicalResult PmulOp::buildAdjoint(ReverseSweep &sweep) {
  Expr y_adj(sweep.builder(), sweep.loc(), sweep.adjointOf(getResult()));
  if (sweep.isActive(getC())) {
    Expr c_adj = y_adj.binary<PmulOp>(sweep.saved(getA()));
    sweep.markSelected(c_adj);
    sweep.add(getC(), c_adj);
  }
  if (sweep.isActive(getA())) {
    Expr a_adj = y_adj.with(sweep.saved(getC())).binary<PmulOp>(y_adj);
    sweep.markSelected(a_adj);
    sweep.add(getA(), a_adj);
  }
  return success();
}
