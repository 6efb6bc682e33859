// Built-in functions that act element by element.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace gnnc::elab {

/// log(2) and the like are constants.
static std::optional<double> foldedUnary(StringRef name, double x) {
  if (name == "exp")
    return std::exp(x);
  if (name == "log")
    return std::log(x);
  if (name == "sqrt")
    return std::sqrt(x);
  if (name == "sin")
    return std::sin(x);
  if (name == "cos")
    return std::cos(x);
  if (name == "tanh")
    return std::tanh(x);
  return std::nullopt;
}

std::optional<Value> Elaborator::floatArg(Call &call, CallArg &a) {
  Value v = arg(a);
  if (v.isError())
    return std::nullopt;
  if (v.type->isTensor() && isLiteral(v.type->elem))
    v = materialise(v, Elem::real, loc(a.range));
  if (!v.type->isTensor() || !isFloat(v.type->elem)) {
    Diagnostic &error =
        diags.error(Diag::badOperand, a.range, "'" + call.callee + "' takes a real tensor, found " + describe(v));
    if (v.type->isTensor() && (isRuntimeInt(v.type->elem) || v.type->elem == Elem::boolean))
      error.note("write real(...) to convert it");
    else if (v.type->kind == Type::structure || v.type->kind == Type::opaque)
      error.note("map(|x| " + call.callee + "(x), ...) applies it to every leaf of a struct");
    return std::nullopt;
  }
  return v;
}

Value Elaborator::unaryFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  StringRef f = call.callee;
  if (f == "abs") {
    Value v = arg(call.args[0]);
    if (!v.isError() && v.type->isTensor() && isRuntimeInt(v.type->elem))
      return tensorValue(math::AbsIOp::create(builder, loc(call.range), v.ir), v.type->elem, v.type->dims);
  }
  if (std::optional<double> c = constantOf(arg(call.args[0])))
    if (std::optional<double> folded = foldedUnary(f, *c))
      return numberValue(*folded);
  std::optional<Value> operand = floatArg(call, call.args[0]);
  if (!operand)
    return errorValue();
  const Value &v = *operand;
  Location at = loc(call.range);
  Elem elem = v.type->elem;
  ArrayRef<Dim> dims = v.type->dims;
  mlir::Value x = v.ir, y;
  auto constant = [&](double c) { return filled(at, elem, dims, c); };
  auto mul = [&](mlir::Value a, mlir::Value b) { return arith::MulFOp::create(builder, at, a, b).getResult(); };
  if (f == "exp")
    y = math::ExpOp::create(builder, at, x);
  else if (f == "expm1")
    y = math::ExpM1Op::create(builder, at, x);
  else if (f == "log")
    y = math::LogOp::create(builder, at, x);
  else if (f == "log1p")
    y = math::Log1pOp::create(builder, at, x);
  else if (f == "sqrt")
    y = math::SqrtOp::create(builder, at, x);
  else if (f == "rsqrt")
    y = math::RsqrtOp::create(builder, at, x);
  else if (f == "tanh")
    y = math::TanhOp::create(builder, at, x);
  else if (f == "sin")
    y = math::SinOp::create(builder, at, x);
  else if (f == "cos")
    y = math::CosOp::create(builder, at, x);
  else if (f == "tan")
    y = math::TanOp::create(builder, at, x);
  else if (f == "atan")
    y = math::AtanOp::create(builder, at, x);
  else if (f == "erf")
    y = math::ErfOp::create(builder, at, x);
  else if (f == "abs")
    y = math::AbsFOp::create(builder, at, x);
  else if (f == "floor")
    y = math::FloorOp::create(builder, at, x);
  else if (f == "ceil")
    y = math::CeilOp::create(builder, at, x);
  else if (f == "round")
    y = math::RoundEvenOp::create(builder, at, x);
  else if (f == "sigmoid")
    y = gnn::SigmoidOp::create(builder, at, x.getType(), x);
  else if (f == "softplus")
    y = gnn::SoftplusOp::create(builder, at, x.getType(), x);
  else if (f == "silu")
    y = mul(x, gnn::SigmoidOp::create(builder, at, x.getType(), x));
  else if (f == "gelu") {
    mlir::Value erf = math::ErfOp::create(builder, at, mul(x, constant(std::sqrt(0.5))));
    y = mul(mul(constant(0.5), x), arith::AddFOp::create(builder, at, constant(1), erf));
  } else {
    // relu. Where x is NaN the comparison is false, so it stays visible.
    mlir::Value zero = constant(0);
    y = arith::SelectOp::create(builder, at, compare(at, true, "<=", x, zero), zero, x);
  }
  return tensorValue(y, elem, dims);
}

/// Integer powers by repeated multiplication, so that they and all their derivatives are exact at 0.
Value Elaborator::powFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  std::optional<Value> base = floatArg(call, call.args[0]);
  Value exponent = arg(call.args[1]);
  if (!base || exponent.isError())
    return errorValue();
  Location at = loc(call.range);
  Elem elem = base->type->elem;
  std::optional<int64_t> n =
      exponent.type->isTensor() && exponent.type->elem == Elem::integer ? exponent.size.getConstant() : std::nullopt;
  if (n) {
    uint64_t count = *n < 0 ? -static_cast<uint64_t>(*n) : static_cast<uint64_t>(*n);
    mlir::Value power = base->ir, result;
    for (; count; count >>= 1) {
      if (count & 1)
        result = result ? arith::MulFOp::create(builder, at, result, power).getResult() : power;
      if (count > 1)
        power = arith::MulFOp::create(builder, at, power, power);
    }
    if (!result)
      result = filled(at, elem, base->type->dims, 1);
    if (*n < 0)
      result = arith::DivFOp::create(builder, at, filled(at, elem, base->type->dims, 1), result);
    return tensorValue(result, elem, base->type->dims);
  }
  if (exponent.type->isTensor() && isRuntimeInt(exponent.type->elem))
    exponent = convertElem(exponent, elem, at);
  Value operands[] = {*base, exponent};
  SourceRange ranges[] = {call.args[0].range, call.args[1].range};
  if (!unifyElems(operands, ranges, call.range, "'pow'") || !jointShape(operands, ranges, call.range))
    return errorValue();
  return tensorValue(math::PowFOp::create(builder, at, operands[0].ir, operands[1].ir), elem, operands[0].type->dims);
}

/// maximum(a, b), minimum(a, b).
Value Elaborator::extremum(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  Value operands[] = {arg(call.args[0]), arg(call.args[1])};
  SourceRange ranges[] = {call.args[0].range, call.args[1].range};
  if (!unifyElems(operands, ranges, call.range, ("'" + call.callee + "'").str()) ||
      !jointShape(operands, ranges, call.range))
    return errorValue();
  Elem elem = operands[0].type->elem;
  if (!isFloat(elem) && !isRuntimeInt(elem)) {
    diags.error(Diag::badOperand, call.range, "'" + call.callee + "' takes numbers, found " + describe(operands[0]));
    return errorValue();
  }
  Location at = loc(call.range);
  mlir::Value a = operands[0].ir, b = operands[1].ir, r;
  bool max = call.callee == "maximum";
  if (isFloat(elem))
    r = max ? arith::MaximumFOp::create(builder, at, a, b).getResult()
            : arith::MinimumFOp::create(builder, at, a, b).getResult();
  else
    r = max ? arith::MaxSIOp::create(builder, at, a, b).getResult()
            : arith::MinSIOp::create(builder, at, a, b).getResult();
  return tensorValue(r, elem, operands[0].type->dims);
}

Value Elaborator::atan2Function(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  Value operands[] = {arg(call.args[0]), arg(call.args[1])};
  SourceRange ranges[] = {call.args[0].range, call.args[1].range};
  if (!unifyElems(operands, ranges, call.range, "'atan2'") || !jointShape(operands, ranges, call.range))
    return errorValue();
  if (!isFloat(operands[0].type->elem)) {
    diags.error(Diag::badOperand, call.range, "'atan2' takes real tensors, found " + describe(operands[0]));
    return errorValue();
  }
  return tensorValue(math::Atan2Op::create(builder, loc(call.range), operands[0].ir, operands[1].ir),
                     operands[0].type->elem, operands[0].type->dims);
}

/// leaky_relu(x, slope = 0.01): a selection, so that at x > 0 the slope gets exactly no gradient.
Value Elaborator::leakyRelu(Call &call) {
  if (!accept(call, 1, 2, {"slope"}))
    return errorValue();
  std::optional<Value> x = floatArg(call, call.args[0]);
  if (!x)
    return errorValue();
  CallArg *slopeArg = option(call, "slope", 1);
  Value slope = slopeArg ? arg(*slopeArg) : numberValue(0.01);
  Location at = loc(call.range);
  if (slope.isError())
    return slope;
  Value operands[] = {*x, slope};
  SourceRange ranges[] = {call.args[0].range, slopeArg ? slopeArg->range : call.range};
  if (!unifyElems(operands, ranges, call.range, "'leaky_relu'") || !jointShape(operands, ranges, call.range))
    return errorValue();
  mlir::Value v = operands[0].ir;
  mlir::Value scaled = arith::MulFOp::create(builder, at, operands[1].ir, v);
  mlir::Value positive = compare(at, true, ">", v, filled(at, x->type->elem, operands[0].type->dims, 0));
  return tensorValue(arith::SelectOp::create(builder, at, positive, v, scaled), x->type->elem, operands[0].type->dims);
}

/// elu(x, alpha = 1).
Value Elaborator::eluFunction(Call &call) {
  if (!accept(call, 1, 2, {"alpha"}))
    return errorValue();
  std::optional<Value> x = floatArg(call, call.args[0]);
  if (!x)
    return errorValue();
  CallArg *alphaArg = option(call, "alpha", 1);
  Value alpha = alphaArg ? arg(*alphaArg) : numberValue(1);
  Location at = loc(call.range);
  if (alpha.isError())
    return alpha;
  Value operands[] = {*x, alpha};
  SourceRange ranges[] = {call.args[0].range, alphaArg ? alphaArg->range : call.range};
  if (!unifyElems(operands, ranges, call.range, "'elu'") || !jointShape(operands, ranges, call.range))
    return errorValue();
  mlir::Value v = operands[0].ir;
  mlir::Value below = math::ExpM1Op::create(builder, at, v);
  if (alpha.type->elem != Elem::number || alpha.constant != 1)
    below = arith::MulFOp::create(builder, at, operands[1].ir, below);
  mlir::Value positive = compare(at, true, ">", v, filled(at, x->type->elem, operands[0].type->dims, 0));
  return tensorValue(arith::SelectOp::create(builder, at, positive, v, below), x->type->elem, operands[0].type->dims);
}

/// clamp(x, lo, hi): passes the gradient on the closed interval.
Value Elaborator::clampFunction(Call &call) {
  if (!accept(call, 3, 3))
    return errorValue();
  Value operands[] = {arg(call.args[0]), arg(call.args[1]), arg(call.args[2])};
  SourceRange ranges[] = {call.args[0].range, call.args[1].range, call.args[2].range};
  if (!unifyElems(operands, ranges, call.range, "'clamp'") || !jointShape(operands, ranges, call.range))
    return errorValue();
  Elem elem = operands[0].type->elem;
  if (!isFloat(elem) && !isRuntimeInt(elem)) {
    diags.error(Diag::badOperand, call.args[0].range, "'clamp' takes numbers, found " + describe(operands[0]));
    return errorValue();
  }
  Location at = loc(call.range);
  mlir::Value x = operands[0].ir, lo = operands[1].ir, hi = operands[2].ir;
  mlir::Value above = arith::SelectOp::create(builder, at, compare(at, isFloat(elem), ">", x, hi), hi, x);
  return tensorValue(arith::SelectOp::create(builder, at, compare(at, isFloat(elem), "<", x, lo), lo, above), elem,
                     operands[0].type->dims);
}

/// where(c, a, b): the three are broadcast jointly.
Value Elaborator::whereFunction(Call &call) {
  if (!accept(call, 3, 3))
    return errorValue();
  Value c = arg(call.args[0]);
  Value branches[] = {arg(call.args[1]), arg(call.args[2])};
  if (c.isError())
    return c;
  if (!c.type->isTensor() || c.type->elem != Elem::boolean) {
    diags.error(Diag::badOperand, call.args[0].range,
                "the condition of 'where' is a bool tensor, found " + describe(c));
    return errorValue();
  }
  SourceRange ranges[] = {call.args[0].range, call.args[1].range, call.args[2].range};
  if (!unifyElems(branches, ArrayRef(ranges).drop_front(), call.range, "'where'"))
    return errorValue();
  Value operands[] = {c, branches[0], branches[1]};
  if (!jointShape(operands, ranges, call.range))
    return errorValue();
  mlir::Value r = arith::SelectOp::create(builder, loc(call.range), operands[0].ir, operands[1].ir, operands[2].ir);
  return tensorValue(r, operands[1].type->elem, operands[1].type->dims, operands[1].type->target);
}

Value Elaborator::nondiffFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  Value v = arg(call.args[0]);
  return v.isError() ? v : holdConstant(v, loc(call.range));
}

/// __no_rule(x): x, through an op without a derivative, so that tests can show what happens to it.
Value Elaborator::noRuleFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  std::optional<Value> v = floatArg(call, call.args[0]);
  if (!v)
    return errorValue();
  return tensorValue(gnn::NoRuleOp::create(builder, loc(call.range), v->ir.getType(), v->ir), v->type->elem,
                     v->type->dims);
}

/// pmul(c, a): 0 where c is 0, else c * a. What adjoints downstream of a selection multiply with.
Value Elaborator::pmulFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  std::optional<Value> c = floatArg(call, call.args[0]), a = floatArg(call, call.args[1]);
  if (!c || !a)
    return errorValue();
  Value operands[] = {*c, *a};
  SourceRange ranges[] = {call.args[0].range, call.args[1].range};
  if (!unifyElems(operands, ranges, call.range, "'pmul'") || !jointShape(operands, ranges, call.range))
    return errorValue();
  mlir::Value r =
      gnn::PmulOp::create(builder, loc(call.range), operands[0].ir.getType(), operands[0].ir, operands[1].ir);
  return tensorValue(r, operands[0].type->elem, operands[0].type->dims);
}

} // namespace gnnc::elab
