// Verifiers of message passing: gathers, segment reductions and what goes with them.
#include "Checks.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

LogicalResult GatherOp::verify() {
  ArrayRef<SizeAttr> sizes = dimsOf(getSource());
  ArrayRef<int64_t> dims = getDims();
  if (failed(areIndexArrays(*this, getIndices())))
    return failure();
  if (dims.size() != getIndices().size())
    return emitOpError() << "has " << counted(getIndices().size(), "index array") << ", but names "
                         << counted(dims.size(), "dimension");
  if (failed(areDims(*this, dims, sizes.size(), "the source")))
    return failure();
  if (failed(sameElement(*this, "the result", getResult(), "the source", getSource())) ||
      (getFill() && failed(sameElement(*this, "the fill", getFill(), "the source", getSource()))))
    return failure();

  SmallVector<SizeAttr> expected;
  int64_t first = *llvm::min_element(dims);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (static_cast<int64_t>(i) == first)
      llvm::append_range(expected, dimsOf(getIndices().front()));
    else if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      expected.push_back(size);
  }
  return haveSizes(*this, "the result", getResult(), expected);
}

LogicalResult SegmentReduceOp::verify() {
  if (failed(areIndexArrays(*this, getIndices())))
    return failure();
  ArrayRef<SizeAttr> sizes = dimsOf(getSource()), consumed = dimsOf(getIndices().front()), result = dimsOf(getResult());
  int64_t at = getAt();
  if (at < 0 || at + consumed.size() > sizes.size() || sizes.slice(at, consumed.size()) != consumed)
    return emitOpError() << "the source has sizes " << sizesText(sizes)
                         << ", but should have those of the index array, " << sizesText(consumed) << ", from dimension "
                         << at << " on";
  ArrayRef<int64_t> dims = getDims();
  if (dims.size() != getIndices().size())
    return emitOpError() << "has " << counted(getIndices().size(), "index array") << ", but names "
                         << counted(dims.size(), "dimension");
  if (failed(areDims(*this, dims, result.size(), "the result")))
    return failure();

  SmallVector<SizeAttr> kept(sizes.take_front(at));
  llvm::append_range(kept, sizes.drop_front(at + consumed.size()));
  if (without(result, dims) != ArrayRef<SizeAttr>(kept))
    return emitOpError() << "the result has sizes " << sizesText(result)
                         << ", but apart from the dimensions it names should have " << sizesText(kept);
  if (failed(sameElement(*this, "the result", getResult(), "the source", getSource())) ||
      (getEmpty() &&
       failed(sameElement(*this, "the value for an empty segment", getEmpty(), "the source", getSource()))))
    return failure();

  if (getTags() && (!getWinner() || consumed.size() != 1))
    return emitOpError() << "has tags, so it needs a second result, and index arrays of one dimension";
  if (getTags() && failed(haveSizes(*this, "the tags", getTags(), consumed)))
    return failure();
  if (!getWinner())
    return success();
  if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError() << "a " << stringifyReduceKind(getKind())
                         << " has no winner: only max and min have a second result";
  if (consumed.size() != 1)
    return emitOpError() << "a winner is a position in one dimension, but the index arrays have " << consumed.size();
  return haveSizes(*this, "the winner", getWinner(), result);
}

/// What shares of extrema are made of: values of entries and of segments.
template <typename OpTy> static LogicalResult areShared(OpTy op) {
  if (failed(indexesFirstDim(op, op.getIndex(), op.getSource())) || failed(isFloat(op, "the source", op.getSource())) ||
      failed(sameElement(op, "the extremum", op.getExtremum(), "the source", op.getSource())) ||
      failed(sameElement(op, "what is shared", op.getY(), "the source", op.getSource())) ||
      failed(sameElement(op, "the result", op.getResult(), "the source", op.getSource())))
    return failure();
  ArrayRef<SizeAttr> features = dimsOf(op.getSource()).drop_front(), segments = dimsOf(op.getExtremum());
  if (segments.empty() || segments.drop_front() != features)
    return op.emitOpError() << "the extremum has sizes " << sizesText(segments)
                            << ", but after the first should have the source's, " << sizesText(features);
  return haveSizes(op, "what is shared", op.getY(), segments);
}

LogicalResult ShareOp::verify() {
  if (failed(areShared(*this)))
    return failure();
  return haveSizes(*this, "the result", getResult(), dimsOf(getSource()));
}

LogicalResult ShareSumOp::verify() {
  if (failed(areShared(*this)) || failed(haveSizes(*this, "the tags", getTags(), dimsOf(getExtremum()))) ||
      failed(haveSizes(*this, "the target", getTarget(), dimsOf(getIndex()))))
    return failure();
  ArrayRef<SizeAttr> features = dimsOf(getSource()).drop_front(), result = dimsOf(getResult());
  if (result.empty() || result.drop_front() != features)
    return emitOpError() << "the result has sizes " << sizesText(result)
                         << ", but after the first should have the source's, " << sizesText(features);
  if (getInit() && getInit().getType() != getResult().getType())
    return emitOpError() << "the init has to have the type of the result";
  return success();
}

LogicalResult SegmentSoftmaxOp::verify() {
  if (failed(indexesFirstDim(*this, getIndex(), getSource())) || failed(isFloat(*this, "the source", getSource())) ||
      failed(sameElement(*this, "the result", getResult(), "the source", getSource())))
    return failure();
  return haveSizes(*this, "the result", getResult(), dimsOf(getSource()));
}

LogicalResult SegmentLogSumExpOp::verify() {
  if (failed(indexesFirstDim(*this, getIndex(), getSource())) || failed(isFloat(*this, "the source", getSource())) ||
      failed(sameElement(*this, "the result", getResult(), "the source", getSource())))
    return failure();
  ArrayRef<SizeAttr> features = dimsOf(getSource()).drop_front(), result = dimsOf(getResult());
  if (!result.empty() && result.drop_front() == features)
    return success();
  return emitOpError() << "the result has sizes " << sizesText(result)
                       << ", but after the first should have the source's, " << sizesText(features);
}
