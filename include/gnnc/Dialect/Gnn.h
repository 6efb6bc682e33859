// The gnn dialect: its types, attributes, enums and ops, and helpers for tensors with named dimensions.
#ifndef GNNC_DIALECT_GNN_H
#define GNNC_DIALECT_GNN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gnnc/Dialect/ReverseSweep.h"

#include "gnnc/Dialect/GnnDialect.h.inc"

#include "gnnc/Dialect/GnnEnums.h.inc"

namespace gnnc::gnn {
class SizeAttr;
class CeilDivAttr;
} // namespace gnnc::gnn

#define GET_ATTRDEF_CLASSES
#include "gnnc/Dialect/GnnAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "gnnc/Dialect/GnnTypes.h.inc"

#include "gnnc/Dialect/DifferentiableOpInterface.h.inc"

namespace gnnc::gnn {

namespace detail {
/// Fails with an error at the op if one of its tensors has no encoding #gnn.dims.
llvm::LogicalResult verifyNamedDims(mlir::Operation *op);
} // namespace detail

/// Every tensor among the op's operands and results names its dimensions.
template <typename ConcreteOp> class NamedDims : public mlir::OpTrait::TraitBase<ConcreteOp, NamedDims> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return detail::verifyNamedDims(op); }
};

/// The op makes indices, positions or random numbers: no derivative passes through it.
template <typename ConcreteOp> class Structural : public mlir::OpTrait::TraitBase<ConcreteOp, Structural> {};

} // namespace gnnc::gnn

#define GET_OP_CLASSES
#include "gnnc/Dialect/GnnOps.h.inc"

namespace gnnc::gnn {

/// The tensor type with these sizes: constant sizes are static, the encoding is #gnn.dims.
mlir::RankedTensorType tensorType(llvm::ArrayRef<SizeAttr> sizes, mlir::Type element);
/// The 0-d tensor type of a scalar.
mlir::RankedTensorType scalarType(mlir::Type element);
/// The sizes of a tensor's dimensions. Every tensor in the dialect has them.
llvm::ArrayRef<SizeAttr> dimsOf(mlir::Type tensor);
inline llvm::ArrayRef<SizeAttr> dimsOf(mlir::Value tensor) { return dimsOf(tensor.getType()); }
/// The product of sizes, 1 for none.
SizeAttr product(mlir::MLIRContext *ctx, llvm::ArrayRef<SizeAttr> sizes);
/// The element type of a tensor.
mlir::Type elementOf(mlir::Value tensor);

/// A constant tensor of this type with all elements `value`: a scalar constant, broadcast if it has dimensions.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, double value);

} // namespace gnnc::gnn

#endif
