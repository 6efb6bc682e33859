// What the verifiers of several families of ops check.
#include "Checks.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

LogicalResult gnnc::gnn::detail::verifyNamedDims(Operation *op) {
  auto check = [&](StringRef kind, unsigned number, Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || isa_and_nonnull<DimsAttr>(tensor.getEncoding()))
      return success();
    return op->emitOpError() << kind << " #" << number << " is " << type
                             << ", whose dimensions have no names: add #gnn.dims<...>";
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(check("operand", i, type)))
      return failure();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(check("result", i, type)))
      return failure();
  return success();
}

std::string checks::sizesText(ArrayRef<SizeAttr> sizes) {
  std::string text = "<";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sizes, os, [&](SizeAttr size) { os << size.str(); });
  os << ">";
  return text;
}

std::string checks::counted(size_t count, StringRef noun) {
  return (llvm::Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
}

LogicalResult checks::haveSizes(Operation *op, StringRef what, Type tensor, ArrayRef<SizeAttr> expected) {
  if (dimsOf(tensor) == expected)
    return success();
  return op->emitOpError() << what << " has sizes " << sizesText(dimsOf(tensor)) << ", but should have "
                           << sizesText(expected);
}

LogicalResult checks::sameElement(Operation *op, StringRef what, Value tensor, StringRef likeWhat, Value like) {
  if (elementOf(tensor) == elementOf(like))
    return success();
  return op->emitOpError() << what << " has elements of type " << elementOf(tensor) << ", but " << likeWhat << " has "
                           << elementOf(like);
}

LogicalResult checks::isFloat(Operation *op, StringRef what, Value tensor) {
  if (isa<FloatType>(elementOf(tensor)))
    return success();
  return op->emitOpError() << what << " has elements of type " << elementOf(tensor)
                           << ", but should have floating-point ones";
}

LogicalResult checks::isDim(Operation *op, int64_t dim, int64_t rank, StringRef what) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << "names dimension " << dim << ", but " << what << " has " << counted(rank, "dimension");
}

LogicalResult checks::areDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank, StringRef what) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (failed(isDim(op, dim, rank, what)))
      return failure();
    if (seen.test(dim))
      return op->emitOpError() << "names dimension " << dim << " of " << what << " twice";
    seen.set(dim);
  }
  return success();
}

LogicalResult checks::areIndexArrays(Operation *op, ValueRange indices) {
  if (indices.empty())
    return op->emitOpError() << "needs at least one index array";
  for (Value index : indices.drop_front())
    if (index.getType() != indices.front().getType())
      return op->emitOpError() << "index arrays have to be of one type, but there are " << indices.front().getType()
                               << " and " << index.getType();
  return success();
}

LogicalResult checks::indexesFirstDim(Operation *op, Value index, Value source) {
  ArrayRef<SizeAttr> sizes = dimsOf(source), entries = dimsOf(index);
  if (entries.size() != 1)
    return op->emitOpError() << "the index array has to have one dimension, but has " << entries.size();
  if (!sizes.empty() && sizes.front() == entries.front())
    return success();
  return op->emitOpError() << "the source has sizes " << sizesText(sizes)
                           << ", but its first should be the index array's, " << entries.front().str();
}

SmallVector<SizeAttr> checks::without(ArrayRef<SizeAttr> sizes, ArrayRef<int64_t> dims) {
  SmallVector<SizeAttr> rest;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      rest.push_back(size);
  return rest;
}
