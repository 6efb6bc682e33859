// Moves what is the same in all iterations of a loop out of it, from inner loops to outer ones.
//
// A value of a type with a set that the loop itself makes has to stay: the set has no size outside.
#include "gnnc/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace gnnc::gnn;

namespace gnnc::gnn {
#define GEN_PASS_DEF_HOIST
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

namespace {

using Sets = llvm::DenseSet<int64_t>;

/// Calls `f` for the sets in types.
void forEachSet(TypeRange types, llvm::function_ref<void(int64_t)> f) {
  AttrTypeWalker walker;
  walker.addWalk([&](SizeAttr size) { size.forEachSet(f); });
  for (Type type : types)
    walker.walk(type);
}

/// The sets that an op or one inside of it makes.
void addMade(Operation *root, Sets &made) {
  root->walk([&](Operation *op) {
    if (auto define = dyn_cast<DefineSizeOp>(op))
      made.insert(define.getSet());
    // A structural op that gives a graph makes its set of edges, unless that is the set of a graph it takes.
    if (!op->hasTrait<Structural>())
      return;
    Sets given;
    forEachSet(op->getOperandTypes(), [&](int64_t id) { given.insert(id); });
    for (Type type : op->getResultTypes())
      if (isa<GnnGraphType>(type))
        forEachSet(type, [&](int64_t id) {
          if (!given.contains(id))
            made.insert(id);
        });
  });
}

/// Whether an op, or one inside of it, has to do with a set of `made` that it does not make itself.
bool mentions(Operation *root, const Sets &made) {
  Sets own;
  addMade(root, own);
  bool found = false;
  root->walk([&](Operation *op) {
    auto note = [&](int64_t id) { found |= made.contains(id) && !own.contains(id); };
    forEachSet(op->getResultTypes(), note);
    AttrTypeWalker walker;
    walker.addWalk([&](SizeAttr size) { size.forEachSet(note); });
    walker.walk(op->getAttrDictionary());
  });
  return found;
}

struct HoistPass : gnnc::gnn::impl::HoistBase<HoistPass> {
  void runOnOperation() override {
    // Inner loops first, so that what leaves one may leave the next.
    getOperation()->walk([](Operation *loop) {
      if (isa<ForOp, WhileOp>(loop))
        while (hoistFrom(loop) > 0)
          ;
    });
  }

  static size_t hoistFrom(Operation *loop) {
    SmallVector<Region *> regions;
    Sets made;
    for (Region &region : loop->getRegions()) {
      regions.push_back(&region);
      for (Operation &op : region.front())
        addMade(&op, made);
    }
    return moveLoopInvariantCode(
        regions, [&](Value value, Region *) { return !loop->isAncestor(value.getParentRegion()->getParentOp()); },
        [&](Operation *op, Region *) {
          return (isa<DefineSizeOp>(op) || (isMemoryEffectFree(op) && isSpeculatable(op))) && !mentions(op, made);
        },
        [&](Operation *op, Region *) { op->moveBefore(loop); });
  }
};

} // namespace
