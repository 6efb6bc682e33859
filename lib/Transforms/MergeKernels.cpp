// Makes one kernel of several that walk the same tensor in the same way: the scores of attention for both ends of the
// edges, or the gradients of their parameters. Each would otherwise read it from memory again.
#include "gnnc/Dialect/KernelNotes.h"
#include "gnnc/Transforms/KernelBuilder.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc::gnn {
#define GEN_PASS_DEF_MERGEKERNELS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

using namespace mlir;
using namespace gnnc::gnn;

/// More results than this would not fit the registers.
static constexpr unsigned mostResults = 4;

static AffineMap mapAt(ArrayAttr maps, unsigned number) { return cast<AffineMapAttr>(maps[number]).getValue(); }

/// A plain reduction, which reads its operands without indices or offsets.
static bool isPlain(KernelOp kernel) {
  return !kernel.getOrder() && kernel.getIndices().empty() && kernel.getInits().empty() && !kernel.getEmpties() &&
         kernel.getOffsets().getSizes().empty() && !kernel.use_empty() &&
         llvm::all_of(kernel.getCombines(),
                      [](Attribute combine) { return cast<CombineKindAttr>(combine).getValue() == CombineKind::Sum; });
}

/// Whether both read one value everywhere alike, at a place for each point of the space.
static bool shareInput(KernelOp a, KernelOp b) {
  for (auto [i, input] : llvm::enumerate(a.getInputs())) {
    AffineMap map = mapAt(a.getMaps(), i);
    bool whole = input.getDefiningOp<arith::ConstantOp>() == nullptr;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      whole &= map.isFunctionOfDim(d);
    for (auto [k, other] : llvm::enumerate(b.getInputs()))
      if (whole && other == input && mapAt(b.getMaps(), k) == map)
        return true;
  }
  return false;
}

/// Whether `to` needs a result of `from`, directly or not.
static bool leadsTo(Operation *from, Operation *to) {
  llvm::SetVector<Operation *> reached;
  reached.insert(from);
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i]->getUsers()) {
      if (user == to)
        return true;
      reached.insert(user->getBlock() == from->getBlock() ? user : from->getBlock()->findAncestorOpInBlock(*user));
    }
  return false;
}

/// The kernel that is both, in the place of the second one.
static KernelOp merged(KernelOp first, KernelOp second) {
  OpBuilder b(second);
  KernelNotes notes = KernelNotes::of(first), others = KernelNotes::of(second);
  KernelBuilder made(b, first.getLoc(), first.getLabel());
  SmallVector<AffineExpr> iterators;
  for (auto [kind, size] : llvm::zip(first.getIterators(), first.getSpace().getSizes()))
    iterators.push_back(made.iterator(cast<IteratorKindAttr>(kind).getValue(), size));
  SmallVector<SmallVector<KernelBuilder::Operand>> operands(2);
  KernelOp both[] = {first, second};
  for (auto [kernel, theirs] : llvm::zip(both, operands))
    for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
      theirs.push_back(made.input(input, mapAt(kernel.getMaps(), i).getResults()));
  for (KernelOp kernel : both)
    for (auto [i, result] : llvm::enumerate(kernel.getResults()))
      made.result(result.getType(), mapAt(kernel.getResultMaps(), i).getResults(), CombineKind::Sum);
  KernelOp result = made.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange numbers) {
    SmallVector<Value> yields;
    for (auto [kernel, theirs] : llvm::zip(both, operands)) {
      Block &block = kernel.getBody().front();
      IRMapping mapping;
      for (auto [argument, operand] : llvm::zip(block.getArguments(), theirs))
        mapping.map(argument, operand.number >= 0
                                  ? inputs[operand.number]
                                  : arith::ConstantOp::create(body, kernel.getLoc(), operand.constant).getResult());
      for (auto [argument, number] : llvm::zip(block.getArguments().take_back(numbers.size()), numbers))
        mapping.map(argument, number);
      for (Operation &op : block.without_terminator())
        body.clone(op, mapping);
      for (Value value : block.getTerminator()->getOperands())
        yields.push_back(mapping.lookupOrDefault(value));
    }
    return yields;
  });
  llvm::append_range(notes.inlined, others.inlined);
  notes.inlined.push_back(NameLoc::get(b.getStringAttr(kernelTitle(second)), second.getLoc()));
  notes.set(result);
  for (auto [old, now] :
       llvm::zip(llvm::concat<Value>(SmallVector<Value>(first.getResults()), SmallVector<Value>(second.getResults())),
                 result.getResults()))
    old.replaceAllUsesWith(now);
  first.erase();
  second.erase();
  return result;
}

namespace {
struct MergeKernelsPass : gnnc::gnn::impl::MergeKernelsBase<MergeKernelsPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    SmallVector<KernelOp> open;
    for (KernelOp kernel : llvm::to_vector(block.getOps<KernelOp>())) {
      if (!isPlain(kernel))
        continue;
      KernelOp *partner = llvm::find_if(open, [&](KernelOp earlier) {
        return earlier.getIterators() == kernel.getIterators() && earlier.getSpace() == kernel.getSpace() &&
               earlier.getNumResults() + kernel.getNumResults() <= mostResults && shareInput(earlier, kernel) &&
               !leadsTo(earlier, kernel);
      });
      if (partner == open.end())
        open.push_back(kernel);
      else
        *partner = merged(*partner, kernel);
    }
    // What reads the first of two kernels may stand before the second.
    if (!sortTopologically(&block)) {
      getOperation().emitError("this is a fault of gnnc: merged kernels wait for each other");
      signalPassFailure();
    }
  }
};
} // namespace
