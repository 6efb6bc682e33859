// Combination of values over what is reduced. Within a task terms are added in the order of entries, lane by lane;
// lanes are added in a tree. For max and min a NaN wins over every number, and of equal values the one with the lowest
// number wins.
#include "KernelEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// What accumulation starts from.
static TypedAttr neutral(OpBuilder &b, CombineKind kind, Type type) {
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

static unsigned widthOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getDimSize(0) : 0;
}

/// Whether `value` replaces the extremum `than`: it is beyond it, or a NaN where there was none.
Value KernelEmitter::better(const Accumulator &acc, Value value, Value than) {
  bool isMax = acc.kind == CombineKind::Max;
  if (isa<IntegerType>(acc.type))
    return arith::CmpIOp::create(b, loc, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, value, than);
  Value beyond =
      arith::CmpFOp::create(b, loc, isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, value, than);
  Value number = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, than, than);
  return arith::AndIOp::create(b, loc, beyond, number);
}

Value KernelEmitter::combine(const Accumulator &acc, Value old, Value value) {
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

/// An accumulator after one more value, whose number is higher than any before; `mask` says where it counts.
Extremum KernelEmitter::update(const Accumulator &acc, Extremum old, Value value, Value number, Value mask) {
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
  result.winner = arith::SelectOp::create(b, loc, wins, number, old.winner);
  return result;
}

/// Two accumulators joined; ties go to the lower number.
Extremum KernelEmitter::merge(const Accumulator &acc, Extremum first, Extremum second) {
  if (acc.winner < 0)
    return {combine(acc, first.value, second.value), Value()};
  Value wins = better(acc, second.value, first.value);
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

/// All lanes of all parts joined into a scalar.
Extremum KernelEmitter::acrossLanes(const Accumulator &acc, ArrayRef<Extremum> all) {
  SmallVector<Extremum> joined(all);
  while (joined.size() > 1) {
    SmallVector<Extremum> next;
    for (unsigned i = 0; i + 1 < joined.size(); i += 2)
      next.push_back(merge(acc, joined[i], joined[i + 1]));
    if (joined.size() % 2 == 1)
      next.push_back(joined.back());
    joined = next;
  }
  Extremum result = joined[0];
  auto half = [&](Value value, int64_t from, int64_t count) -> Value {
    if (!value)
      return value;
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < count; ++i)
      lanes.push_back(from + i);
    return vector::ShuffleOp::create(b, loc, value, value, lanes);
  };
  for (unsigned width = widthOf(result.value); width > 1; width /= 2) {
    Extremum low{half(result.value, 0, width / 2), half(result.winner, 0, width / 2)};
    Extremum high{half(result.value, width / 2, width / 2), half(result.winner, width / 2, width / 2)};
    result = merge(acc, low, high);
  }
  auto lane = [&](Value value) -> Value {
    return value ? Value(vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{0})) : value;
  };
  return {lane(result.value), lane(result.winner)};
}

void KernelEmitter::startAccumulators() {
  stateWidths.clear();
  if (lanesAreParallel()) {
    for (const Piece &piece : pieces)
      stateWidths.push_back(piece.width);
  } else if (lanesAreReduced()) {
    stateWidths.assign(blockPieces(), reducedWidth());
  } else {
    stateWidths.push_back(0);
  }
  for (const Accumulator &acc : accumulators) {
    for (unsigned width : stateWidths)
      state.push_back(laneConstant(b, loc, neutral(b, acc.kind, acc.type), width));
    for (unsigned width : stateWidths)
      if (acc.winner >= 0)
        state.push_back(laneConstant(b, loc, b.getI32IntegerAttr(-1), width));
  }
}

/// The iterator whose number a winner is.
unsigned KernelEmitter::winnerIterator() const {
  for (auto [i, kind] : llvm::enumerate(space.kinds))
    if (kind != IteratorKind::Parallel)
      return i;
  return 0;
}

void KernelEmitter::accumulate(ArrayRef<Lanes> values) {
  Lanes numbers;
  if (llvm::any_of(accumulators, [](const Accumulator &acc) { return acc.winner >= 0; })) {
    numbers = iteratorLanes(winnerIterator());
    for (Value &part : numbers.parts) {
      unsigned width = widthOf(part);
      part = arith::TruncIOp::create(b, loc, laneType(b.getI32Type(), width), part);
    }
  }
  unsigned at = 0;
  for (const Accumulator &acc : accumulators) {
    unsigned winners = acc.winner >= 0 ? parts() : 0;
    for (unsigned i = 0; i < parts(); ++i) {
      // Fewer pieces than parts: the rest of a reduced dimension.
      if (!pieces.empty() && i >= pieces.size())
        break;
      unsigned width = stateWidths[i];
      Extremum old{state[at + i], winners ? state[at + parts() + i] : Value()};
      Value value = partOf(b, loc, values[acc.value >= 0 ? acc.value : acc.winner], i, width);
      Value number = winners ? partOf(b, loc, numbers, i, width) : Value();
      Extremum now = update(acc, old, value, number, lanesAreReduced() ? pieces[i].mask : Value());
      state[at + i] = now.value;
      if (winners)
        state[at + parts() + i] = now.winner;
    }
    at += parts() + winners;
  }
}

/// Whether anything was combined; null if something surely was.
Value KernelEmitter::nonEmpty() {
  Value result;
  auto both = [&](Value condition) {
    result = result ? Value(arith::AndIOp::create(b, loc, result, condition)) : condition;
  };
  for (unsigned iterator : space.reductions) {
    std::optional<int64_t> count = space.sizes[iterator].getConstant();
    if (space.kinds[iterator] == IteratorKind::Reduction && count && *count > 0)
      continue;
    auto [lower, upper] = range(iterator);
    both(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, lower, upper));
  }
  return result;
}

/// The lowest number there is, if anything is combined.
Value KernelEmitter::firstNumber() {
  unsigned iterator = winnerIterator();
  if (space.kinds[iterator] != IteratorKind::Segment)
    return arith::TruncIOp::create(b, loc, b.getI32Type(), range(iterator).first);
  // Behind the last entry there are more, so that this may be read for an empty segment too.
  return LLVM::LoadOp::create(b, loc, b.getI32Type(), elementPointer(orderPerm, b.getI32Type(), segmentBegin));
}

/// Stores the results of a row or piece, and lets go of the accumulators.
void KernelEmitter::finishAccumulators() {
  SmallVector<Value> final = std::move(state);
  state.clear(); // loops outside carry nothing
  Value any = nonEmpty();
  unsigned at = 0;
  for (const Accumulator &acc : accumulators) {
    SmallVector<Extremum> all(parts());
    for (Extremum &part : all)
      part.value = final[at++];
    for (Extremum &part : all)
      if (acc.winner >= 0)
        part.winner = final[at++];
    if (lanesAreReduced())
      all = {acrossLanes(acc, all)};

    Lanes values{!lanesAreParallel(), {}}, winners = values;
    for (Extremum &part : all) {
      unsigned width = widthOf(part.value);
      if (acc.winner >= 0) {
        // Nothing was beyond the start, -inf: the first entry is as good as any.
        Value first = partOf(b, loc, Lanes::scalar(firstNumber()), 0, width);
        Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, part.winner,
                                           laneConstant(b, loc, b.getI32IntegerAttr(0), width));
        if (any)
          none = arith::AndIOp::create(b, loc, none, partOf(b, loc, Lanes::scalar(any), 0, width));
        part.winner = arith::SelectOp::create(b, loc, none, first, part.winner);
        winners.parts.push_back(orEmpty(any, part.winner, space.results[acc.winner].empty));
      }
      TypedAttr empty = acc.value >= 0 ? space.results[acc.value].empty : TypedAttr();
      if (!empty && (acc.kind == CombineKind::Max || acc.kind == CombineKind::Min))
        empty = neutral(b, CombineKind::Sum, acc.type);
      values.parts.push_back(orEmpty(any, part.value, empty));
    }
    if (acc.value >= 0)
      store(resultPointers[acc.value], space.results[acc.value].access, values);
    if (acc.winner >= 0)
      store(resultPointers[acc.winner], space.results[acc.winner].access, winners);
    if (acc.value < 0 && space.hasSlots())
      storeExtremum(acc, values);
  }
}

/// `value`, or `empty` (if given) where nothing was combined.
Value KernelEmitter::orEmpty(Value any, Value value, TypedAttr empty) {
  if (!any || !empty)
    return value;
  unsigned width = widthOf(value);
  return arith::SelectOp::create(b, loc, any, value, laneConstant(b, loc, empty, width));
}

/// What a winner without a value of its own compares by goes to the slots alone.
void KernelEmitter::storeExtremum(const Accumulator &acc, const Lanes &values) {
  auto branch = scf::IfOp::create(b, loc, inSlot, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Access access = space.results[acc.winner].access;
  access.element = acc.type;
  store(extremePointers[acc.winner], access, values);
}
