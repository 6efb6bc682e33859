// Gives what is written in place memory of its own.
//
// Up to here values are values. A kernel with an init writes into the init's memory, and a loop into that of what it
// carries: that is right where nothing reads the old value afterwards, no loop around comes back to it, and the memory
// is the function's own. Elsewhere a copy is made. A write waits for readers of the old value if it can.
#include "gnnc/Dialect/Memory.h"
#include "gnnc/Transforms/KernelBuilder.h"
#include "gnnc/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_OWNMEMORY
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

/// Whether a value's memory is made by the function itself, for this value.
bool isOwn(Value root) {
  if (auto argument = dyn_cast<BlockArgument>(root)) {
    Operation *loop = argument.getOwner()->getParentOp();
    return isa<ForOp, WhileOp>(loop) && argument.getOwner()->getParent() == &loop->getRegions().back() &&
           !(isa<ForOp>(loop) && argument.getArgNumber() == 0);
  }
  return isa<KernelOp, GroupOp, GemmOp, EmptyOp, IfOp, ForOp, WhileOp>(root.getDefiningOp());
}

/// The operands of an op that it writes into.
SmallVector<OpOperand *> writtenBy(Operation *op) {
  SmallVector<OpOperand *> written;
  if (auto kernel = dyn_cast<KernelOp>(op))
    for (OpOperand &init : kernel.getInitsMutable())
      written.push_back(&init);
  if (auto gemm = dyn_cast<GemmOp>(op))
    for (OpOperand &init : gemm.getInitMutable())
      written.push_back(&init);
  for (const Carried &carried : carriedBy(op))
    written.push_back(carried.init);
  return written;
}

/// Whether a kernel reads each element of an input where it writes a result, and nowhere else.
bool readsInStep(KernelOp kernel, unsigned operand, unsigned result) {
  unsigned first = kernel.getInputs().getBeginOperandIndex();
  if (operand < first || operand >= first + kernel.getInputs().size() || kernel.getOrder())
    return false;
  return kernel.getMaps()[operand - first] == kernel.getResultMaps()[result];
}

/// Whether `reader` is done before `writer` begins, or never runs in the same pass over `home`.
bool isBefore(Operation *reader, Operation *writer, Block *home) {
  Operation *r = home->findAncestorOpInBlock(*reader), *w = home->findAncestorOpInBlock(*writer);
  if (!r || !w)
    return false;
  if (r != w)
    return r->isBeforeInBlock(w);
  auto branch = dyn_cast<IfOp>(r);
  if (!branch || r == reader || w == writer)
    return false;
  for (Region &region : branch->getRegions()) {
    bool readsHere = region.isAncestor(reader->getParentRegion()),
         writesHere = region.isAncestor(writer->getParentRegion());
    if (readsHere != writesHere)
      return true; // one branch reads, the other writes
    if (readsHere)
      return isBefore(reader, writer, &region.front());
  }
  return false;
}

/// Whether the owner of a use may write into what it uses.
bool mayOverwrite(OpOperand &use) {
  Operation *writer = use.getOwner();
  Value root = localRoot(use.get());
  if (!isOwn(root))
    return false;
  // A loop in between would come back to the old value.
  Block *home = root.getParentBlock();
  for (Operation *op = writer; op->getBlock() != home;) {
    op = op->getParentOp();
    if (!op || !isa<IfOp>(op))
      return false;
  }
  // All that has the old value: views to either side.
  llvm::SmallSetVector<Value, 4> same;
  same.insert(use.get());
  for (unsigned i = 0; i < same.size(); ++i) {
    Value value = same[i];
    if (Operation *op = value.getDefiningOp(); isa_and_present<ReshapeOp, CheckIndexOp, DefineSizeOp>(op))
      same.insert(op->getOperand(0));
    for (OpOperand &other : value.getUses()) {
      Operation *user = other.getOwner();
      if (&other == &use)
        continue;
      if (isa<ReshapeOp, CheckIndexOp, DefineSizeOp>(user) ||
          (isa<SelectIndexOp>(user) && other.getOperandNumber() == 0)) {
        same.insert(user->getResult(0));
        continue;
      }
      if (user == writer) {
        auto kernel = dyn_cast<KernelOp>(writer);
        if (!kernel || value != use.get() ||
            !readsInStep(kernel, other.getOperandNumber(),
                         use.getOperandNumber() - kernel.getInits().getBeginOperandIndex()))
          return false;
        continue;
      }
      if (!isBefore(user, writer, home))
        return false;
    }
  }
  return true;
}

struct OwnMemoryPass : gnnc::gnn::impl::OwnMemoryBase<OwnMemoryPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    // Before any write is settled, all values can still be moved about.
    forEachBlock(getOperation(), [](Block &block) { waitForReaders(block); });
    own(getOperation().getBody().front());
  }

  /// Moves kernels that write into a part of a value behind the last reader of the old value, where that lets them.
  static void waitForReaders(Block &block) {
    SmallVector<Operation *> writers;
    for (Operation &op : block)
      if (isa<KernelOp, GemmOp>(op) && !writtenBy(&op).empty())
        writers.push_back(&op);
    for (Operation *writer : llvm::reverse(writers)) {
      auto allowed = [&] { return llvm::all_of(writtenBy(writer), [](OpOperand *use) { return mayOverwrite(*use); }); };
      if (allowed())
        continue;
      Operation *first = block.getTerminator(), *place = writer->getNextNode();
      for (Operation *user : writer->getUsers())
        if (Operation *here = block.findAncestorOpInBlock(*user); here->isBeforeInBlock(first))
          first = here;
      writer->moveBefore(first);
      if (!allowed())
        writer->moveBefore(place);
    }
  }

  static void copyFor(OpOperand &use) {
    Operation *user = use.getOwner();
    OpBuilder b(user);
    use.set(copyOf(b, user->getLoc(), use.get()));
  }

  /// In the order in which things run, so that what is settled stays so.
  static void own(Block &block) {
    for (Operation &op : block.without_terminator()) {
      for (OpOperand *use : writtenBy(&op))
        if (!mayOverwrite(*use))
          copyFor(*use);
      if (!isa<IfOp, ForOp, WhileOp>(op))
        continue;
      for (Region &region : op.getRegions())
        own(region.front());
      llvm::DenseSet<Value> taken;
      for (const Carried &carried : carriedBy(&op))
        if (!isInPlace(carried))
          give(*carried.next, taken);
      if (auto branch = dyn_cast<IfOp>(op))
        ownResults(branch);
    }
  }

  /// A value that a region yields gets memory that was made in the region, for it alone.
  static void give(OpOperand &yielded, llvm::DenseSet<Value> &taken) {
    Value root = localRoot(yielded.get());
    Operation *maker = root.getDefiningOp();
    bool made = isa_and_present<KernelOp, GroupOp, GemmOp, EmptyOp, IfOp>(maker) &&
                maker->getBlock() == yielded.getOwner()->getBlock();
    if (!made || !taken.insert(root).second)
      copyFor(yielded);
  }

  static void ownResults(IfOp op) {
    Operation *yields[] = {op.thenBlock().getTerminator(), op.elseBlock().getTerminator()};
    llvm::DenseSet<Value> taken;
    for (unsigned k = 0; k < op.getNumResults(); ++k) {
      // Both branches give back what they were given, one of them with a part of it changed.
      if (localRoot(op.getResult(k)) != op.getResult(k) && taken.insert(localRoot(op.getResult(k))).second)
        continue;
      for (Operation *yield : yields)
        give(yield->getOpOperand(k), taken);
    }
  }
};

} // namespace
