// One tensor op in the making of kernels (the pass gnn-form-kernels): what is elementwise or only moves elements is
// formed in FormKernels.cpp, what combines them in FormReductions.cpp.
#ifndef GNNC_LIB_TRANSFORMS_FORMKERNELS_H
#define GNNC_LIB_TRANSFORMS_FORMKERNELS_H

#include "gnnc/Transforms/KernelBuilder.h"

namespace gnnc::gnn {

/// The scalar in a kernel's body for an operand: a block argument, or an immediate constant.
inline mlir::Value scalarOf(mlir::OpBuilder &b, mlir::Location loc, KernelBuilder::Operand operand,
                            mlir::ValueRange inputs) {
  if (operand.number >= 0)
    return inputs[operand.number];
  return mlir::arith::ConstantOp::create(b, loc, operand.constant);
}

/// The value in a kernel's body of what `KernelBuilder::index` returned, as i32.
inline mlir::Value indexValue(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExpr expr, mlir::ValueRange indices,
                              mlir::ValueRange iterators) {
  if (int64_t number = KernelBuilder::indexNumber(expr); number >= 0)
    return indices[number];
  return mlir::arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                          iterators[llvm::cast<mlir::AffineDimExpr>(expr).getPosition()]);
}

class KernelFormer {
public:
  explicit KernelFormer(mlir::Operation *op) : op(op), b(op), loc(op->getLoc()), label(op->getName().getStringRef()) {}

  /// Replaces the op; fails after an error.
  mlir::LogicalResult run();

private:
  mlir::LogicalResult elementwise();
  mlir::LogicalResult copy();
  mlir::LogicalResult gather(GatherOp gather);
  mlir::LogicalResult segmentReduce(SegmentReduceOp reduce);
  mlir::LogicalResult shareSum(ShareSumOp share);
  mlir::LogicalResult reduce(ReduceOp reduce);
  mlir::LogicalResult argReduce(ArgReduceOp reduce);
  mlir::LogicalResult contract(ContractOp contract);
  mlir::LogicalResult contractAsKernel(ContractOp contract);
  mlir::LogicalResult concat(ConcatOp concat);
  mlir::LogicalResult unslice(UnsliceOp unslice);
  mlir::LogicalResult iota(IotaOp iota);
  mlir::LogicalResult uniform(UniformOp uniform);
  mlir::LogicalResult
  update(mlir::Value target, mlir::Value value,
         llvm::function_ref<void(KernelBuilder &, llvm::SmallVectorImpl<mlir::AffineExpr> &)> place);
  mlir::LogicalResult updateIndex(UpdateIndexOp op);
  mlir::LogicalResult updateSlice(UpdateSliceOp op);

  mlir::RankedTensorType resultType(unsigned k = 0) {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(k).getType());
  }
  /// One parallel iterator for each dimension.
  llvm::SmallVector<mlir::AffineExpr> parallel(KernelBuilder &kernel, llvm::ArrayRef<SizeAttr> sizes) {
    return llvm::map_to_vector(sizes, [&](SizeAttr s) { return kernel.iterator(IteratorKind::Parallel, s); });
  }
  mlir::LogicalResult replace(mlir::ValueRange values) {
    // Why a value is kept, for the report.
    if (mlir::Attribute kept = op->getAttr("gnn.kept"))
      for (mlir::Value value : values)
        if (mlir::Operation *maker = rootOf(value).getDefiningOp(); llvm::isa_and_present<KernelOp, GemmOp>(maker))
          maker->setAttr("gnn.kept", kept);
    op->replaceAllUsesWith(values);
    op->erase();
    return mlir::success();
  }
  /// A row-major reshape, nothing if the type is the same.
  mlir::Value reshaped(mlir::Value value, llvm::ArrayRef<SizeAttr> sizes) {
    mlir::RankedTensorType type = tensorType(sizes, elementOf(value));
    return type == value.getType() ? value : ReshapeOp::create(b, loc, type, value).getResult();
  }

  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;
  llvm::StringRef label;
};

} // namespace gnnc::gnn

#endif
