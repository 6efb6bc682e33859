// A notation for arithmetic on scalars and vectors of one float type.
#include "MathBuilder.h"

using namespace mlir;
using namespace gnnc;

template <typename OpTy, typename T> static T binary(T a, T b) {
  return {{a.make, OpTy::create(a.make->builder, a.make->loc, a.value, b.value)}};
}

/// The type with other elements.
static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

static Value constant(MathBuilder &make, Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(make.builder, make.loc, DenseElementsAttr::get(vector, Attribute(element)));
  return arith::ConstantOp::create(make.builder, make.loc, element);
}

Type MathBuilder::bitsType() const { return withElement(type, builder.getIntegerType(single ? 32 : 64)); }

int64_t MathBuilder::bitsOf(double value) const {
  return single ? static_cast<int64_t>(llvm::bit_cast<uint32_t>(static_cast<float>(value)))
                : llvm::bit_cast<int64_t>(value);
}

Real MathBuilder::real(double value) {
  return wrap(constant(*this, type, builder.getFloatAttr(getElementTypeOrSelf(type), value)));
}

Bits MathBuilder::bits(int64_t value) {
  IntegerType element = builder.getIntegerType(single ? 32 : 64);
  APInt number(64, static_cast<uint64_t>(value));
  return {{this, constant(*this, bitsType(), builder.getIntegerAttr(element, number.trunc(element.getWidth())))}};
}

Real gnnc::operator+(Real a, Real b) { return binary<arith::AddFOp>(a, b); }
Real gnnc::operator-(Real a, Real b) { return binary<arith::SubFOp>(a, b); }
Real gnnc::operator*(Real a, Real b) { return binary<arith::MulFOp>(a, b); }
Real gnnc::operator/(Real a, Real b) { return binary<arith::DivFOp>(a, b); }
Real gnnc::operator-(Real a) { return a.make->wrap(arith::NegFOp::create(a.make->builder, a.make->loc, a.value)); }

Bits gnnc::operator+(Bits a, Bits b) { return binary<arith::AddIOp>(a, b); }
Bits gnnc::operator-(Bits a, Bits b) { return binary<arith::SubIOp>(a, b); }
Bits gnnc::operator&(Bits a, Bits b) { return binary<arith::AndIOp>(a, b); }
Bits gnnc::operator^(Bits a, Bits b) { return binary<arith::XOrIOp>(a, b); }
Bits gnnc::operator<<(Bits a, int64_t count) { return binary<arith::ShLIOp>(a, a.make->bits(count)); }
Bits gnnc::operator>>(Bits a, int64_t count) { return binary<arith::ShRUIOp>(a, a.make->bits(count)); }

static Cond compare(arith::CmpFPredicate predicate, Real a, Real b) {
  return {{a.make, arith::CmpFOp::create(a.make->builder, a.make->loc, predicate, a.value, b.value)}};
}
Cond gnnc::operator<(Real a, Real b) { return compare(arith::CmpFPredicate::OLT, a, b); }
Cond gnnc::operator==(Real a, Real b) { return compare(arith::CmpFPredicate::OEQ, a, b); }
Cond gnnc::operator!=(Real a, Real b) { return compare(arith::CmpFPredicate::UNE, a, b); }
Cond gnnc::operator!=(Bits a, Bits b) {
  return {{a.make, arith::CmpIOp::create(a.make->builder, a.make->loc, arith::CmpIPredicate::ne, a.value, b.value)}};
}
Cond gnnc::operator&(Cond a, Cond b) { return binary<arith::AndIOp>(a, b); }

Real MathBuilder::select(Cond c, Real a, Real b) {
  return wrap(arith::SelectOp::create(builder, loc, c.value, a.value, b.value));
}

Real MathBuilder::copySign(Real magnitude, Real sign) {
  return wrap(math::CopySignOp::create(builder, loc, magnitude.value, sign.value));
}

Real MathBuilder::atMost(Real x, double limit) { return select(real(limit) < x, real(limit), x); }

Real MathBuilder::atLeast(Real x, double limit) { return select(x < limit, real(limit), x); }

Bits MathBuilder::toBits(Real x) { return {{this, arith::BitcastOp::create(builder, loc, bitsType(), x.value)}}; }

Real MathBuilder::fromBits(Bits x) { return wrap(arith::BitcastOp::create(builder, loc, type, x.value)); }

Real MathBuilder::fma(Real a, Real b, Real c) {
  return useFma ? wrap(math::FmaOp::create(builder, loc, a.value, b.value, c.value)) : a * b + c;
}

Pair MathBuilder::product(Real a, Real b) {
  Real p = a * b;
  if (useFma)
    return {p, fma(a, b, -p)};
  // Dekker 1971: halves whose products are exact. The halves are cut off in the bits, which cannot overflow.
  auto split = [&](Real x) -> Pair {
    Real hi = fromBits(toBits(x) & (single ? ~int64_t(0xFFF) : ~int64_t(0x7FFFFFF)));
    return {hi, x - hi};
  };
  Pair u = split(a), v = split(b);
  return {p, ((u.hi * v.hi - p) + u.hi * v.lo + u.lo * v.hi) + u.lo * v.lo};
}

Real MathBuilder::fmaExact(Real a, Real b, Real c) {
  if (useFma)
    return fma(a, b, c);
  Pair p = product(a, b);
  return (c + p.hi) + p.lo;
}

Pair MathBuilder::fastSum(Real a, Real b) {
  Real s = a + b;
  return {s, b - (s - a)};
}

Pair MathBuilder::sum(Real a, Real b) {
  Real s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

Pair MathBuilder::product(Pair a, Pair b) {
  Pair p = product(a.hi, b.hi);
  return {p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi)};
}

Real MathBuilder::polynomial(ArrayRef<double> coefficients, Real x) {
  Real result = real(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, real(c));
  return result;
}

Rounded MathBuilder::roundToInteger(Real x, double factor) {
  Real shifted = factor == 1 ? x + magic() : fma(x, real(factor), real(magic()));
  return {shifted - magic(), toBits(shifted)};
}

Real MathBuilder::exp2Int(Rounded n, int64_t offset) {
  return fromBits((n.bits + (offset + bias() - bitsOf(magic()))) << mantissa());
}

Real MathBuilder::scale(Real y, Rounded n) {
  Bits exponents = n.bits + (2 * bias() - bitsOf(magic())), half = exponents >> 1;
  return y * fromBits(half << mantissa()) * fromBits((exponents - half) << mantissa());
}

Real MathBuilder::toReal(Bits x, Real minus) { return fromBits(x + bitsOf(magic())) - minus; }
