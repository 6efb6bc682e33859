// The passes of gnnc on the gnn dialect.
#ifndef GNNC_TRANSFORMS_PASSES_TD
#define GNNC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"gnn-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Expand gnn.vjp and gnn.back into plain ops: reverse mode";
  let description = [{
    Innermost first. The body of each `gnn.vjp` is inlined where it stands; each `gnn.back` becomes the reverse sweep over it. What the sweep
    reads of the forward values goes through `gnn.saved`. An active op without a derivative rule is an error at its location.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def SplitVjp : Pass<"gnn-split-vjp", "::mlir::ModuleOp"> {
  let summary = "Make the pair f_fwd, f_bwd of an exported vjp";
  let description = [{
    For a function marked `gnn.export_vjp` whose body is a forward sweep followed by a reverse one: the forward function returns the results and the
    saved values, the backward one takes the saved values and cotangents.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def ChooseSaved : Pass<"gnn-choose-saved", "::mlir::func::FuncOp"> {
  let summary = "Decide for every gnn.saved value whether it is stored or computed again";
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def Decompose : Pass<"gnn-decompose", "::mlir::func::FuncOp"> {
  let summary = "Write softmax, logsumexp and the like as reductions and elementwise ops";
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def FormKernels : Pass<"gnn-form-kernels", "::mlir::func::FuncOp"> {
  let summary = "Turn tensor ops into row kernels, matrix products and views";
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def InlineMaps : Pass<"gnn-inline-maps", "::mlir::func::FuncOp"> {
  let summary = "Compute elementwise values where they are read";
  let description = [{
    The body of a kernel without reductions moves into the kernels that read its result, where that costs less than storing the result.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def GroupKernels : Pass<"gnn-group-kernels", "::mlir::func::FuncOp"> {
  let summary = "Run kernels over the rows of one order together";
  let description = [{
    Reductions over the same order, the values of entries they read, and what is computed from their results row by row become one `gnn.group`,
    so that values of edges never become memory.
  }];
  let options = [Option<"fuse", "fuse", "bool", /*default=*/"true", "Also group kernels with each other">];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

#endif
