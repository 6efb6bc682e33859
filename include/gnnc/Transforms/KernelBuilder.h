// Builds gnn.kernel ops: iterators, operands accessed through maps, a scalar body.
//
// An operand is followed through ops that only re-index (broadcast, transpose, slice, gather, reshapes by
// dimensions of size 1), so these never become memory of their own where their consumer is a kernel.
#ifndef GNNC_TRANSFORMS_KERNELBUILDER_H
#define GNNC_TRANSFORMS_KERNELBUILDER_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"

namespace gnnc::gnn {

/// Whether entries of an index array may be -1.
bool mayBeNone(mlir::Value index);

/// Whether an op picks an entry of a value's first dimension, which lies in one piece and needs no copy. What only
/// re-indexes is followed instead.
bool isView(SelectIndexOp select);

/// The blocks of a function in which kernels stand: its own and those of branches and loops, inner ones first.
void forEachBlock(mlir::func::FuncOp func, llvm::function_ref<void(mlir::Block &)> f);

/// The value that a chain of views of the same memory (reshapes) starts from.
mlir::Value rootOf(mlir::Value value);

class KernelBuilder {
public:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange inputs,
                                                                 mlir::ValueRange indices, mlir::ValueRange iterators)>;

  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef label)
      : builder(builder), loc(loc), label(label) {}

  /// Appends an iterator and returns the expression that stands for it.
  mlir::AffineExpr iterator(IteratorKind kind, SizeAttr size);
  /// Gives the order whose rows the first iterator counts and whose entries the second, a segment, runs over.
  void setOrder(mlir::Value value);
  /// Appends an operand read at `position`; returns its number, or none and `constant` if the operand is a splat.
  struct Operand {
    int64_t number = -1;
    mlir::TypedAttr constant;
  };
  Operand input(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> position);
  /// Appends an index operand read at `position`; returns the expression that stands for its value.
  /// `none`: whether entries may be -1, where that is known already.
  mlir::AffineExpr index(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> position, std::optional<bool> none = {});
  /// The number of an index operand among all (for the body), given the expression that `index` returned; -1 if it
  /// isn't one.
  static int64_t indexNumber(mlir::AffineExpr expr);
  /// Whether an expression is that of a size.
  static bool isSize(mlir::AffineExpr expr);
  /// An expression for a size.
  mlir::AffineExpr size(SizeAttr value);
  /// Appends a result, written at `position`.
  void result(mlir::Type type, llvm::ArrayRef<mlir::AffineExpr> position, CombineKind combine = CombineKind::None,
              mlir::TypedAttr empty = {}, mlir::Value init = {});

  KernelOp create(Body body);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::string label;
  mlir::Value order;
  llvm::SmallVector<mlir::Attribute> iterators;
  llvm::SmallVector<SizeAttr> space, offsets;
  llvm::SmallVector<mlir::Value> indices, inputs, inits;
  llvm::SmallVector<bool> maybeNone;
  llvm::SmallVector<llvm::SmallVector<mlir::AffineExpr>> indexPositions, positions, resultPositions;
  llvm::SmallVector<mlir::Type> resultTypes;
  llvm::SmallVector<mlir::Attribute> combines, empties;
  bool anyEmpty = false;
};

/// A kernel that copies a value.
mlir::Value copyOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

} // namespace gnnc::gnn

#endif
