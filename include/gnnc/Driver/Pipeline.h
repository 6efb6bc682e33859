// The order of passes from the elaborated program to row kernels, in stages that the command line names.
#ifndef GNNC_DRIVER_PIPELINE_H
#define GNNC_DRIVER_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace gnnc {

/// Makes the dialects that programs use, and the derivative rules of upstream ops, known to a context.
void loadDialects(mlir::MLIRContext &context);

/// Differentiation, and the cleaning up after it: to the stage `grad`.
/// `fuse`: the program is rewritten before by rules of algebra that save work on edges.
void addDifferentiation(mlir::OpPassManager &pm, bool fuse);

/// Differentiation of one function, for the errors that it finds.
void addDerivativeCheck(mlir::OpPassManager &pm);

/// From plain tensor ops to row kernels: to the stage `kernels`.
/// `fuse`: kernels are also fused with each other; without, every op is a kernel of its own.
void addKernels(mlir::OpPassManager &pm, bool fuse);

} // namespace gnnc

#endif
