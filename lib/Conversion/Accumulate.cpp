// Accumulators of a kernel. Within a task terms are added in the order of entries, lane by lane; lanes are added in a
// tree.
#include "KernelEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

static unsigned widthOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getDimSize(0) : 0;
}

/// All lanes of all parts joined into a scalar.
Extremum KernelEmitter::acrossLanes(const Accumulator &acc, ArrayRef<Extremum> all) {
  SmallVector<Extremum> joined(all);
  while (joined.size() > 1) {
    SmallVector<Extremum> next;
    for (unsigned i = 0; i + 1 < joined.size(); i += 2)
      next.push_back(Combiner(b, loc).merge(acc, joined[i], joined[i + 1]));
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
    result = Combiner(b, loc).merge(acc, low, high);
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
      state.push_back(laneConstant(b, loc, neutralElement(b, acc.kind, acc.type), width));
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
  if (llvm::any_of(accumulators, [](const Accumulator &acc) { return acc.winner >= 0 && !acc.tagged; })) {
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
      Value number = winners ? partOf(b, loc, acc.tagged ? values[acc.winner] : numbers, i, width) : Value();
      Extremum now = Combiner(b, loc).update(acc, old, value, number, lanesAreReduced() ? pieces[i].mask : Value());
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
      if (acc.tagged) {
        winners.parts.push_back(part.winner);
      } else if (acc.winner >= 0) {
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
        empty = neutralElement(b, CombineKind::Sum, acc.type);
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
