// Derivative rules of arith, attached to its ops from outside. Those of math are in MathAdjoints.cpp.
//
// x_adj is the adjoint of x. Selections (select, maximum, minimum) mark the adjoints that they make.
#include "gnnc/Dialect/UpstreamAdjoints.h"
#include "gnnc/Dialect/Elementwise.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace {

template <typename Model, typename OpTy> using Rule = DifferentiableOpInterface::ExternalModel<Model, OpTy>;

/// Adds `value` to the adjoint of `operand`, with the mark of the adjoint it comes from.
void addFrom(ReverseSweep &sweep, Value y_adj, Value operand, Value value) {
  if (sweep.isSelected(y_adj))
    sweep.markSelected(value);
  sweep.add(operand, value);
}

void addSelected(ReverseSweep &sweep, Value operand, Value value) {
  sweep.markSelected(value);
  sweep.add(operand, value);
}

Value negate(ReverseSweep &sweep, Value y_adj) { return arith::NegFOp::create(sweep.builder(), sweep.loc(), y_adj); }

struct AddRule : Rule<AddRule, arith::AddFOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0));
    sweep.add(op->getOperand(0), y_adj);
    sweep.add(op->getOperand(1), y_adj);
    return success();
  }
};

struct SubRule : Rule<SubRule, arith::SubFOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0));
    sweep.add(op->getOperand(0), y_adj);
    if (sweep.isActive(op->getOperand(1)))
      addFrom(sweep, y_adj, op->getOperand(1), negate(sweep, y_adj));
    return success();
  }
};

struct NegRule : Rule<NegRule, arith::NegFOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0));
    addFrom(sweep, y_adj, op->getOperand(0), negate(sweep, y_adj));
    return success();
  }
};

struct MulRule : Rule<MulRule, arith::MulFOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0));
    for (int k : {0, 1})
      if (sweep.isActive(op->getOperand(k)))
        sweep.add(op->getOperand(k), sweep.times(y_adj, sweep.saved(op->getOperand(1 - k))));
    return success();
  }
};

/// a / b: 1 / b and -(a / b) / b.
struct DivRule : Rule<DivRule, arith::DivFOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0));
    Expr b(sweep.builder(), sweep.loc(), sweep.saved(op->getOperand(1)));
    if (sweep.isActive(op->getOperand(0)))
      sweep.add(op->getOperand(0), sweep.isSelected(y_adj) ? sweep.times(y_adj, 1.0 / b) : Value(b.with(y_adj) / b));
    if (sweep.isActive(op->getOperand(1)))
      sweep.add(op->getOperand(1), sweep.times(y_adj, -(b.with(sweep.saved(op->getResult(0))) / b)));
    return success();
  }
};

/// a - b trunc(a / b), where the quotient is held constant.
struct RemRule : Rule<RemRule, arith::RemFOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0));
    sweep.add(op->getOperand(0), y_adj);
    if (sweep.isActive(op->getOperand(1))) {
      Expr a(sweep.builder(), sweep.loc(), sweep.saved(op->getOperand(0)));
      Expr quotient = (a / a.with(sweep.saved(op->getOperand(1)))).apply<NondiffOp>().apply<math::TruncOp>();
      sweep.add(op->getOperand(1), sweep.times(y_adj, -quotient));
    }
    return success();
  }
};

struct SelectRule : Rule<SelectRule, arith::SelectOp> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    auto select = cast<arith::SelectOp>(op);
    Expr y_adj(sweep.builder(), sweep.loc(), sweep.adjointOf(select.getResult()));
    Expr condition = y_adj.with(sweep.saved(select.getCondition()));
    if (sweep.isActive(select.getTrueValue()))
      addSelected(sweep, select.getTrueValue(), condition.choose(y_adj, 0.0));
    if (sweep.isActive(select.getFalseValue()))
      addSelected(sweep, select.getFalseValue(), condition.choose(0.0, y_adj));
    return success();
  }
};

/// maximum, minimum: the operand that is the result takes all, at a tie each takes half; a NaN is the result.
template <typename OpTy, arith::CmpFPredicate wins> struct ExtremumRule : Rule<ExtremumRule<OpTy, wins>, OpTy> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    OpBuilder &builder = sweep.builder();
    Location loc = sweep.loc();
    Expr y_adj(builder, loc, sweep.adjointOf(op->getResult(0)));
    Expr a = y_adj.with(sweep.saved(op->getOperand(0))), b = y_adj.with(sweep.saved(op->getOperand(1)));
    Expr aWins = a.with(arith::CmpFOp::create(builder, loc, wins, a, b)) | a.isNan();
    Expr bWins = a.with(arith::CmpFOp::create(builder, loc, wins, b, a)) | b.isNan();
    Expr half = 0.5 * y_adj;
    if (sweep.isActive(op->getOperand(0)))
      addSelected(sweep, op->getOperand(0), aWins.choose(bWins.choose(half, y_adj), 0.0));
    if (sweep.isActive(op->getOperand(1)))
      addSelected(sweep, op->getOperand(1), bWins.choose(aWins.choose(half, y_adj), 0.0));
    return success();
  }
};

/// Changes of precision.
template <typename OpTy, typename BackTy> struct CastRule : Rule<CastRule<OpTy, BackTy>, OpTy> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Value y_adj = sweep.adjointOf(op->getResult(0)), x = op->getOperand(0);
    addFrom(sweep, y_adj, x, BackTy::create(sweep.builder(), sweep.loc(), x.getType(), y_adj));
    return success();
  }
};

} // namespace

void gnnc::gnn::registerUpstreamAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, arith::ArithDialect *) {
    arith::AddFOp::attachInterface<AddRule>(*ctx);
    arith::SubFOp::attachInterface<SubRule>(*ctx);
    arith::NegFOp::attachInterface<NegRule>(*ctx);
    arith::MulFOp::attachInterface<MulRule>(*ctx);
    arith::DivFOp::attachInterface<DivRule>(*ctx);
    arith::RemFOp::attachInterface<RemRule>(*ctx);
    arith::SelectOp::attachInterface<SelectRule>(*ctx);
    arith::MaximumFOp::attachInterface<ExtremumRule<arith::MaximumFOp, arith::CmpFPredicate::OGE>>(*ctx);
    arith::MinimumFOp::attachInterface<ExtremumRule<arith::MinimumFOp, arith::CmpFPredicate::OLE>>(*ctx);
    arith::ExtFOp::attachInterface<CastRule<arith::ExtFOp, arith::TruncFOp>>(*ctx);
    arith::TruncFOp::attachInterface<CastRule<arith::TruncFOp, arith::ExtFOp>>(*ctx);
  });
  registry.addExtension(+[](MLIRContext *ctx, math::MathDialect *) { attachMathAdjoints(ctx); });
}
