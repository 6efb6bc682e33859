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

def ExpandMath : Pass<"gnn-expand-math"> {
  let summary = "Write mathematical functions as arithmetic, without calls to a math library";
  let description = [{
    Rewrites `math` ops, and `gnn.sigmoid`, `gnn.softplus` and `gnn.pmul`, on `f32` and `f64` scalars and vectors into
    `arith` ops on the same types. The result is branch-free, so it vectorises at any width, and is the same on every
    target. Its error is at most 2.5 units in the last place; `docs/math.md` has the measured ones, and the limits.

    `sqrt`, `absf` and `copysign` are single instructions on the targets and are left as they are; so are `floor`, `ceil`,
    `trunc` and `roundeven` where the target has them (from SSE4.1 on).

    ```mlir
    %y = gnn.sigmoid %x : vector<16xf32>
    // becomes
    %a = math.absf %x : vector<16xf32>
    %n = arith.negf %a : vector<16xf32>
    // ... %e = exp(%n) by range reduction and a polynomial ...
    %d = arith.addf %one, %e : vector<16xf32>
    %s = arith.cmpf olt, %x, %zero : vector<16xf32>
    %m = arith.select %s, %e, %one : vector<16xi1>, vector<16xf32>
    %y = arith.divf %m, %d : vector<16xf32>
    ```
  }];
  let options = [
    Option<"useFma", "fma", "bool", /*default=*/"true",
           "Use fused multiply-adds; without the hardware for it each would be a call to the math library">,
    Option<"rounds", "rounds", "bool", /*default=*/"true",
           "Keep floor, ceil, trunc and roundeven, which are calls to the math library on processors without them">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
