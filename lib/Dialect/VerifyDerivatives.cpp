// Verifiers of the ops that stand for derivatives until these are expanded.
#include "Checks.h"

using namespace mlir;
using namespace gnnc::gnn;
using namespace gnnc::gnn::checks;

/// The values in order have the types in order, or an error says which differs.
static LogicalResult haveTypes(Operation *op, StringRef what, TypeRange actual, TypeRange expected) {
  if (actual.size() != expected.size())
    return op->emitOpError() << "needs " << counted(expected.size(), what) << ", but has " << actual.size();
  for (auto [i, have, want] : llvm::enumerate(actual, expected))
    if (have != want)
      return op->emitOpError() << what << " #" << i << " is " << have << ", but should be " << want;
  return success();
}

LogicalResult VjpOp::verify() {
  for (auto [i, value] : llvm::enumerate(getWrt()))
    if (!isa<FloatType>(elementOf(value)))
      return emitOpError() << "operand #" << i << " has elements of type " << elementOf(value)
                           << ": only floating-point values have derivatives";
  Block &body = getBody().front();
  if (failed(haveTypes(*this, "block argument", body.getArgumentTypes(), getWrt().getTypes())))
    return failure();
  return haveTypes(*this, "yielded value", body.getTerminator()->getOperandTypes(), getValues().getTypes());
}

LogicalResult BackOp::verify() {
  auto vjp = getTape().getDefiningOp<VjpOp>();
  if (!vjp)
    return emitOpError() << "the tape has to come from a gnn.vjp directly";
  SmallVector<Type> cotangents;
  for (Type type : vjp.getValues().getTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && isa<FloatType>(tensor.getElementType()))
      cotangents.push_back(type);
  if (failed(haveTypes(*this, "cotangent", getCotangents().getTypes(), cotangents)))
    return failure();
  return haveTypes(*this, "gradient", getGradients().getTypes(), vjp.getWrt().getTypes());
}
