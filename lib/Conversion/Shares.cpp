// Kernels that share what a row gives among its winners, which lie in other rows of the result.
//
// A task has some features of all rows, so nobody else writes where it does, and what goes to one place comes in the
// order of rows. Where one entry has won, its tag is the place; a row whose entries tie is read entry by entry.
#include "KernelEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// What the body of such a kernel yields.
enum : unsigned { shareValue, shareTag, shareCondition };

void KernelEmitter::emitShares() {
  SizeAttr features = space.sizes[space.vec];
  std::optional<int64_t> count = features.getConstant();
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  for (Value *memory : {&laneValues, &laneTags, &laneSink})
    *memory = LLVM::AllocaOp::create(b, loc, ptr, b.getI8Type(), i64(64), /*alignment=*/64);
  LLVM::StoreOp::create(b, loc, arith::ConstantOp::create(b, loc, b.getZeroAttr(space.results[0].access.element)),
                        laneSink);
  sent = valuesFor(*space.body, {shareValue, shareTag});
  loadAt(0);
  emitFor(rowBegin, rowEnd, i64(1), [&](Value task) {
    // A task is a vector of lanes at a point of the other parallel iterators.
    Value blocks = size(features.ceilDiv(maxLanes));
    Value first = arith::MulIOp::create(b, loc, arith::RemSIOp::create(b, loc, task, blocks), i64(maxLanes));
    Value rest = arith::DivSIOp::create(b, loc, task, blocks);
    unsigned level = 0;
    for (unsigned iterator : space.parallels) {
      if (iterator == 0)
        break;
      if (static_cast<int>(iterator) == space.vec) {
        iteratorValues[iterator] = first;
        if (count && *count % maxLanes == 0)
          setPieces(1, maxLanes);
        else
          setMaskedPieces(1, maxLanes, arith::SubIOp::create(b, loc, size(features), first));
      } else {
        iteratorValues[iterator] = arith::RemSIOp::create(b, loc, rest, size(space.sizes[iterator]));
        rest = arith::DivSIOp::create(b, loc, rest, size(space.sizes[iterator]));
      }
      loadAt(++level);
    }
    if (!space.addsToInit)
      clearLanes();
    ++level;
    emitFor(i64(0), size(space.sizes[0]), i64(1), [&](Value row) {
      prefetchShares(row);
      iteratorValues[0] = row;
      loadAt(level, &sent);
      shareRow();
    });
    pieces.clear();
  });
}

/// The stride of a result's rows.
SizeAttr KernelEmitter::targetStride() const {
  for (SizeAttr stride : space.results[0].access.symbols)
    if (stride.getConstant() != 0)
      return stride;
  return SizeAttr::constant(space.body->getParentOp()->getContext(), 0);
}

/// Where a target's lanes lie.
Value KernelEmitter::targetPointer(Value target) {
  const Access &access = space.results[0].access;
  Value offset = size(access.base);
  for (unsigned iterator : space.parallels)
    if (iterator != 0)
      offset = arith::AddIOp::create(b, loc, offset, scaled(iteratorValues[iterator], access.iterators[iterator]));
  Value first = elementPointer(resultPointers[0], access.element, offset);
  return elementPointer(first, access.element, scaled(target, targetStride()));
}

/// Rows of one task lie apart, which the processor's own prefetching does not follow: it is asked for each.
static void ask(OpBuilder &b, Location loc, Value address, bool writes) {
  LLVM::Prefetch::create(b, loc, address, /*rw=*/writes, /*hint=*/3, /*cache=*/1);
}

/// Nothing has been added yet.
void KernelEmitter::clearLanes() {
  constexpr int64_t distance = 32;
  Type element = space.results[0].access.element;
  unsigned width = pieces[0].width, alignment = element.getIntOrFloatBitWidth() / 8;
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(laneType(element, width)));
  emitFor(i64(0), size(space.targets), i64(1), [&](Value target) {
    ask(b, loc, targetPointer(arith::AddIOp::create(b, loc, target, i64(distance))), true);
    if (pieces[0].mask)
      LLVM::MaskedStoreOp::create(b, loc, zeros, targetPointer(target), pieces[0].mask, b.getI32IntegerAttr(alignment));
    else
      LLVM::StoreOp::create(b, loc, zeros, targetPointer(target), alignment);
  });
}

/// Asks for what a row further on reads, and for the places that one before it will add to.
void KernelEmitter::prefetchShares(Value row) {
  constexpr int64_t rowDistance = 32, targetDistance = 6;
  unsigned level = levelOf[0];
  Value last = arith::SubIOp::create(b, loc, size(space.sizes[0]), i64(1));
  auto ahead = [&](int64_t distance) -> Value {
    return arith::MinSIOp::create(b, loc, arith::AddIOp::create(b, loc, row, i64(distance)), last);
  };
  iteratorValues[0] = ahead(rowDistance);
  for (auto [i, access] : llvm::enumerate(space.inputs))
    if (inputLevels[i] == level && contiguous(access) && sent.contains(space.body->getArgument(unsigned(i))) &&
        !space.immediates[i])
      ask(b, loc,
          elementPointer(inputPointers[i], memoryType(access.element), uniformOffset(access, /*isResult=*/false)),
          false);
  iteratorValues[0] = ahead(targetDistance);
  SmallVector<Lanes> inputsHere = inputValues;
  llvm::SetVector<Value> tagged = valuesFor(*space.body, {shareTag});
  loadAt(level, &tagged);
  Value tag = partOf(b, loc, evaluate({shareTag})[0], 0, pieces[0].width);
  Value tags = pieces[0].mask ? Value() : lanesInMemory(shareTag, tag, laneTags);
  for (unsigned lane = 0; lane < pieces[0].width; ++lane) {
    Value target =
        tags ? LLVM::LoadOp::create(b, loc, b.getI32Type(), elementPointer(tags, b.getI32Type(), i64(lane))).getResult()
             : vector::ExtractOp::create(b, loc, tag, ArrayRef<int64_t>{lane}).getResult();
    ask(b, loc, targetPointer(arith::ExtSIOp::create(b, loc, b.getI64Type(), target)), true);
  }
  inputValues = inputsHere;
}

/// Where the lanes of what the body yields can be read one by one: where it is an operand as it lies in memory, there.
Value KernelEmitter::lanesInMemory(unsigned yielded, Value lanes, Value stack) {
  auto argument = dyn_cast<BlockArgument>(space.body->getTerminator()->getOperand(yielded));
  if (argument && argument.getArgNumber() < space.inputs.size()) {
    unsigned i = argument.getArgNumber();
    const Access &access = space.inputs[i];
    if (!space.immediates[i] && contiguous(access))
      return elementPointer(inputPointers[i], memoryType(access.element), uniformOffset(access, /*isResult=*/false));
  }
  LLVM::StoreOp::create(b, loc, lanes, stack, 64);
  return stack;
}

/// Adds lane by lane, since what is added here is often added to again by the next row, and a store of many lanes at
/// places of their own would keep that row's loads waiting.
void KernelEmitter::sendLanes(Value values, Value targets, bool allHaveWon) {
  Type element = space.results[0].access.element;
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  auto laneOf = [&](Value memory, Type type, unsigned lane) -> Value {
    return LLVM::LoadOp::create(b, loc, type, elementPointer(memory, type, i64(lane)));
  };
  for (unsigned lane = 0; lane < pieces[0].width; ++lane) {
    Value target = arith::ExtSIOp::create(b, loc, b.getI64Type(), laneOf(targets, b.getI32Type(), lane));
    Value place = elementPointer(targetPointer(target), element, i64(lane));
    if (!allHaveWon) {
      Value goes = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, target, i64(0));
      place = arith::SelectOp::create(b, loc, goes, place, laneSink);
    }
    Value sum = arith::AddFOp::create(b, loc, LLVM::LoadOp::create(b, loc, element, place, alignment),
                                      laneOf(values, element, lane));
    LLVM::StoreOp::create(b, loc, sum, place, alignment);
  }
}

void KernelEmitter::shareRow() {
  unsigned width = pieces[0].width;
  SmallVector<Lanes> yielded = evaluate({shareValue, shareTag});
  Value y = partOf(b, loc, yielded[0], 0, width), tag = partOf(b, loc, yielded[1], 0, width);
  auto holds = [&](arith::CmpIPredicate predicate, int32_t bound) -> Value {
    Value condition =
        arith::CmpIOp::create(b, loc, predicate, tag, laneConstant(b, loc, b.getI32IntegerAttr(bound), width));
    return pieces[0].mask ? arith::AndIOp::create(b, loc, condition, pieces[0].mask).getResult() : condition;
  };
  auto any = [&](Value lanes) -> Value {
    return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, lanes);
  };
  auto branchIf = [&](Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = {}) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/bool(otherwise));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    then();
    if (otherwise) {
      b.setInsertionPointToStart(branch.elseBlock());
      otherwise();
    }
  };
  // Some lanes tie, or have no entry that could have won; of a row without entries that is true of all.
  auto shareInParts = [&] {
    Value won = holds(arith::CmpIPredicate::sge, 0), tied = holds(arith::CmpIPredicate::slt, -1);
    branchIf(any(won), [&] {
      Value none = laneConstant(b, loc, b.getI32IntegerAttr(-1), width);
      LLVM::StoreOp::create(b, loc, y, laneValues, 64);
      LLVM::StoreOp::create(b, loc, arith::SelectOp::create(b, loc, won, tag, none), laneTags, 64);
      sendLanes(laneValues, laneTags, /*allHaveWon=*/false);
    });
    branchIf(any(tied), [&] { shareAmongEntries(y, tied); });
  };
  if (pieces[0].mask) {
    shareInParts();
    return;
  }
  branchIf(any(holds(arith::CmpIPredicate::slt, 0)), shareInParts, [&] {
    Value values = lanesInMemory(shareValue, y, laneValues), targets = lanesInMemory(shareTag, tag, laneTags);
    sendLanes(values, targets, /*allHaveWon=*/true);
  });
}

void KernelEmitter::forEachEntry(llvm::function_ref<void()> body) {
  emitFor(segmentBegin, segmentEnd, i64(1), [&](Value position) {
    Value entry = LLVM::LoadOp::create(b, loc, b.getI32Type(), elementPointer(orderPerm, b.getI32Type(), position));
    iteratorValues[1] = arith::ExtSIOp::create(b, loc, b.getI64Type(), entry);
    loadAt(space.parallels.size() + 1);
    body();
  });
}

/// Divides y among the entries of the row for which the condition holds, in the lanes that are tied.
void KernelEmitter::shareAmongEntries(Value y, Value tied) {
  Type element = space.results[0].access.element;
  unsigned width = pieces[0].width, alignment = element.getIntOrFloatBitWidth() / 8;
  Value row = iteratorValues[0];
  auto bound = [&](Value at) -> Value {
    return LLVM::LoadOp::create(b, loc, b.getI64Type(), elementPointer(orderPtr, b.getI64Type(), at));
  };
  segmentBegin = bound(row);
  segmentEnd = bound(arith::AddIOp::create(b, loc, row, i64(1)));
  auto constant = [&](double value) { return laneConstant(b, loc, b.getFloatAttr(element, value), width); };
  auto takesPart = [&] { return partOf(b, loc, evaluate({shareCondition})[0], 0, width); };

  llvm::SetVector<Value> compared = valuesFor(*space.body, {shareCondition});
  loadAt(levelOf[0], &compared);
  state = {constant(0)};
  forEachEntry([&] {
    Value one = arith::SelectOp::create(b, loc, takesPart(), constant(1), constant(0));
    state[0] = arith::AddFOp::create(b, loc, state[0], one);
  });
  Value part = arith::DivFOp::create(b, loc, y, state[0]);
  state.clear();
  unsigned index = 0;
  while (!space.results[0].access.usesSymbol(index))
    ++index;
  forEachEntry([&] {
    Value target = arith::ExtSIOp::create(b, loc, b.getI64Type(), indexValues[index].parts[0]);
    Value pointer = targetPointer(target), mask = arith::AndIOp::create(b, loc, takesPart(), tied);
    Value old = LLVM::MaskedLoadOp::create(b, loc, y.getType(), pointer, mask, constant(0),
                                           b.getI32IntegerAttr(alignment), UnitAttr());
    LLVM::MaskedStoreOp::create(b, loc, arith::AddFOp::create(b, loc, old, part), pointer, mask,
                                b.getI32IntegerAttr(alignment));
  });
}
