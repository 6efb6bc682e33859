// The gnn dialect: whole-tensor operations of graph neural networks, and the row kernels they become.
#ifndef GNNC_DIALECT_GNNDIALECT_TD
#define GNNC_DIALECT_GNNDIALECT_TD

include "mlir/IR/OpBase.td"

def Gnn_Dialect : Dialect {
  let name = "gnn";
  let cppNamespace = "::gnnc::gnn";
  let summary = "Graph structure, message passing and its derivatives on tensors with named dimensions";
  let description = [{
    Values are ranked tensors whose encoding `#gnn.dims` names every dimension by a size: an integer polynomial over
    *set ids* (`s0`, `s1`, ...), the index sets and dimension parameters of an entry point. Elementwise work is upstream
    `arith` and `math`; this dialect holds what they don't say: graph structure, gathers, segment reductions,
    contractions, changes of shape, randomness, symbolic differentiation, and the kernels that all of these become.

    Ops that act on structure carry `nondiff`: no derivative passes through them. What rides on structure moves by
    `gnn.gather` and `gnn.segment_reduce`, which are adjoint to each other.
  }];
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
