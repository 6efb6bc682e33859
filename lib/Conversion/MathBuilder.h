// A notation for arithmetic on scalars and vectors of one float type: formulas in C++ that make arith ops.
//
// Real, Bits and Cond are values of a MathBuilder: numbers, their bit patterns as integers, and comparisons. A double
// or an integer beside one of them is a constant of its type.
#ifndef GNNC_LIB_CONVERSION_MATHBUILDER_H
#define GNNC_LIB_CONVERSION_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace gnnc {

class MathBuilder;

template <typename Self> struct MathValue {
  MathBuilder *make = nullptr;
  mlir::Value value;
};
struct Real : MathValue<Real> {};
struct Bits : MathValue<Bits> {};
struct Cond : MathValue<Cond> {};

/// A number with an error term: their sum in about twice the precision.
struct Pair {
  Real hi, lo;
};

/// A number rounded to an integer, and a bit pattern whose low bits count with it.
struct Rounded {
  Real number;
  Bits bits;
};

class MathBuilder {
public:
  /// `type` is f32 or f64 or a vector of them.
  MathBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, bool useFma)
      : builder(builder), loc(loc), type(type), useFma(useFma), single(mlir::getElementTypeOrSelf(type).isF32()) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;
  bool useFma;
  /// f32; else f64.
  bool single;

  // The format: stored bits of the significand, exponent bias.
  int mantissa() const { return single ? 23 : 52; }
  int64_t bias() const { return single ? 127 : 1023; }
  /// The bits of a constant of this precision.
  int64_t bitsOf(double value) const;
  /// One constant in single precision, another one in double.
  template <typename T> T pick(T forSingle, T forDouble) const { return single ? forSingle : forDouble; }

  Real wrap(mlir::Value value) { return {this, value}; }
  Real real(double value);
  Bits bits(int64_t value);

  /// a * b + c, fused if the target can.
  Real fma(Real a, Real b, Real c);
  /// a * b + c where a * b + c is exact, or its rounding error is small against that of the product alone: with no
  /// fused operation the product's error is computed and added.
  Real fmaExact(Real a, Real b, Real c);
  /// a * b in twice the precision.
  Pair product(Real a, Real b);
  /// a + b in twice the precision, for |a| >= |b| or a = 0.
  Pair fastSum(Real a, Real b);
  /// a + b in twice the precision.
  Pair sum(Real a, Real b);
  Pair product(Pair a, Pair b);

  Real select(Cond c, Real a, Real b);
  Real abs(Real x) { return unary<mlir::math::AbsFOp>(x); }
  Real sqrt(Real x) { return unary<mlir::math::SqrtOp>(x); }
  Real roundEven(Real x) { return unary<mlir::math::RoundEvenOp>(x); }
  Real trunc(Real x) { return unary<mlir::math::TruncOp>(x); }
  Real copySign(Real magnitude, Real sign);
  /// The smaller, the larger; x if x is NaN, in one instruction.
  Real atMost(Real x, double limit);
  Real atLeast(Real x, double limit);

  Bits toBits(Real x);
  Real fromBits(Bits x);

  /// c[0] + c[1] x + ...
  Real polynomial(llvm::ArrayRef<double> coefficients, Real x);

  /// x * factor rounded to the nearest integer, by adding a large number, so that NaN does no harm and no conversion is
  /// needed. |x * factor| < 2^21.
  Rounded roundToInteger(Real x, double factor = 1);
  /// 2^(n + offset) for an integer that keeps it a normal number.
  Real exp2Int(Rounded n, int64_t offset = 0);
  /// y * 2^n for every integer n from -2 * bias + 2 to 2 * bias, rounded once even where the result is subnormal.
  Real scale(Real y, Rounded n);
  /// A small nonnegative integer, in bits, as a number plus magic() minus `minus`.
  Real toReal(Bits x, Real minus);
  /// Between 2^mantissa and twice that: its neighbours are integers, one apart in the bits too.
  double magic() const { return pick(0x1.8p23, 0x1.8p52); }

private:
  template <typename OpTy> Real unary(Real x) { return wrap(OpTy::create(builder, loc, x.value)); }
  mlir::Type bitsType() const;
};

Real operator+(Real a, Real b);
Real operator-(Real a, Real b);
Real operator*(Real a, Real b);
Real operator/(Real a, Real b);
Real operator-(Real a);
inline Real operator+(Real a, double b) { return a + a.make->real(b); }
inline Real operator+(double a, Real b) { return b.make->real(a) + b; }
inline Real operator-(Real a, double b) { return a - a.make->real(b); }
inline Real operator-(double a, Real b) { return b.make->real(a) - b; }
inline Real operator*(Real a, double b) { return a * a.make->real(b); }
inline Real operator*(double a, Real b) { return b.make->real(a) * b; }
inline Real operator/(double a, Real b) { return b.make->real(a) / b; }

Bits operator+(Bits a, Bits b);
Bits operator-(Bits a, Bits b);
Bits operator&(Bits a, Bits b);
Bits operator^(Bits a, Bits b);
Bits operator<<(Bits a, int64_t count);
/// Without sign.
Bits operator>>(Bits a, int64_t count);
inline Bits operator+(Bits a, int64_t b) { return a + a.make->bits(b); }
inline Bits operator&(Bits a, int64_t b) { return a & a.make->bits(b); }

Cond operator<(Real a, Real b);
Cond operator==(Real a, Real b);
Cond operator!=(Real a, Real b);
inline Cond operator<(Real a, double b) { return a < a.make->real(b); }
inline Cond operator>(Real a, double b) { return a.make->real(b) < a; }
inline Cond operator==(Real a, double b) { return a == a.make->real(b); }
Cond operator!=(Bits a, Bits b);
inline Cond operator!=(Bits a, int64_t b) { return a != a.make->bits(b); }
Cond operator&(Cond a, Cond b);

} // namespace gnnc

#endif
