// Loads and stores of a group's members. An access has a place for each entry and a constant offset for each feature.
#include "GroupEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// Booleans lie in bytes.
Type GroupEmitter::memoryType(Type element) const {
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8)) : element;
}

static unsigned bytesOf(Type memory) { return memory.getIntOrFloatBitWidth() / 8; }

Value GroupEmitter::at(Value base, Type element, Value offset) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::GEPOp::create(b, loc, ptr, memoryType(element), base, ArrayRef<LLVM::GEPArg>{offset});
}

/// What stands in for a value at none: 64 bytes of zeros.
Value GroupEmitter::standIn() {
  StringRef name = "gnnc_zeros";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 64);
    global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                    b.getStringAttr(std::string(64, '\0')), /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(b, loc, global);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Behind the last entry of an order there are 64 more, so the entries that fill a vector may be read whatever the end
/// of the row.
GroupEmitter::Entries GroupEmitter::entriesAt(Value position, Value inChunk, unsigned count) {
  Entries entries;
  entries.position = position;
  entries.inChunk = inChunk;
  entries.numbers.resize(count);
  entries.others.resize(count);
  return entries;
}

static Value entryOf(SmallVectorImpl<Value> &known, unsigned entry, llvm::function_ref<Value()> make) {
  if (known.size() <= entry)
    known.resize(entry + 1);
  if (!known[entry])
    known[entry] = make();
  return known[entry];
}

/// The number of an entry in the user's order.
Value GroupEmitter::number(Entries &entries, unsigned entry) {
  return entryOf(entries.numbers, entry, [&]() -> Value {
    Value place = at(at(orderPerm, b.getI32Type(), entries.position), b.getI32Type(), i64(entry));
    return arith::ExtSIOp::create(b, loc, b.getI64Type(), LLVM::LoadOp::create(b, loc, b.getI32Type(), place));
  });
}

/// The node at the other end of an entry.
Value GroupEmitter::other(Entries &entries, unsigned entry) {
  return entryOf(entries.others, entry, [&]() -> Value {
    Value place = at(at(orderOther, b.getI32Type(), entries.position), b.getI32Type(), i64(entry));
    return LLVM::LoadOp::create(b, loc, b.getI32Type(), place);
  });
}

/// A member's indices at an entry, as i32.
SmallVector<Value> GroupEmitter::indicesOf(const GroupMember &member, Entries &entries, unsigned entry) {
  SmallVector<Value> indices;
  for (const GroupIndex &index : member.indices) {
    if (index.kind == GroupIndex::Other) {
      indices.push_back(other(entries, entry));
      continue;
    }
    const GroupAccess &access = index.access;
    Value offset = i64(access.features[0]);
    auto add = [&](Value value, int64_t stride) {
      if (stride != 0)
        offset = arith::AddIOp::create(b, loc, offset, arith::MulIOp::create(b, loc, value, i64(stride)));
    };
    add(row, access.row);
    if (access.entry != 0)
      add(number(entries, entry), access.entry);
    Value there;
    for (auto [k, stride] : llvm::enumerate(access.indices)) {
      if (stride == 0)
        continue;
      add(arith::ExtSIOp::create(b, loc, b.getI64Type(), indices[k]), stride);
      if (member.indices[k].maybeNone) {
        Value present = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, indices[k],
                                              arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)));
        there = there ? arith::AndIOp::create(b, loc, there, present).getResult() : present;
      }
    }
    Value place = at(pointers[access.pointer], b.getI32Type(), offset);
    if (there)
      place = arith::SelectOp::create(b, loc, there, place, standIn());
    Value value = LLVM::LoadOp::create(b, loc, b.getI32Type(), place);
    // An index that is read at none is none itself.
    if (there)
      value = arith::SelectOp::create(b, loc, there, value, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(-1)));
    indices.push_back(value);
  }
  return indices;
}

/// The address of an access at an entry, without the offsets of features. `there` is whether no index in it is none;
/// null if none can be.
Value GroupEmitter::place(const GroupAccess &access, const GroupMember &member, Entries &entries, unsigned entry,
                          Value &there) {
  if (access.scratch >= 0) {
    Value inChunk = arith::AddIOp::create(b, loc, entries.inChunk, i64(entry));
    return at(scratch[access.scratch], access.element,
              arith::MulIOp::create(b, loc, inChunk, i64(layouts[access.scratch].perEntry)));
  }
  if (access.kept >= 0)
    return kept[access.kept];
  Value offset;
  auto add = [&](Value value, int64_t stride) {
    if (stride == 0)
      return;
    Value term = stride == 1 ? value : arith::MulIOp::create(b, loc, value, i64(stride)).getResult();
    offset = offset ? arith::AddIOp::create(b, loc, offset, term).getResult() : term;
  };
  add(row, access.row);
  if (access.entry != 0)
    add(number(entries, entry), access.entry);
  if (access.usesIndex()) {
    SmallVector<Value> indices = indicesOf(member, entries, entry);
    for (auto [k, stride] : llvm::enumerate(access.indices)) {
      if (stride == 0)
        continue;
      add(arith::ExtSIOp::create(b, loc, b.getI64Type(), indices[k]), stride);
      if (!member.indices[k].maybeNone)
        continue;
      Value present = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, indices[k],
                                            arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)));
      there = there ? arith::AndIOp::create(b, loc, there, present).getResult() : present;
    }
  }
  return offset ? at(pointers[access.pointer], access.element, offset) : pointers[access.pointer];
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// What was loaded as a value to compute with.
Value GroupEmitter::toRegister(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  Value zero = laneConstant(b, loc, b.getI8IntegerAttr(0), vector ? vector.getDimSize(0) : 0);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

/// Loads some points of one entry's features as a vector; -1 stands for a lane that nobody reads.
Value GroupEmitter::loadPoints(Value place, Value there, const GroupAccess &access, ArrayRef<int64_t> points) {
  Type memory = memoryType(access.element), ptr = LLVM::LLVMPointerType::get(b.getContext());
  unsigned alignment = bytesOf(memory), width = points.size();
  auto address = [&](int64_t offset) -> Value {
    Value pointer = offset == 0 ? place
                                : LLVM::GEPOp::create(b, loc, ptr, memory, place,
                                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)})
                                      .getResult();
    return there ? arith::SelectOp::create(b, loc, there, pointer, standIn()).getResult() : pointer;
  };
  auto scalar = [&](int64_t offset) -> Value {
    return toRegister(LLVM::LoadOp::create(b, loc, memory, address(offset), alignment), access.element);
  };
  // Dead lanes read what the first one does, or what would lie in theirs.
  SmallVector<int64_t> offsets;
  int64_t first = access.features[points[0]];
  bool equal = true, contiguous = true, whole = true;
  for (auto [lane, point] : llvm::enumerate(points)) {
    int64_t offset = point < 0 ? first : access.features[point];
    offsets.push_back(offset);
    whole &= point >= 0;
    equal &= offset == first;
    contiguous &= point < 0 || offset == first + static_cast<int64_t>(lane);
  }
  if (width == 1)
    return vector::BroadcastOp::create(b, loc, laneType(access.element, 1), scalar(first));
  if (equal)
    return vector::BroadcastOp::create(b, loc, laneType(access.element, width), scalar(first));
  if (contiguous) {
    Type type = laneType(memory, width);
    if (whole || access.scratch >= 0)
      return toRegister(LLVM::LoadOp::create(b, loc, type, address(first), alignment), access.element);
    SmallVector<bool> alive = llvm::map_to_vector(points, [](int64_t point) { return point >= 0; });
    auto maskType = VectorType::get({static_cast<int64_t>(width)}, b.getI1Type());
    Value mask = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(maskType, ArrayRef<bool>(alive)));
    Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    return toRegister(LLVM::MaskedLoadOp::create(b, loc, type, address(first), mask, zeros,
                                                 b.getI32IntegerAttr(alignment), UnitAttr()),
                      access.element);
  }
  // Each value is read once, side by side if they lie so.
  SmallVector<int64_t> distinct(offsets);
  llvm::sort(distinct);
  distinct.erase(llvm::unique(distinct), distinct.end());
  Value source;
  if (distinct.back() - distinct.front() + 1 == static_cast<int64_t>(distinct.size())) {
    source = distinct.size() == 1 ? Value()
                                  : toRegister(LLVM::LoadOp::create(b, loc, laneType(memory, distinct.size()),
                                                                    address(distinct.front()), alignment),
                                               access.element);
  } else {
    SmallVector<Value> values = llvm::map_to_vector(distinct, scalar);
    source =
        vector::FromElementsOp::create(b, loc, cast<VectorType>(laneType(access.element, distinct.size())), values);
  }
  SmallVector<int64_t> lanesOfSource = llvm::map_to_vector(
      offsets, [&](int64_t offset) -> int64_t { return llvm::find(distinct, offset) - distinct.begin(); });
  return vector::ShuffleOp::create(b, loc, source, source, lanesOfSource);
}

/// The values of an access at some entries, in a layout.
Lanes GroupEmitter::load(const GroupMember &member, const GroupAccess &access, const LaneLayout &layout,
                         Entries &entries) {
  bool same = llvm::all_of(access.features, [&](int64_t offset) { return offset == access.features[0]; });
  Type memory = memoryType(access.element);
  auto scalarAt = [&](unsigned entry) -> Value {
    Value there, from = place(access, member, entries, entry, there);
    if (access.features[0] != 0)
      from = at(from, access.element, i64(access.features[0]));
    if (there)
      from = arith::SelectOp::create(b, loc, there, from, standIn());
    return toRegister(LLVM::LoadOp::create(b, loc, memory, from, bytesOf(memory)), access.element);
  };
  if (same && (layout.entries == 1 || !access.ofEntry()))
    return Lanes::scalar(scalarAt(0));
  if (layout.entries == 1) {
    Lanes result{false, {}};
    Value there, from = place(access, member, entries, 0, there);
    for (const auto &points : layout.vectors)
      result.parts.push_back(loadPoints(from, there, access, points));
    return result;
  }

  ArrayRef<int64_t> points = layout.vectors[0];
  if (!access.ofEntry()) {
    Value there, from = place(access, member, entries, 0, there);
    return {false, {repeated(loadPoints(from, there, access, points), layout.entries)}};
  }
  // Values of entries that lie as they are wanted.
  if (access.scratch >= 0 && layouts[access.scratch].perEntry == layout.perEntry) {
    bool identity = true;
    for (auto [lane, point] : llvm::enumerate(points))
      identity &= point < 0 || access.features[point] == static_cast<int64_t>(lane);
    if (identity) {
      Value there, from = place(access, member, entries, 0, there);
      unsigned width = layout.perEntry * layout.entries;
      return {
          false,
          {toRegister(LLVM::LoadOp::create(b, loc, laneType(memory, width), from, bytesOf(memory)), access.element)}};
    }
  }
  SmallVector<Value> parts;
  for (unsigned entry = 0; entry < layout.entries; ++entry) {
    if (same || layout.perEntry == 1) {
      parts.push_back(scalarAt(entry));
      continue;
    }
    Value there, from = place(access, member, entries, entry, there);
    parts.push_back(loadPoints(from, there, access, points));
  }
  if (!isa<VectorType>(parts[0].getType())) {
    Value all =
        vector::FromElementsOp::create(b, loc, cast<VectorType>(laneType(access.element, layout.entries)), parts);
    if (layout.perEntry == 1)
      return {false, {all}};
    SmallVector<int64_t> spread;
    for (unsigned lane = 0; lane < layout.entries * layout.perEntry; ++lane)
      spread.push_back(lane / layout.perEntry);
    return {false, {vector::ShuffleOp::create(b, loc, all, all, spread)}};
  }
  return {false, {joined(parts)}};
}

/// Asks for the rows that the entry some places further on will read, of operands of which whole cache lines are read.
void GroupEmitter::prefetch(const GroupMember &member, const LaneLayout &layout, const Entries &entries) {
  constexpr int64_t distance = 16, lineBytes = 64;
  for (const GroupAccess &access : member.inputs) {
    if (access.scratch >= 0 || access.kept >= 0 || !access.usesIndex() ||
        llvm::is_contained(prefetched, access.pointer))
      continue;
    bool direct = true;
    for (auto [k, stride] : llvm::enumerate(access.indices))
      direct &= stride == 0 || member.indices[k].kind == GroupIndex::Other;
    auto [least, most] = std::minmax_element(access.features.begin(), access.features.end());
    int64_t bytes = (*most - *least + 1) * bytesOf(memoryType(access.element));
    if (!direct || bytes < lineBytes)
      continue;
    prefetched.push_back(access.pointer);
    for (unsigned entry = 0; entry < layout.entries; ++entry) {
      Entries ahead = entriesAt(arith::AddIOp::create(b, loc, entries.position, i64(distance + entry)), Value(), 1);
      Value there, from = place(access, member, ahead, 0, there);
      if (*least != 0)
        from = at(from, access.element, i64(*least));
      for (int64_t line = 0; line < bytes; line += lineBytes) {
        Value address = LLVM::GEPOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), from,
                                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(line)});
        LLVM::Prefetch::create(b, loc, address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
      }
    }
  }
}

/// Stores a row of results, those lanes that are points.
void GroupEmitter::storeVectors(Value place, Type element, const LaneLayout &layout, const Lanes &values) {
  Type memory = memoryType(element), ptr = LLVM::LLVMPointerType::get(b.getContext());
  int64_t offset = 0;
  for (auto [points, value] : llvm::zip(layout.vectors, values.parts)) {
    Value part = value;
    unsigned width = points.size();
    if (memory != element)
      part = arith::ExtUIOp::create(b, loc, laneType(memory, width), part);
    Value pointer = offset == 0 ? place
                                : LLVM::GEPOp::create(b, loc, ptr, memory, place,
                                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)})
                                      .getResult();
    offset += width;
    SmallVector<bool> alive = llvm::map_to_vector(points, [](int64_t point) { return point >= 0; });
    if (!llvm::is_contained(alive, false)) {
      LLVM::StoreOp::create(b, loc, part, pointer, bytesOf(memory));
      continue;
    }
    auto maskType = VectorType::get({static_cast<int64_t>(width)}, b.getI1Type());
    Value mask = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(maskType, ArrayRef<bool>(alive)));
    LLVM::MaskedStoreOp::create(b, loc, part, pointer, mask, b.getI32IntegerAttr(bytesOf(memory)));
  }
}
