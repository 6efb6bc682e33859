// The error function: x + x E(x^2) up to 1, and 1 - erfc(|x|) beyond, where erfc is 2 to a polynomial.
#include "MathCoefficients.h"
#include "MathFunctions.h"

using namespace gnnc;
using namespace gnnc::coefficients;

Real gnnc::expandErf(Real x) {
  MathBuilder &m = *x.make;
  Real near = m.fma(x, m.polynomial(m.pick<llvm::ArrayRef<double>>(erfF32, erfF64), x * x), x);
  // From the limit on erf is 1. The polynomial is in |x| - 2, which is exact.
  Real a = m.abs(x), t = m.atMost(a, m.pick(3.92, 5.92)) - 2.0;
  Real erfc = expandExp2(-m.polynomial(m.pick<llvm::ArrayRef<double>>(erfcF32, erfcF64), t));
  return m.select(a < 1.0, near, m.copySign(1.0 - erfc, x));
}
