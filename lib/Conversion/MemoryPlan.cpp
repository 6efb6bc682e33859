// Assigns memory to the values of an entry.
#include "MemoryPlan.h"

#include "gnnc/Dialect/EntryAttrs.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

const Storage &MemoryPlan::storageOf(Value value) const { return storage.find(memoryRoot(value))->second; }

unsigned gnnc::elementBytes(Type element) {
  return element.isInteger(1) ? 1 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

namespace {
class Planner {
public:
  Planner(func::FuncOp func, const EntryInfo &info) : func(func), info(info) {}
  FailureOr<MemoryPlan> run();

private:
  func::FuncOp func;
  const EntryInfo &info;
  MemoryPlan plan;
  DenseMap<Value, SmallVector<unsigned>> buffersOf; // of roots: one, or those that a loop exchanges
  DenseMap<Operation *, int> endOf;                 // of branches and loops: their last step

  bool isTop(Block &block) { return &block == &func.getBody().front(); }
  LogicalResult order(Block &block);
  LogicalResult classify(Operation &op);
  bool isEarly(Operation *op);
  bool makesSizes(Operation *op);
  void placeOutputs(func::ReturnOp ret);
  void place(Block &block, unsigned phase);
  void placeCarried(Operation *loop, unsigned phase);
  void placeResults(IfOp branch, unsigned phase);
  void touch(Value value, Operation *op, Operation *user, int step, unsigned phase);
  void extend(unsigned buffer, Operation *user, int step);
  unsigned addBuffer(Value root, Operation *op, Block *home, int step, unsigned phase);
  void addSlots(KernelOp kernel, unsigned phase);
  void addSlots(const GroupPlan &group, int step, unsigned phase);
};
} // namespace

/// Whether an op needs nothing that a step computes.
bool Planner::isEarly(Operation *op) {
  if (!isTop(*op->getBlock()))
    return false;
  if (!isa<EndpointOp, DegreeOp, DeriveOp, OrderOp, OrderByOp, CheckIndexOp, DefineSizeOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    if (isa<GnnGraphType, OrderType>(operand.getType()))
      return !maker || !plan.stepOf.contains(maker);
    auto it = plan.storage.find(memoryRoot(operand));
    if (it == plan.storage.end())
      return false;
    switch (it->second.kind) {
    case Storage::Argument:
    case Storage::Constant:
      return true;
    case Storage::Structure:
    case Storage::Scalar:
      return !plan.stepOf.contains(it->first.getDefiningOp());
    case Storage::Residual:
      return isa<BlockArgument>(it->first);
    default:
      return false;
    }
  });
}

/// Whether buffers may need what a step finds out: how many rows are cut, or how large a set is.
bool Planner::makesSizes(Operation *op) { return isa<OrderOp, OrderByOp, DeriveOp, DefineSizeOp>(op); }

/// Notes where the results of an op live that no step writes. Fails at an op that should not be left.
LogicalResult Planner::classify(Operation &op) {
  bool known = llvm::TypeSwitch<Operation *, bool>(&op)
                   .Case<EndpointOp, DegreeOp>([&](auto structure) {
                     plan.storage[structure.getResult()] = {Storage::Structure};
                     return true;
                   })
                   .Case([&](DeriveOp derived) {
                     for (Value array : derived.getMaps())
                       plan.storage[array] = {Storage::Structure};
                     return true;
                   })
                   .Case<SizeOp, FoldKeyOp>([&](auto scalar) {
                     plan.storage[scalar.getResult()] = {Storage::Scalar};
                     return true;
                   })
                   .Case([&](ForOp loop) {
                     plan.storage[loop.counter()] = {Storage::Scalar};
                     return true;
                   })
                   .Case([&](arith::ConstantOp constant) {
                     plan.storage[constant.getResult()] = {Storage::Constant};
                     return true;
                   })
                   .Case<OrderOp, OrderByOp, CheckIndexOp, DefineSizeOp, ReshapeOp, SelectIndexOp, SearchOp, EmptyOp,
                         KernelOp, GroupOp, GemmOp, IfOp, WhileOp, YieldOp>([](auto) { return true; })
                   .Default([](Operation *) { return false; });
  if (!known)
    return op.emitError("this is a fault of gnnc: '") << op.getName() << "' is left after kernels were formed";
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    FailureOr<KernelSpace> space = analyseKernel(kernel);
    if (failed(space))
      return failure();
    plan.kernels.try_emplace(&op, std::move(*space));
  }
  if (auto group = dyn_cast<GroupOp>(op)) {
    FailureOr<GroupPlan> analysed = analyseGroup(group);
    if (failed(analysed))
      return failure();
    plan.groups.try_emplace(&op, std::move(*analysed));
  }
  return success();
}

/// Divides what a block holds into early ops and steps.
LogicalResult Planner::order(Block &block) {
  for (Operation &op : block) {
    if (isa<func::ReturnOp>(op))
      continue;
    if (failed(classify(op)))
      return failure();
    if (isa<arith::ConstantOp, ReshapeOp, EmptyOp>(op))
      continue;
    if (isEarly(&op)) {
      plan.early.push_back(&op);
      continue;
    }
    plan.stepOf[&op] = plan.steps.size();
    plan.steps.push_back(&op);
    if (makesSizes(&op)) {
      plan.phases.push_back(&op);
      plan.failsLate = true;
      for (Block *scope = &block; !isTop(*scope); scope = scope->getParentOp()->getBlock())
        plan.scopes.insert(scope);
    }
    plan.failsLate |= isa<CheckIndexOp, SearchOp>(op);
    if (!isa<IfOp, ForOp, WhileOp>(op))
      continue;
    for (Region &region : op.getRegions())
      if (failed(order(region.front())))
        return failure();
    endOf[&op] = static_cast<int>(plan.steps.size()) - 1;
  }
  return success();
}

/// A result is computed in its place if that is possible, else it is copied there at the end.
void Planner::placeOutputs(func::ReturnOp ret) {
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    std::optional<int64_t> residual = residualNumber(func.getResultAttrDict(i));
    Storage target = residual ? Storage{Storage::Residual, static_cast<unsigned>(*residual)}
                              : Storage{Storage::Output, info.resultOf[i]};
    Value root = memoryRoot(value);
    bool own = isa_and_present<KernelOp, GemmOp, EmptyOp, IfOp>(root.getDefiningOp());
    if (own && plan.storage.try_emplace(root, target).second)
      continue;
    plan.copies.push_back({target, value});
  }
}

/// Keeps a buffer for a step, and for all iterations of loops around the step that come back to it.
void Planner::extend(unsigned buffer, Operation *user, int step) {
  PlannedBuffer &planned = plan.buffers[buffer];
  planned.first = std::min(planned.first, step);
  for (Operation *op = user; op && op->getBlock() != planned.home; op = op->getParentOp())
    if (isa<ForOp, WhileOp>(op->getParentOp())) {
      planned.first = std::min(planned.first, plan.stepOf[op->getParentOp()]);
      step = std::max(step, endOf[op->getParentOp()]);
    }
  planned.last = std::max(planned.last, step);
}

unsigned Planner::addBuffer(Value root, Operation *op, Block *home, int step, unsigned phase) {
  auto type = cast<RankedTensorType>(root.getType());
  auto result = dyn_cast<OpResult>(root);
  plan.buffers.push_back({PlannedBuffer::Values, op, result ? result.getResultNumber() : 0, false,
                          type.getElementType(), product(func.getContext(), dimsOf(type)), step, step, phase, home});
  return plan.buffers.size() - 1;
}

/// Notes that a step of `user` reads or writes a value, which `op` makes if it has no memory yet.
void Planner::touch(Value value, Operation *op, Operation *user, int step, unsigned phase) {
  if (!isa<RankedTensorType>(value.getType()))
    return;
  Value root = memoryRoot(value);
  if (auto view = root.getDefiningOp<SelectIndexOp>())
    return touch(view.getSource(), op, user, step, phase);
  if (auto known = buffersOf.find(root); known != buffersOf.end()) {
    for (unsigned buffer : known->second)
      extend(buffer, user, step);
    return;
  }
  if (plan.storage.contains(root))
    return;
  Block *home = root.getParentBlock();
  if (auto group = dyn_cast<GroupOp>(home->getParentOp()))
    home = group->getBlock();
  unsigned buffer = addBuffer(root, op, home, step, phase);
  plan.storage[root] = {Storage::Buffer, buffer};
  buffersOf[root] = {buffer};
}

/// What a loop carries and does not change in place lies in its init's memory and in a second buffer in turns.
void Planner::placeCarried(Operation *loop, unsigned phase) {
  int begin = plan.stepOf[loop], end = endOf[loop];
  for (const Carried &carried : carriedBy(loop)) {
    if (!isa<RankedTensorType>(carried.result.getType()))
      continue;
    auto memoryOf = [&](Value value) { return buffersOf.lookup(memoryRoot(value)); };
    for (unsigned buffer : memoryOf(carried.init->get()))
      extend(buffer, loop, end);
    if (isInPlace(carried))
      continue;
    Value made = localRoot(carried.next->get());
    if (auto group = made.getDefiningOp<GroupOp>())
      made = memoryRoot(made);
    unsigned spare = addBuffer(made, made.getDefiningOp(), loop->getBlock(), begin, phase);
    plan.buffers[spare].last = end;
    SmallVector<unsigned> both = memoryOf(carried.init->get());
    both.push_back(spare);
    plan.spares[carried.argument] = spare;
    for (Value root : {Value(carried.argument), Value(carried.result), made}) {
      plan.storage[root] = {Storage::Carried};
      buffersOf[root] = both;
    }
  }
}

/// Both branches compute a result in one place, unless it is in the memory of what they were given.
void Planner::placeResults(IfOp branch, unsigned phase) {
  for (OpResult result : branch->getOpResults()) {
    if (!isa<RankedTensorType>(result.getType()) || memoryRoot(result) != result)
      continue;
    if (!plan.storage.contains(result)) {
      unsigned buffer = addBuffer(result, branch, branch->getBlock(), plan.stepOf[branch], phase);
      plan.buffers[buffer].last = endOf[branch];
      plan.storage[result] = {Storage::Buffer, buffer};
      buffersOf[result] = {buffer};
    }
    Storage storage = plan.storage[result];
    for (Block *block : {&branch.thenBlock(), &branch.elseBlock()}) {
      Value root = memoryRoot(block->getTerminator()->getOperand(result.getResultNumber()));
      plan.storage[root] = storage;
      if (auto known = buffersOf.find(result); known != buffersOf.end()) {
        SmallVector<unsigned> buffers = known->second;
        buffersOf[root] = buffers;
      }
    }
  }
}

void Planner::place(Block &block, unsigned phase) {
  int next = 0; // the step that an op without one stands before
  for (Operation &op : block) {
    auto at = plan.stepOf.find(&op);
    if (at == plan.stepOf.end()) {
      if (isa<EmptyOp>(op))
        touch(op.getResult(0), &op, &op, std::min<int>(next, plan.steps.size() - 1), phase);
      continue;
    }
    int step = at->second;
    next = step + 1;
    if (auto it = plan.groups.find(&op); it != plan.groups.end()) {
      for (const GroupPointer &pointer : it->second.pointers) {
        KernelOp member = pointer.kind == GroupPointer::Value ? KernelOp() : it->second.members[pointer.member].op;
        if (pointer.kind == GroupPointer::Value)
          touch(pointer.value, &op, &op, step, phase);
        else if (pointer.kind == GroupPointer::Result)
          touch(member.getResult(pointer.result), member, &op, step, phase);
      }
      addSlots(it->second, step, phase);
      continue;
    }
    for (Value operand : op.getOperands())
      touch(operand, &op, &op, step, phase);
    if (isa<IfOp, ForOp, WhileOp>(op)) {
      if (auto branch = dyn_cast<IfOp>(op))
        placeResults(branch, phase);
      else
        placeCarried(&op, phase);
      for (Region &region : op.getRegions())
        place(region.front(), phase);
      next = endOf[&op] + 1;
      continue;
    }
    for (Value result : op.getResults())
      touch(result, &op, &op, step, phase);
    if (auto kernel = dyn_cast<KernelOp>(op))
      addSlots(kernel, phase);
    if (isa<GemmOp>(op))
      plan.buffers.push_back(
          {PlannedBuffer::Workspace, &op, 0, false, elementOf(op.getResult(0)), SizeAttr(), step, step, phase, &block});
    if (const auto *made = llvm::find(plan.phases, &op); made != plan.phases.end())
      phase = made - plan.phases.begin();
  }
}

void Planner::addSlots(KernelOp kernel, unsigned phase) {
  const KernelSpace &space = plan.kernels.find(kernel)->second;
  if (!space.hasSlots())
    return;
  // In the entry's sets, not the kernel's.
  SizeAttr elements =
      space.rowElements().substitute([&](int64_t id) { return SizeAttr::set(func.getContext(), space.sets[id]); });
  int step = plan.stepOf[kernel];
  Block *home = kernel->getBlock();
  for (auto [i, result] : llvm::enumerate(space.results)) {
    bool winner = result.combine == CombineKind::ArgMax || result.combine == CombineKind::ArgMin;
    Type element = result.access.element;
    plan.buffers.push_back(
        {PlannedBuffer::Slots, kernel, static_cast<unsigned>(i), false, element, elements, step, step, phase, home});
    if (winner && !result.pairedWith)
      plan.buffers.push_back({PlannedBuffer::Slots, kernel, static_cast<unsigned>(i), true,
                              space.body->getTerminator()->getOperand(i).getType(), elements, step, step, phase, home});
  }
}

void Planner::addSlots(const GroupPlan &group, int step, unsigned phase) {
  for (const GroupPointer &pointer : group.pointers) {
    bool extreme = pointer.kind == GroupPointer::Extreme;
    if (pointer.kind != GroupPointer::Partial && !extreme)
      continue;
    const GroupMember &member = group.members[pointer.member];
    const GroupResult &result = member.results[pointer.result];
    plan.buffers.push_back(
        {PlannedBuffer::Slots, member.op, pointer.result, extreme, extreme ? result.yielded : result.element,
         SizeAttr::constant(func.getContext(), member.outputs), step, step, phase, plan.steps[step]->getBlock()});
  }
}

FailureOr<MemoryPlan> Planner::run() {
  for (BlockArgument arg : func.getArguments()) {
    unsigned i = arg.getArgNumber();
    if (std::optional<int64_t> number = residualNumber(func.getArgAttrDict(i)))
      plan.storage[arg] = {Storage::Residual, static_cast<unsigned>(*number)};
    else
      plan.storage[arg] = {Storage::Argument, info.argumentOf[i]};
  }
  plan.phases.push_back(nullptr);
  Block &block = func.getBody().front();
  if (failed(order(block)))
    return failure();
  placeOutputs(cast<func::ReturnOp>(block.getTerminator()));
  place(block, 0);
  int end = plan.steps.size();
  for (const OutputCopy &copy : plan.copies)
    touch(copy.value, block.getTerminator(), block.getTerminator(), end, 0);
  return std::move(plan);
}

FailureOr<MemoryPlan> gnnc::planMemory(func::FuncOp func, const EntryInfo &info) { return Planner(func, info).run(); }
