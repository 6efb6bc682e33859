// The passes that turn kernels and entries into code for the CPU.
#ifndef GNNC_CONVERSION_PASSES_TD
#define GNNC_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerEntries : Pass<"gnn-lower-entries", "::mlir::ModuleOp"> {
  let summary = "Turn every entry into its body function and the functions of its kernels";
  let description = [{
    An entry is a function marked `gnn.entry` that consists of kernels, matrix products, views and structure. It becomes
    `<name>.body`, which obtains structure, reserves memory according to the memory plan and launches kernels in order.
    Each kernel becomes a function over a task: loops in `scf`, arithmetic on 1-D vectors in `arith`, `math` and `vector`,
    loads and stores in `llvm`. Kernels that need the same code share a function.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [Option<"report", "report", "bool", "false", "Print the memory plan of every entry on standard error">];
}

#endif
