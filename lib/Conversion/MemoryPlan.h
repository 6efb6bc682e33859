// Where every value of an entry lives, and for how long.
//
// An entry is a straight line of steps. A value has the memory of an argument, of a result, of a structure (a graph's
// arrays), or a buffer of the arena, alive from the step that first writes it to the last that reads it; views share
// it. The runtime places the buffers once sizes are known.
#ifndef GNNC_LIB_CONVERSION_MEMORYPLAN_H
#define GNNC_LIB_CONVERSION_MEMORYPLAN_H

#include "GroupPlan.h"
#include "KernelSpace.h"
#include "gnnc/Conversion/EntryInfo.h"
#include "gnnc/Dialect/KernelNotes.h"

namespace gnnc {

struct Storage {
  enum Kind {
    Argument,  // argument `number` of the C function
    Residual,  // part `number` of the block of residuals
    Output,    // the new value of argument `number` (inout or output)
    Buffer,    // buffer `number`
    Structure, // an array that belongs to a graph
    Scalar,    // a scalar that the body computes itself
    Constant,  // constant data
  } kind;
  unsigned number = 0;
};

struct PlannedBuffer {
  enum Purpose { Values, Slots, Workspace } purpose;
  mlir::Operation *op;  // whose step writes it first
  unsigned result;      // of `op`: Values, and Slots (what it combines)
  bool extreme = false; // Slots of the extremum that a winner compares by
  mlir::Type element;
  gnn::SizeAttr elements; // Values: all; Slots: of one slot
  int first, last;        // steps
  unsigned phase;
};

/// A value that leaves the function but lives elsewhere.
struct OutputCopy {
  Storage target; // an Output or a Residual
  mlir::Value value;
};

struct MemoryPlan {
  llvm::SmallVector<mlir::Operation *> early;   // structure and checks that come before everything else
  llvm::SmallVector<mlir::Operation *> steps;   // the rest, in order
  llvm::SmallVector<int> phases;                // the steps before which memory is reserved
  llvm::DenseMap<mlir::Value, Storage> storage; // of roots
  llvm::SmallVector<PlannedBuffer> buffers;
  llvm::SmallVector<OutputCopy> copies; // after the last step
  llvm::DenseMap<mlir::Operation *, KernelSpace> kernels;
  llvm::DenseMap<mlir::Operation *, GroupPlan> groups;
  bool failsLate = false; // something can fail after a step has written

  const Storage &storageOf(mlir::Value value) const;
};

/// The value whose memory `value` has: follows views and what is written in place.
mlir::Value memoryRoot(mlir::Value value);

mlir::FailureOr<MemoryPlan> planMemory(mlir::func::FuncOp func, const EntryInfo &info);

/// Bytes of an element in memory.
unsigned elementBytes(mlir::Type element);

/// The plan as a table for people.
void reportMemory(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os);
/// The steps for people: which ops became which kernel, what each reads and writes, and why it isn't larger.
void reportFusion(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os);

} // namespace gnnc

#endif
