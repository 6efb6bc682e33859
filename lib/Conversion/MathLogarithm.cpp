// Logarithms: x = 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2], s = f / (2 + f), log(1 + f) = 2 atanh(s).
//
// The form f - (f^2/2 - s (f^2/2 + s^2 P(s^2))) for it, in which rounding errors stay small, is that of Sun's fdlibm.
#include "MathCoefficients.h"
#include "MathFunctions.h"

#include <limits>

using namespace gnnc;
using namespace gnnc::coefficients;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double sqrtHalf = 0x1.6a09e667f3bcdp-1;

namespace {
struct Split {
  /// The exponent, and as it stands in the bits, with the format's bias.
  Real k;
  Bits biased;
  /// In [sqrt 1/2, sqrt 2].
  Real m;
};
} // namespace

/// Splits a positive normal number. `offset` is what the exponent's bits, read as a number, are too large by.
static Split split(Real x, Real offset) {
  MathBuilder &m = *x.make;
  Bits shifted = m.toBits(x) + (m.bitsOf(1) - m.bitsOf(sqrtHalf));
  Bits biased = shifted >> m.mantissa();
  Bits fraction = shifted & ((int64_t(1) << m.mantissa()) - 1);
  return {m.toReal(biased, offset), biased, m.fromBits(fraction + m.bitsOf(sqrtHalf))};
}

/// The offset for a number that was multiplied by 2^shift.
static double exponentOffset(MathBuilder &m, int shift) { return m.magic() + static_cast<double>(m.bias() + shift); }

/// Splits a positive number, also a subnormal one.
static Split splitAny(Real x) {
  MathBuilder &m = *x.make;
  int shift = m.mantissa() + 2;
  Cond tiny = x < m.pick<double>(std::numeric_limits<float>::min(), std::numeric_limits<double>::min());
  return split(m.select(tiny, x * std::ldexp(1.0, shift), x),
               m.select(tiny, m.real(exponentOffset(m, shift)), m.real(exponentOffset(m, 0))));
}

/// k ln 2 + log(1 + f). The high part of ln 2 has so few bits that its product with k is exact.
static Real logOf(Real f, Real kLn2Hi, Real kLn2Lo) {
  MathBuilder &m = *f.make;
  Real s = f / (f + 2.0), z = s * s, halfSquare = f * f * 0.5;
  Real inner = m.fma(z, m.polynomial(m.pick<llvm::ArrayRef<double>>(logF32, logF64), z), halfSquare);
  return kLn2Hi + (f - (halfSquare - m.fma(s, inner, kLn2Lo)));
}

static double ln2Hi(MathBuilder &m) { return m.pick(0x1.62ep-1, 0x1.62e42fefap-1); }
static double ln2Lo(MathBuilder &m) { return m.pick(0x1.0bfbe8p-15, 0x1.cf79abc9e3b3ap-40); }

/// What a logarithm of `argument` is at 0, below it, at infinity and for NaN; `result` elsewhere. `x` is the function's
/// argument, infinite or NaN where it should return that.
static Real withLimits(Real result, Real argument, Real x) {
  MathBuilder &m = *x.make;
  result = m.select(x < infinity, result, x);
  Real limit = m.select(argument == 0.0, m.real(-infinity), m.real(std::numeric_limits<double>::quiet_NaN()));
  return m.select(argument > 0.0, result, limit);
}

Real gnnc::expandLog(Real x) {
  MathBuilder &m = *x.make;
  auto [k, biased, fraction] = splitAny(x);
  return withLimits(logOf(fraction - 1.0, k * ln2Hi(m), k * ln2Lo(m)), x, x);
}

Real gnnc::expandLog1p(Real x) {
  MathBuilder &m = *x.make;
  // 1 + x = u + c exactly; c joins f, so that nothing of a small x is lost.
  auto [u, c] = m.sum(m.real(1), x);
  auto [k, biased, fraction] = split(u, m.real(exponentOffset(m, 0)));
  // c 2^-k; far out c does not count, and 2^-k would not be a normal number.
  Real scale = m.fromBits((m.bits(2 * m.bias()) - biased) << m.mantissa());
  Real f = m.fma(c, m.select(u < 0x1p64, scale, m.real(0)), fraction - 1.0);
  Real result = withLimits(logOf(f, k * ln2Hi(m), k * ln2Lo(m)), u, x);
  return m.copySign(result, x);
}

Real gnnc::expandLog1pOfUnit(Real e) {
  MathBuilder &m = *e.make;
  // 1 + e is in [1, 2]: k is 0 or 1.
  Cond above = e > 0x1.a8279ap-2;
  return logOf(m.select(above, (e - 1.0) * 0.5, e), m.select(above, m.real(ln2Hi(m)), m.real(0)),
               m.select(above, m.real(ln2Lo(m)), m.real(0)));
}

Pair gnnc::log2InPair(Real x) {
  MathBuilder &m = *x.make;
  auto [k, biased, fraction] = splitAny(x);
  // s = f / (2 + f) with its rounding error, found from what is left of f.
  Real f = fraction - 1.0, d = fraction + 1.0, dLo = fraction - (d - 1.0), inverse = 1.0 / d;
  Real sHi = f * inverse, rest = m.fmaExact(-sHi, d, f) - sHi * dLo;
  Pair s{sHi, rest * inverse};
  Pair z = m.product(s, s);
  // 2 atanh(s) / ln 2 = s (c0 + c1 z + z^2 Q(z)); the first two coefficients are 2 / ln 2 and 2 / (3 ln 2).
  Real tail = z.hi * z.hi * m.polynomial(m.pick<llvm::ArrayRef<double>>(logTailF32, logTailF64), z.hi);
  Pair c0{m.real(m.pick(0x1.715476p+1, 0x1.71547652b82fep+1)), m.real(m.pick(0x1.4ae0cp-25, 0x1.777d0ffda0d24p-55))};
  Pair c1{m.real(m.pick(0x1.ec709ep-1, 0x1.ec709dc3a03fdp-1)), m.real(m.pick(-0x1.e2fe02p-28, 0x1.d27f05548af0cp-55))};
  Pair linear = m.product(c1, z);
  Pair series = m.fastSum(c0.hi, linear.hi);
  series.lo = series.lo + (linear.lo + c0.lo + tail);
  Pair product = m.product(s, series);
  Pair result = m.fastSum(k, product.hi);
  result.lo = result.lo + product.lo;

  // The error term of an infinite logarithm is none.
  Cond finite = (x > 0.0) & (x < infinity);
  Real limit = m.select(x == 0.0, m.real(-infinity), x);
  return {m.select(finite, result.hi, limit), m.select(finite, result.lo, m.real(0))};
}

Real gnnc::expandLog2(Real x) {
  Pair log = log2InPair(x);
  return withLimits(log.hi + log.lo, x, x);
}
