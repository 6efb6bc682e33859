// Where every value of an entry lives, and for how long.
//
// An entry is a sequence of steps; those of a branch or of a loop's body stand between the op and the end of its
// region, the gnn.yield. A value has the memory of an argument, of a result, of a structure (a graph's arrays), or a
// buffer of the arena, alive from the step that first writes it to the last that reads it; views share it. A loop's
// body has its buffers once, for all iterations; what is made outside and read inside is alive until the loop ends. The
// runtime places the buffers once sizes are known.
#ifndef GNNC_LIB_CONVERSION_MEMORYPLAN_H
#define GNNC_LIB_CONVERSION_MEMORYPLAN_H

#include "GroupPlan.h"
#include "KernelSpace.h"
#include "gnnc/Conversion/EntryInfo.h"
#include "gnnc/Dialect/KernelNotes.h"
#include "gnnc/Dialect/Memory.h"

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
    Carried,   // one of two buffers, which a loop exchanges after each iteration
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
  mlir::Block *home; // where it is alive: loops inside of it read it again and again
};

/// A value that leaves the function but lives elsewhere.
struct OutputCopy {
  Storage target; // an Output or a Residual
  mlir::Value value;
};

struct MemoryPlan {
  llvm::SmallVector<mlir::Operation *> early; // structure and checks that come before everything else
  llvm::SmallVector<mlir::Operation *> steps; // the rest, in order
  llvm::DenseMap<mlir::Operation *, int> stepOf;
  llvm::SmallVector<mlir::Operation *> phases;  // memory is reserved after each; null: before the first step
  llvm::DenseSet<mlir::Block *> scopes;         // what is reserved in them is given back at their end
  llvm::DenseMap<mlir::Value, Storage> storage; // of roots
  llvm::SmallVector<PlannedBuffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> spares; // of carried arguments: the buffer that the body writes first
  llvm::SmallVector<OutputCopy> copies;         // after the last step
  llvm::DenseMap<mlir::Operation *, KernelSpace> kernels;
  llvm::DenseMap<mlir::Operation *, GroupPlan> groups;
  bool failsLate = false; // something can fail after a step has written

  const Storage &storageOf(mlir::Value value) const;
};

mlir::FailureOr<MemoryPlan> planMemory(mlir::func::FuncOp func, const EntryInfo &info);

/// Bytes of an element in memory.
unsigned elementBytes(mlir::Type element);

/// The plan as a table for people.
void reportMemory(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os);
/// The steps for people: which ops became which kernel, what each reads and writes, and why it isn't larger.
void reportFusion(const MemoryPlan &plan, const EntryInfo &info, llvm::raw_ostream &os);

} // namespace gnnc

#endif
