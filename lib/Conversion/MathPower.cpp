// Powers: x^y = 2^(y log2 x), with the logarithm and the product in twice the precision, since the exponential
// magnifies their error by up to the largest exponent. Small integer powers are products.
#include "MathFunctions.h"

#include <limits>

using namespace gnnc;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// |x|^y where y is not 0.
static Real powOfMagnitude(Real x, Real y) {
  MathBuilder &m = *x.make;
  Pair log = log2InPair(m.abs(x));
  Pair product = m.product(y, log.hi);
  return expandExp2(Pair{product.hi, m.fma(y, log.lo, product.lo)});
}

/// The result with the sign that an odd power of x has.
static Real withSign(Real magnitude, Real x, Cond odd) {
  MathBuilder &m = *x.make;
  return m.select(odd, m.copySign(magnitude, x), magnitude);
}

Real gnnc::expandPow(Real x, Real y) {
  MathBuilder &m = *x.make;
  Real half = y * 0.5;
  Cond isInteger = m.roundEven(y) == y, halfIsFraction = m.roundEven(half) != half;
  Real result = withSign(powOfMagnitude(x, y), x, isInteger & halfIsFraction);
  // A negative number has integer powers only. -0 is not one, and -infinity has a power for every exponent.
  Cond allowed = x < 0.0;
  result = m.select(
      allowed,
      m.select(isInteger, result, m.select(x == -infinity, result, m.real(std::numeric_limits<double>::quiet_NaN()))),
      result);
  // 1^y and x^0 are 1, for NaN and infinities too; so is (-1)^(+-infinity).
  result = m.select(y == 0.0, m.real(1), result);
  result = m.select(x == 1.0, m.real(1), result);
  return m.select(m.abs(y) == infinity, m.select(x == -1.0, m.real(1), result), result);
}

Real gnnc::expandPowInt(Real x, Real n, Cond odd) {
  MathBuilder &m = *x.make;
  return m.select(n == 0.0, m.real(1), withSign(powOfMagnitude(x, n), x, odd));
}

/// A power by squaring, with error terms: plain products would each add half a unit in the last place, and double what
/// squares have.
static Real powBySquaring(Real x, int64_t n) {
  MathBuilder &m = *x.make;
  Pair x1{x, m.real(0)}, power = x1;
  // From the second bit of n down: square, and multiply by x where the bit is set. The last product is left over.
  Pair a, b;
  for (int bit = llvm::Log2_64(n) - 1; bit >= 0; --bit) {
    a = b = power;
    if (n >> bit & 1) {
      a = m.product(power, power);
      b = x1;
    }
    if (bit)
      power = m.product(a, b);
  }
  Real product = a.hi * b.hi, rest = m.fma(a.hi, b.lo, a.lo * b.hi);
  // Where a factor overflows its error term is infinite or NaN, and does not count; nor does it beside -0.
  return m.select(m.abs(rest) < m.abs(product), m.fma(a.hi, b.hi, rest), product);
}

Real gnnc::expandPowInt(Real x, int64_t n) {
  MathBuilder &m = *x.make;
  switch (n) {
  case -2: {
    Real inverse = 1.0 / x;
    return inverse * inverse;
  }
  case -1:
    return 1.0 / x;
  case 0:
    return m.real(1);
  case 1:
    return x;
  case 2:
    return x * x;
  case 3:
    return x * x * x;
  case 4: {
    Real square = x * x;
    return square * square;
  }
  default:
    if (n > 0 && n <= 32)
      return powBySquaring(x, n);
    Real magnitude = powOfMagnitude(x, m.real(static_cast<double>(n)));
    return n % 2 ? m.copySign(magnitude, x) : magnitude;
  }
}
