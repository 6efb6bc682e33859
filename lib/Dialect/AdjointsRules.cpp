// The adjoint of a computation that has a rule of its own: the rule is put in its place.
#include "gnnc/Dialect/Gnn.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gnnc::gnn;

static bool isFloat(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Copies the rule to where the builder stands; returns what it yields.
static SmallVector<Value> inlineRule(OpBuilder &builder, Block &rule, IRMapping &mapping) {
  for (Operation &op : rule.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value v : rule.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(v));
  return yielded;
}

LogicalResult CustomRuleOp::buildAdjoint(ReverseSweep &sweep) {
  OpBuilder &builder = sweep.builder();
  Location loc = sweep.loc();
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(getBody(), captured);
  for (Value v : captured)
    if (isFloat(v) && sweep.isActive(v))
      return emitError()
             << "a function with a rule of its own uses a value that is differentiated and is not one of its "
                "arguments; pass it as an argument";
  IRMapping mapping;
  captured.clear();
  getUsedValuesDefinedAbove(getRule(), captured);
  for (Value v : captured)
    if (isa<RankedTensorType>(v.getType()))
      mapping.map(v, sweep.saved(v));
  Block &rule = getRule().front();
  unsigned count = getInputs().size();
  for (auto [argument, input] : llvm::zip(rule.getArguments(), getInputs()))
    mapping.map(argument, sweep.saved(input));
  SmallVector<Value> cotangents;
  for (Value result : getValues())
    if (isFloat(result)) {
      Value y_adj = sweep.adjointOf(result);
      cotangents.push_back(y_adj ? y_adj : splat(builder, loc, cast<RankedTensorType>(result.getType()), 0));
    }
  SmallVector<Value> gradients;
  if (!getForward()) {
    for (auto [argument, y_adj] : llvm::zip_equal(rule.getArguments().drop_front(count), cotangents))
      mapping.map(argument, y_adj);
    gradients = inlineRule(builder, rule, mapping);
  } else {
    // The rule is linear in the tangents, so its gradient may be taken at 0.
    SmallVector<Value> zeros;
    Region region;
    Block *body = new Block;
    region.push_back(body);
    for (BlockArgument tangent : rule.getArguments().drop_front(count)) {
      zeros.push_back(splat(builder, loc, cast<RankedTensorType>(tangent.getType()), 0));
      mapping.map(tangent, body->addArgument(tangent.getType(), loc));
    }
    SmallVector<Value> yielded;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(body);
      yielded = inlineRule(builder, rule, mapping);
      YieldOp::create(builder, loc, yielded);
    }
    auto vjp = VjpOp::create(builder, loc, ValueRange(yielded).getTypes(), TapeType::get(getContext()), zeros);
    vjp.getBody().takeBody(region);
    auto back = BackOp::create(builder, loc, ValueRange(zeros).getTypes(), vjp.getTape(), cotangents);
    gradients.assign(back.getGradients().begin(), back.getGradients().end());
  }
  for (auto [input, x_adj] : llvm::zip_equal(getInputs(), gradients))
    sweep.add(input, x_adj);
  return success();
}
