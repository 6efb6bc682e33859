// Elementwise formulas on tensors, written as on paper: 1.0 - y * y.
// Used by derivative rules and by passes that write an op in terms of simpler ones.
#ifndef GNNC_DIALECT_ELEMENTWISE_H
#define GNNC_DIALECT_ELEMENTWISE_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc::gnn {

/// A tensor and the place where what is computed from it goes. All operands of an operator have one type; a number
/// stands for a constant tensor of that type.
class Expr {
public:
  Expr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) : builder(&builder), loc(loc), value(value) {}

  operator mlir::Value() const { return value; }
  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  /// Another value at the same place.
  Expr with(mlir::Value other) const { return Expr(*builder, loc, other); }
  Expr constant(double c) const { return with(splat(*builder, loc, type(), c)); }

  friend Expr operator+(const Expr &a, const Expr &b) { return a.binary<mlir::arith::AddFOp>(b); }
  friend Expr operator-(const Expr &a, const Expr &b) { return a.binary<mlir::arith::SubFOp>(b); }
  friend Expr operator*(const Expr &a, const Expr &b) { return a.binary<mlir::arith::MulFOp>(b); }
  friend Expr operator/(const Expr &a, const Expr &b) { return a.binary<mlir::arith::DivFOp>(b); }
  friend Expr operator-(const Expr &a) { return a.apply<mlir::arith::NegFOp>(); }
  friend Expr operator+(const Expr &a, double c) { return a + a.constant(c); }
  friend Expr operator-(double c, const Expr &a) { return a.constant(c) - a; }
  friend Expr operator*(double c, const Expr &a) { return a.constant(c) * a; }
  friend Expr operator/(double c, const Expr &a) { return a.constant(c) / a; }

  /// A function of one operand, from arith, math or gnn.
  template <typename OpTy> Expr apply() const { return with(OpTy::create(*builder, loc, value)); }
  /// A function of two operands of one type.
  template <typename OpTy> Expr binary(mlir::Value other) const {
    return with(OpTy::create(*builder, loc, value, other));
  }

  // Comparisons give booleans; all but isNan and `differs` are false where an operand is NaN.
  Expr equals(mlir::Value other) const { return compare(mlir::arith::CmpFPredicate::OEQ, other); }
  Expr equals(double c) const { return equals(constant(c)); }
  Expr differs(double c) const { return compare(mlir::arith::CmpFPredicate::UNE, constant(c)); }
  Expr above(mlir::Value other) const { return compare(mlir::arith::CmpFPredicate::OGT, other); }
  Expr atLeast(mlir::Value other) const { return compare(mlir::arith::CmpFPredicate::OGE, other); }
  Expr atMost(mlir::Value other) const { return compare(mlir::arith::CmpFPredicate::OLE, other); }
  Expr below(mlir::Value other) const { return compare(mlir::arith::CmpFPredicate::OLT, other); }
  Expr isNan() const { return compare(mlir::arith::CmpFPredicate::UNO, value); }
  Expr isNegativeInteger() const {
    return with(mlir::arith::CmpIOp::create(*builder, loc, mlir::arith::CmpIPredicate::slt, value, constant(0)));
  }
  Expr equalsInteger(mlir::Value other) const {
    return with(mlir::arith::CmpIOp::create(*builder, loc, mlir::arith::CmpIPredicate::eq, value, other));
  }

  // Booleans.
  friend Expr operator&(const Expr &a, const Expr &b) { return a.binary<mlir::arith::AndIOp>(b); }
  friend Expr operator|(const Expr &a, const Expr &b) { return a.binary<mlir::arith::OrIOp>(b); }
  /// `a` where this is true, else `b`.
  Expr choose(mlir::Value a, mlir::Value b) const {
    return with(mlir::arith::SelectOp::create(*builder, loc, value, a, b));
  }
  Expr choose(double a, const Expr &b) const { return choose(b.constant(a), b); }
  Expr choose(const Expr &a, double b) const { return choose(a, a.constant(b)); }
  /// 1 where this is true, else 0.
  Expr indicator(mlir::RankedTensorType type) const {
    return choose(splat(*builder, loc, type, 1), splat(*builder, loc, type, 0));
  }

private:
  Expr compare(mlir::arith::CmpFPredicate predicate, mlir::Value other) const {
    return with(mlir::arith::CmpFOp::create(*builder, loc, predicate, value, other));
  }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

} // namespace gnnc::gnn

#endif
