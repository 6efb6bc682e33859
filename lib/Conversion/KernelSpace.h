// A kernel's iteration space in normal form: every access is a base and a stride for each iterator, iterators that all
// accesses walk as one are one, iterators of size 1 are gone. Everything the emission of code needs stands here,
// with set ids renumbered by first use, so that two kernels that need the same code have the same description.
#ifndef GNNC_LIB_CONVERSION_KERNELSPACE_H
#define GNNC_LIB_CONVERSION_KERNELSPACE_H

#include "gnnc/Dialect/Gnn.h"

#include <string>

namespace gnnc {

/// Where an operand is read or a result written: element base + sum of iterator * stride + sum of symbol * stride.
struct Access {
  gnn::SizeAttr base;
  llvm::SmallVector<gnn::SizeAttr> iterators; // one stride for each iterator
  llvm::SmallVector<gnn::SizeAttr> symbols;   // one stride for each index operand
  llvm::SmallVector<int> depths;              // for each iterator the outermost dimension it moves in, -1 for none
  mlir::Type element;

  bool uses(unsigned iterator) const { return iterators[iterator].getConstant() != 0; }
  bool usesSymbol(unsigned symbol) const { return symbols[symbol].getConstant() != 0; }
};

/// How tasks are made from a kernel.
enum class LaunchKind {
  Rows,  // rows of a parallel iterator
  Order, // rows of an order, long ones cut
  Cut,   // pieces of a reduction
  Once,  // a single point
  Lanes, // vectors of lanes, each with all rows of an order, whose results go to other rows
};

struct ResultSpec {
  Access access;
  gnn::CombineKind combine;
  mlir::TypedAttr empty;              // the value where nothing is combined; null: the default
  std::optional<unsigned> pairedWith; // for a winner: the extremum it belongs to, if that is a result too
};

struct KernelSpace {
  llvm::SmallVector<gnn::IteratorKind> kinds;
  llvm::SmallVector<gnn::SizeAttr> sizes;
  llvm::SmallVector<Access> indices, inputs;
  llvm::SmallVector<ResultSpec> results;
  llvm::SmallVector<bool> maybeNone;             // for each index operand
  llvm::SmallVector<mlir::TypedAttr> immediates; // for each input: its value, if it is a constant of equal elements
  llvm::SmallVector<int> iteratorOf;             // for each of the body's iterators: ours, or -1 if it is always 0
  llvm::SmallVector<int64_t> sets;               // the entry's set for each of ours
  mlir::Block *body = nullptr;

  LaunchKind launch = LaunchKind::Once;
  int row = -1;                          // the iterator that tasks divide
  int vec = -1;                          // the iterator that runs over lanes, -1 for none
  gnn::SizeAttr targets;                 // of LaunchKind::Lanes: the number of rows of the result
  bool addsToInit = false;               // of LaunchKind::Lanes
  llvm::SmallVector<unsigned> parallels; // loops from outside to inside, without `row` unless it is parallel
  llvm::SmallVector<unsigned> reductions;

  bool isReduced() const { return !reductions.empty(); }
  bool hasOrder() const { return launch == LaunchKind::Order || launch == LaunchKind::Lanes; }
  /// Whether results of cut rows or of a cut reduction are combined from slots.
  bool hasSlots() const { return launch == LaunchKind::Order || launch == LaunchKind::Cut; }
  /// The number of elements of a result that belong to a row (of an order), or to everything (of a cut reduction).
  gnn::SizeAttr rowElements() const;
  /// About how many points of the iteration space a row, or an entry of a cut reduction, has.
  gnn::SizeAttr rowWork() const;
  /// How many lanes a vector has: a register's worth of the widest element that takes part.
  unsigned vectorLanes() const;
  /// Of LaunchKind::Lanes: how many tasks there are.
  gnn::SizeAttr laneTasks() const;
  /// A text that is the same for kernels that need the same code.
  std::string key() const;
};

/// Analyses a kernel; reports at its location and fails for what no kernel should contain.
mlir::FailureOr<KernelSpace> analyseKernel(gnn::KernelOp op);

} // namespace gnnc

#endif
