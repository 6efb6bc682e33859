// Rewrites mathematical functions into arithmetic, so that no call to a math library is left: such a call would take
// vectors apart, and is not there on a GPU.
#include "gnnc/Conversion/ExpandMath.h"
#include "gnnc/Conversion/Conversion.h"
#include "gnnc/Dialect/Gnn.h"

#include "MathFunctions.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace gnnc {
#define GEN_PASS_DEF_EXPANDMATH
#include "gnnc/Conversion/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;

/// Scalars and vectors; tensors become these when kernels are made.
static bool isExpandable(Type type) {
  Type element = getElementTypeOrSelf(type);
  return (element.isF32() || element.isF64()) && isa<FloatType, VectorType>(type);
}

namespace {
/// An op with one result whose operands are numbers of its type.
template <typename OpTy, auto expand> struct ExpandFunction : OpRewritePattern<OpTy> {
  ExpandFunction(MLIRContext *ctx, bool useFma) : OpRewritePattern<OpTy>(ctx), useFma(useFma) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    if (!isExpandable(type))
      return failure();
    MathBuilder make(rewriter, op.getLoc(), type, useFma);
    Real result;
    if constexpr (std::is_invocable_v<decltype(expand), Real>)
      result = expand(make.wrap(op->getOperand(0)));
    else
      result = expand(make.wrap(op->getOperand(0)), make.wrap(op->getOperand(1)));
    rewriter.replaceOp(op, result.value);
    return success();
  }

  bool useFma;
};

struct ExpandIntegerPower : OpRewritePattern<math::FPowIOp> {
  ExpandIntegerPower(MLIRContext *ctx, bool useFma) : OpRewritePattern(ctx), useFma(useFma) {}

  LogicalResult matchAndRewrite(math::FPowIOp op, PatternRewriter &rewriter) const override {
    if (!isExpandable(op.getType()))
      return failure();
    MathBuilder make(rewriter, op.getLoc(), op.getType(), useFma);
    Real x = make.wrap(op.getLhs()), result;
    APInt constant;
    if (matchPattern(op.getRhs(), m_ConstantInt(&constant)) && constant.isSignedIntN(32)) {
      result = expandPowInt(x, constant.getSExtValue());
    } else {
      Real n = make.wrap(arith::SIToFPOp::create(rewriter, op.getLoc(), op.getType(), op.getRhs()));
      Type integers = op.getRhs().getType(), element = getElementTypeOrSelf(integers);
      auto splat = [&](int64_t value) -> Value {
        TypedAttr attr = rewriter.getIntegerAttr(element, value);
        if (auto vector = dyn_cast<VectorType>(integers))
          attr = DenseElementsAttr::get(vector, Attribute(attr));
        return arith::ConstantOp::create(rewriter, op.getLoc(), attr);
      };
      Value low = arith::AndIOp::create(rewriter, op.getLoc(), op.getRhs(), splat(1));
      Value odd = arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::ne, low, splat(0));
      result = expandPowInt(x, n, Cond{{&make, odd}});
    }
    rewriter.replaceOp(op, result.value);
    return success();
  }

  bool useFma;
};

struct ExpandMathPass : gnnc::impl::ExpandMathBase<ExpandMathPass> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns, useFma, rounds);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

/// x^y; the square root where y says so, and products for small integers.
static Real expandPowF(Real x, Real y) {
  MathBuilder &m = *x.make;
  APFloat constant(0.0);
  if (matchPattern(y.value, m_ConstantFloat(&constant))) {
    double exponent = constant.convertToDouble();
    if (exponent == 0.5 || exponent == -0.5) {
      // Unlike the square root, the power of -0 is 0 and that of -infinity is infinity.
      Real root = m.sqrt(x) + 0.0, infinite = m.real(std::numeric_limits<double>::infinity());
      root = m.select(x == -std::numeric_limits<double>::infinity(), infinite, root);
      return exponent > 0 ? root : 1.0 / root;
    }
    if (exponent == std::floor(exponent) && std::abs(exponent) <= 32)
      return expandPowInt(x, static_cast<int64_t>(exponent));
  }
  return expandPow(x, y);
}

static Real expandRsqrt(Real x) { return 1.0 / x.make->sqrt(x); }

/// To the nearest integer, halves away from 0. What is added is the largest number below a half.
static Real expandRound(Real x) {
  MathBuilder &m = *x.make;
  return m.trunc(x + m.copySign(m.real(m.pick(0x1.fffffep-2, 0x1.fffffffffffffp-2)), x));
}

static Real expandPmul(Real c, Real a) {
  MathBuilder &m = *c.make;
  return m.select(c == 0.0, m.real(0), c * a);
}

/// |x| to the nearest integer, halves to even, for |x| below 2^mantissa: adding that number leaves no place for
/// fractions.
static Real roundMagnitude(Real a) {
  Real limit = a.make->real(a.make->pick(0x1p23, 0x1p52));
  return a + limit - limit;
}

/// x where it is an integer already, or infinite or NaN; else `rounded`, with the sign of x, which a zero needs too.
static Real whereFractions(Real x, Real rounded) {
  MathBuilder &m = *x.make;
  return m.select(m.abs(x) < m.pick(0x1p23, 0x1p52), m.copySign(rounded, x), x);
}

static Real expandRoundEven(Real x) { return whereFractions(x, roundMagnitude(x.make->abs(x))); }

static Real expandTrunc(Real x) {
  MathBuilder &m = *x.make;
  Real a = m.abs(x), nearest = roundMagnitude(a);
  return whereFractions(x, m.select(a < nearest, nearest - 1.0, nearest));
}

static Real expandFloor(Real x) {
  MathBuilder &m = *x.make;
  Real nearest = m.copySign(roundMagnitude(m.abs(x)), x);
  return whereFractions(x, m.select(x < nearest, nearest - 1.0, nearest));
}

static Real expandCeil(Real x) {
  MathBuilder &m = *x.make;
  Real nearest = m.copySign(roundMagnitude(m.abs(x)), x);
  return whereFractions(x, m.select(nearest < x, nearest + 1.0, nearest));
}

void gnnc::populateExpandMathPatterns(RewritePatternSet &patterns, bool useFma, bool rounds) {
  if (!rounds)
    patterns.add<ExpandFunction<math::RoundEvenOp, expandRoundEven>, ExpandFunction<math::TruncOp, expandTrunc>,
                 ExpandFunction<math::FloorOp, expandFloor>, ExpandFunction<math::CeilOp, expandCeil>>(
        patterns.getContext(), useFma);
  using Function = Real (*)(Real);
  patterns.add<ExpandFunction<math::ExpOp, expandExp>, ExpandFunction<math::Exp2Op, Function(expandExp2)>,
               ExpandFunction<math::ExpM1Op, expandExpM1>, ExpandFunction<math::LogOp, expandLog>,
               ExpandFunction<math::Log1pOp, expandLog1p>, ExpandFunction<math::Log2Op, expandLog2>,
               ExpandFunction<math::TanhOp, expandTanh>, ExpandFunction<math::SinOp, expandSin>,
               ExpandFunction<math::CosOp, expandCos>, ExpandFunction<math::TanOp, expandTan>,
               ExpandFunction<math::AtanOp, expandAtan>, ExpandFunction<math::Atan2Op, expandAtan2>,
               ExpandFunction<math::ErfOp, expandErf>, ExpandFunction<math::PowFOp, expandPowF>,
               ExpandFunction<math::RsqrtOp, expandRsqrt>, ExpandFunction<math::RoundOp, expandRound>,
               ExpandFunction<gnn::SigmoidOp, expandSigmoid>, ExpandFunction<gnn::SoftplusOp, expandSoftplus>,
               ExpandFunction<gnn::PmulOp, expandPmul>, ExpandIntegerPower>(patterns.getContext(), useFma);
}
