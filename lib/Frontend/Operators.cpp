// Operators, the matrix product, and conversions of element types.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;

namespace gnnc::elab {

Value Elaborator::unary(const ast::UnaryExpr *e) {
  Value v = expr(e->operand);
  if (v.isError())
    return v;
  if (e->op == ast::UnaryOp::neg)
    return negate(v, e->range);
  if (!v.type->isTensor() || v.type->elem != Elem::boolean) {
    diags.error(Diag::badOperand, e->operand->range, "'not' takes a bool, found " + describe(v));
    return errorValue();
  }
  mlir::Value yes = filled(loc(e->range), Elem::boolean, v.type->dims, 1);
  return tensorValue(arith::XOrIOp::create(builder, loc(e->range), v.ir, yes), Elem::boolean, v.type->dims);
}

Value Elaborator::negate(const Value &v, SourceRange at) {
  if (!v.type->isTensor() || !(isFloat(v.type->elem) || isRuntimeInt(v.type->elem) || isLiteral(v.type->elem))) {
    if (v.type->kind == Type::structure || v.type->kind == Type::opaque)
      diags.error(Diag::badOperand, at, "'-' takes a number or a tensor, found " + describe(v))
          .note("map(|x| -x, ...) applies it to every leaf of a struct");
    else
      diags.error(Diag::badOperand, at, "'-' takes a number or a tensor of numbers, found " + describe(v));
    return errorValue();
  }
  if (v.type->elem == Elem::integer)
    return integerValue(v.size.scale(-1));
  if (v.type->elem == Elem::number)
    return numberValue(-v.constant);
  Location l = loc(at);
  if (isFloat(v.type->elem))
    return tensorValue(arith::NegFOp::create(builder, l, v.ir), v.type->elem, v.type->dims);
  mlir::Value zero = filled(l, v.type->elem, v.type->dims, 0);
  return tensorValue(arith::SubIOp::create(builder, l, zero, v.ir), v.type->elem, v.type->dims);
}

Value Elaborator::binary(const ast::BinaryExpr *e) {
  Value a = expr(e->lhs), b = expr(e->rhs);
  if (a.isError() || b.isError())
    return errorValue();
  SourceRange x = e->lhs->range, y = e->rhs->range;
  switch (e->op) {
  case ast::BinaryOp::add:
  case ast::BinaryOp::sub:
  case ast::BinaryOp::mul:
  case ast::BinaryOp::div:
    return arithmetic(e->op, a, b, e->opRange, x, y);
  case ast::BinaryOp::matmul:
    return matmul(a, b, e->opRange, x, y);
  case ast::BinaryOp::logicalAnd:
  case ast::BinaryOp::logicalOr:
    return logical(e->op, a, b, e->opRange, x, y);
  default:
    return comparison(e->op, a, b, e->opRange, x, y);
  }
}

static std::optional<double> foldNumbers(ast::BinaryOp op, double a, double b) {
  switch (op) {
  case ast::BinaryOp::add:
    return a + b;
  case ast::BinaryOp::sub:
    return a - b;
  case ast::BinaryOp::mul:
    return a * b;
  case ast::BinaryOp::div:
    return a / b;
  default:
    return std::nullopt;
  }
}

Value Elaborator::arithmetic(ast::BinaryOp op, Value a, Value b, SourceRange at, SourceRange aRange,
                             SourceRange bRange) {
  std::string what = ("'" + ast::spelling(op) + "'").str();
  bool integers =
      a.type->isTensor() && b.type->isTensor() && a.type->elem == Elem::integer && b.type->elem == Elem::integer;
  if (integers && op != ast::BinaryOp::div) {
    std::optional<int64_t> m = a.size.getConstant(), n = b.size.getConstant();
    int64_t unused;
    if (m && n &&
        (op == ast::BinaryOp::add   ? llvm::AddOverflow(*m, *n, unused)
         : op == ast::BinaryOp::sub ? llvm::SubOverflow(*m, *n, unused)
                                    : llvm::MulOverflow(*m, *n, unused))) {
      diags.error(Diag::badOperand, at, "the result is too large for an integer: it has 64 bits");
      return errorValue();
    }
    return integerValue(op == ast::BinaryOp::add   ? a.size.add(b.size)
                        : op == ast::BinaryOp::sub ? a.size.sub(b.size)
                                                   : a.size.mul(b.size));
  }
  std::optional<double> x = constantOf(a), y = constantOf(b);
  if (x && y)
    return numberValue(*foldNumbers(op, *x, *y));

  for (auto [v, range] : {std::pair(&a, aRange), std::pair(&b, bRange)}) {
    if (v->type->isTensor() && (isFloat(v->type->elem) || isRuntimeInt(v->type->elem) || isLiteral(v->type->elem)))
      continue;
    Diagnostic &error =
        diags.error(Diag::badOperand, range, what + " takes numbers and tensors of numbers, found " + describe(*v));
    if (v->type->isTensor() && v->type->elem == Elem::index)
      error.note("an index array has no arithmetic; i32(...) makes plain integers of it");
    else if (v->type->isTensor() && v->type->elem == Elem::boolean)
      error.note("real(...) makes 1 and 0 of it");
    else if (v->type->kind == Type::structure || v->type->kind == Type::opaque)
      error.note("map(|a, b| a " + ast::spelling(op) + " b, ...) applies it to corresponding leaves of structs");
    return errorValue();
  }
  Value operands[] = {a, b};
  SourceRange ranges[] = {aRange, bRange};
  if (!unifyElems(operands, ranges, at, what))
    return errorValue();
  Elem elem = operands[0].type->elem;
  if (isRuntimeInt(elem) && op == ast::BinaryOp::div) {
    diags.error(Diag::badOperand, at, "'/' divides real numbers, found " + describe(a) + " and " + describe(b))
        .note("write real(...) to convert them");
    return errorValue();
  }
  if (!jointShape(operands, ranges, at))
    return errorValue();
  Location l = loc(at);
  mlir::Value p = operands[0].ir, q = operands[1].ir, r;
  bool f = isFloat(elem);
  if (op == ast::BinaryOp::add)
    r = f ? arith::AddFOp::create(builder, l, p, q).getResult() : arith::AddIOp::create(builder, l, p, q).getResult();
  else if (op == ast::BinaryOp::sub)
    r = f ? arith::SubFOp::create(builder, l, p, q).getResult() : arith::SubIOp::create(builder, l, p, q).getResult();
  else if (op == ast::BinaryOp::mul)
    r = f ? arith::MulFOp::create(builder, l, p, q).getResult() : arith::MulIOp::create(builder, l, p, q).getResult();
  else
    r = arith::DivFOp::create(builder, l, p, q);
  return tensorValue(r, elem, operands[0].type->dims);
}

mlir::Value Elaborator::compare(Location at, bool isFloat, StringRef op, mlir::Value a, mlir::Value b) {
  if (isFloat) {
    auto predicate = llvm::StringSwitch<arith::CmpFPredicate>(op)
                         .Case("==", arith::CmpFPredicate::OEQ)
                         .Case("!=", arith::CmpFPredicate::UNE)
                         .Case("<", arith::CmpFPredicate::OLT)
                         .Case("<=", arith::CmpFPredicate::OLE)
                         .Case(">", arith::CmpFPredicate::OGT)
                         .Default(arith::CmpFPredicate::OGE);
    return arith::CmpFOp::create(builder, at, predicate, a, b);
  }
  auto predicate = llvm::StringSwitch<arith::CmpIPredicate>(op)
                       .Case("==", arith::CmpIPredicate::eq)
                       .Case("!=", arith::CmpIPredicate::ne)
                       .Case("<", arith::CmpIPredicate::slt)
                       .Case("<=", arith::CmpIPredicate::sle)
                       .Case(">", arith::CmpIPredicate::sgt)
                       .Default(arith::CmpIPredicate::sge);
  return arith::CmpIOp::create(builder, at, predicate, a, b);
}

Value Elaborator::comparison(ast::BinaryOp op, Value a, Value b, SourceRange at, SourceRange aRange,
                             SourceRange bRange) {
  std::string what = ("'" + ast::spelling(op) + "'").str();
  Value operands[] = {a, b};
  SourceRange ranges[] = {aRange, bRange};
  // An index compares with a plain integer too.
  for (unsigned k : {0u, 1u}) {
    Value &v = operands[k], &other = operands[1 - k];
    if (v.type->isTensor() && v.type->elem == Elem::index && other.type->isTensor() &&
        (other.type->elem == Elem::i32 || other.type->elem == Elem::integer))
      v = tensorValue(v.ir, Elem::i32, v.type->dims);
  }
  if (!unifyElems(operands, ranges, at, what) || !jointShape(operands, ranges, at))
    return errorValue();
  Elem elem = operands[0].type->elem;
  bool equality = op == ast::BinaryOp::eq || op == ast::BinaryOp::ne;
  if (elem == Elem::key || ((elem == Elem::boolean || elem == Elem::index) && !equality)) {
    diags.error(Diag::badOperand, at, what + " does not compare " + describe(a));
    return errorValue();
  }
  return tensorValue(compare(loc(at), isFloat(elem), ast::spelling(op), operands[0].ir, operands[1].ir), Elem::boolean,
                     operands[0].type->dims);
}

Value Elaborator::logical(ast::BinaryOp op, Value a, Value b, SourceRange at, SourceRange aRange, SourceRange bRange) {
  Value operands[] = {a, b};
  SourceRange ranges[] = {aRange, bRange};
  for (auto [v, range] : llvm::zip(operands, ranges))
    if (!v.type->isTensor() || v.type->elem != Elem::boolean) {
      diags.error(Diag::badOperand, range, "'" + ast::spelling(op) + "' takes bools, found " + describe(v));
      return errorValue();
    }
  if (!jointShape(operands, ranges, at))
    return errorValue();
  mlir::Value r = op == ast::BinaryOp::logicalAnd
                      ? arith::AndIOp::create(builder, loc(at), operands[0].ir, operands[1].ir).getResult()
                      : arith::OrIOp::create(builder, loc(at), operands[0].ir, operands[1].ir).getResult();
  return tensorValue(r, Elem::boolean, operands[0].type->dims);
}

/// Contracts the last dimension of the left with the first of the right.
Value Elaborator::matmul(Value a, Value b, SourceRange at, SourceRange aRange, SourceRange bRange) {
  for (auto [v, range] : {std::pair(&a, aRange), std::pair(&b, bRange)})
    if (!v->type->isTensor() || !isFloat(v->type->elem) || v->type->dims.empty()) {
      diags.error(Diag::badOperand, range, "'@' takes real tensors with dimensions, found " + describe(*v));
      return errorValue();
    }
  Dim last = a.type->dims.back(), first = b.type->dims.front();
  if (a.type->elem != b.type->elem) {
    diags.error(Diag::typeMismatch, at,
                "'@' needs operands of one element type, found " + describe(a) + " and " + describe(b));
    return errorValue();
  }
  if (last.kind == Dim::pack || first.kind == Dim::pack || last.extent != first.extent) {
    Diagnostic &error = diags.error(Diag::broadcast, at,
                                    "'@' contracts the last dimension of the left with the first of the right, found " +
                                        str(a.type->dims) + " and " + str(b.type->dims));
    if (b.type->dims.size() == 2 && b.type->dims[1] == last)
      error.note("write transpose(...) around the right operand");
    else if (last.kind == Dim::pack || first.kind == Dim::pack)
      error.note("a pack of dimensions can't be contracted");
    return errorValue();
  }
  Dims dims(a.type->dims.begin(), a.type->dims.end() - 1);
  int64_t free = irPosition(a.type->dims, a.type->dims.size() - 1);
  dims.append(b.type->dims.begin() + 1, b.type->dims.end());
  SmallVector<int64_t> left, right, result;
  int64_t rightRank = cast<RankedTensorType>(b.ir.getType()).getRank();
  for (int64_t k = 0; k <= free; ++k)
    left.push_back(k);
  for (int64_t k = 0; k < rightRank; ++k)
    right.push_back(free + k);
  for (int64_t k = 0; k < free + rightRank; ++k)
    if (k != free)
      result.push_back(k);
  mlir::Value r =
      gnn::ContractOp::create(builder, loc(at), irTensor(a.type->elem, dims), a.ir, b.ir, left, right, result);
  return tensorValue(r, a.type->elem, dims);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value Elaborator::convertElem(const Value &v, Elem to, Location at) {
  Elem from = v.type->elem;
  if (isLiteral(from))
    return materialise(v, to, at);
  RankedTensorType type = irTensor(to, v.type->dims);
  mlir::Type source = irElem(from), target = irElem(to);
  mlir::Value r = v.ir;
  if (source == target) {
    // The same bits under another name.
  } else if (isa<FloatType>(source) && isa<FloatType>(target)) {
    r = source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth()
            ? arith::ExtFOp::create(builder, at, type, v.ir).getResult()
            : arith::TruncFOp::create(builder, at, type, v.ir).getResult();
  } else if (isa<FloatType>(target)) {
    r = from == Elem::boolean ? arith::UIToFPOp::create(builder, at, type, v.ir).getResult()
                              : arith::SIToFPOp::create(builder, at, type, v.ir).getResult();
  } else if (isa<FloatType>(source)) {
    r = arith::FPToSIOp::create(builder, at, type, v.ir);
  } else if (from == Elem::boolean) {
    r = arith::ExtUIOp::create(builder, at, type, v.ir);
  } else {
    r = source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth()
            ? arith::ExtSIOp::create(builder, at, type, v.ir).getResult()
            : arith::TruncIOp::create(builder, at, type, v.ir).getResult();
  }
  return tensorValue(r, to, v.type->dims);
}

Value Elaborator::castFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  Value v = arg(call.args[0]);
  if (v.isError())
    return v;
  Elem to = llvm::StringSwitch<Elem>(call.callee)
                .Case("f32", Elem::f32)
                .Case("f64", Elem::f64)
                .Case("i32", Elem::i32)
                .Case("i64", Elem::i64)
                .Default(Elem::real);
  if (!v.type->isTensor() || v.type->elem == Elem::key) {
    diags.error(Diag::badOperand, call.args[0].range,
                "'" + call.callee + "' converts numbers and bools, found " + describe(v));
    return errorValue();
  }
  bool fits = literalFits(v, to);
  if (v.type->elem == Elem::number && isRuntimeInt(to)) {
    double whole = std::trunc(v.constant), limit = std::ldexp(1.0, to == Elem::i32 ? 31 : 63);
    fits = whole >= -limit && whole < limit; // false for NaN too
    if (fits)
      v = integerValue(constantSize(static_cast<int64_t>(whole)));
  }
  if (!fits) {
    diags.error(Diag::badOperand, call.args[0].range, "this constant is out of the range of " + str(scalar(to)));
    return errorValue();
  }
  return convertElem(v, to, loc(call.range));
}

} // namespace gnnc::elab
