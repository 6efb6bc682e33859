// The reverse of branches and loops.
//
// A branch is reversed by one on the same condition, which runs the forward branch again and then its reverse. A loop
// is reversed by a loop in the opposite direction: the forward loop keeps the state at the beginning of each iteration,
// and each iteration of the reverse loop runs the body again from there and then its reverse. What both read from
// outside gets its adjoint from all iterations: it is carried.
//
// Where the body only replaces entries of an array, not all its states are kept but the entries that were replaced, and
// the reverse loop puts them back. A loop that asks for it (`checkpoint`) becomes two, segments and the steps of one:
// the outer one keeps the states between segments, and the inner one is run again, keeping its own, for one segment at
// a time. A `while` is run to count its iterations, and then again as a `for`.
#include "Reverse.h"
#include "gnnc/Dialect/EntryAttrs.h"
#include "gnnc/Dialect/Memory.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

#include <cmath>

using namespace mlir;
using namespace gnnc::gnn;

//===----------------------------------------------------------------------===//
// Numbers of loops
//===----------------------------------------------------------------------===//

namespace {

Value constantLike(OpBuilder &b, Location loc, Value like, int64_t value) {
  auto type = cast<RankedTensorType>(like.getType());
  Attribute number = b.getIntegerAttr(type.getElementType(), value);
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>(number)));
}

/// The integer that a scalar is, if it is known as a size.
SizeAttr sizeOf(Value number) {
  while (auto saved = number.getDefiningOp<SavedOp>())
    number = saved.getX();
  if (auto size = number.getDefiningOp<SizeOp>())
    return size.getSize();
  if (auto define = number.getDefiningOp<DefineSizeOp>())
    number = define.getNumber();
  // What the program uses as a size is defined right behind the number.
  for (Operation *user : number.getUsers())
    if (auto define = dyn_cast<DefineSizeOp>(user))
      return define.getSize();
  DenseIntElementsAttr constant;
  if (matchPattern(number, m_Constant(&constant)))
    return SizeAttr::constant(number.getContext(), constant.getSplatValue<APInt>().getSExtValue());
  return {};
}

bool isNonNegative(SizeAttr size) {
  ArrayRef<int64_t> terms = size.getTerms();
  for (size_t i = 0; i < terms.size(); i += 2 + terms[i + 1])
    if (terms[i] < 0)
      return false;
  return true;
}

/// A set that the function does not have yet.
SizeAttr freshSet(Operation *inside, StringRef name) {
  auto func = inside->getParentOfType<func::FuncOp>();
  MLIRContext *ctx = func.getContext();
  if (auto names = func->getAttrOfType<ArrayAttr>(attrs::setNames)) {
    SmallVector<Attribute> all(names.begin(), names.end());
    all.push_back(StringAttr::get(ctx, name));
    func->setAttr(attrs::setNames, ArrayAttr::get(ctx, all));
    return SizeAttr::set(ctx, all.size() - 1);
  }
  int64_t next = 0;
  AttrTypeWalker walker;
  walker.addWalk([&](SizeAttr size) { size.forEachSet([&](int64_t id) { next = std::max(next, id + 1); }); });
  func.walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          walker.walk(type);
  });
  return SizeAttr::set(ctx, next);
}

/// How many entries a stack for a loop's iterations has; `after` is what defines the size, if that happens in the call.
SizeAttr stackSize(OpBuilder &b, ForOp loop, Value &after) {
  if (SizeAttr most = loop.getMostAttr()) {
    // Defined with the loop's bounds.
    return most;
  }
  SizeAttr lower = sizeOf(loop.getLower()), upper = sizeOf(loop.getUpper());
  if (lower && upper) {
    if (SizeAttr count = upper.sub(lower); isNonNegative(count))
      return count;
    if (isNonNegative(lower) && isNonNegative(upper))
      return upper;
  }
  Location loc = loop.getLoc();
  Value count = loop.getUpper();
  SizeAttr size = freshSet(loop, "iterations");
  OpBuilder::InsertionGuard guard(b);
  if (lower && isNonNegative(lower)) {
    // At the number itself, so that all loops up to it share the size.
    while (auto saved = count.getDefiningOp<SavedOp>())
      count = saved.getX();
    b.setInsertionPointAfterValue(count);
  } else {
    count = arith::SubIOp::create(b, loc, count, loop.getLower());
  }
  after = DefineSizeOp::create(b, loc, count.getType(), count, size);
  return size;
}

/// The entry of a stack that belongs to an iteration, given its number.
Value stackPosition(OpBuilder &b, ForOp loop, Value number) {
  SizeAttr lower = sizeOf(loop.getLower());
  if (!lower || lower.getConstant() != 0)
    number = arith::SubIOp::create(b, loop.getLoc(), number, loop.getLower());
  if (!elementOf(number).isInteger(32))
    number = arith::TruncIOp::create(b, loop.getLoc(), scalarType(b.getI32Type()), number);
  return number;
}

RankedTensorType stackOf(Type entry, SizeAttr size) {
  SmallVector<SizeAttr> dims(dimsOf(entry));
  dims.insert(dims.begin(), size);
  return tensorType(dims, cast<RankedTensorType>(entry).getElementType());
}

//===----------------------------------------------------------------------===//
// Loops that keep their states
//===----------------------------------------------------------------------===//

/// A counted loop with the body of a `while`, which is run before to count.
ForOp countIterations(Tape &tape, WhileOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  RankedTensorType number = scalarType(b.getI32Type());
  Value zero = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(number, ArrayRef<int32_t>(0)));
  Value one = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(number, ArrayRef<int32_t>(1)));
  SmallVector<Value> inits(loop.getInits());
  inits.push_back(zero);
  auto counting = WhileOp::create(b, loc, ValueRange(inits).getTypes(), inits, false);
  IRMapping map;
  loop.getCondition().cloneInto(&counting.getCondition(), map);
  loop.getBody().cloneInto(&counting.getBody(), map);
  counting.conditionBlock().addArgument(number, loc);
  Value count = counting.block().addArgument(number, loc);
  Operation *yield = counting.block().getTerminator();
  b.setInsertionPoint(yield);
  Value next = arith::AddIOp::create(b, loc, count, one);
  yield->insertOperands(yield->getNumOperands(), next);

  b.setInsertionPoint(loop);
  auto counted = ForOp::create(b, loc, loop.getResultTypes(), zero, counting.getResults().back(), loop.getInits(),
                               false, loop.getCheckpoint(), SizeAttr());
  counted.getBody().takeBody(loop.getBody());
  counted.block().insertArgument(0u, number, loc);
  for (auto [old, result] : llvm::zip(loop.getResults(), counted.getResults()))
    if (tape.active.contains(old))
      tape.active.insert(result);
  return counted;
}

/// A loop over segments of about the square root of the number of iterations, with a loop over the steps of one inside.
ForOp makeSegments(Tape &tape, ForOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLower(), upper = loop.getUpper();
  Value count = arith::SubIOp::create(b, loc, upper, lower);
  Value zero = constantLike(b, loc, count, 0), one = constantLike(b, loc, count, 1);
  SizeAttr first = sizeOf(lower), last = sizeOf(upper);
  std::optional<int64_t> known = first && last ? last.sub(first).getConstant() : std::nullopt;
  Value length, segments;
  SizeAttr most;
  if (known) {
    auto root = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(std::sqrt(std::max<double>(*known, 0)))));
    most = SizeAttr::constant(b.getContext(), root);
    length = constantLike(b, loc, count, root);
    segments = constantLike(b, loc, count, (std::max<int64_t>(*known, 0) + root - 1) / root);
  } else {
    Value positive = arith::MaxSIOp::create(b, loc, count, zero);
    Value real = arith::SIToFPOp::create(b, loc, scalarType(b.getF64Type()), positive);
    Value root = math::CeilOp::create(b, loc, math::SqrtOp::create(b, loc, real));
    length = arith::MaxSIOp::create(b, loc, arith::FPToSIOp::create(b, loc, count.getType(), root), one);
    most = freshSet(loop, "steps of a segment");
    length = DefineSizeOp::create(b, loc, length.getType(), length, most);
    Value rounded = arith::AddIOp::create(b, loc, positive, arith::SubIOp::create(b, loc, length, one));
    segments = arith::DivSIOp::create(b, loc, rounded, length);
    segments = DefineSizeOp::create(b, loc, segments.getType(), segments, freshSet(loop, "segments"));
  }

  auto outer = ForOp::create(b, loc, loop.getResultTypes(), zero, segments, loop.getInits(), loop.getReverse(), false,
                             SizeAttr());
  Block *body = b.createBlock(&outer.getBody());
  Value segment = body->addArgument(count.getType(), loc);
  SmallVector<Value> state;
  for (Value init : loop.getInits())
    state.push_back(body->addArgument(init.getType(), loc));
  Value begin = arith::AddIOp::create(b, loc, lower, arith::MulIOp::create(b, loc, segment, length));
  Value end = arith::MinSIOp::create(b, loc, arith::AddIOp::create(b, loc, begin, length), upper);
  auto inner = ForOp::create(b, loc, loop.getResultTypes(), begin, end, state, loop.getReverse(), false, most);
  inner.getBody().takeBody(loop.getBody());
  YieldOp::create(b, loc, inner.getResults());
  for (auto [k, result] : llvm::enumerate(loop.getResults()))
    if (tape.active.contains(inner.carried()[k])) {
      tape.active.insert(state[k]);
      tape.active.insert(inner.getResult(k));
      tape.active.insert(outer.getResult(k));
    }
  return outer;
}

/// The writes by which a body makes the next value of an array from the one before, if it does nothing else to it.
std::optional<SmallVector<UpdateIndexOp>> writesOf(const Carried &carried) {
  SmallVector<UpdateIndexOp> writes;
  for (Value value = carried.next->get(); value != carried.argument;) {
    auto write = value.getDefiningOp<UpdateIndexOp>();
    if (!write || write->getBlock() != carried.argument.getOwner())
      return std::nullopt;
    writes.push_back(write);
    value = write.getTarget();
  }
  std::reverse(writes.begin(), writes.end());
  return writes;
}

/// The loop with stacks of what its reverse needs; writes down what they are.
ForOp keepStates(Tape &tape, ForOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value after;
  SizeAttr size = stackSize(b, loop, after);
  SmallVector<Carried> carried = carriedBy(loop);
  SmallVector<KeptState> kept(carried.size());
  // Which entry of what goes onto which stack.
  SmallVector<std::pair<Value, Operation *>> entries; // the value, and the op that it is kept before; null: at once
  for (auto [state, c] : llvm::zip(kept, carried)) {
    if (c.argument.use_empty())
      continue;
    std::optional<SmallVector<UpdateIndexOp>> writes = writesOf(c);
    if (!writes || writes->empty()) {
      state.kind = KeptState::Stacked;
      entries.push_back({c.argument, nullptr});
      continue;
    }
    state.kind = KeptState::Undone;
    for (UpdateIndexOp write : *writes) {
      b.setInsertionPoint(write);
      Value old = SelectIndexOp::create(b, loc, write.getValue().getType(), write.getTarget(), write.getPosition(),
                                        write.getDim());
      entries.push_back({write.getPosition(), write});
      entries.push_back({old, write});
      state.dims.push_back(write.getDim());
    }
  }
  b.setInsertionPoint(loop);
  SmallVector<Value> inits(loop.getInits());
  for (auto &[value, place] : entries)
    inits.push_back(EmptyOp::create(b, loc, stackOf(value.getType(), size), after));
  auto keeping = ForOp::create(b, loc, ValueRange(inits).getTypes(), loop.getLower(), loop.getUpper(), inits,
                               loop.getReverse(), false, loop.getMostAttr());
  keeping.getBody().takeBody(loop.getBody());
  Block &body = keeping.block();
  b.setInsertionPointToStart(&body);
  Value position = stackPosition(b, keeping, keeping.counter());
  Operation *yield = body.getTerminator();
  for (auto &[value, place] : entries) {
    Value stack = body.addArgument(stackOf(value.getType(), size), loc);
    if (place)
      b.setInsertionPoint(place);
    else if (Operation *op = position.getDefiningOp(); op && op->getBlock() == &body)
      b.setInsertionPointAfter(op);
    else
      b.setInsertionPointToStart(&body);
    Value next = UpdateIndexOp::create(b, loc, stack.getType(), stack, position, value, 0);
    yield->insertOperands(yield->getNumOperands(), next);
  }
  unsigned next = carried.size();
  for (auto [k, state] : llvm::enumerate(kept)) {
    if (state.kind == KeptState::Stacked)
      state.stack = keeping.getResult(next++);
    for (size_t n = 0; n < state.dims.size(); ++n, next += 2)
      state.logs.push_back({keeping.getResult(next), keeping.getResult(next + 1)});
    if (tape.active.contains(loop.getResult(k)))
      tape.active.insert(keeping.getResult(k));
  }
  tape.kept[keeping] = std::move(kept);
  return keeping;
}

} // namespace

void gnnc::gnn::prepareLoops(Tape &tape, SmallVectorImpl<Operation *> &ops) {
  for (Operation *&op : ops) {
    auto isActive = [&](Value result) { return tape.active.contains(result); };
    if (!isa<ForOp, WhileOp>(op) || llvm::none_of(op->getResults(), isActive))
      continue;
    auto replace = [&](ForOp loop) {
      for (auto [old, result] : llvm::zip(op->getResults(), loop->getResults())) {
        for (Value &value : tape.results)
          if (value == old)
            value = result;
        old.replaceAllUsesWith(result);
      }
      op->erase();
      op = loop;
    };
    if (auto loop = dyn_cast<WhileOp>(op))
      replace(countIterations(tape, loop));
    if (auto loop = cast<ForOp>(op); loop.getCheckpoint())
      replace(makeSegments(tape, loop));
    replace(keepStates(tape, cast<ForOp>(op)));
  }
}

//===----------------------------------------------------------------------===//
// Reversing
//===----------------------------------------------------------------------===//

llvm::SetVector<Value> Sweep::activeCaptures(Operation *op) const {
  llvm::SetVector<Value> captured, active;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (isActive(value))
      active.insert(value);
  return active;
}

Value Sweep::orZero(Value adjoint, Type type) {
  return adjoint ? adjoint : splat(ops, loc(), cast<RankedTensorType>(type), 0.0);
}

SmallVector<Value> Sweep::repeat(Block &block, unsigned arguments, IRMapping &map,
                                 SmallVectorImpl<Operation *> &forward) {
  for (Operation &op : block.without_terminator()) {
    // What only keeps states is not done again, and positions were checked the first time.
    auto write = dyn_cast<UpdateIndexOp>(op);
    auto stack = write ? dyn_cast<BlockArgument>(write.getTarget()) : BlockArgument();
    if (stack && stack.getOwner() == &block && stack.getArgNumber() >= arguments)
      continue;
    if (isa<CheckIndexOp>(op)) {
      map.map(op.getResult(0), map.lookupOrDefault(op.getOperand(0)));
      continue;
    }
    forward.push_back(ops.clone(op, map));
  }
  for (auto &[from, to] : map.getValueMap())
    if (isActive(from))
      tape.active.insert(to);
  SmallVector<Value> yields;
  for (Value value : block.getTerminator()->getOperands())
    yields.push_back(map.lookupOrDefault(value));
  // Loops inside are replaced by loops that keep their states; what is yielded follows.
  Operation *end = YieldOp::create(ops, loc(), yields);
  prepareLoops(tape, forward);
  yields.assign(end->operand_begin(), end->operand_end());
  ops.setInsertionPointToEnd(end->getBlock());
  end->erase();
  return yields;
}

/// Whether an op, or one inside, selects: what passes it may be a branch that was not taken.
static bool selects(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<arith::SelectOp, arith::MaximumFOp, arith::MinimumFOp, math::ClampFOp, PmulOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Sweep::visitIf(IfOp op) {
  Location at = op.getLoc();
  llvm::SetVector<Value> captured = activeCaptures(op);
  Value condition = saved(op.getCondition());
  SmallVector<Value> before;
  SmallVector<Type> types;
  for (Value value : captured) {
    before.push_back(orZero(adjoints.lookup(value), value.getType()));
    types.push_back(value.getType());
  }
  auto reversed = IfOp::create(ops, at, types, condition);
  bool ok = true, marks = selects(op);
  DenseMap<Value, Value> outer = std::move(adjoints);
  Block *blocks[] = {&op.thenBlock(), &op.elseBlock()};
  for (auto [k, region] : llvm::enumerate(reversed->getRegions())) {
    OpBuilder::InsertionGuard guard(ops);
    ops.createBlock(&region);
    IRMapping map;
    SmallVector<Operation *> forward;
    SmallVector<Value> yields = repeat(*blocks[k], 0, map, forward);
    adjoints.clear();
    for (Value value : captured)
      if (Value adjoint = outer.lookup(value))
        adjoints[value] = adjoint;
    for (auto [result, value] : llvm::zip(op.getResults(), yields))
      if (Value adjoint = outer.lookup(result))
        add(value, adjoint);
    ok &= succeeded(reverse(forward));
    current = op;
    SmallVector<Value> after;
    for (auto [value, zero] : llvm::zip(captured, before)) {
      Value adjoint = adjoints.lookup(value);
      after.push_back(adjoint ? adjoint : zero);
    }
    YieldOp::create(ops, at, after);
  }
  adjoints = std::move(outer);
  for (auto [value, before, adjoint] : llvm::zip(captured, before, reversed.getResults())) {
    adjoints[value] = adjoint;
    if (marks || isSelected(before))
      markSelected(adjoint);
  }
  return success(ok);
}

LogicalResult Sweep::visitFor(ForOp op) {
  Location at = op.getLoc();
  SmallVector<KeptState> kept = tape.kept.lookup(op);
  SmallVector<Carried> carried(carriedBy(op));
  carried.truncate(kept.size()); // without its own stacks
  llvm::SetVector<Value> captured = activeCaptures(op);

  // Carried: adjoints of the state, adjoints of what is captured, arrays whose writes are undone.
  SmallVector<Value> inits;
  SmallVector<unsigned> states;
  bool marks = selects(op);
  for (auto [k, c] : llvm::enumerate(carried))
    if (isActive(c.argument)) {
      states.push_back(k);
      inits.push_back(orZero(adjoints.lookup(c.result), c.result.getType()));
    }
  for (Value value : captured)
    inits.push_back(orZero(adjoints.lookup(value), value.getType()));
  size_t adjointCount = inits.size();
  for (Value init : inits)
    marks |= isSelected(init);
  for (auto [state, c] : llvm::zip(kept, carried))
    if (state.kind == KeptState::Undone)
      inits.push_back(saved(c.result));

  auto reversed = ForOp::create(ops, at, ValueRange(inits).getTypes(), saved(op.getLower()), saved(op.getUpper()),
                                inits, !op.getReverse(), false, op.getMostAttr());
  for (KeptState &state : kept) {
    if (state.stack)
      state.stack = saved(state.stack);
    for (auto &[positions, entries] : state.logs) {
      positions = saved(positions);
      entries = saved(entries);
    }
  }
  DenseMap<Value, Value> outer = std::move(adjoints);
  adjoints.clear();
  bool ok = true;
  {
    OpBuilder::InsertionGuard guard(ops);
    Block *body = ops.createBlock(&reversed.getBody());
    Value number = body->addArgument(op.getLower().getType(), at);
    SmallVector<Value> arguments;
    for (Value init : inits)
      arguments.push_back(body->addArgument(init.getType(), at));
    for (size_t k = 0; marks && k < adjointCount; ++k)
      markSelected(arguments[k]);
    Value position = stackPosition(ops, op, number);
    auto entryOf = [&](Value stack) -> Value {
      return SelectIndexOp::create(ops, at, tensorType(dimsOf(stack).drop_front(), elementOf(stack)), stack, position,
                                   0);
    };

    // The state at the beginning of the iteration.
    IRMapping map;
    map.map(op.counter(), number);
    SmallVector<Value> undone;
    unsigned nextUndone = adjointCount;
    for (auto [state, c] : llvm::zip(kept, carried)) {
      Value value;
      if (state.kind == KeptState::Stacked) {
        value = entryOf(state.stack);
      } else if (state.kind == KeptState::Undone) {
        value = arguments[nextUndone++];
        for (auto [log, dim] : llvm::reverse(llvm::zip(state.logs, state.dims)))
          value = UpdateIndexOp::create(ops, at, value.getType(), value, entryOf(log.first), entryOf(log.second), dim);
        undone.push_back(value);
      } else {
        continue;
      }
      map.map(c.argument, value);
    }

    SmallVector<Operation *> forward;
    SmallVector<Value> yields = repeat(op.block(), 1 + kept.size(), map, forward);
    for (auto [n, k] : llvm::enumerate(states))
      add(yields[k], arguments[n]);
    for (auto [n, value] : llvm::enumerate(captured)) {
      Value seeded = adjoints.lookup(value); // where the body yields it as it is
      adjoints[value] = arguments[states.size() + n];
      if (seeded)
        add(value, seeded);
    }
    ok &= succeeded(reverse(forward));
    current = op;
    SmallVector<Value> after;
    for (unsigned k : states) {
      Value state = map.lookupOrNull(carried[k].argument);
      after.push_back(orZero(state ? adjoints.lookup(state) : Value(), carried[k].argument.getType()));
    }
    for (Value value : captured)
      after.push_back(adjoints.lookup(value));
    llvm::append_range(after, undone);
    YieldOp::create(ops, at, after);
  }
  adjoints = std::move(outer);
  for (auto [k, value] : llvm::enumerate(captured))
    adjoints[value] = reversed.getResult(states.size() + k);
  for (size_t k = 0; marks && k < adjointCount; ++k)
    markSelected(reversed.getResult(k));
  for (auto [n, k] : llvm::enumerate(states))
    add(carried[k].init->get(), reversed.getResult(n));
  return success(ok);
}
