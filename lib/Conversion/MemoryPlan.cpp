// Assigns memory to the values of an entry.
#include "MemoryPlan.h"

#include "gnnc/Dialect/EntryAttrs.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

Value gnnc::memoryRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      value = reshape.getSource();
    } else if (auto check = dyn_cast<CheckIndexOp>(op)) {
      value = check.getPosition();
    } else if (auto kernel = dyn_cast<KernelOp>(op); kernel && !kernel.getInits().empty()) {
      value = kernel.getInits()[cast<OpResult>(value).getResultNumber()];
    } else if (auto gemm = dyn_cast<GemmOp>(op); gemm && gemm.getInit()) {
      value = gemm.getInit();
    } else if (auto group = dyn_cast<GroupOp>(op)) {
      value = group.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    } else {
      break;
    }
  }
  return value;
}

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
  DenseMap<Operation *, int> stepOf;
  DenseMap<Value, unsigned> bufferOf; // of roots

  LogicalResult order();
  bool isEarly(Operation *op);
  void placeOutputs(func::ReturnOp ret);
  void placeBuffers();
  void addSlots(KernelOp kernel);
  void addSlots(const GroupPlan &group, int step);
  unsigned phaseOf(int step) const;
};
} // namespace

/// Whether an op needs nothing that a step computes.
bool Planner::isEarly(Operation *op) {
  if (isa<EndpointOp, DegreeOp, AddSelfLoopsOp, OrderOp>(op))
    return true;
  if (!isa<OrderByOp, CheckIndexOp>(op))
    return false;
  auto it = plan.storage.find(memoryRoot(op->getOperand(0)));
  return it != plan.storage.end() && (it->second.kind == Storage::Argument || it->second.kind == Storage::Structure ||
                                      (it->second.kind == Storage::Residual && isa<BlockArgument>(it->first)));
}

/// Divides the entry into early ops and steps.
LogicalResult Planner::order() {
  for (BlockArgument arg : func.getArguments()) {
    unsigned i = arg.getArgNumber();
    if (std::optional<int64_t> number = residualNumber(func.getArgAttrDict(i)))
      plan.storage[arg] = {Storage::Residual, static_cast<unsigned>(*number)};
    else
      plan.storage[arg] = {Storage::Argument, info.argumentOf[i]};
  }
  plan.phases.push_back(0);
  for (Operation &op : func.getBody().front().without_terminator()) {
    bool known = llvm::TypeSwitch<Operation *, bool>(&op)
                     .Case<EndpointOp, DegreeOp>([&](auto structure) {
                       plan.storage[structure.getResult()] = {Storage::Structure};
                       return true;
                     })
                     .Case([&](AddSelfLoopsOp loops) {
                       plan.storage[loops.getOld()] = {Storage::Structure};
                       return true;
                     })
                     .Case<SizeOp, FoldKeyOp>([&](auto scalar) {
                       plan.storage[scalar.getResult()] = {Storage::Scalar};
                       return true;
                     })
                     .Case([&](arith::ConstantOp constant) {
                       plan.storage[constant.getResult()] = {Storage::Constant};
                       return true;
                     })
                     .Case<OrderOp, OrderByOp, CheckIndexOp, ReshapeOp, EmptyOp, KernelOp, GroupOp, GemmOp>(
                         [](auto) { return true; })
                     .Default([](Operation *) { return false; });
    if (!known)
      return op.emitError("this is a fault of gnnc: '") << op.getName() << "' is left after kernels were formed";
    SmallVector<Value> inits;
    if (auto kernel = dyn_cast<KernelOp>(op))
      inits.assign(kernel.getInits().begin(), kernel.getInits().end());
    if (auto gemm = dyn_cast<GemmOp>(op); gemm && gemm.getInit())
      inits.push_back(gemm.getInit());
    for (Value init : inits)
      if (!init.hasOneUse())
        return op.emitError("this is a fault of gnnc: a kernel writes into a tensor that is used elsewhere too");
    if (isa<arith::ConstantOp, ReshapeOp, EmptyOp>(op))
      continue;
    if (isEarly(&op)) {
      plan.early.push_back(&op);
      continue;
    }
    int step = plan.steps.size();
    stepOf[&op] = step;
    plan.steps.push_back(&op);
    // What an order of computed indices needs is known only when it is there.
    if (isa<OrderByOp>(op))
      plan.phases.push_back(step + 1);
    plan.failsLate |= isa<OrderByOp, CheckIndexOp>(op);
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
  }
  return success();
}

unsigned Planner::phaseOf(int step) const {
  unsigned phase = 0;
  while (phase + 1 < plan.phases.size() && plan.phases[phase + 1] <= step)
    ++phase;
  return phase;
}

/// A result is computed in its place if that is possible, else it is copied there at the end.
void Planner::placeOutputs(func::ReturnOp ret) {
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    std::optional<int64_t> residual = residualNumber(func.getResultAttrDict(i));
    Storage target = residual ? Storage{Storage::Residual, static_cast<unsigned>(*residual)}
                              : Storage{Storage::Output, info.resultOf[i]};
    Value root = memoryRoot(value);
    if (root.getDefiningOp<KernelOp>() || root.getDefiningOp<GemmOp>() || root.getDefiningOp<EmptyOp>()) {
      if (plan.storage.try_emplace(root, target).second)
        continue;
    }
    plan.copies.push_back({target, value});
  }
}

void Planner::placeBuffers() {
  for (Operation *op : plan.steps) {
    int step = stepOf[op];
    auto touch = [&](Value value, Operation *op) {
      if (!isa<RankedTensorType>(value.getType()))
        return;
      Value root = memoryRoot(value);
      auto it = plan.storage.find(root);
      if (it == plan.storage.end()) {
        plan.storage[root] = {Storage::Buffer, static_cast<unsigned>(plan.buffers.size())};
        auto type = cast<RankedTensorType>(root.getType());
        auto result = dyn_cast<OpResult>(value);
        plan.buffers.push_back({PlannedBuffer::Values, op, result ? result.getResultNumber() : 0, false,
                                type.getElementType(), product(func.getContext(), dimsOf(type)), step, step,
                                phaseOf(step)});
      } else if (it->second.kind == Storage::Buffer) {
        plan.buffers[it->second.number].last = step;
      }
    };
    if (auto it = plan.groups.find(op); it != plan.groups.end()) {
      for (const GroupPointer &pointer : it->second.pointers) {
        KernelOp member = pointer.kind == GroupPointer::Value ? KernelOp() : it->second.members[pointer.member].op;
        if (pointer.kind == GroupPointer::Value)
          touch(pointer.value, op);
        else if (pointer.kind == GroupPointer::Result)
          touch(member.getResult(pointer.result), member);
      }
      addSlots(it->second, step);
      continue;
    }
    for (Value operand : op->getOperands())
      touch(operand, op);
    for (Value result : op->getResults())
      touch(result, op);
    if (auto kernel = dyn_cast<KernelOp>(op))
      addSlots(kernel);
    if (isa<GemmOp>(op))
      plan.buffers.push_back(
          {PlannedBuffer::Workspace, op, 0, false, elementOf(op->getResult(0)), SizeAttr(), step, step, phaseOf(step)});
  }
  int end = plan.steps.size();
  for (const OutputCopy &copy : plan.copies) {
    const Storage &storage = plan.storage[memoryRoot(copy.value)];
    if (storage.kind == Storage::Buffer)
      plan.buffers[storage.number].last = end;
  }
}

void Planner::addSlots(KernelOp kernel) {
  const KernelSpace &space = plan.kernels.find(kernel)->second;
  if (!space.hasSlots())
    return;
  // In the entry's sets, not the kernel's.
  SizeAttr elements =
      space.rowElements().substitute([&](int64_t id) { return SizeAttr::set(func.getContext(), space.sets[id]); });
  int step = stepOf[kernel];
  for (auto [i, result] : llvm::enumerate(space.results)) {
    bool winner = result.combine == CombineKind::ArgMax || result.combine == CombineKind::ArgMin;
    Type element = result.access.element;
    plan.buffers.push_back(
        {PlannedBuffer::Slots, kernel, static_cast<unsigned>(i), false, element, elements, step, step, phaseOf(step)});
    if (winner && !result.pairedWith)
      plan.buffers.push_back({PlannedBuffer::Slots, kernel, static_cast<unsigned>(i), true,
                              space.body->getTerminator()->getOperand(i).getType(), elements, step, step,
                              phaseOf(step)});
  }
}

void Planner::addSlots(const GroupPlan &group, int step) {
  for (const GroupPointer &pointer : group.pointers) {
    bool extreme = pointer.kind == GroupPointer::Extreme;
    if (pointer.kind != GroupPointer::Partial && !extreme)
      continue;
    const GroupMember &member = group.members[pointer.member];
    const GroupResult &result = member.results[pointer.result];
    plan.buffers.push_back({PlannedBuffer::Slots, member.op, pointer.result, extreme,
                            extreme ? result.yielded : result.element,
                            SizeAttr::constant(func.getContext(), member.outputs), step, step, phaseOf(step)});
  }
}

FailureOr<MemoryPlan> Planner::run() {
  if (failed(order()))
    return failure();
  placeOutputs(cast<func::ReturnOp>(func.getBody().front().getTerminator()));
  placeBuffers();
  return std::move(plan);
}

FailureOr<MemoryPlan> gnnc::planMemory(func::FuncOp func, const EntryInfo &info) { return Planner(func, info).run(); }
