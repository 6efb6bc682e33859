// What the passes that fuse kernels decided about one, and why, for `gnnc build --report fusion`.
//
// Notes are kept in the metadata of a kernel's location, not among its attributes: two kernels that compute the same
// are equal for CSE, and share code, whatever led to them.
#ifndef GNNC_DIALECT_KERNELNOTES_H
#define GNNC_DIALECT_KERNELNOTES_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc::gnn {

struct KernelNotes {
  /// The elementwise ops that are computed in the kernel, each with its title as the name and its place in the program.
  llvm::SmallVector<mlir::NameLoc> inlined;
  /// Why its result is stored, where it could have been computed by what reads it.
  std::string stored;
  /// Why it isn't in a group, or not in an earlier one.
  std::string alone;

  /// Which value it is, where several kernels compute it: copies have the same one.
  mlir::DistinctAttr id;

  static KernelNotes of(mlir::Operation *op) { return of(op->getLoc()); }
  static KernelNotes of(mlir::Location loc);
  /// `loc` with these notes in place of those it has.
  mlir::Location at(mlir::Location loc) const;
  void set(mlir::Operation *op) const { op->setLoc(at(op->getLoc())); }
  /// Gives an op that may be copied its `id`, if it has none.
  static void identify(mlir::Operation *op);
};

/// How reports and profiles name an op, in the words of the language: "division" for "arith.divf".
std::string opTitle(llvm::StringRef label);
/// How they name a kernel: as the op that its result comes from, such as "sum over edges".
std::string kernelTitle(KernelOp kernel);

/// "gcn.gnn:12", the place in the program that an op comes from; empty if unknown.
std::string sourceLine(mlir::Location loc);

/// "'exp' (gat.gnn:12)".
std::string describeKernel(KernelOp kernel);
/// "read by a matrix product": how an op that isn't a kernel uses a value, which therefore has to be in memory.
std::string describeReader(mlir::Operation *reader);

} // namespace gnnc::gnn

#endif
