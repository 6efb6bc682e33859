// Folders: what an op is when it does nothing, or when its operands are known.
//
// Every rule is exact, to the bit and for NaN and infinities: 0 * x is not folded to 0, and sums are not reordered.
#include "Splat.h"

using namespace mlir;
using namespace gnnc::gnn;

Operation *GnnDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

/// A splat with another shape; null if the attribute is none, or the shape is not static.
static Attribute resplat(Attribute attr, RankedTensorType type) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(attr);
  if (!dense || !dense.isSplat() || !type.hasStaticShape())
    return {};
  return dense.resizeSplat(type);
}

OpFoldResult ReduceOp::fold(FoldAdaptor) { return getDims().empty() ? getSource() : OpFoldResult(); }

OpFoldResult LogSumExpOp::fold(FoldAdaptor) { return getDims().empty() ? getSource() : OpFoldResult(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  auto inner = getSource().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(getDims()[dim]);
  setDims(dims);
  getSourceMutable().assign(inner.getSource());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<ReshapeOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return resplat(adaptor.getSource(), getType());
}

/// What was just written there.
OpFoldResult SelectIndexOp::fold(FoldAdaptor) {
  auto update = getSource().getDefiningOp<UpdateIndexOp>();
  if (update && update.getDim() == getDim() && update.getPosition() == getPosition())
    return update.getValue();
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getSource();
  if (auto inner = getSource().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t dim : getPerm())
      perm.push_back(inner.getPerm()[dim]);
    setPerm(perm);
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return resplat(adaptor.getSource(), getType());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType() && getStep() == 1)
    return getSource();
  return resplat(adaptor.getSource(), getType());
}

OpFoldResult UnsliceOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() && getStep() == 1 ? getSource() : OpFoldResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) { return getSources().size() == 1 ? getSources().front() : OpFoldResult(); }

OpFoldResult SizeOp::fold(FoldAdaptor) {
  std::optional<int64_t> value = getSize().getConstant();
  if (!value)
    return {};
  Type element = getType().getElementType();
  if (auto real = dyn_cast<FloatType>(element)) {
    APFloat number(real.getFloatSemantics());
    number.convertFromAPInt(APInt(64, *value, /*isSigned=*/true), /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
    return DenseElementsAttr::get(getType(), number);
  }
  if (!llvm::isIntN(element.getIntOrFloatBitWidth(), *value))
    return {};
  return DenseElementsAttr::get(getType(), APInt(element.getIntOrFloatBitWidth(), *value, /*isSigned=*/true));
}

OpFoldResult PmulOp::fold(FoldAdaptor) {
  if (std::optional<APFloat> c = splatFloat(getC())) {
    if (c->isPosZero())
      return getC();
    if (c->isExactlyValue(1.0))
      return getA();
  }
  if (std::optional<APFloat> a = splatFloat(getA()); a && a->isExactlyValue(1.0))
    return getC();
  return {};
}

OpFoldResult NondiffOp::fold(FoldAdaptor) { return getX().getDefiningOp<NondiffOp>() ? getX() : OpFoldResult(); }
