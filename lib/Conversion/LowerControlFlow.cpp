// Branches and loops of an entry's body. Conditions and bounds are read from memory: everything before has run.
//
// What a loop carries and does not change in place lies in two buffers in turns, whose addresses the loop exchanges.
// What is computed in a region (addresses, sizes) is forgotten behind it, since it need not have run.
#include "BodyEmitter.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// What a loop exchanges, and where it lies at first.
struct BodyEmitter::Turns {
  struct Pair {
    Carried carried;
    Value made; // what the body makes for the next iteration
    Value current, next;
  };
  SmallVector<Pair> pairs;
  SmallVector<Type> types; // of the header's arguments
  SmallVector<Value> start;
  llvm::DenseMap<SizeAttr, Value> sizeValues;
  llvm::DenseMap<Value, Value> pointers;
};

void BodyEmitter::emitBlock(Block &block) {
  bool isScope = plan.scopes.contains(&block);
  Value mark;
  if (isScope) {
    mark = host.local(host.i64(), 4); // gnnrt_mark
    host.call("gnnrt_frame_mark", {}, {frame, mark});
  }
  for (Operation &op : block) {
    if (!plan.stepOf.contains(&op))
      continue;
    emitOp(&op);
    for (auto [phase, after] : llvm::enumerate(plan.phases))
      if (after == &op)
        reserve(phase);
  }
  host.loc = block.getParentOp()->getLoc();
  if (isScope)
    host.call("gnnrt_frame_release", {}, {frame, mark});
}

void BodyEmitter::emitIf(IfOp op) {
  Value zero = LLVM::ConstantOp::create(b, host.loc, b.getI8Type(), b.getI8IntegerAttr(0));
  Value holds = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::ne, scalar(op.getCondition()), zero);
  auto sizesBefore = sizeValues;
  auto pointersBefore = pointers;
  Block *here = b.getInsertionBlock();
  Block *onTrue = host.block(), *onFalse = host.block(), *after = host.block();
  b.setInsertionPointToEnd(here);
  LLVM::CondBrOp::create(b, host.loc, holds, onTrue, onFalse);
  for (auto [target, block] : {std::pair(onTrue, &op.thenBlock()), std::pair(onFalse, &op.elseBlock())}) {
    b.setInsertionPointToEnd(target);
    // What is exchanged by a loop around is computed where this iteration has it.
    for (auto [result, value] : llvm::zip(op.getResults(), block->getTerminator()->getOperands()))
      if (auto storage = plan.storage.find(memoryRoot(value));
          storage != plan.storage.end() && storage->second.kind == Storage::Carried && memoryRoot(result) == result)
        pointers[memoryRoot(value)] = pointer(result);
    emitBlock(*block);
    host.jump(after);
    sizeValues = sizesBefore;
    pointers = pointersBefore;
  }
  b.setInsertionPointToEnd(after);
}

BodyEmitter::Turns BodyEmitter::beginTurns(Operation *loop) {
  Turns turns;
  for (const Carried &carried : carriedBy(loop)) {
    if (isInPlace(carried))
      continue;
    Value made = localRoot(carried.next->get());
    if (made.getDefiningOp<GroupOp>())
      made = memoryRoot(made);
    turns.pairs.push_back({carried, made, {}, {}});
    turns.start.push_back(pointer(carried.init->get()));
    turns.start.push_back(bufferPointers[plan.spares[carried.argument]]);
    turns.types.append(2, host.ptr());
  }
  turns.sizeValues = sizeValues;
  turns.pointers = pointers;
  return turns;
}

/// In the header of a loop: this iteration's addresses are its arguments from `first` on.
void BodyEmitter::enterTurn(const Turns &turns, Block *header, unsigned first) {
  for (auto [k, pair] : llvm::enumerate(turns.pairs)) {
    pointers[pair.carried.argument] = header->getArgument(first + 2 * k);
    pointers[pair.made] = header->getArgument(first + 2 * k + 1);
  }
}

SmallVector<Value> BodyEmitter::nextTurn(const Turns &turns, Block *header, unsigned first) {
  SmallVector<Value> exchanged;
  for (unsigned k = 0; k < turns.pairs.size(); ++k)
    exchanged.append({header->getArgument(first + 2 * k + 1), header->getArgument(first + 2 * k)});
  return exchanged;
}

void BodyEmitter::leaveTurns(const Turns &turns, Block *header, unsigned first) {
  sizeValues = turns.sizeValues;
  pointers = turns.pointers;
  for (auto [k, pair] : llvm::enumerate(turns.pairs))
    pointers[pair.carried.result] = header->getArgument(first + 2 * k);
}

void BodyEmitter::emitFor(ForOp op) {
  Value lower = integer(op.getLower()), upper = integer(op.getUpper());
  Value trips = LLVM::SubOp::create(b, host.loc, upper, lower), zero = host.integer(0);
  Type element = elementOf(op.counter());
  Value counter = host.local(element, 1);
  pointers[op.counter()] = counter;
  Turns turns = beginTurns(op);
  SmallVector<Type> types{host.i64()};
  llvm::append_range(types, turns.types);
  SmallVector<Value> start{zero};
  llvm::append_range(start, turns.start);

  Block *here = b.getInsertionBlock();
  Block *header = host.block(types), *body = host.block(), *after = host.block();
  b.setInsertionPointToEnd(here);
  host.jump(header, start);
  b.setInsertionPointToEnd(header);
  Value trip = header->getArgument(0);
  Value more = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::slt, trip, trips);
  LLVM::CondBrOp::create(b, host.loc, more, body, after);

  b.setInsertionPointToEnd(body);
  Value number = host.add(lower, trip);
  if (op.getReverse())
    number = LLVM::SubOp::create(b, host.loc, LLVM::SubOp::create(b, host.loc, upper, host.integer(1)), trip);
  if (element != host.i64())
    number = LLVM::TruncOp::create(b, host.loc, element, number);
  host.store(number, counter);
  enterTurn(turns, header, 1);
  emitBlock(op.block());
  SmallVector<Value> next{host.add(trip, host.integer(1))};
  llvm::append_range(next, nextTurn(turns, header, 1));
  host.jump(header, next);

  b.setInsertionPointToEnd(after);
  leaveTurns(turns, header, 1);
}

void BodyEmitter::emitWhile(WhileOp op) {
  Turns turns = beginTurns(op);
  Block *here = b.getInsertionBlock();
  Block *header = host.block(turns.types), *body = host.block(), *after = host.block();
  b.setInsertionPointToEnd(here);
  host.jump(header, turns.start);
  b.setInsertionPointToEnd(header);
  enterTurn(turns, header, 0);
  emitBlock(op.conditionBlock());
  Value zero = LLVM::ConstantOp::create(b, host.loc, b.getI8Type(), b.getI8IntegerAttr(0));
  Value holds = scalar(op.conditionBlock().getTerminator()->getOperand(0));
  Value more = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::ne, holds, zero);
  LLVM::CondBrOp::create(b, host.loc, more, body, after);

  b.setInsertionPointToEnd(body);
  emitBlock(op.block());
  host.jump(header, nextTurn(turns, header, 0));

  b.setInsertionPointToEnd(after);
  leaveTurns(turns, header, 0);
}
