// Adjoints of ops that move elements: changes of shape, parts, repetition.
//
// x_adj is the adjoint of x. What merely moves an adjoint keeps the mark of a selection.
#include "gnnc/Dialect/Elementwise.h"
#include "gnnc/Dialect/Grouping.h"

using namespace mlir;
using namespace gnnc::gnn;

/// Adds a moved form of `adjoint` to the adjoint of `operand`.
static void addMoved(ReverseSweep &sweep, Value operand, Value adjoint, Value moved) {
  if (sweep.isSelected(adjoint))
    sweep.markSelected(moved);
  sweep.add(operand, moved);
}

LogicalResult ReshapeOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  addMoved(sweep, getSource(), y_adj, ReshapeOp::create(sweep.builder(), sweep.loc(), getSource().getType(), y_adj));
  return success();
}

LogicalResult TransposeOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [to, from] : llvm::enumerate(getPerm()))
    inverse[from] = to;
  addMoved(sweep, getSource(), y_adj,
           TransposeOp::create(sweep.builder(), sweep.loc(), getSource().getType(), y_adj, inverse));
  return success();
}

/// Repeated dimensions are summed. A sum of what was not selected is still exactly 0, so the mark stays.
LogicalResult BroadcastOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  SmallVector<int64_t> summed = otherDims(result.getRank(), getDims());
  for (auto [k, d] : llvm::enumerate(getDims()))
    if (dimsOf(source)[k] != dimsOf(result)[d])
      summed.push_back(d);
  llvm::sort(summed);
  Value x_adj = sumOver(sweep.builder(), sweep.loc(), y_adj, summed);
  // A repeated dimension of size 1 was dropped by the sum.
  if (x_adj.getType() != source)
    x_adj = ReshapeOp::create(sweep.builder(), sweep.loc(), source, x_adj);
  addMoved(sweep, getSource(), y_adj, x_adj);
  return success();
}

LogicalResult SliceOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  addMoved(
      sweep, getSource(), y_adj,
      UnsliceOp::create(sweep.builder(), sweep.loc(), getSource().getType(), y_adj, getDim(), getFrom(), getStep()));
  return success();
}

LogicalResult UnsliceOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  addMoved(sweep, getSource(), y_adj,
           SliceOp::create(sweep.builder(), sweep.loc(), getSource().getType(), y_adj, getDim(), getFrom(), getStep()));
  return success();
}

/// The adjoint is added to the entry that was read, in place: a loop that reads an entry at a time costs no more than
/// these entries.
LogicalResult SelectIndexOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  OpBuilder &builder = sweep.builder();
  Location loc = sweep.loc();
  if (!sweep.isActive(getSource()))
    return success();
  Value position = sweep.saved(getPosition());
  sweep.accumulate(getSource(), [&](Value x_adj) -> Value {
    Value part = y_adj;
    if (x_adj) {
      Value old = SelectIndexOp::create(builder, loc, y_adj.getType(), x_adj, position, getDim());
      part = arith::AddFOp::create(builder, loc, old, y_adj);
    } else {
      x_adj = splat(builder, loc, cast<RankedTensorType>(getSource().getType()), 0.0);
    }
    Value sum = UpdateIndexOp::create(builder, loc, x_adj.getType(), x_adj, position, part, getDim());
    if (sweep.isSelected(y_adj))
      sweep.markSelected(sum);
    return sum;
  });
  return success();
}

/// The adjoint of what was written is what is read there, and there the adjoint of the target is 0.
LogicalResult UpdateIndexOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  OpBuilder &builder = sweep.builder();
  Location loc = sweep.loc();
  Value position = sweep.saved(getPosition());
  auto type = cast<RankedTensorType>(getValue().getType());
  if (sweep.isActive(getValue()))
    addMoved(sweep, getValue(), y_adj, SelectIndexOp::create(builder, loc, type, y_adj, position, getDim()));
  if (sweep.isActive(getTarget()))
    addMoved(sweep, getTarget(), y_adj,
             UpdateIndexOp::create(builder, loc, y_adj.getType(), y_adj, position, splat(builder, loc, type, 0.0),
                                   getDim()));
  return success();
}

LogicalResult UpdateSliceOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  OpBuilder &builder = sweep.builder();
  Location loc = sweep.loc();
  auto type = cast<RankedTensorType>(getValue().getType());
  if (sweep.isActive(getValue()))
    addMoved(sweep, getValue(), y_adj, SliceOp::create(builder, loc, type, y_adj, getDim(), getFrom(), getStep()));
  if (sweep.isActive(getTarget()))
    addMoved(sweep, getTarget(), y_adj,
             UpdateSliceOp::create(builder, loc, y_adj.getType(), y_adj, splat(builder, loc, type, 0.0), getDim(),
                                   getFrom(), getStep()));
  return success();
}

LogicalResult ConcatOp::buildAdjoint(ReverseSweep &sweep) {
  Value y_adj = sweep.adjointOf(getResult());
  SizeAttr from = SizeAttr::constant(getContext(), 0);
  for (Value source : getSources()) {
    if (sweep.isActive(source))
      addMoved(sweep, source, y_adj,
               SliceOp::create(sweep.builder(), sweep.loc(), source.getType(), y_adj, getDim(), from, 1));
    from = from.add(dimsOf(source)[getDim()]);
  }
  return success();
}

LogicalResult SavedOp::buildAdjoint(ReverseSweep &sweep) {
  sweep.add(getX(), sweep.adjointOf(getResult()));
  return success();
}
