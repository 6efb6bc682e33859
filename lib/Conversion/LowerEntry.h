// An entry's steps as the function that the runtime calls.
#ifndef GNNC_LIB_CONVERSION_LOWERENTRY_H
#define GNNC_LIB_CONVERSION_LOWERENTRY_H

#include "HostCode.h"
#include "LowerKernel.h"
#include "MemoryPlan.h"

#include "llvm/ADT/StringMap.h"

namespace gnnc {

/// Functions of kernels, shared by all entries of a module: kernels that need the same code have one.
class KernelLibrary {
public:
  explicit KernelLibrary(mlir::ModuleOp module) : module(module) {}
  /// The name of the function for a kernel.
  llvm::StringRef get(const KernelSpace &space, mlir::Location loc, llvm::StringRef label);

  /// The name of a new function for a group.
  std::string get(const GroupPlan &group, mlir::Location loc, llvm::StringRef label);

private:
  std::string next(llvm::StringRef label);

  mlir::ModuleOp module;
  unsigned count = 0;
  llvm::StringMap<std::string> names; // by key
};

/// Adds the body of an entry, "<name>.body", to the module.
void lowerEntry(mlir::func::FuncOp func, const EntryInfo &info, MemoryPlan &plan, KernelLibrary &kernels,
                HostCode &host);

} // namespace gnnc

#endif
