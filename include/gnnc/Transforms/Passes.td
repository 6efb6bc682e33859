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

def LowerShares : Pass<"gnn-lower-shares", "::mlir::func::FuncOp"> {
  let summary = "Write the shares of extrema as comparisons, or send them to the winners alone";
  let description = [{
    The gradient of a max or min goes to the entries that attain it. Where it is only summed by the other end of the edges, nothing of the entries
    need be read again: the forward pass keeps who won, and a `gnn.share_sum` adds what each row gives at its winner. Everything else compares
    entries with the extremum.
  }];
  let options = [Option<"toWinners", "to-winners", "bool", /*default=*/"true", "Send shares to the winners where that is possible">];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def AlgebraProducts : Pass<"gnn-algebra-products", "::mlir::func::FuncOp"> {
  let summary = "Take products with weights on nodes instead of edges, and on the narrower side of a sum over edges";
  let description = [{
    A linear map of a gathered value becomes a gathered linear map, and a product over a concatenation is split where that lets one of its parts
    move so:

    ```mlir
    // (x[src] - x[dst]) @ w
    %d = arith.subf %x_src, %x_dst : tensor<?x16xf32, #gnn.dims<s1, 16>>
    %m = gnn.contract %d [0, 1], %w [1, 2] -> [0, 2] : ...
    // becomes
    %h = gnn.contract %x [0, 1], %w [1, 2] -> [0, 2] : (tensor<?x16xf32, #gnn.dims<s0, 16>>, ...
    %h_src = gnn.gather %h[%src] dims [0] : ...
    %h_dst = gnn.gather %h[%dst] dims [0] : ...
    %m = arith.subf %h_src, %h_dst : tensor<?x8xf32, #gnn.dims<s1, 8>>
    ```
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def AlgebraRows : Pass<"gnn-algebra-rows", "::mlir::func::FuncOp"> {
  let summary = "Take factors that depend on the row alone out of the sum over a row's entries";
  let description = [{
    ```mlir
    // sum(a * z[dst], by=dst)
    %z_dst = gnn.gather %z[%dst] dims [0] : (tensor<?xf32, #gnn.dims<s0>>, ...) -> tensor<?xf32, #gnn.dims<s1>>
    %b = arith.mulf %a, %z_dst : tensor<?xf32, #gnn.dims<s1>>
    %y = gnn.segment_reduce sum %b by [%dst] at 0 dims [0] : ... -> tensor<?xf32, #gnn.dims<s0>>
    // becomes
    %s = gnn.segment_reduce sum %a by [%dst] at 0 dims [0] : ... -> tensor<?xf32, #gnn.dims<s0>>
    %y = arith.mulf %s, %z : tensor<?xf32, #gnn.dims<s0>>
    ```

    A row without entries is 0 before, and stays 0: where a factor may be infinite or NaN there, the product is not taken for such rows. A dot
    product with such a factor inside the sum is taken outside where the sum of what is left is there already, or can be made beside one of the same
    gathered values: so the reverse sweep of attention needs no pass over the edges for its row sums.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def AlgebraStructure : Pass<"gnn-algebra-structure", "::mlir::func::FuncOp"> {
  let summary = "Fold what the structure alone says: degrees, equal derived graphs, draws that decide nothing";
  let description = [{
    The sum of a constant over a node's edges is that constant times its degree. Graphs derived from one graph in the same way become one, and so do
    their index sets. A comparison of `gnn.uniform` with a number that no draw crosses is a constant, so that dropout with rate 0 draws nothing.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def Hoist : Pass<"gnn-hoist", "::mlir::func::FuncOp"> {
  let summary = "Move what is the same in all iterations of a loop out of it";
  let description = [{
    From inner loops to outer ones. Nothing leaves that can fail, and nothing whose type has a size that the loop itself defines.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def FormKernels : Pass<"gnn-form-kernels", "::mlir::func::FuncOp"> {
  let summary = "Turn tensor ops into row kernels, matrix products and views";
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def AccumulateProducts : Pass<"gnn-accumulate-products", "::mlir::func::FuncOp"> {
  let summary = "Let a matrix product add to another one instead of adding both afterwards";
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def OwnMemory : Pass<"gnn-own-memory", "::mlir::func::FuncOp"> {
  let summary = "Give what is written in place memory of its own";
  let description = [{
    Kernels with inits write into them, and loops into the memory of what they carry. Where something else still reads the old value, or the memory
    is not the function's own, a copy is made; where a write can wait until the last reader is done, it is moved behind it.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def InlineMaps : Pass<"gnn-inline-maps", "::mlir::func::FuncOp"> {
  let summary = "Compute elementwise values where they are read";
  let description = [{
    The body of a kernel without reductions moves into the kernels that read its result, where that costs less than storing the result.
  }];
  let dependentDialects = ["::gnnc::gnn::GnnDialect"];
}

def MergeKernels : Pass<"gnn-merge-kernels", "::mlir::func::FuncOp"> {
  let summary = "Make one kernel of reductions over the same tensor";
  let description = [{
    Reductions with the same iterators that read a tensor alike become one kernel with several results, so that it is read from memory once.
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
