// Values all of whose elements are one.
#include "Splat.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gnnc::gnn;

/// Looks through broadcasts.
static Value narrowest(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getSource();
  return value;
}

Value gnnc::gnn::splatScalar(Value value) {
  Value source = narrowest(value);
  auto type = dyn_cast<RankedTensorType>(source.getType());
  return type && type.getRank() == 0 ? source : Value();
}

std::optional<APFloat> gnnc::gnn::splatFloat(Value value) {
  Attribute attr;
  if (!matchPattern(narrowest(value), m_Constant(&attr)))
    return std::nullopt;
  if (auto scalar = dyn_cast<FloatAttr>(attr))
    return scalar.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(attr);
      dense && dense.isSplat() && isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>();
  return std::nullopt;
}
