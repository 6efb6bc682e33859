// Verifiers of the ops that change shapes.
#include "Checks.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

LogicalResult BroadcastOp::verify() {
  ArrayRef<SizeAttr> source = dimsOf(getSource()), result = dimsOf(getResult());
  ArrayRef<int64_t> dims = getDims();
  if (dims.size() != source.size())
    return emitOpError() << "the source has " << counted(source.size(), "dimension") << ", but dims says where "
                         << dims.size() << " go";
  if (failed(areDims(*this, dims, result.size(), "the result")))
    return failure();
  if (!llvm::is_sorted(dims))
    return emitOpError() << "keeps dimensions in their order, but dims is not increasing: transpose first";
  for (auto [i, dim] : llvm::enumerate(dims))
    if (source[i] != result[dim] && source[i].getConstant() != 1)
      return emitOpError() << "dimension " << i << " of the source has the size " << source[i].str()
                           << ", but stands where the result has " << result[dim].str();
  return sameElement(*this, "the result", getResult(), "the source", getSource());
}

LogicalResult ReshapeOp::verify() {
  SizeAttr before = product(getContext(), dimsOf(getSource())), after = product(getContext(), dimsOf(getResult()));
  if (before != after)
    return emitOpError() << "the source has " << before.str() << " elements, but the result has " << after.str();
  return sameElement(*this, "the result", getResult(), "the source", getSource());
}

LogicalResult TransposeOp::verify() {
  ArrayRef<SizeAttr> source = dimsOf(getSource());
  if (getPerm().size() != source.size())
    return emitOpError() << "the source has " << counted(source.size(), "dimension") << ", but perm names "
                         << getPerm().size();
  if (failed(areDims(*this, getPerm(), source.size(), "the source")))
    return failure();
  SmallVector<SizeAttr> expected;
  for (int64_t dim : getPerm())
    expected.push_back(source[dim]);
  if (failed(haveSizes(*this, "the result", getResult(), expected)))
    return failure();
  return sameElement(*this, "the result", getResult(), "the source", getSource());
}

/// What a slice and its transpose have in common: `part` is a regular part of `whole` along one dimension.
static LogicalResult isPart(Operation *op, Value part, Value whole, StringRef partName, StringRef wholeName,
                            int64_t dim, SizeAttr from, int64_t step) {
  ArrayRef<SizeAttr> wholeSizes = dimsOf(whole), partSizes = dimsOf(part);
  if (failed(isDim(op, dim, wholeSizes.size(), wholeName)))
    return failure();
  if (step == 0)
    return op->emitOpError() << "needs a step other than 0";
  SmallVector<SizeAttr> expected(wholeSizes);
  if (static_cast<size_t>(dim) < partSizes.size())
    expected[dim] = partSizes[dim];
  if (failed(haveSizes(op, partName, part, expected)) ||
      failed(sameElement(op, "the result", op->getResult(0), "the source", op->getOperand(0))))
    return failure();

  // The first and the last position lie inside, as far as constants can tell.
  std::optional<int64_t> count = partSizes[dim].getConstant();
  if (count == 0)
    return success();
  SizeAttr last = from.add(partSizes[dim].sub(SizeAttr::constant(op->getContext(), 1)).scale(step));
  for (SizeAttr position : {from, last}) {
    std::optional<int64_t> before = position.getConstant(), beyond = wholeSizes[dim].sub(position).getConstant();
    if ((before && *before < 0) || (beyond && *beyond <= 0))
      return op->emitOpError() << "position " << position.str() << " lies outside of dimension " << dim << " of "
                               << wholeName << ", which has the size " << wholeSizes[dim].str();
  }
  return success();
}

LogicalResult SliceOp::verify() {
  return isPart(*this, getResult(), getSource(), "the result", "the source", getDim(), getFrom(), getStep());
}

LogicalResult UnsliceOp::verify() {
  return isPart(*this, getSource(), getResult(), "the source", "the result", getDim(), getFrom(), getStep());
}

LogicalResult SelectIndexOp::verify() {
  ArrayRef<SizeAttr> sizes = dimsOf(getSource());
  int64_t dim = getDim();
  if (failed(isDim(*this, dim, sizes.size(), "the source")) ||
      failed(haveSizes(*this, "the result", getResult(), without(sizes, dim))) ||
      failed(sameElement(*this, "the result", getResult(), "the source", getSource())))
    return failure();
  return success();
}

LogicalResult UpdateIndexOp::verify() {
  ArrayRef<SizeAttr> sizes = dimsOf(getTarget());
  int64_t dim = getDim();
  if (failed(isDim(*this, dim, sizes.size(), "the target")) ||
      failed(haveSizes(*this, "the value", getValue(), without(sizes, dim))) ||
      failed(haveSizes(*this, "the result", getResult(), sizes)) ||
      failed(sameElement(*this, "the value", getValue(), "the target", getTarget())))
    return failure();
  return sameElement(*this, "the result", getResult(), "the target", getTarget());
}

LogicalResult UpdateSliceOp::verify() {
  if (failed(haveSizes(*this, "the result", getResult(), dimsOf(getTarget()))) ||
      failed(sameElement(*this, "the result", getResult(), "the target", getTarget())))
    return failure();
  return isPart(*this, getValue(), getTarget(), "the value", "the target", getDim(), getFrom(), getStep());
}

LogicalResult ConcatOp::verify() {
  if (getSources().empty())
    return emitOpError() << "needs at least one source";
  int64_t dim = getDim();
  SmallVector<SizeAttr> expected(dimsOf(getSources().front()));
  if (failed(isDim(*this, dim, expected.size(), "the first source")))
    return failure();
  for (auto [i, source] : llvm::enumerate(getSources())) {
    std::string what = "source #" + std::to_string(i);
    if (failed(sameElement(*this, what, source, "the result", getResult())))
      return failure();
    if (i == 0)
      continue;
    ArrayRef<SizeAttr> sizes = dimsOf(source);
    SmallVector<SizeAttr> like(dimsOf(getSources().front()));
    if (static_cast<size_t>(dim) < sizes.size())
      like[dim] = sizes[dim];
    if (failed(haveSizes(*this, what, source, like)))
      return failure();
    expected[dim] = expected[dim].add(sizes[dim]);
  }
  return haveSizes(*this, "the result", getResult(), expected);
}
