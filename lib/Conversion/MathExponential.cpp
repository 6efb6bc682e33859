// Exponentials: x = n ln 2 + r, |r| <= ln 2 / 2, and exp(x) = 2^n exp(r) with a polynomial for exp(r).
#include "MathCoefficients.h"
#include "MathFunctions.h"

#include <limits>

using namespace gnnc;
using namespace gnnc::coefficients;

namespace {
struct Reduced {
  Rounded n;
  Real r;
};
} // namespace

/// The reduction of Cody and Waite: the first part of ln 2 has so few bits that n times it is exact.
static Reduced reduce(Real x) {
  MathBuilder &m = *x.make;
  Rounded n = m.roundToInteger(x, 0x1.71547652b82fep+0);
  Real r = m.fma(n.number, m.real(-m.pick(0x1.62ep-1, 0x1.62e42fefap-1)), x);
  return {n, m.fma(n.number, m.real(-m.pick(0x1.0bfbe8p-15, 0x1.cf79abc9e3b3ap-40)), r)};
}

/// exp(r) - 1 for a reduced argument: r + r^2 q(r).
static Real expM1OfReduced(Real r) {
  MathBuilder &m = *r.make;
  return m.fma(r * r, m.polynomial(m.pick<llvm::ArrayRef<double>>(expF32, expF64), r), r);
}

/// exp(x) for x that is not large.
static Real expOfSmall(Real x) {
  MathBuilder &m = *x.make;
  // Below this exp is 0, even as a subnormal number.
  auto [n, r] = reduce(m.atLeast(x, m.pick(-105.0, -746.0)));
  return m.scale(expM1OfReduced(r) + 1.0, n);
}

Real gnnc::expandExp(Real x) {
  // Above this exp is infinite.
  return expOfSmall(x.make->atMost(x, x.make->pick(89.0, 710.0)));
}

/// 2^r for |r| <= 1/2.
static Real exp2OfReduced(Real r) {
  MathBuilder &m = *r.make;
  return m.fma(r, m.polynomial(m.pick<llvm::ArrayRef<double>>(exp2F32, exp2F64), r), m.real(1));
}

Real gnnc::expandExp2(Pair x) {
  MathBuilder &m = *x.hi.make;
  double top = m.pick(129.0, 1025.0), bottom = m.pick(-151.0, -1076.0);
  Real hi = m.atLeast(m.atMost(x.hi, top), bottom);
  Rounded n = m.roundToInteger(hi);
  Real r = hi - n.number;
  if (x.lo.value)
    r = r + m.select(hi == x.hi, x.lo, m.real(0));
  return m.scale(exp2OfReduced(r), n);
}

Real gnnc::expandExp2(Real x) { return expandExp2(Pair{x, Real()}); }

Real gnnc::expandExpM1(Real x) {
  MathBuilder &m = *x.make;
  auto [n, r] = reduce(m.atLeast(m.atMost(x, m.pick(89.0, 710.0)), m.pick(-18.0, -38.0)));
  Real small = expM1OfReduced(r);
  // 2^n (exp(r) - 1) + (2^n - 1), with half of 2^n, which is finite.
  Real half = m.exp2Int(n, -1), sum = m.fma(small, half, half - 0.5);
  return m.copySign(m.select(n.number == 0.0, small, sum + sum), x);
}

Real gnnc::expandTanh(Real x) {
  MathBuilder &m = *x.make;
  // tanh is 1 from here on.
  Real a = m.atMost(m.abs(x), m.pick(10.0, 20.0));
  auto [n, r] = reduce(a + a);
  // e / (e + 2) for e = exp(2 |x|) - 1, with the rounding errors of e, the sum and the quotient made good.
  Real scale = m.exp2Int(n), small = expM1OfReduced(r), less = scale - 1.0;
  Real e = m.fma(small, scale, less), eLo = m.fma(small, scale, less - e);
  Pair d = m.fastSum(m.real(2), e);
  Real inverse = 1.0 / d.hi, quotient = e * inverse;
  Real rest = m.fmaExact(-quotient, d.hi, e) + (eLo - quotient * (d.lo + eLo));
  return m.copySign(m.fma(rest, inverse, quotient), x);
}

Real gnnc::expandSigmoid(Real x) {
  MathBuilder &m = *x.make;
  Real e = expOfSmall(-m.abs(x));
  return m.select(x < 0.0, e, m.real(1)) / (e + 1.0);
}

Real gnnc::expandSoftplus(Real x) {
  MathBuilder &m = *x.make;
  return m.atLeast(x, 0) + expandLog1pOfUnit(expOfSmall(-m.abs(x)));
}
