// One kernel as a function of the runtime's type gnnrt_kernel.
#ifndef GNNC_LIB_CONVERSION_LOWERKERNEL_H
#define GNNC_LIB_CONVERSION_LOWERKERNEL_H

#include "GroupPlan.h"
#include "KernelSpace.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace gnnc {

/// What stands in a kernel's array of arguments.
struct KernelArg {
  enum Kind {
    Index,   // the index operand `number`
    Input,   // the input `number`
    Result,  // the result `number`
    Partial, // the slots of result `number`
    Extreme, // the slots of the extremum of result `number`, a winner whose extremum is not a result itself
    Order,   // the order
    Size,    // the size of set `number` of the kernel, as an integer
  } kind;
  unsigned number;
};

/// The arguments of a kernel, in order.
llvm::SmallVector<KernelArg> kernelArguments(const KernelSpace &space);

/// Adds the function of a kernel to the module.
mlir::LLVM::LLVMFuncOp emitKernel(const KernelSpace &space, mlir::ModuleOp module, mlir::Location loc,
                                  llvm::StringRef name);

/// Adds the function of a group to the module; its arguments are the plan's pointers.
mlir::LLVM::LLVMFuncOp emitGroup(const GroupPlan &plan, mlir::ModuleOp module, mlir::Location loc,
                                 llvm::StringRef name);

} // namespace gnnc

#endif
