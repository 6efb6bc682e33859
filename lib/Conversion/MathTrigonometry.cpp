// Sine, cosine, tangent: x = n pi/2 + r with pi/2 in three parts (Cody and Waite), polynomials in r^2, and quadrants by
// the low bits of n. Arctangents: a quotient in [0, 1], a polynomial, and the octants.
#include "MathCoefficients.h"
#include "MathFunctions.h"

#include <limits>

using namespace gnnc;
using namespace gnnc::coefficients;

namespace {
struct Angle {
  /// x - n pi/2, in about twice the precision.
  Real r, rLo;
  Bits quadrant;
  Real sine, cosine;
};
} // namespace

/// Reduces |x| and evaluates both functions at the rest.
static Angle reduce(Real magnitude) {
  MathBuilder &m = *magnitude.make;
  auto part = [&](double single, double twice) { return m.real(-m.pick(single, twice)); };
  Rounded n = m.roundToInteger(magnitude, 0x1.45f306dc9c883p-1);
  // The first difference is exact, since n is below 2^19 (2^45).
  Real r1 = m.fmaExact(n.number, part(0x1.921fb6p+0, 0x1.921fb54442d18p+0), magnitude);
  Pair second = m.product(n.number, part(-0x1.777a5cp-25, 0x1.1a62633145c07p-54));
  auto [r, rest] = m.sum(r1, second.hi);
  Real rLo = rest + m.fma(n.number, part(-0x1.ee59dap-50, -0x1.f1976b7ed8fbcp-110), second.lo);

  Real z = r * r, cube = z * r;
  Real sine = r + m.fma(cube, m.polynomial(m.pick<llvm::ArrayRef<double>>(sinF32, sinF64), z), rLo);
  // 1 - z/2 + z^2 C(z) - r rLo, with the rounding error of the first difference.
  Real halfZ = z * 0.5, head = 1.0 - halfZ, headLo = (1.0 - head) - halfZ;
  Real tail = m.fma(z * z, m.polynomial(m.pick<llvm::ArrayRef<double>>(cosF32, cosF64), z), headLo - r * rLo);
  return {r, rLo, n.bits, sine, head + tail};
}

/// NaN for arguments whose multiple of pi/2 is too large to be subtracted exactly.
static Real inRange(Real result, Real magnitude) {
  MathBuilder &m = *result.make;
  return m.select(magnitude < m.pick(0x1p19, 0x1p45), result, m.real(std::numeric_limits<double>::quiet_NaN()));
}

/// Sine, or with a quadrant added cosine, of a nonnegative number.
static Real sineOfQuadrant(Real magnitude, const Angle &angle, int64_t quadrants) {
  MathBuilder &m = *magnitude.make;
  Bits quadrant = quadrants ? angle.quadrant + quadrants : angle.quadrant;
  Real result = m.select((quadrant & 1) != 0, angle.cosine, angle.sine);
  Bits sign = (quadrant & 2) << (m.pick(32, 64) - 2);
  return inRange(m.fromBits(m.toBits(result) ^ sign), magnitude);
}

/// `value` times the sign of x.
static Real timesSign(Real value, Real x) {
  MathBuilder &m = *x.make;
  int64_t signBit = m.pick(int64_t(0x80000000), std::numeric_limits<int64_t>::min());
  return m.fromBits(m.toBits(value) ^ (m.toBits(x) & signBit));
}

Real gnnc::expandSin(Real x) {
  Real magnitude = x.make->abs(x);
  return timesSign(sineOfQuadrant(magnitude, reduce(magnitude), 0), x);
}

Real gnnc::expandCos(Real x) {
  Real magnitude = x.make->abs(x);
  return sineOfQuadrant(magnitude, reduce(magnitude), 1);
}

Real gnnc::expandTan(Real x) {
  MathBuilder &m = *x.make;
  Real magnitude = m.abs(x);
  Angle angle = reduce(magnitude);
  Cond odd = (angle.quadrant & 1) != 0;
  Real tangent = m.select(odd, -angle.cosine, angle.sine) / m.select(odd, angle.sine, angle.cosine);
  return timesSign(inRange(tangent, magnitude), x);
}

/// atan(low / high) for 0 <= low <= high, or pi/2 minus that.
static Real atanOfQuotient(Real quotient, Cond beyond) {
  MathBuilder &m = *quotient.make;
  Real z = quotient * quotient;
  Real angle = m.fma(quotient * z, m.polynomial(m.pick<llvm::ArrayRef<double>>(atanF32, atanF64), z), quotient);
  Real rest = m.pick(0x1.921fb6p+0, 0x1.921fb54442d18p+0) - (angle - m.pick(-0x1.777a5cp-25, 0x1.1a62633145c07p-54));
  return m.select(beyond, rest, angle);
}

Real gnnc::expandAtan(Real x) {
  MathBuilder &m = *x.make;
  Real a = m.abs(x);
  Cond beyond = a > 1.0;
  return m.copySign(atanOfQuotient(m.select(beyond, 1.0 / a, a), beyond), x);
}

Real gnnc::expandAtan2(Real y, Real x) {
  MathBuilder &m = *x.make;
  Real ax = m.abs(x), ay = m.abs(y);
  Cond beyond = ax < ay;
  Real low = m.select(beyond, ax, ay), high = m.select(beyond, ay, ax);
  // 0/0 counts as 0, and infinity/infinity as 1.
  Real quotient = m.select(low == high, m.select(low == 0.0, low, m.real(1)), low / high);
  Real angle = atanOfQuotient(quotient, beyond);
  Real left = m.pick(0x1.921fb6p+1, 0x1.921fb54442d18p+1) - (angle - m.pick(-0x1.777a5cp-24, 0x1.1a62633145c07p-53));
  // The sign bit decides, so that -0 lies to the left.
  Real side = m.copySign(m.real(1), x);
  return m.copySign(m.select(side < 0.0, left, angle), y);
}
