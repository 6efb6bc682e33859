// Partial derivatives of the functions of math, one line each: y_adj times the partial goes to the operand.
//
// At the kinks and poles that programs meet, the partial is chosen: abs, sqrt, powf and atan2 have gradient 0 at 0, to
// every order; the rest follows IEEE.
#include "gnnc/Dialect/Elementwise.h"
#include "gnnc/Dialect/UpstreamAdjoints.h"

#include "mlir/IR/Matchers.h"

#include <numbers>

using namespace mlir;
using namespace gnnc::gnn;

namespace {

/// What a partial derivative may read: operand and result, kept for it when it asks.
struct Primal {
  ReverseSweep &sweep;
  Operation *op;
  Expr expr(Value v) const { return Expr(sweep.builder(), sweep.loc(), v); }
  Expr x(unsigned k = 0) const { return expr(sweep.saved(op->getOperand(k))); }
  Expr y() const { return expr(sweep.saved(op->getResult(0))); }
  /// Adds y_adj times the partial to operand k.
  void addTimes(unsigned k, const Expr &partial) const {
    sweep.add(op->getOperand(k), sweep.times(sweep.adjointOf(op->getResult(0)), partial));
  }
  bool isActive(unsigned k) const { return sweep.isActive(op->getOperand(k)); }
};

/// The rule of an op of one operand: its partial derivative.
template <typename OpTy, typename Partial>
struct UnaryRule : DifferentiableOpInterface::ExternalModel<UnaryRule<OpTy, Partial>, OpTy> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Primal primal{sweep, op};
    primal.addTimes(0, Partial()(primal));
    return success();
  }
};
template <typename OpTy, typename Partial> void unary(MLIRContext *ctx, Partial) {
  OpTy::template attachInterface<UnaryRule<OpTy, Partial>>(*ctx);
}

/// The rule of any other op.
template <typename OpTy, typename Rule>
struct GeneralRule : DifferentiableOpInterface::ExternalModel<GeneralRule<OpTy, Rule>, OpTy> {
  LogicalResult buildAdjoint(Operation *op, ReverseSweep &sweep) const {
    Rule()(Primal{sweep, op});
    return success();
  }
};
template <typename OpTy, typename Rule> void general(MLIRContext *ctx, Rule) {
  OpTy::template attachInterface<GeneralRule<OpTy, Rule>>(*ctx);
}

using std::numbers::inv_sqrtpi;
using std::numbers::ln10;
using std::numbers::ln2;

void attachUnary(MLIRContext *ctx) {
  unary<math::ExpOp>(ctx, [](Primal p) { return p.y(); });
  unary<math::Exp2Op>(ctx, [](Primal p) { return ln2 * p.y(); });
  unary<math::ExpM1Op>(ctx, [](Primal p) { return p.y() + 1.0; });
  unary<math::LogOp>(ctx, [](Primal p) { return 1.0 / p.x(); });
  unary<math::Log2Op>(ctx, [](Primal p) { return (1.0 / ln2) / p.x(); });
  unary<math::Log10Op>(ctx, [](Primal p) { return (1.0 / ln10) / p.x(); });
  unary<math::Log1pOp>(ctx, [](Primal p) { return 1.0 / (p.x() + 1.0); });
  unary<math::SinOp>(ctx, [](Primal p) { return p.x().apply<math::CosOp>(); });
  unary<math::CosOp>(ctx, [](Primal p) { return -p.x().apply<math::SinOp>(); });
  unary<math::TanOp>(ctx, [](Primal p) {
    Expr y = p.y();
    return y * y + 1.0;
  });
  unary<math::AsinOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return (1.0 - x * x).apply<math::RsqrtOp>();
  });
  unary<math::AcosOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return -(1.0 - x * x).apply<math::RsqrtOp>();
  });
  unary<math::AtanOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return 1.0 / (x * x + 1.0);
  });
  unary<math::SinhOp>(ctx, [](Primal p) { return p.x().apply<math::CoshOp>(); });
  unary<math::CoshOp>(ctx, [](Primal p) { return p.x().apply<math::SinhOp>(); });
  unary<math::TanhOp>(ctx, [](Primal p) {
    Expr y = p.y();
    return 1.0 - y * y;
  });
  unary<math::AsinhOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return (x * x + 1.0).apply<math::RsqrtOp>();
  });
  unary<math::AcoshOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return (x * x + -1.0).apply<math::RsqrtOp>();
  });
  unary<math::AtanhOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return 1.0 / (1.0 - x * x);
  });
  unary<math::ErfOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return 2.0 * inv_sqrtpi * (-(x * x)).apply<math::ExpOp>();
  });
  unary<math::ErfcOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return -2.0 * inv_sqrtpi * (-(x * x)).apply<math::ExpOp>();
  });
  unary<math::SqrtOp>(ctx, [](Primal p) {
    Expr y = p.y();
    return y.equals(0.0).choose(0.0, 0.5 / y);
  });
  unary<math::RsqrtOp>(ctx, [](Primal p) {
    Expr y = p.y();
    return -0.5 * (y * y * y);
  });
  // The sign, by comparisons of constants only: it has no derivative of its own.
  unary<math::AbsFOp>(ctx, [](Primal p) {
    Expr x = p.x();
    return x.above(x.constant(0)).choose(1.0, x.below(x.constant(0)).choose(x.constant(-1), 0.0));
  });
}

/// d a^b / da = b a^(b-1), 0 at a = 0 for 0 <= b < 1; d a^b / db = a^b log a, 0 at a = 0.
void powf(Primal p) {
  Expr a = p.x(0);
  Expr isZero = a.equals(0.0);
  if (p.isActive(0)) {
    Expr b = p.x(1);
    Expr flat = isZero & b.atLeast(b.constant(0)) & b.below(b.constant(1));
    p.addTimes(0, flat.choose(0.0, b * a.binary<math::PowFOp>(b + -1.0)));
  }
  if (p.isActive(1))
    p.addTimes(1, isZero.choose(0.0, p.y() * a.apply<math::LogOp>()));
}

/// d x^n / dx = n x^(n-1) for an integer n, exact at 0: for n = 0 it is 0 and x^-1 is not looked at.
void fpowi(Primal p) {
  OpBuilder &builder = p.sweep.builder();
  Expr x = p.x();
  Value power = p.op->getOperand(1), scalar = power;
  while (auto broadcast = scalar.getDefiningOp<BroadcastOp>())
    scalar = broadcast.getSource();
  auto powerType = cast<RankedTensorType>(power.getType());
  APInt constant;
  if (matchPattern(scalar, m_ConstantInt(&constant))) {
    int64_t n = constant.getSExtValue();
    if (n == 1)
      return p.addTimes(0, x.constant(1));
    if (n == 2)
      return p.addTimes(0, 2.0 * x);
    if (n != 0)
      p.addTimes(0, static_cast<double>(n) *
                        x.binary<math::FPowIOp>(splat(builder, p.sweep.loc(), powerType, static_cast<double>(n - 1))));
    return;
  }
  Expr n = p.x(1);
  Expr isZero = n.equalsInteger(n.constant(0));
  Value less = n.binary<arith::AddIOp>(n.constant(-1));
  Expr factor = x.with(arith::SIToFPOp::create(builder, p.sweep.loc(), x.type(), n));
  p.addTimes(0, isZero.choose(0.0, factor * x.binary<math::FPowIOp>(less)));
}

/// atan2(a, b): b / (a^2 + b^2) and -a / (a^2 + b^2), 0 at the origin.
void atan2(Primal p) {
  Expr a = p.x(0), b = p.x(1), norm = a * a + b * b, origin = norm.equals(0.0);
  if (p.isActive(0))
    p.addTimes(0, origin.choose(0.0, b / norm));
  if (p.isActive(1))
    p.addTimes(1, origin.choose(0.0, -a / norm));
}

/// copysign(m, s) = |m| sign(s): constant in s wherever it is smooth.
void copysign(Primal p) {
  Expr m = p.x(0), unit = m.constant(1);
  Expr sign = unit.binary<math::CopySignOp>(m) * unit.binary<math::CopySignOp>(p.x(1));
  if (p.isActive(0))
    p.addTimes(0,
               p.expr(arith::SelectOp::create(p.sweep.builder(), p.sweep.loc(), m.equals(0.0), m.constant(0), sign)));
}

void fma(Primal p) {
  if (p.isActive(0))
    p.addTimes(0, p.x(1));
  if (p.isActive(1))
    p.addTimes(1, p.x(0));
  if (p.isActive(2))
    p.sweep.add(p.op->getOperand(2), p.sweep.adjointOf(p.op->getResult(0)));
}

/// clampf(x, lo, hi): x gets the gradient on the closed interval, outside it the bound that cut it off.
void clampf(Primal p) {
  Expr x = p.x(0), lo = p.x(1), hi = p.x(2), y_adj = p.expr(p.sweep.adjointOf(p.op->getResult(0)));
  auto give = [&](unsigned k, const Expr &where) {
    if (!p.isActive(k))
      return;
    Expr part = where.choose(y_adj, 0.0);
    p.sweep.markSelected(part);
    p.sweep.add(p.op->getOperand(k), part);
  };
  Expr high = x.above(hi), low = x.below(lo);
  give(0, (x.atLeast(lo) & x.atMost(hi)) | x.isNan());
  give(1, low);
  give(2, high);
}

} // namespace

void gnnc::gnn::attachMathAdjoints(MLIRContext *ctx) {
  attachUnary(ctx);
  general<math::PowFOp>(ctx, [](Primal p) { powf(p); });
  general<math::FPowIOp>(ctx, [](Primal p) { fpowi(p); });
  general<math::Atan2Op>(ctx, [](Primal p) { atan2(p); });
  general<math::CopySignOp>(ctx, [](Primal p) { copysign(p); });
  general<math::FmaOp>(ctx, [](Primal p) { fma(p); });
  general<math::ClampFOp>(ctx, [](Primal p) { clampf(p); });
}
