// Verifiers of reductions over dimensions, and of contractions.
#include "Checks.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

/// `dims` are dropped from the source.
template <typename OpTy> static LogicalResult dropsDims(OpTy op, ArrayRef<int64_t> dims) {
  ArrayRef<SizeAttr> sizes = dimsOf(op.getSource());
  if (failed(areDims(op, dims, sizes.size(), "the source")))
    return failure();
  return haveSizes(op, "the result", op.getResult(), without(sizes, dims));
}

LogicalResult ReduceOp::verify() {
  if (failed(dropsDims(*this, getDims())))
    return failure();
  return sameElement(*this, "the result", getResult(), "the source", getSource());
}

LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError() << "finds a max or min, not a " << stringifyReduceKind(getKind());
  return dropsDims(*this, static_cast<int64_t>(getDim()));
}

LogicalResult SoftmaxOp::verify() {
  ArrayRef<SizeAttr> sizes = dimsOf(getSource());
  if (failed(areDims(*this, getDims(), sizes.size(), "the source")) ||
      failed(isFloat(*this, "the source", getSource())) ||
      failed(sameElement(*this, "the result", getResult(), "the source", getSource())))
    return failure();
  return haveSizes(*this, "the result", getResult(), sizes);
}

LogicalResult LogSumExpOp::verify() {
  if (failed(dropsDims(*this, getDims())) || failed(isFloat(*this, "the source", getSource())))
    return failure();
  return sameElement(*this, "the result", getResult(), "the source", getSource());
}

LogicalResult ContractOp::verify() {
  llvm::SmallDenseMap<int64_t, SizeAttr> sizeOf;
  /// The labels of one tensor are distinct, one for each dimension, and a label has one size everywhere.
  auto check = [&](StringRef what, Value tensor, ArrayRef<int64_t> labels, bool defines) -> LogicalResult {
    ArrayRef<SizeAttr> sizes = dimsOf(tensor);
    if (labels.size() != sizes.size())
      return emitOpError() << what << " has " << counted(sizes.size(), "dimension") << ", but "
                           << counted(labels.size(), "label");
    llvm::SmallDenseSet<int64_t> seen;
    for (auto [label, size] : llvm::zip_equal(labels, sizes)) {
      if (!seen.insert(label).second)
        return emitOpError() << what << " has the label " << label << " twice";
      auto known = sizeOf.find(label);
      if (known == sizeOf.end()) {
        if (!defines)
          return emitOpError() << "the label " << label << " of " << what << " occurs in no operand";
        sizeOf[label] = size;
      } else if (known->second != size) {
        return emitOpError() << "the label " << label << " has the sizes " << known->second.str() << " and "
                             << size.str();
      }
    }
    return success();
  };
  if (failed(check("the left operand", getLhs(), getLhsLabels(), true)) ||
      failed(check("the right operand", getRhs(), getRhsLabels(), true)) ||
      failed(check("the result", getResult(), getResultLabels(), false)))
    return failure();
  if (failed(isFloat(*this, "the left operand", getLhs())) ||
      failed(sameElement(*this, "the right operand", getRhs(), "the left operand", getLhs())))
    return failure();
  return sameElement(*this, "the result", getResult(), "the left operand", getLhs());
}
