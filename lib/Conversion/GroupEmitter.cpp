// A group's function: rows, the stages of a row, chunks of its entries.
#include "GroupEmitter.h"
#include "LowerKernel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

LLVM::LLVMFuncOp gnnc::emitGroup(const GroupPlan &plan, ModuleOp module, Location loc, StringRef name) {
  return GroupEmitter(plan, module, loc).emit(name);
}

Value GroupEmitter::i64(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }

void GroupEmitter::emitFor(Value lower, Value upper, int64_t step, SmallVectorImpl<Value> &state,
                           llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, i64(step), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  state.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  body(loop.getInductionVar());
  if (!state.empty())
    scf::YieldOp::create(b, loc, state);
  state.assign(loop.getResults().begin(), loop.getResults().end());
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp GroupEmitter::emit(StringRef name) {
  // A vector register's worth of the widest element.
  unsigned bits = 32;
  for (const GroupMember &member : plan.members) {
    for (const GroupAccess &access : member.inputs)
      if (isa<FloatType>(access.element))
        bits = std::max(bits, access.element.getIntOrFloatBitWidth());
    for (const GroupResult &result : member.results)
      if (!result.element.isInteger(1))
        bits = std::max(bits, result.element.getIntOrFloatBitWidth());
  }
  lanes = 512 / bits;
  chooseLayouts();

  b.setInsertionPointToEnd(module.getBody());
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {ptr, ptr});
  auto func = LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal, /*dsoLocal=*/true);
  emitPrologue(func);
  SmallVector<Value> none;
  emitFor(rowBegin, rowEnd, 1, none, [&](Value value) {
    row = value;
    emitRow();
  });
  return func;
}

void GroupEmitter::emitPrologue(LLVM::LLVMFuncOp func) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), integer = b.getI64Type();
  Block *entry = func.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Value args = entry->getArgument(0), task = entry->getArgument(1);
  auto field = [&](Value pointer, unsigned index, Type type) -> Value {
    Value address =
        LLVM::GEPOp::create(b, loc, ptr, integer, pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    return LLVM::LoadOp::create(b, loc, type, address);
  };
  Value *fields[] = {&rowBegin, &rowEnd, &entryBegin, &entryEnd, &slot, &phase, &firstSlot};
  for (auto [i, value] : llvm::enumerate(fields))
    *value = field(task, i, integer);
  inSlot = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, slot, i64(0));
  allPhases = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, phase, i64(0));
  for (unsigned i = 0; i < plan.pointers.size(); ++i)
    pointers.push_back(field(args, i, ptr));
  orderPtr = field(pointers[0], 0, ptr);
  orderPerm = field(pointers[0], 1, ptr);
  orderOther = field(pointers[0], 5, ptr);

  // Buffers beside the loop, for as many entries as fit in half of a first-level cache.
  constexpr int64_t budget = 16 << 10;
  int64_t perEntry = 0;
  for (auto [member, layout] : llvm::zip(plan.members, layouts))
    if (member.kind == GroupMember::Entries)
      perEntry += int64_t(layout.perEntry) * memoryType(member.results[0].element).getIntOrFloatBitWidth() / 8;
  chunk = perEntry == 0 ? 64 : std::clamp<int64_t>(llvm::alignDown(budget / perEntry, 16), 16, 64);
  for (auto [member, layout] : llvm::zip(plan.members, layouts)) {
    scratch.emplace_back();
    if (member.kind == GroupMember::Entries)
      scratch.back() = LLVM::AllocaOp::create(b, loc, ptr, memoryType(member.results[0].element),
                                              i64(chunk * layout.perEntry + lanes), /*alignment=*/64);
  }
  for (const KeptRow &row : plan.kept) {
    Value beside = LLVM::AllocaOp::create(b, loc, ptr, memoryType(row.element), i64(row.outputs + lanes),
                                          /*alignment=*/64);
    Value inFirst = at(pointers[row.partial], row.element, arith::MulIOp::create(b, loc, firstSlot, i64(row.outputs)));
    kept.push_back(arith::SelectOp::create(b, loc, allPhases, beside, inFirst));
  }
  b.setInsertionPoint(LLVM::ReturnOp::create(b, loc, ValueRange()));
}

/// Where the row at hand of a result lies.
Value GroupEmitter::rowOf(const GroupMember &member, const GroupResult &result) {
  if (result.kept >= 0)
    return kept[result.kept];
  return at(pointers[result.pointer], result.element, arith::MulIOp::create(b, loc, row, i64(member.outputs)));
}

void GroupEmitter::emitRow() {
  auto bound = [&](Value position) -> Value {
    return LLVM::LoadOp::create(b, loc, b.getI64Type(), at(orderPtr, b.getI64Type(), position));
  };
  Value next = arith::AddIOp::create(b, loc, row, i64(1));
  segmentBegin = arith::SelectOp::create(b, loc, inSlot, entryBegin, bound(row));
  segmentEnd = arith::SelectOp::create(b, loc, inSlot, entryEnd, bound(next));
  for (unsigned number = 0; number < plan.stages.size(); ++number) {
    if (plan.stages.size() == 1) {
      emitStage(number);
      continue;
    }
    Value asked = arith::OrIOp::create(b, loc, allPhases,
                                       arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, phase, i64(number)));
    auto branch = scf::IfOp::create(b, loc, asked, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitStage(number);
  }
}

void GroupEmitter::emitStage(unsigned number) {
  rowValues.clear();
  prefetched.clear();
  const GroupStage &stage = plan.stages[number];
  if (stage.sweeps)
    emitSweep(stage, number);
  else
    emitRowStep(stage);
}

/// Loads what a member reads of the row alone.
void GroupEmitter::loadRowValues(unsigned number, const LaneLayout &layout) {
  const GroupMember &member = plan.members[number];
  Entries none;
  for (auto [i, access] : llvm::enumerate(member.inputs))
    if (!access.ofEntry() && !member.immediates[i] && !member.op.getBody().front().getArgument(i).use_empty())
      rowValues[{number, static_cast<unsigned>(i)}] = load(member, access, layout, none);
}

//===----------------------------------------------------------------------===//
// Steps on rows
//===----------------------------------------------------------------------===//

void GroupEmitter::emitRowStep(const GroupStage &stage) {
  for (unsigned number : stage.members) {
    const GroupMember &member = plan.members[number];
    loadRowValues(number, member.terms > 1 ? sumLayout(member) : layouts[number]);
    Entries none;
    SmallVector<Lanes> values;
    if (member.terms > 1)
      for (Value part : evaluateSums(number, none)) {
        if (values.empty())
          values.push_back({false, {}});
        values[0].parts.push_back(part);
      }
    else
      values = evaluate(number, layouts[number], none);
    for (auto [result, value] : llvm::zip(member.results, values)) {
      storeVectors(rowOf(member, result), result.element, layouts[number], value);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

static unsigned countVectors(const LaneLayout &layout) { return layout.vectors.size(); }

void GroupEmitter::emitSweep(const GroupStage &stage, unsigned number) {
  std::vector<Running> reductions;
  SmallVector<unsigned> entries;
  for (unsigned m : stage.members) {
    const GroupMember &member = plan.members[m];
    loadRowValues(m, member.terms > 1 ? sumLayout(member) : layouts[m]);
    if (member.kind == GroupMember::Entries) {
      entries.push_back(m);
      continue;
    }
    reductions.push_back({m, layouts[m], {}, {}});
    startReduction(reductions.back());
  }
  // Reductions of the same layout share a loop while their accumulators fit the registers.
  SmallVector<std::pair<unsigned, unsigned>> loops;
  unsigned vectors = 0;
  for (auto [i, running] : llvm::enumerate(reductions)) {
    unsigned own = running.state.size();
    bool shares = !loops.empty() && vectors + own <= 20 && reductions[i - 1].layout.entries == running.layout.entries &&
                  countVectors(reductions[i - 1].layout) == countVectors(running.layout);
    if (!shares) {
      loops.push_back({i, i});
      vectors = 0;
    }
    loops.back().second = i + 1;
    vectors += own;
  }
  auto emitLoops = [&](Value begin, Value count) {
    for (auto [first, last] : loops)
      emitReductions(MutableArrayRef(reductions).slice(first, last - first), begin, count);
  };

  if (entries.empty()) {
    emitLoops(segmentBegin, arith::SubIOp::create(b, loc, segmentEnd, segmentBegin));
  } else {
    SmallVector<Value> state;
    for (Running &running : reductions)
      state.append(running.state.begin(), running.state.end());
    auto distribute = [&] {
      unsigned next = 0;
      for (Running &running : reductions)
        for (Value &value : running.state)
          value = state[next++];
    };
    // A row of one chunk still has what an earlier sweep computed for it.
    Value length = arith::SubIOp::create(b, loc, segmentEnd, segmentBegin);
    Value again = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, length, i64(chunk));
    Value onePhase = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, phase, i64(0));
    again = arith::OrIOp::create(b, loc, again, onePhase);
    emitFor(segmentBegin, segmentEnd, chunk, state, [&](Value begin) {
      distribute();
      Value count = arith::MinSIOp::create(b, loc, arith::SubIOp::create(b, loc, segmentEnd, begin), i64(chunk));
      for (unsigned m : entries) {
        bool known = false;
        for (unsigned earlier = 0; earlier < number; ++earlier)
          known |= plan.stages[earlier].sweeps && llvm::is_contained(plan.stages[earlier].members, m);
        if (!known) {
          emitEntries(m, begin, count);
          continue;
        }
        auto branch = scf::IfOp::create(b, loc, again, /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        SmallVector<unsigned> before = prefetched;
        emitEntries(m, begin, count);
        prefetched = before;
      }
      emitLoops(begin, count);
      state.clear();
      for (Running &running : reductions)
        state.append(running.state.begin(), running.state.end());
    });
    distribute();
  }
  for (Running &running : reductions)
    finishReduction(running);
}

/// Computes the values of a chunk's entries into their buffer. The last vector may reach beyond the chunk's end.
void GroupEmitter::emitEntries(unsigned number, Value chunkBegin, Value count) {
  const GroupMember &member = plan.members[number];
  const LaneLayout &layout = layouts[number];
  SmallVector<Value> none;
  emitFor(i64(0), count, layout.entries, none, [&](Value inChunk) {
    Entries here = entriesAt(arith::AddIOp::create(b, loc, chunkBegin, inChunk), inChunk, layout.entries);
    prefetch(member, layout, here);
    Lanes value{false, {}};
    if (member.terms > 1)
      for (Value part : evaluateSums(number, here))
        value.parts.push_back(part);
    else
      value = evaluate(number, layout, here)[0];
    Type element = member.results[0].element, memory = memoryType(element);
    Value place = at(scratch[number], element, arith::MulIOp::create(b, loc, inChunk, i64(layout.perEntry)));
    for (auto [i, part] : llvm::enumerate(value.parts)) {
      int64_t width = cast<VectorType>(part.getType()).getDimSize(0);
      if (memory != element)
        part = arith::ExtUIOp::create(b, loc, laneType(memory, width), part);
      LLVM::StoreOp::create(b, loc, part, at(place, element, i64(int64_t(i) * width)),
                            memory.getIntOrFloatBitWidth() / 8);
    }
  });
}

void GroupEmitter::emitReductions(MutableArrayRef<Running> running, Value chunkBegin, Value count) {
  SmallVector<Value> state;
  for (Running &one : running)
    state.append(one.state.begin(), one.state.end());
  const LaneLayout &layout = running[0].layout;
  emitFor(i64(0), count, layout.entries, state, [&](Value inChunk) {
    unsigned next = 0;
    for (Running &one : running)
      for (Value &value : one.state)
        value = state[next++];
    Entries here = entriesAt(arith::AddIOp::create(b, loc, chunkBegin, inChunk), inChunk, layout.entries);
    Value left = arith::SubIOp::create(b, loc, count, inChunk);
    for (Running &one : running) {
      prefetch(plan.members[one.member], layout, here);
      accumulate(one, here, left);
    }
    state.clear();
    for (Running &one : running)
      state.append(one.state.begin(), one.state.end());
  });
  unsigned next = 0;
  for (Running &one : running)
    for (Value &value : one.state)
      value = state[next++];
}

void GroupEmitter::startReduction(Running &running) {
  const GroupMember &member = plan.members[running.member];
  for (auto [i, result] : llvm::enumerate(member.results)) {
    if (result.pairedWith) {
      running.accumulators.back().winner = i;
      running.accumulators.back().tagged = result.combine == CombineKind::Tag;
      continue;
    }
    bool isMax = result.combine == CombineKind::ArgMax, isMin = result.combine == CombineKind::ArgMin;
    Accumulator acc;
    acc.kind = isMax ? CombineKind::Max : isMin ? CombineKind::Min : result.combine;
    acc.type = result.yielded;
    (isMax || isMin ? acc.winner : acc.value) = i;
    running.accumulators.push_back(acc);
  }
  unsigned width = running.layout.width() * running.layout.entries;
  for (const Accumulator &acc : running.accumulators) {
    Value start = laneConstant(b, loc, neutralElement(b, acc.kind, acc.type), width);
    running.state.append(countVectors(running.layout), start);
    if (acc.winner >= 0)
      running.state.append(countVectors(running.layout), laneConstant(b, loc, b.getI32IntegerAttr(-1), width));
  }
}

/// Adds the values at some entries, of which `left` are in the chunk.
void GroupEmitter::accumulate(Running &running, const Entries &given, Value left) {
  const LaneLayout &layout = running.layout;
  Entries here = given;
  SmallVector<Lanes> values = evaluate(running.member, layout, here);
  unsigned width = layout.width() * layout.entries, vectors = countVectors(layout);
  Value mask;
  if (layout.entries > 1) {
    SmallVector<int32_t> entryOfLane;
    for (unsigned lane = 0; lane < width; ++lane)
      entryOfLane.push_back(lane / layout.perEntry);
    auto type = VectorType::get({static_cast<int64_t>(width)}, b.getI32Type());
    Value numbers = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(entryOfLane)));
    Value bound = vector::BroadcastOp::create(b, loc, type, arith::TruncIOp::create(b, loc, b.getI32Type(), left));
    mask = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, numbers, bound);
  }
  Value winners;
  if (llvm::any_of(running.accumulators, [](const Accumulator &acc) { return acc.winner >= 0 && !acc.tagged; })) {
    SmallVector<Value> parts;
    for (unsigned entry = 0; entry < layout.entries; ++entry)
      parts.push_back(
          vector::BroadcastOp::create(b, loc, laneType(b.getI32Type(), layout.entries == 1 ? width : layout.perEntry),
                                      arith::TruncIOp::create(b, loc, b.getI32Type(), number(here, entry))));
    winners = joined(parts);
  }
  Combiner combiner(b, loc);
  unsigned next = 0;
  for (const Accumulator &acc : running.accumulators) {
    const Lanes &value = values[acc.value >= 0 ? acc.value : acc.winner];
    for (unsigned i = 0; i < vectors; ++i) {
      Extremum old{running.state[next + i], acc.winner >= 0 ? running.state[next + vectors + i] : Value()};
      Value winner = acc.tagged ? values[acc.winner].parts[i] : winners;
      Extremum now = combiner.update(acc, old, value.parts[i], winner, mask);
      running.state[next + i] = now.value;
      if (acc.winner >= 0)
        running.state[next + vectors + i] = now.winner;
    }
    next += vectors * (acc.winner >= 0 ? 2 : 1);
  }
}

/// Joins what several entries at once gave, and stores the results of the row or piece.
void GroupEmitter::finishReduction(Running &running) {
  const GroupMember &member = plan.members[running.member];
  LaneLayout layout = running.layout;
  unsigned vectors = countVectors(layout);
  Combiner combiner(b, loc);
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, segmentBegin, segmentEnd);
  auto orEmpty = [&](Value value, TypedAttr empty) -> Value {
    unsigned width = cast<VectorType>(value.getType()).getDimSize(0);
    return empty ? arith::SelectOp::create(b, loc, any, value, laneConstant(b, loc, empty, width)).getResult() : value;
  };
  auto half = [&](Value value, int64_t from, int64_t count) -> Value {
    if (!value)
      return value;
    SmallVector<int64_t> all;
    for (int64_t lane = 0; lane < count; ++lane)
      all.push_back(from + lane);
    return vector::ShuffleOp::create(b, loc, value, value, all);
  };
  unsigned next = 0;
  for (const Accumulator &acc : running.accumulators) {
    Lanes values{false, {}}, winners{false, {}};
    for (unsigned i = 0; i < vectors; ++i) {
      Extremum part{running.state[next + i], acc.winner >= 0 ? running.state[next + vectors + i] : Value()};
      for (unsigned width = layout.width() * layout.entries; layout.entries > 1 && width > layout.perEntry; width /= 2)
        part = combiner.merge(acc, {half(part.value, 0, width / 2), half(part.winner, 0, width / 2)},
                              {half(part.value, width / 2, width / 2), half(part.winner, width / 2, width / 2)});
      unsigned width = layout.width();
      if (acc.tagged) {
        winners.parts.push_back(part.winner);
      } else if (acc.winner >= 0) {
        // Nothing was beyond the start: the first entry is as good as any. Behind the last entry of an order there are
        // more, so that this may be read for an empty row too.
        Value first = LLVM::LoadOp::create(b, loc, b.getI32Type(), at(orderPerm, b.getI32Type(), segmentBegin));
        Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, part.winner,
                                           laneConstant(b, loc, b.getI32IntegerAttr(0), width));
        none = arith::AndIOp::create(b, loc, none,
                                     vector::BroadcastOp::create(b, loc, laneType(b.getI1Type(), width), any));
        Value spread = vector::BroadcastOp::create(b, loc, laneType(b.getI32Type(), width), first);
        part.winner = arith::SelectOp::create(b, loc, none, spread, part.winner);
        winners.parts.push_back(orEmpty(part.winner, member.results[acc.winner].empty));
      }
      TypedAttr empty = acc.value >= 0 ? member.results[acc.value].empty : TypedAttr();
      if (!empty && (acc.kind == CombineKind::Max || acc.kind == CombineKind::Min))
        empty = neutralElement(b, CombineKind::Sum, acc.type);
      values.parts.push_back(orEmpty(part.value, empty));
    }
    next += vectors * (acc.winner >= 0 ? 2 : 1);
    auto store = [&](const GroupResult &result, const Lanes &lanesOf) {
      Value piece =
          at(pointers[result.partial], result.element, arith::MulIOp::create(b, loc, slot, i64(member.outputs)));
      Value place = arith::SelectOp::create(b, loc, inSlot, piece, rowOf(member, result));
      storeVectors(place, result.element, layout, lanesOf);
    };
    if (acc.value >= 0)
      store(member.results[acc.value], values);
    if (acc.winner < 0)
      continue;
    store(member.results[acc.winner], winners);
    if (acc.value >= 0)
      continue;
    // What a winner without a value of its own compares by goes to the slots alone.
    auto branch = scf::IfOp::create(b, loc, inSlot, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value place = at(pointers[member.results[acc.winner].extreme], acc.type,
                     arith::MulIOp::create(b, loc, slot, i64(member.outputs)));
    storeVectors(place, acc.type, layout, values);
  }
}
