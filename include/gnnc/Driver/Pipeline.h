// The order of passes from the elaborated program to row kernels, in stages that the command line names.
#ifndef GNNC_DRIVER_PIPELINE_H
#define GNNC_DRIVER_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

#include <string>

namespace gnnc {

/// Makes the dialects that programs use, and the derivative rules of upstream ops, known to a context.
void loadDialects(mlir::MLIRContext &context);

/// What makes programs faster, and can be left out: by measurements of what each is worth, and to find faults.
struct Rewrites {
  /// The names of those that can be left out alone, in the order in which they run.
  static llvm::ArrayRef<llvm::StringLiteral> names();

  /// Without, every op is a kernel of its own.
  bool fuse = true;
  /// Names of those to leave out.
  llvm::ArrayRef<std::string> disabled = {};

  bool runs(llvm::StringRef name) const { return fuse && !llvm::is_contained(disabled, name); }
};

/// Differentiation, and the cleaning up after it: to the stage `grad`.
/// Before it the program is rewritten by rules of algebra that save work on edges.
void addDifferentiation(mlir::OpPassManager &pm, const Rewrites &rewrites);

/// Differentiation of one function, for the errors that it finds.
void addDerivativeCheck(mlir::OpPassManager &pm);

/// From plain tensor ops to row kernels: to the stage `kernels`.
void addKernels(mlir::OpPassManager &pm, const Rewrites &rewrites);

} // namespace gnnc

#endif
