// Combination of two values, scalars or vectors. For max and min a NaN wins over every number, and of equal values the
// one with the lowest number wins.
#include "Combine.h"
#include "Lanes.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// What accumulation starts from.
TypedAttr gnnc::neutralElement(OpBuilder &b, CombineKind kind, Type type) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    switch (kind) {
    case CombineKind::Max:
    case CombineKind::Min:
      return b.getFloatAttr(floating, llvm::APFloat::getInf(semantics, kind == CombineKind::Max));
    case CombineKind::Prod:
      return b.getFloatAttr(floating, 1.0);
    default:
      return b.getFloatAttr(floating, 0.0);
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  switch (kind) {
  case CombineKind::Max:
    return b.getIntegerAttr(type, llvm::APInt::getSignedMinValue(width));
  case CombineKind::Min:
    return b.getIntegerAttr(type, llvm::APInt::getSignedMaxValue(width));
  case CombineKind::Prod:
    return b.getIntegerAttr(type, 1);
  default:
    return b.getIntegerAttr(type, 0);
  }
}

/// Whether `value` replaces the extremum `than`: it is beyond it, or a NaN where there was none.
Value Combiner::better(const Accumulator &acc, Value value, Value than) {
  bool isMax = acc.kind == CombineKind::Max;
  if (isa<IntegerType>(acc.type))
    return arith::CmpIOp::create(b, loc, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, value, than);
  Value beyond =
      arith::CmpFOp::create(b, loc, isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, value, than);
  Value number = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, than, than);
  return arith::AndIOp::create(b, loc, beyond, number);
}

Value Combiner::combine(const Accumulator &acc, Value old, Value value) {
  bool floating = isa<FloatType>(acc.type);
  switch (acc.kind) {
  case CombineKind::Sum: {
    if (!floating)
      return arith::AddIOp::create(b, loc, old, value);
    // A product that is only added may be fused with the addition: the result is then closer, and the same everywhere.
    auto contract = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
    auto sum = arith::AddFOp::create(b, loc, old, value);
    if (auto product = value.getDefiningOp<arith::MulFOp>()) {
      product.setFastmathAttr(contract);
      sum.setFastmathAttr(contract);
    }
    return sum;
  }
  case CombineKind::Prod:
    return floating ? Value(arith::MulFOp::create(b, loc, old, value))
                    : Value(arith::MulIOp::create(b, loc, old, value));
  default:
    return arith::SelectOp::create(b, loc, better(acc, value, old), value, old);
  }
}

/// The tag of two entries' extremum: that of the one that wins, or -2 where the second one neither wins nor stays
/// behind and has another tag. That may be said too often, of a number beside a NaN.
Value Combiner::tagOf(const Accumulator &acc, Value wins, Extremum first, Extremum second, Value mask) {
  bool isMax = acc.kind == CombineKind::Max;
  Value level;
  if (isa<IntegerType>(acc.type))
    level = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, second.value, first.value);
  else
    level = arith::CmpFOp::create(b, loc, isMax ? arith::CmpFPredicate::UGE : arith::CmpFPredicate::ULE, second.value,
                                  first.value);
  Value other = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, second.winner, first.winner);
  Value ties = arith::AndIOp::create(b, loc, level, other);
  if (mask)
    ties = arith::AndIOp::create(b, loc, ties, mask);
  auto vector = dyn_cast<VectorType>(first.winner.getType());
  Value several = laneConstant(b, loc, b.getI32IntegerAttr(-2), vector ? vector.getDimSize(0) : 0);
  Value kept = arith::SelectOp::create(b, loc, ties, several, first.winner);
  return arith::SelectOp::create(b, loc, wins, second.winner, kept);
}

/// An accumulator after one more value, whose number is higher than any before; `mask` says where it counts.
Extremum Combiner::update(const Accumulator &acc, Extremum old, Value value, Value number, Value mask) {
  Extremum result;
  if (acc.winner < 0) {
    result.value = combine(acc, old.value, value);
    if (mask)
      result.value = arith::SelectOp::create(b, loc, mask, result.value, old.value);
    return result;
  }
  Value wins = better(acc, value, old.value);
  if (mask)
    wins = arith::AndIOp::create(b, loc, wins, mask);
  result.value = arith::SelectOp::create(b, loc, wins, value, old.value);
  result.winner = acc.tagged ? tagOf(acc, wins, old, {value, number}, mask)
                             : arith::SelectOp::create(b, loc, wins, number, old.winner).getResult();
  return result;
}

/// Two accumulators joined; ties go to the lower number.
Extremum Combiner::merge(const Accumulator &acc, Extremum first, Extremum second) {
  if (acc.winner < 0)
    return {combine(acc, first.value, second.value), Value()};
  Value wins = better(acc, second.value, first.value);
  if (acc.tagged)
    return {arith::SelectOp::create(b, loc, wins, second.value, first.value), tagOf(acc, wins, first, second, Value())};
  Value tie;
  if (isa<IntegerType>(acc.type)) {
    tie = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, first.value, second.value);
  } else {
    Value equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, first.value, second.value);
    Value firstNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, first.value, first.value);
    Value secondNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, second.value, second.value);
    tie = arith::OrIOp::create(b, loc, equal, arith::AndIOp::create(b, loc, firstNan, secondNan));
  }
  // Unsigned: no winner (-1) is behind all others.
  Value lower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, second.winner, first.winner);
  wins = arith::OrIOp::create(b, loc, wins, arith::AndIOp::create(b, loc, tie, lower));
  return {arith::SelectOp::create(b, loc, wins, second.value, first.value),
          arith::SelectOp::create(b, loc, wins, second.winner, first.winner)};
}
