// Which values share memory.
#include "gnnc/Dialect/Memory.h"

using namespace mlir;
using namespace gnnc::gnn;

SmallVector<Carried> gnnc::gnn::carriedBy(Operation *loop) {
  if (!isa<ForOp, WhileOp>(loop))
    return {};
  Block &body = isa<ForOp>(loop) ? cast<ForOp>(loop).block() : cast<WhileOp>(loop).block();
  unsigned operands = isa<ForOp>(loop) ? 2 : 0, arguments = isa<ForOp>(loop) ? 1 : 0;
  SmallVector<Carried> carried;
  for (OpResult result : loop->getResults()) {
    unsigned k = result.getResultNumber();
    carried.push_back({&loop->getOpOperand(operands + k), body.getArgument(arguments + k),
                       &body.getTerminator()->getOpOperand(k), result});
  }
  return carried;
}

bool gnnc::gnn::isInPlace(const Carried &carried) { return localRoot(carried.next->get()) == carried.argument; }

Value gnnc::gnn::localRoot(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    unsigned k = result.getResultNumber();
    if (isa<ReshapeOp, CheckIndexOp, DefineSizeOp>(op)) {
      value = op->getOperand(0);
    } else if (auto kernel = dyn_cast<KernelOp>(op); kernel && !kernel.getInits().empty()) {
      value = kernel.getInits()[k];
    } else if (auto gemm = dyn_cast<GemmOp>(op); gemm && gemm.getInit()) {
      value = gemm.getInit();
    } else if (isa<ForOp, WhileOp>(op)) {
      Carried carried = carriedBy(op)[k];
      if (!isInPlace(carried))
        break;
      value = carried.init->get();
    } else if (auto branch = dyn_cast<IfOp>(op)) {
      Value onTrue = localRoot(branch.thenBlock().getTerminator()->getOperand(k));
      Value onFalse = localRoot(branch.elseBlock().getTerminator()->getOperand(k));
      if (onTrue != onFalse || branch->isAncestor(onTrue.getParentBlock()->getParentOp()))
        break;
      value = onTrue;
    } else {
      break;
    }
  }
  return value;
}

Value gnnc::gnn::memoryRoot(Value value) {
  while (true) {
    value = localRoot(value);
    if (auto group = value.getDefiningOp<GroupOp>())
      return group.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return value;
    Operation *loop = argument.getOwner()->getParentOp();
    if (!isa_and_present<ForOp, WhileOp>(loop))
      return value;
    if (isa<ForOp>(loop) && argument.getArgNumber() == 0)
      return value;
    Carried carried = carriedBy(loop)[argument.getArgNumber() - (isa<ForOp>(loop) ? 1 : 0)];
    if (!isInPlace(carried))
      return carried.argument; // also for the argument of a condition
    value = carried.init->get();
  }
}
