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

static bool hasFloats(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

LogicalResult CustomRuleOp::verify() {
  for (auto [i, value] : llvm::enumerate(getInputs()))
    if (!hasFloats(value.getType()))
      return emitOpError() << "operand #" << i << " has elements of type " << elementOf(value)
                           << ": only floating-point values have derivatives";
  Block &body = getBody().front(), &rule = getRule().front();
  if (failed(haveTypes(*this, "block argument", body.getArgumentTypes(), getInputs().getTypes())) ||
      failed(haveTypes(*this, "yielded value", body.getTerminator()->getOperandTypes(), getValues().getTypes())))
    return failure();
  SmallVector<Type> inputs(getInputs().getTypes()), results, arguments(inputs);
  llvm::copy_if(getValues().getTypes(), std::back_inserter(results), hasFloats);
  llvm::append_range(arguments, getForward() ? inputs : results);
  if (failed(haveTypes(*this, "argument of the rule", rule.getArgumentTypes(), arguments)))
    return failure();
  return haveTypes(*this, "result of the rule", rule.getTerminator()->getOperandTypes(),
                   getForward() ? results : inputs);
}

LogicalResult BackOp::verify() {
  auto vjp = getTape().getDefiningOp<VjpOp>();
  if (!vjp)
    return emitOpError() << "the tape has to come from a gnn.vjp directly";
  SmallVector<Type> cotangents;
  llvm::copy_if(vjp.getValues().getTypes(), std::back_inserter(cotangents), hasFloats);
  if (failed(haveTypes(*this, "cotangent", getCotangents().getTypes(), cotangents)))
    return failure();
  return haveTypes(*this, "gradient", getGradients().getTypes(), vjp.getWrt().getTypes());
}
