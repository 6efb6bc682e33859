// What the verifiers of several families of ops check: sizes, lists of dimensions, index arrays, element types.
//
// A message says what the op has, then what it should have, with sizes as they are written in types: <s0, 16>.
#ifndef GNNC_LIB_DIALECT_CHECKS_H
#define GNNC_LIB_DIALECT_CHECKS_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc::gnn::checks {

/// "<s0, 16>"
std::string sizesText(llvm::ArrayRef<SizeAttr> sizes);

/// "1 dimension", "2 dimensions"
std::string counted(size_t count, llvm::StringRef noun);

/// `what` ("the result") has exactly these sizes.
llvm::LogicalResult haveSizes(mlir::Operation *op, llvm::StringRef what, mlir::Type tensor,
                              llvm::ArrayRef<SizeAttr> expected);
inline llvm::LogicalResult haveSizes(mlir::Operation *op, llvm::StringRef what, mlir::Value tensor,
                                     llvm::ArrayRef<SizeAttr> expected) {
  return haveSizes(op, what, tensor.getType(), expected);
}

/// `what` has the element type of `like`, which is called `likeWhat`.
llvm::LogicalResult sameElement(mlir::Operation *op, llvm::StringRef what, mlir::Value tensor, llvm::StringRef likeWhat,
                                mlir::Value like);

/// The elements of `what` are floating-point numbers.
llvm::LogicalResult isFloat(mlir::Operation *op, llvm::StringRef what, mlir::Value tensor);

/// `dim` is one of the `rank` dimensions of `what`.
llvm::LogicalResult isDim(mlir::Operation *op, int64_t dim, int64_t rank, llvm::StringRef what);

/// `dims` are distinct dimensions of `what`, which has `rank` of them.
llvm::LogicalResult areDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, int64_t rank, llvm::StringRef what);

/// There is at least one index array, and all have one type.
llvm::LogicalResult areIndexArrays(mlir::Operation *op, mlir::ValueRange indices);

/// `what` is a 1-d index array whose size is the first one of `source`.
llvm::LogicalResult indexesFirstDim(mlir::Operation *op, mlir::Value index, mlir::Value source);

/// The sizes without those at `dims`.
llvm::SmallVector<SizeAttr> without(llvm::ArrayRef<SizeAttr> sizes, llvm::ArrayRef<int64_t> dims);

} // namespace gnnc::gnn::checks

#endif
