// From kernels to the llvm dialect, for the CPU.
#ifndef GNNC_CONVERSION_CONVERSION_H
#define GNNC_CONVERSION_CONVERSION_H

#include "gnnc/Conversion/EntryInfo.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace gnnc {

#define GEN_PASS_DECL
#include "gnnc/Conversion/Passes.h.inc"

/// Where reports on every entry are written, if at all.
struct Reports {
  llvm::raw_ostream *memory = nullptr, *fusion = nullptr;
};

/// Replaces the functions of all entries of a module by their bodies and kernels (the pass gnn-lower-entries), and says
/// what the entries are. Fails after an error.
mlir::LogicalResult lowerEntries(mlir::ModuleOp module, std::vector<EntryInfo> &entries, const Reports &reports = {});

/// What a processor does in one instruction.
struct Arithmetic {
  bool fma = true;    // fused multiply-adds
  bool rounds = true; // rounding to integers
};

/// The passes from the functions that lowerEntries makes to the llvm dialect alone, for a processor. What they make
/// calls no mathematical function.
void addLoweringToLLVM(mlir::OpPassManager &passes, Arithmetic arithmetic);

/// Makes the passes, and the pipeline "gnn-lower-to-llvm", known to tools that name passes.
void registerConversionPasses();

} // namespace gnnc

#endif
