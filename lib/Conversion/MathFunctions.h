// Mathematical functions, written as arithmetic with a MathBuilder. Their errors are measured in docs/math.md.
#ifndef GNNC_LIB_CONVERSION_MATHFUNCTIONS_H
#define GNNC_LIB_CONVERSION_MATHFUNCTIONS_H

#include "MathBuilder.h"

namespace gnnc {

// MathExponential.cpp
Real expandExp(Real x);
Real expandExp2(Real x);
Real expandExpM1(Real x);
Real expandTanh(Real x);
Real expandSigmoid(Real x);
Real expandSoftplus(Real x);
/// 2^(x.hi + x.lo), also where it overflows or vanishes.
Real expandExp2(Pair x);

// MathLogarithm.cpp
Real expandLog(Real x);
Real expandLog1p(Real x);
Real expandLog2(Real x);
/// log(1 + e) for e in [0, 1].
Real expandLog1pOfUnit(Real e);
/// log2 of a positive number in about twice the precision; (-inf, 0) for 0, (inf, 0) for infinity.
Pair log2InPair(Real x);

// MathPower.cpp
Real expandPow(Real x, Real y);
/// x^n for a constant integer.
Real expandPowInt(Real x, int64_t n);
/// x^n for integers n of any width, given as numbers; `odd` says which are odd.
Real expandPowInt(Real x, Real n, Cond odd);

// MathTrigonometry.cpp
Real expandSin(Real x);
Real expandCos(Real x);
Real expandTan(Real x);
Real expandAtan(Real x);
Real expandAtan2(Real y, Real x);

// MathErf.cpp
Real expandErf(Real x);

} // namespace gnnc

#endif
