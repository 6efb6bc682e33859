// The ops of the gnn dialect: helpers for tensors with named dimensions.
#include "gnnc/Dialect/Gnn.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace gnnc::gnn;

#define GET_OP_CLASSES
#include "gnnc/Dialect/GnnOps.cpp.inc"

RankedTensorType gnnc::gnn::tensorType(ArrayRef<SizeAttr> sizes, Type element) {
  SmallVector<int64_t> shape;
  for (SizeAttr size : sizes)
    shape.push_back(size.getConstant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, element, DimsAttr::get(element.getContext(), sizes));
}

RankedTensorType gnnc::gnn::scalarType(Type element) { return tensorType({}, element); }

ArrayRef<SizeAttr> gnnc::gnn::dimsOf(Type tensor) {
  return cast<DimsAttr>(cast<RankedTensorType>(tensor).getEncoding()).getSizes();
}

SizeAttr gnnc::gnn::product(MLIRContext *ctx, ArrayRef<SizeAttr> sizes) {
  SizeAttr result = SizeAttr::constant(ctx, 1);
  for (SizeAttr size : sizes)
    result = result.mul(size);
  return result;
}

Type gnnc::gnn::elementOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

Value gnnc::gnn::splat(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  Type element = type.getElementType();
  TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, value))
                                             : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  RankedTensorType scalarTy = scalarType(element);
  Value constant =
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(scalarTy, ArrayRef<Attribute>(scalar)));
  if (type.getRank() == 0)
    return constant;
  return BroadcastOp::create(builder, loc, type, constant, ArrayRef<int64_t>{});
}
