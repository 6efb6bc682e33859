// Loads and stores of a kernel. An access is contiguous in the lanes, the same for all of them, or picks them one by
// one.
#include "KernelEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// Whether the place depends on the lane.
bool KernelEmitter::varies(const Access &access) const {
  if (space.vec >= 0 && access.uses(space.vec))
    return true;
  for (unsigned k = 0; k < indexVaries.size(); ++k)
    if (access.usesSymbol(k) && indexVaries[k])
      return true;
  return false;
}

/// The loop of the nest inside which the place is known.
unsigned KernelEmitter::levelFor(const Access &access) const {
  unsigned level = 0;
  for (unsigned i = 0; i < space.kinds.size(); ++i)
    if (access.uses(i))
      level = std::max(level, levelOf[i]);
  for (unsigned k = 0; k < indexLevels.size(); ++k)
    if (access.usesSymbol(k))
      level = std::max(level, indexLevels[k]);
  return level;
}

/// Booleans lie in bytes.
Type KernelEmitter::memoryType(Type element) const {
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8)) : element;
}

Value KernelEmitter::scaled(Value value, SizeAttr stride) {
  if (stride.getConstant() == 1)
    return value;
  Value factor = size(stride);
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    factor = vector::BroadcastOp::create(b, loc, vector, factor);
  return arith::MulIOp::create(b, loc, value, factor);
}

/// Whether neighbouring lanes are neighbours in memory.
bool KernelEmitter::contiguous(const Access &access) const {
  if (space.vec < 0 || access.iterators[space.vec].getConstant() != 1)
    return false;
  for (unsigned k = 0; k < indexVaries.size(); ++k)
    if (access.usesSymbol(k) && indexVaries[k])
      return false;
  return true;
}

/// The part of an element offset that is the same in all lanes (that of the first lane, where they are contiguous).
/// Terms of outer loops come first, so that they can be moved out.
Value KernelEmitter::uniformOffset(const Access &access, bool isResult) {
  Value offset;
  auto add = [&](Value term) { offset = offset ? Value(arith::AddIOp::create(b, loc, offset, term)) : term; };
  if (access.base.getConstant() != 0)
    add(size(access.base));
  for (unsigned level = 0; level <= nest.size(); ++level) {
    if (level > 0 && access.uses(nest[level - 1]) &&
        (static_cast<int>(nest[level - 1]) != space.vec || contiguous(access))) {
      unsigned iterator = nest[level - 1];
      Value value = iteratorValues[iterator];
      // The row of a piece is its slot.
      if (isResult && space.hasOrder() && iterator == 0)
        value = arith::SelectOp::create(b, loc, inSlot, slot, value);
      add(scaled(value, access.iterators[iterator]));
    }
    for (unsigned k = 0; k < space.indices.size(); ++k)
      if (indexLevels[k] == level && access.usesSymbol(k) && !indexVaries[k])
        add(scaled(arith::ExtSIOp::create(b, loc, b.getI64Type(), indexValues[k].parts[0]), access.symbols[k]));
  }
  return offset ? offset : i64(0);
}

/// The part of an element offset that differs between the lanes of a piece, where they are not contiguous.
Value KernelEmitter::laneOffsets(const Access &access, unsigned piece) {
  Value offset;
  auto add = [&](Value term) { offset = offset ? Value(arith::AddIOp::create(b, loc, offset, term)) : term; };
  if (access.uses(space.vec))
    add(scaled(iteratorLanes(space.vec).parts[piece], access.iterators[space.vec]));
  auto wide = VectorType::get({static_cast<int64_t>(pieces[piece].width)}, b.getI64Type());
  for (unsigned k = 0; k < space.indices.size(); ++k)
    if (access.usesSymbol(k) && indexVaries[k])
      add(scaled(arith::ExtSIOp::create(b, loc, wide, indexValues[k].parts[piece]), access.symbols[k]));
  return offset;
}

/// Whether the indices in an access are all there: a scalar or a vector, null if none can be missing.
Value KernelEmitter::allThere(const Access &access, bool varying, unsigned piece) {
  Value there;
  for (unsigned k = 0; k < space.indices.size(); ++k) {
    if (!access.usesSymbol(k) || !space.maybeNone[k] || indexVaries[k] != varying)
      continue;
    Value index = indexValues[k].parts[varying ? piece : 0];
    Value zero = laneConstant(b, loc, b.getI32IntegerAttr(0), varying ? pieces[piece].width : 0);
    Value present = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, index, zero);
    there = there ? Value(arith::AndIOp::create(b, loc, there, present)) : present;
  }
  return there;
}

/// 64 bytes that are read in place of what an absent index names: zeros, or for an index -1.
Value KernelEmitter::standIn(bool forIndex) {
  StringRef name = forIndex ? "gnnc_minus_ones" : "gnnc_zeros";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  OpBuilder::InsertionGuard guard(b);
  if (!global) {
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 64);
    std::string bytes(64, forIndex ? '\xff' : '\0');
    global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                    b.getStringAttr(bytes), /*alignment=*/64);
  }
  Value &known = forIndex ? minusOnes : zeros;
  if (!known) {
    b.setInsertionPointAfter(prologueEnd);
    known = LLVM::AddressOfOp::create(b, loc, global);
    prologueEnd = known.getDefiningOp();
  }
  return known;
}

/// The lanes of a piece that are alive, as a vector.
Value KernelEmitter::aliveLanes(const Piece &piece) {
  if (piece.mask)
    return piece.mask;
  return laneConstant(b, loc, b.getBoolAttr(true), piece.width);
}

Value KernelEmitter::elementPointer(Value base, Type memory, Value offset) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  if (auto vector = dyn_cast<VectorType>(offset.getType()))
    return LLVM::GEPOp::create(b, loc, vector.clone(ptr), memory, base, ArrayRef<LLVM::GEPArg>{offset});
  return LLVM::GEPOp::create(b, loc, ptr, memory, base, ArrayRef<LLVM::GEPArg>{offset});
}

/// The value at an access, for all lanes. `isIndex`: what is read at none is none (-1), not 0.
Lanes KernelEmitter::load(const Access &access, Value base, bool isIndex) {
  Type memory = memoryType(access.element), ptr = LLVM::LLVMPointerType::get(b.getContext());
  unsigned alignment = llvm::divideCeil(memory.getIntOrFloatBitWidth(), 8);
  Value first = elementPointer(base, memory, uniformOffset(access, /*isResult=*/false));
  Value there = allThere(access, /*varying=*/false, 0);
  auto instead = [&](Value pointer) -> Value {
    return there ? Value(arith::SelectOp::create(b, loc, there, pointer, standIn(isIndex))) : pointer;
  };

  Lanes lanes{!varies(access), {}};
  if (lanes.uniform) {
    lanes.parts.push_back(LLVM::LoadOp::create(b, loc, memory, instead(first), alignment));
  } else {
    for (unsigned i = 0; i < pieces.size(); ++i) {
      const Piece &piece = pieces[i];
      Type vector = laneType(memory, piece.width);
      TypedAttr absent = memory.isInteger() ? TypedAttr(b.getIntegerAttr(memory, isIndex ? -1 : 0))
                                            : TypedAttr(b.getFloatAttr(memory, 0.0));
      if (contiguous(access)) {
        Value pointer = first;
        if (piece.offset != 0)
          pointer = LLVM::GEPOp::create(b, loc, ptr, memory, first,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(piece.offset)});
        pointer = instead(pointer);
        if (piece.mask)
          lanes.parts.push_back(LLVM::MaskedLoadOp::create(b, loc, vector, pointer, piece.mask,
                                                           laneConstant(b, loc, absent, piece.width),
                                                           b.getI32IntegerAttr(alignment), UnitAttr()));
        else
          lanes.parts.push_back(LLVM::LoadOp::create(b, loc, vector, pointer, alignment));
        continue;
      }
      Value mask = aliveLanes(piece);
      if (Value present = allThere(access, /*varying=*/true, i))
        mask = arith::AndIOp::create(b, loc, mask, present);
      if (there)
        mask = arith::AndIOp::create(b, loc, mask, partOf(b, loc, Lanes::scalar(there), 0, piece.width));
      Value pointers = elementPointer(first, memory, laneOffsets(access, i));
      lanes.parts.push_back(LLVM::masked_gather::create(b, loc, vector, pointers, mask,
                                                        ValueRange{laneConstant(b, loc, absent, piece.width)},
                                                        b.getI32IntegerAttr(alignment)));
    }
  }
  if (memory == access.element)
    return lanes;
  for (Value &part : lanes.parts) {
    auto vector = dyn_cast<VectorType>(part.getType());
    Value zero = laneConstant(b, loc, b.getI8IntegerAttr(0), vector ? vector.getDimSize(0) : 0);
    part = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, part, zero);
  }
  return lanes;
}

/// Loads the operands whose place is known at this level of the nest and not before; of inputs all, or those for some
/// arguments of the body.
void KernelEmitter::loadAt(unsigned level, const llvm::SetVector<Value> *which) {
  for (unsigned i = 0; i < space.indices.size(); ++i)
    if (indexLevels[i] == level)
      indexValues[i] = load(space.indices[i], indexPointers[i], /*isIndex=*/true);
  for (unsigned i = 0; i < space.inputs.size(); ++i) {
    if (inputLevels[i] != level || (which && !which->contains(space.body->getArgument(i))))
      continue;
    if (space.immediates[i])
      inputValues[i] = Lanes::scalar(arith::ConstantOp::create(b, loc, space.immediates[i]));
    else
      inputValues[i] = load(space.inputs[i], inputPointers[i], /*isIndex=*/false);
  }
}

/// Asks for the rows that the entry some places further on will read. Behind the last entry of an order there are more,
/// so that this may run ahead of any row. Only operands of which whole vectors are read are worth it.
void KernelEmitter::prefetch(Value position) {
  constexpr int64_t distance = 16, lineBytes = 64;
  unsigned level = levelOf[1];
  auto chained = [&](const Access &access) {
    for (unsigned k = 0; k < space.indices.size(); ++k)
      if (access.usesSymbol(k) && indexLevels[k] == level)
        return true;
    return false;
  };
  SmallVector<unsigned> wanted;
  for (unsigned i = 0; i < space.inputs.size(); ++i)
    if (inputLevels[i] == level && contiguous(space.inputs[i]))
      wanted.push_back(i);
  for (unsigned k = 0; k < space.indices.size(); ++k)
    if (indexLevels[k] == level && (indexVaries[k] || chained(space.indices[k])))
      return;
  if (wanted.empty())
    return;

  // The same addresses as those of the loads, for another entry.
  Value here = iteratorValues[1];
  SmallVector<Lanes> indicesHere = indexValues;
  Value ahead = arith::AddIOp::create(b, loc, position, i64(distance));
  Value entry = LLVM::LoadOp::create(b, loc, b.getI32Type(), elementPointer(orderPerm, b.getI32Type(), ahead));
  iteratorValues[1] = arith::ExtSIOp::create(b, loc, b.getI64Type(), entry);
  for (unsigned k = 0; k < space.indices.size(); ++k)
    if (indexLevels[k] == level)
      indexValues[k] = load(space.indices[k], indexPointers[k], /*isIndex=*/true);
  for (unsigned i : wanted) {
    const Access &access = space.inputs[i];
    Value first =
        elementPointer(inputPointers[i], memoryType(access.element), uniformOffset(access, /*isResult=*/false));
    unsigned elementBytes = llvm::divideCeil(memoryType(access.element).getIntOrFloatBitWidth(), 8);
    int64_t bytes = (pieces.back().offset + pieces.back().width) * elementBytes;
    for (int64_t line = 0; line < bytes; line += lineBytes) {
      Value address = LLVM::GEPOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), first,
                                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(line)});
      LLVM::Prefetch::create(b, loc, address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
    }
  }
  iteratorValues[1] = here;
  indexValues = indicesHere;
}

void KernelEmitter::store(Value base, const Access &access, const Lanes &value) {
  Type memory = memoryType(access.element), ptr = LLVM::LLVMPointerType::get(b.getContext());
  unsigned alignment = llvm::divideCeil(memory.getIntOrFloatBitWidth(), 8);
  auto toMemory = [&](Value part) -> Value {
    if (memory == access.element)
      return part;
    auto vector = dyn_cast<VectorType>(part.getType());
    return arith::ExtUIOp::create(b, loc, laneType(memory, vector ? vector.getDimSize(0) : 0), part);
  };
  Value first = elementPointer(base, memory, uniformOffset(access, /*isResult=*/true));
  if (!varies(access)) {
    LLVM::StoreOp::create(b, loc, toMemory(value.parts[0]), first, alignment);
    return;
  }
  for (unsigned i = 0; i < pieces.size(); ++i) {
    const Piece &piece = pieces[i];
    Value part = toMemory(partOf(b, loc, value, i, piece.width));
    if (!contiguous(access)) {
      Value pointers = elementPointer(first, memory, laneOffsets(access, i));
      LLVM::masked_scatter::create(b, loc, part, pointers, aliveLanes(piece), b.getI32IntegerAttr(alignment));
      continue;
    }
    Value pointer = first;
    if (piece.offset != 0)
      pointer =
          LLVM::GEPOp::create(b, loc, ptr, memory, first, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(piece.offset)});
    if (piece.mask)
      LLVM::MaskedStoreOp::create(b, loc, part, pointer, piece.mask, b.getI32IntegerAttr(alignment));
    else
      LLVM::StoreOp::create(b, loc, part, pointer, alignment);
  }
}
