// A kernel's function and its loops. Blocks of lanes stand outside the loops that reduce, so that accumulators stay in
// registers; where the number of lanes is known only at run time, whole blocks come first and a masked rest after them.
#include "KernelEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

SmallVector<KernelArg> gnnc::kernelArguments(const KernelSpace &space) {
  SmallVector<KernelArg> args;
  for (unsigned i = 0; i < space.indices.size(); ++i)
    args.push_back({KernelArg::Index, i});
  for (unsigned i = 0; i < space.inputs.size(); ++i)
    if (!space.immediates[i])
      args.push_back({KernelArg::Input, i});
  for (unsigned i = 0; i < space.results.size(); ++i)
    args.push_back({KernelArg::Result, i});
  if (space.hasSlots())
    for (unsigned i = 0; i < space.results.size(); ++i) {
      args.push_back({KernelArg::Partial, i});
      CombineKind kind = space.results[i].combine;
      if ((kind == CombineKind::ArgMax || kind == CombineKind::ArgMin) && !space.results[i].pairedWith)
        args.push_back({KernelArg::Extreme, i});
    }
  if (space.hasOrder())
    args.push_back({KernelArg::Order, 0});
  for (unsigned i = 0; i < space.sets.size(); ++i)
    args.push_back({KernelArg::Size, i});
  return args;
}

LLVM::LLVMFuncOp gnnc::emitKernel(const KernelSpace &space, ModuleOp module, Location loc, StringRef name) {
  return KernelEmitter(space, module, loc).emit(name);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Value KernelEmitter::i64(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }

/// A size as a value, computed once behind the prologue.
Value KernelEmitter::size(SizeAttr size) {
  if (std::optional<int64_t> constant = size.getConstant())
    return i64(*constant);
  Value &known = sizeValues[size];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(prologueEnd);
  Value sum;
  ArrayRef<int64_t> terms = size.getTerms();
  for (size_t i = 0; i < terms.size(); i += 2 + terms[i + 1]) {
    Value product = i64(terms[i]);
    for (int64_t factor : terms.slice(i + 2, terms[i + 1])) {
      Value value;
      if (factor >= 0) {
        value = setSizes[factor];
      } else {
        CeilDivAttr quotient = size.getQuotients()[-factor - 1];
        Value numerator = this->size(quotient.getNumerator());
        b.setInsertionPointAfter(prologueEnd);
        Value divisor = i64(quotient.getDivisor());
        value = arith::DivSIOp::create(b, loc, arith::AddIOp::create(b, loc, numerator, i64(quotient.getDivisor() - 1)),
                                       divisor);
      }
      product = arith::MulIOp::create(b, loc, product, value);
    }
    sum = sum ? Value(arith::AddIOp::create(b, loc, sum, product)) : product;
  }
  prologueEnd = sum.getDefiningOp();
  return sizeValues[size] = sum;
}

Value KernelEmitter::loadField(Value pointer, unsigned index, Type type) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value address =
      LLVM::GEPOp::create(b, loc, ptr, b.getI64Type(), pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  return LLVM::LoadOp::create(b, loc, type, address);
}

void KernelEmitter::plan() {
  nest.append(space.parallels.begin(), space.parallels.end());
  nest.append(space.reductions.begin(), space.reductions.end());
  levelOf.assign(space.kinds.size(), 0);
  for (auto [i, iterator] : llvm::enumerate(nest))
    levelOf[iterator] = i + 1;
  for (const Access &a : space.indices) {
    indexLevels.push_back(levelFor(a));
    indexVaries.push_back(varies(a));
  }
  for (const Access &a : space.inputs)
    inputLevels.push_back(levelFor(a));

  maxLanes = space.vectorLanes();

  for (unsigned i = 0; space.isReduced() && space.launch != LaunchKind::Lanes && i < space.results.size(); ++i) {
    const ResultSpec &result = space.results[i];
    if (result.pairedWith) {
      accumulators.back().winner = i;
      accumulators.back().tagged = result.combine == CombineKind::Tag;
      continue;
    }
    bool isMax = result.combine == CombineKind::ArgMax, isMin = result.combine == CombineKind::ArgMin;
    Accumulator acc;
    acc.kind = isMax ? CombineKind::Max : isMin ? CombineKind::Min : result.combine;
    acc.type = space.body->getTerminator()->getOperand(i).getType();
    (isMax || isMin ? acc.winner : acc.value) = i;
    accumulators.push_back(acc);
  }
}

void KernelEmitter::emitPrologue(LLVM::LLVMFuncOp func) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), integer = b.getI64Type();
  Block *entry = func.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Value args = entry->getArgument(0), task = entry->getArgument(1);
  Value *fields[] = {&rowBegin, &rowEnd, &entryBegin, &entryEnd, &slot};
  for (auto [i, field] : llvm::enumerate(fields))
    *field = loadField(task, i, integer);
  if (space.hasSlots())
    inSlot = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, slot, i64(0));

  indexPointers.resize(space.indices.size());
  inputPointers.resize(space.inputs.size());
  resultPointers.resize(space.results.size());
  extremePointers.resize(space.results.size());
  setSizes.resize(space.sets.size());
  SmallVector<Value> partials(space.results.size());
  for (auto [i, arg] : llvm::enumerate(kernelArguments(space))) {
    switch (arg.kind) {
    case KernelArg::Index:
      indexPointers[arg.number] = loadField(args, i, ptr);
      break;
    case KernelArg::Input:
      inputPointers[arg.number] = loadField(args, i, ptr);
      break;
    case KernelArg::Result:
      resultPointers[arg.number] = loadField(args, i, ptr);
      break;
    case KernelArg::Partial:
      partials[arg.number] = loadField(args, i, ptr);
      break;
    case KernelArg::Extreme:
      extremePointers[arg.number] = loadField(args, i, ptr);
      break;
    case KernelArg::Order: {
      Value order = loadField(args, i, ptr);
      orderPtr = loadField(order, 0, ptr);
      orderPerm = loadField(order, 1, ptr);
      break;
    }
    case KernelArg::Size:
      setSizes[arg.number] = loadField(args, i, integer);
      break;
    }
  }
  LLVM::ReturnOp ret = LLVM::ReturnOp::create(b, loc, ValueRange());
  b.setInsertionPoint(ret);
  prologueEnd = ret->getPrevNode();

  // Pieces write to their slot, which is laid out like a row.
  for (unsigned i = 0; space.hasSlots() && i < space.results.size(); ++i)
    resultPointers[i] = arith::SelectOp::create(b, loc, inSlot, partials[i], resultPointers[i]);
  if (space.launch == LaunchKind::Cut) {
    Value first =
        arith::MulIOp::create(b, loc, arith::MaxSIOp::create(b, loc, slot, i64(0)), size(space.rowElements()));
    auto advance = [&](Value &pointer, Type element) {
      if (pointer)
        pointer = LLVM::GEPOp::create(b, loc, ptr, memoryType(element), pointer, ArrayRef<LLVM::GEPArg>{first});
    };
    for (unsigned i = 0; i < space.results.size(); ++i) {
      advance(resultPointers[i], space.results[i].access.element);
      advance(extremePointers[i], space.body->getTerminator()->getOperand(i).getType());
    }
  }
}

LLVM::LLVMFuncOp KernelEmitter::emit(StringRef name) {
  plan();
  b.setInsertionPointToEnd(module.getBody());
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {ptr, ptr});
  auto func = LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal, /*dsoLocal=*/true);
  emitPrologue(func);
  iteratorValues.resize(space.kinds.size());
  indexValues.resize(space.indices.size());
  inputValues.resize(space.inputs.size());
  if (space.launch == LaunchKind::Lanes)
    emitShares();
  else
    emitLevel(0);
  return func;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Loads what is known outside loop `level` of the nest, then emits that loop with all inside it.
void KernelEmitter::emitLevel(unsigned level) {
  loadAt(level);
  if (level < space.parallels.size()) {
    emitIterations(nest[level], [&] { emitLevel(level + 1); });
    return;
  }
  if (!space.isReduced()) {
    for (auto [i, value] : llvm::enumerate(evaluate()))
      store(resultPointers[i], space.results[i].access, value);
    return;
  }
  if (space.hasOrder()) {
    Value row = iteratorValues[0];
    auto bound = [&](Value at) -> Value {
      return LLVM::LoadOp::create(b, loc, b.getI64Type(), elementPointer(orderPtr, b.getI64Type(), at));
    };
    Value next = arith::AddIOp::create(b, loc, row, i64(1));
    segmentBegin = arith::SelectOp::create(b, loc, inSlot, entryBegin, bound(row));
    segmentEnd = arith::SelectOp::create(b, loc, inSlot, entryEnd, bound(next));
  }
  startAccumulators();
  emitReductions(level);
  finishAccumulators();
}

void KernelEmitter::emitReductions(unsigned level) {
  if (level == nest.size()) {
    accumulate(evaluate());
    return;
  }
  emitIterations(nest[level], [&] {
    loadAt(level + 1);
    emitReductions(level + 1);
  });
}

std::pair<Value, Value> KernelEmitter::range(unsigned iterator) {
  if (space.kinds[iterator] == IteratorKind::Segment)
    return {segmentBegin, segmentEnd};
  if (isTaskRange(iterator))
    return space.launch == LaunchKind::Cut ? std::make_pair(entryBegin, entryEnd) : std::make_pair(rowBegin, rowEnd);
  return {i64(0), size(space.sizes[iterator])};
}

/// A loop that carries the accumulators, if there are any yet.
void KernelEmitter::emitFor(Value lower, Value upper, Value step, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, step, state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  state.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  body(loop.getInductionVar());
  if (!state.empty())
    scf::YieldOp::create(b, loc, state);
  state.assign(loop.getResults().begin(), loop.getResults().end());
}

void KernelEmitter::emitIterations(unsigned iterator, llvm::function_ref<void()> body) {
  if (static_cast<int>(iterator) == space.vec) {
    emitLaneBlocks(body);
    return;
  }
  auto [lower, upper] = range(iterator);
  emitFor(lower, upper, i64(1), [&, iterator](Value value) {
    if (space.kinds[iterator] == IteratorKind::Segment) {
      prefetch(value);
      Value entry = LLVM::LoadOp::create(b, loc, b.getI32Type(), elementPointer(orderPerm, b.getI32Type(), value));
      value = arith::ExtSIOp::create(b, loc, b.getI64Type(), entry);
    }
    iteratorValues[iterator] = value;
    body();
  });
}

/// How many vectors a block has: several where they share the work of loops inside, or give independent sums.
unsigned KernelEmitter::blockPieces() const {
  if (!space.isReduced())
    return 1;
  if (lanesAreParallel())
    return 4;
  std::optional<int64_t> count = space.sizes[space.vec].getConstant();
  return count ? std::clamp<int64_t>(llvm::divideCeil(*count, maxLanes), 1, 4) : 4;
}

/// The lanes of a vector when lanes are reduced.
unsigned KernelEmitter::reducedWidth() const {
  std::optional<int64_t> count = space.sizes[space.vec].getConstant();
  return count && *count < maxLanes ? std::max<uint64_t>(llvm::PowerOf2Ceil(*count), 2) : maxLanes;
}

void KernelEmitter::emitLaneBlocks(llvm::function_ref<void()> body) {
  unsigned vec = space.vec;
  std::optional<int64_t> count = space.sizes[vec].getConstant();
  if (count && !isTaskRange(vec)) {
    emitStaticBlocks(*count, blockPieces(), body);
  } else {
    auto [lower, upper] = range(vec);
    emitDynamicBlocks(lower, upper, blockPieces(), body);
  }
  pieces.clear();
}

void KernelEmitter::emitStaticBlocks(int64_t count, unsigned perBlock, llvm::function_ref<void()> body) {
  unsigned width = lanesAreReduced() ? reducedWidth() : maxLanes;
  int64_t block = int64_t(perBlock) * width, whole = count / block * block;
  setPieces(perBlock, width);
  if (whole == block) {
    iteratorValues[space.vec] = i64(0);
    body();
  } else if (whole > 0) {
    emitFor(i64(0), i64(whole), i64(block), [&](Value first) {
      iteratorValues[space.vec] = first;
      body();
    });
  }
  if (whole == count)
    return;
  setStaticPieces(count - whole);
  iteratorValues[space.vec] = i64(whole);
  body();
}

void KernelEmitter::emitDynamicBlocks(Value lower, Value upper, unsigned perBlock, llvm::function_ref<void()> body) {
  unsigned width = lanesAreReduced() ? reducedWidth() : maxLanes;
  int64_t block = int64_t(perBlock) * width;
  auto subtract = [&](Value x, Value y) -> Value { return arith::SubIOp::create(b, loc, x, y); };
  Value count = subtract(upper, lower);
  Value whole = subtract(count, arith::RemUIOp::create(b, loc, count, i64(block)));
  Value middle = arith::AddIOp::create(b, loc, lower, whole);

  setPieces(perBlock, width);
  emitFor(lower, middle, i64(block), [&](Value first) {
    iteratorValues[space.vec] = first;
    body();
  });
  if (lanesAreReduced() || perBlock == 1) {
    emitFor(middle, upper, i64(width), [&](Value first) {
      iteratorValues[space.vec] = first;
      setMaskedPieces(1, width, subtract(upper, first));
      body();
    });
    return;
  }
  // The rest goes over the loops inside once: a vector if that is enough, else a masked block.
  Value rest = subtract(upper, middle);
  auto guarded = [&](arith::CmpIPredicate predicate, int64_t bound, unsigned count) {
    Value holds = arith::CmpIOp::create(b, loc, predicate, rest, i64(bound));
    auto branch = scf::IfOp::create(b, loc, holds, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    iteratorValues[space.vec] = middle;
    setMaskedPieces(count, width, rest);
    body();
  };
  guarded(arith::CmpIPredicate::sgt, width, perBlock);
  Value few = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, rest, i64(width));
  rest = arith::SelectOp::create(b, loc, few, rest, i64(0));
  guarded(arith::CmpIPredicate::sgt, 0, 1);
}

void KernelEmitter::setPieces(unsigned count, unsigned width) {
  pieces.clear();
  for (unsigned i = 0; i < count; ++i)
    pieces.push_back({width, int64_t(i) * width, Value()});
}

/// Pieces of which `alive` lanes (an i64 below 2^31) take part.
void KernelEmitter::setMaskedPieces(unsigned count, unsigned width, Value alive) {
  setPieces(count, width);
  Value lanes = arith::TruncIOp::create(b, loc, b.getI32Type(), alive);
  for (Piece &piece : pieces) {
    auto type = VectorType::get({static_cast<int64_t>(width)}, b.getI32Type());
    SmallVector<int32_t> numbers;
    for (unsigned i = 0; i < width; ++i)
      numbers.push_back(piece.offset + i);
    Value iota = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
    Value bound = vector::BroadcastOp::create(b, loc, type, lanes);
    piece.mask = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, iota, bound);
  }
}

/// Pieces for a fixed number of lanes: whole vectors, then the smallest power of two that holds the rest.
void KernelEmitter::setStaticPieces(int64_t lanes) {
  pieces.clear();
  for (int64_t offset = 0; offset < lanes;) {
    int64_t rest = lanes - offset;
    unsigned width = lanesAreReduced() ? reducedWidth() : std::min<uint64_t>(maxLanes, llvm::PowerOf2Ceil(rest));
    Value mask;
    if (rest < width) {
      SmallVector<bool> alive(width, false);
      std::fill_n(alive.begin(), rest, true);
      auto type = VectorType::get({static_cast<int64_t>(width)}, b.getI1Type());
      mask = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<bool>(alive)));
    }
    pieces.push_back({width, offset, mask});
    offset += width;
  }
}

/// An iterator's value as i64.
Lanes KernelEmitter::iteratorLanes(unsigned iterator) {
  if (static_cast<int>(iterator) != space.vec)
    return Lanes::scalar(iteratorValues[iterator]);
  Lanes lanes{false, {}};
  for (const Piece &piece : pieces) {
    auto type = VectorType::get({static_cast<int64_t>(piece.width)}, b.getI64Type());
    SmallVector<int64_t> numbers;
    for (unsigned i = 0; i < piece.width; ++i)
      numbers.push_back(piece.offset + i);
    Value iota = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    Value first = vector::BroadcastOp::create(b, loc, type, iteratorValues[iterator]);
    lanes.parts.push_back(arith::AddIOp::create(b, loc, first, iota));
  }
  return lanes;
}

SmallVector<Lanes> KernelEmitter::evaluate(ArrayRef<unsigned> wanted) {
  SmallVector<Lanes> arguments(inputValues.begin(), inputValues.end());
  arguments.append(indexValues.begin(), indexValues.end());
  unsigned first = arguments.size();
  for (auto [i, ours] : llvm::enumerate(space.iteratorOf)) {
    if (space.body->getArgument(first + i).use_empty()) {
      arguments.emplace_back();
      continue;
    }
    Lanes number = ours < 0 ? Lanes::scalar(i64(0)) : iteratorLanes(ours);
    for (Value &part : number.parts) {
      Type type = b.getIndexType();
      if (auto vector = dyn_cast<VectorType>(part.getType()))
        type = vector.clone(type);
      part = arith::IndexCastOp::create(b, loc, type, part);
    }
    arguments.push_back(number);
  }
  return evaluateBody(b, loc, *space.body, arguments, pieces, wanted);
}
