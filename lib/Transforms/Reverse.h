// The reverse sweep of gnn-differentiate: a tape of forward ops, markers of what is kept, and the sweep over them.
// Internal to lib/Transforms; ops without regions are in Differentiate.cpp, branches and loops in
// ReverseControlFlow.cpp.
#ifndef GNNC_LIB_TRANSFORMS_REVERSE_H
#define GNNC_LIB_TRANSFORMS_REVERSE_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc::gnn {

bool isFloat(mlir::Value value);
/// The values an op depends on, those that its regions use from outside included.
llvm::SmallVector<mlir::Value> inputsOf(mlir::Operation *op);

/// How the state at the beginning of an iteration comes back in the reverse sweep.
struct KeptState {
  enum Kind {
    Unused,  // the body does not read it
    Stacked, // each state is an entry of a stack
    Undone,  // entries that the body replaced are kept, and put back one by one
  } kind = Unused;
  mlir::Value stack;                                           // Stacked
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> logs; // Undone: stacks of positions and of old entries
  llvm::SmallVector<int64_t> dims;                             // Undone: of the writes, in order
};

/// The forward sweep of a vjp after its body was inlined.
struct Tape {
  llvm::SmallVector<mlir::Operation *> ops;
  /// Stand-ins for the operands of the vjp: an operand that the body also captures is constant there.
  llvm::SmallVector<mlir::Value> wrt;
  llvm::SmallVector<mlir::Value> results;
  /// What depends on the operands by floating-point data flow.
  llvm::DenseSet<mlir::Value> active;
  /// Of loops that were prepared: what they keep, for each value that the program carries.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<KeptState>> kept;

  bool isActive(mlir::Operation *op) const {
    return llvm::any_of(inputsOf(op), [&](mlir::Value v) { return active.contains(v); });
  }
  /// Finds what is active among ops in order.
  void activate(mlir::Block::iterator begin, mlir::Block::iterator end);
  void activate(mlir::Operation *op);
};

/// Makes loops among the ops of a forward sweep keep what reversing them needs. The list is updated where ops are
/// replaced.
void prepareLoops(Tape &tape, llvm::SmallVectorImpl<mlir::Operation *> &ops);

/// Markers of kept values: one for each value, right after it.
class Markers {
public:
  mlir::Value get(mlir::Value value, mlir::Operation *reader);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> markers;
};

/// One reverse sweep over a tape, built in front of a back.
class Sweep final : public ReverseSweep {
public:
  Sweep(Tape &tape, Markers &markers, BackOp back) : tape(tape), markers(markers), back(back), ops(back) {}

  /// Replaces the back by gradients. Places of ops that have no derivative are added to `refused`, with an error each.
  llvm::LogicalResult run(llvm::DenseSet<mlir::Location> &refused);

  mlir::Value adjointOf(mlir::Value result) override { return adjoints.lookup(result); }
  bool isActive(mlir::Value value) const override { return tape.active.contains(value); }
  mlir::Value saved(mlir::Value value) override { return markers.get(value, current); }
  void add(mlir::Value operand, mlir::Value contribution) override;
  void accumulate(mlir::Value operand, llvm::function_ref<mlir::Value(mlir::Value)> f) override;
  mlir::Value times(mlir::Value adjoint, mlir::Value partial) override;
  void markSelected(mlir::Value adjoint) override { selected.insert(adjoint); }
  bool isSelected(mlir::Value adjoint) const override { return selected.contains(adjoint); }
  mlir::OpBuilder &builder() override { return ops; }
  mlir::Location loc() const override { return current ? current->getLoc() : back->getLoc(); }

private:
  void seed();
  /// Visits the ops of a forward sweep, last first.
  llvm::LogicalResult reverse(llvm::ArrayRef<mlir::Operation *> forward);
  llvm::LogicalResult visit(mlir::Operation *op);
  llvm::LogicalResult visitIf(IfOp op);
  llvm::LogicalResult visitFor(ForOp op);
  /// The values from outside of regions that are active in them, in the order of their uses.
  llvm::SetVector<mlir::Value> activeCaptures(mlir::Operation *op) const;
  /// Runs a block's forward ops again where the builder stands, at the end of a block, and returns what they yield.
  /// Arguments of the block from number `arguments` on are stacks, which are not written again.
  llvm::SmallVector<mlir::Value> repeat(mlir::Block &block, unsigned arguments, mlir::IRMapping &map,
                                        llvm::SmallVectorImpl<mlir::Operation *> &forward);
  mlir::Value orZero(mlir::Value adjoint, mlir::Type type);

  Tape &tape;
  Markers &markers;
  BackOp back;
  mlir::OpBuilder ops;
  mlir::Operation *current = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
  llvm::DenseSet<mlir::Value> selected;
  llvm::DenseSet<mlir::Location> *refused = nullptr;
};

} // namespace gnnc::gnn

#endif
