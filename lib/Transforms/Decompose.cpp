// Writes softmax and logsumexp, over dimensions and over segments, as reductions and elementwise ops.
//
// The maximum is subtracted. Where everything is -inf, 0 is subtracted instead, so that all exponentials are 0: softmax
// gives 0 there and logsumexp -inf. A NaN or +inf spoils its own group only.
#include "gnnc/Dialect/Elementwise.h"
#include "gnnc/Dialect/Grouping.h"
#include "gnnc/Transforms/Passes.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_DECOMPOSE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

/// The scores of entries that are in no group are -inf.
Expr maskOutside(const Grouping &groups, const Expr &x) {
  Value outside = groups.outside();
  return outside ? x.with(outside).choose(-INFINITY, x) : x;
}

Value softmax(const Grouping &groups, Expr x) {
  x = maskOutside(groups, x);
  Expr top = x.with(groups.combine(ReduceKind::Max, x));
  Expr shift = top.equals(-INFINITY).choose(0.0, top);
  Expr weight = (x - x.with(groups.spread(shift))).apply<math::ExpOp>();
  Expr total = x.with(groups.sum(weight));
  Expr inverse = 1.0 / total.equals(0.0).choose(1.0, total);
  return weight * x.with(groups.spread(inverse));
}

/// Unlike with softmax a lone +inf is no fault: the result is +inf, so an infinite maximum is not subtracted either.
Value logSumExp(const Grouping &groups, Expr x) {
  x = maskOutside(groups, x);
  Expr top = x.with(groups.combine(ReduceKind::Max, x));
  Expr finite = top.apply<math::AbsFOp>().below(top.constant(INFINITY));
  Expr shift = finite.choose(top, 0.0);
  Expr total = x.with(groups.sum((x - x.with(groups.spread(shift))).apply<math::ExpOp>()));
  return total.apply<math::LogOp>() + shift;
}

RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

struct DecomposePass : gnnc::gnn::impl::DecomposeBase<DecomposePass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      OpBuilder builder(op);
      Location loc = op->getLoc();
      auto source = [&](Value v) { return Expr(builder, loc, v); };
      auto replace = [&](Value value) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      };
      if (auto o = dyn_cast<SoftmaxOp>(op)) {
        replace(softmax(Grouping::along(builder, loc, typeOf(o.getSource()), o.getDims()), source(o.getSource())));
      } else if (auto o = dyn_cast<LogSumExpOp>(op)) {
        replace(logSumExp(Grouping::along(builder, loc, typeOf(o.getSource()), o.getDims()), source(o.getSource())));
      } else if (auto o = dyn_cast<SegmentSoftmaxOp>(op)) {
        SmallVector<SizeAttr> sizes(dimsOf(o.getSource()));
        sizes[0] = o.getSegments();
        RankedTensorType groups = tensorType(sizes, elementOf(o.getSource()));
        replace(softmax(Grouping::by(builder, loc, typeOf(o.getSource()), groups, o.getIndex(), 0, {0}),
                        source(o.getSource())));
      } else if (auto o = dyn_cast<SegmentLogSumExpOp>(op)) {
        replace(
            logSumExp(Grouping::by(builder, loc, typeOf(o.getSource()), typeOf(o.getResult()), o.getIndex(), 0, {0}),
                      source(o.getSource())));
      }
    });
  }
};

} // namespace
