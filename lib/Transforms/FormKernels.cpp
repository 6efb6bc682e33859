// Turns tensor ops into row kernels, matrix products and views.
//
// Every op becomes a comprehension of its own; ops that only re-index are folded into the kernels that read them
// (KernelBuilder). What a dead op would have computed is erased on the way.
#include "gnnc/Transforms/KernelBuilder.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace gnnc::gnn {
#define GEN_PASS_DEF_FORMKERNELS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

using namespace mlir;
using namespace gnnc::gnn;

namespace {

CombineKind combineOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return CombineKind::Sum;
  case ReduceKind::Prod:
    return CombineKind::Prod;
  case ReduceKind::Max:
    return CombineKind::Max;
  case ReduceKind::Min:
    return CombineKind::Min;
  }
  return CombineKind::None;
}

bool isElementwise(Operation *op) {
  if (isa<SigmoidOp, SoftplusOp, PmulOp>(op))
    return true;
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// The scalar in a kernel's body for an operand: a block argument, or an immediate constant.
Value scalarOf(OpBuilder &b, Location loc, KernelBuilder::Operand operand, ValueRange inputs) {
  if (operand.number >= 0)
    return inputs[operand.number];
  return arith::ConstantOp::create(b, loc, operand.constant);
}

/// The value in a kernel's body of what `KernelBuilder::index` returned, as i32.
Value indexValue(OpBuilder &b, Location loc, AffineExpr expr, ValueRange indices, ValueRange iterators) {
  if (int64_t number = KernelBuilder::indexNumber(expr); number >= 0)
    return indices[number];
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), iterators[cast<AffineDimExpr>(expr).getPosition()]);
}

/// The constant that a 0-d operand holds, if it is one.
TypedAttr constantOf(Value scalar) {
  auto constant = scalar ? scalar.getDefiningOp<arith::ConstantOp>() : nullptr;
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? cast<TypedAttr>(elements.getSplatValue<Attribute>()) : TypedAttr();
}

class Former {
public:
  explicit Former(Operation *op) : op(op), b(op), loc(op->getLoc()), label(op->getName().getStringRef()) {}

  /// Replaces the op; fails after an error.
  LogicalResult run();

private:
  LogicalResult elementwise();
  LogicalResult copy();
  LogicalResult gather(GatherOp gather);
  LogicalResult segmentReduce(SegmentReduceOp reduce);
  LogicalResult shareSum(ShareSumOp share);
  LogicalResult reduce(ReduceOp reduce);
  LogicalResult argReduce(ArgReduceOp reduce);
  LogicalResult contract(ContractOp contract);
  LogicalResult contractAsKernel(ContractOp contract);
  LogicalResult concat(ConcatOp concat);
  LogicalResult unslice(UnsliceOp unslice);
  LogicalResult iota(IotaOp iota);
  LogicalResult uniform(UniformOp uniform);
  LogicalResult update(Value target, Value value,
                       llvm::function_ref<void(KernelBuilder &, SmallVectorImpl<AffineExpr> &)> place);
  LogicalResult updateIndex(UpdateIndexOp op);
  LogicalResult updateSlice(UpdateSliceOp op);

  RankedTensorType resultType(unsigned k = 0) { return cast<RankedTensorType>(op->getResult(k).getType()); }
  /// One parallel iterator for each dimension.
  SmallVector<AffineExpr> parallel(KernelBuilder &kernel, ArrayRef<SizeAttr> sizes) {
    return llvm::map_to_vector(sizes, [&](SizeAttr s) { return kernel.iterator(IteratorKind::Parallel, s); });
  }
  LogicalResult replace(ValueRange values) {
    // Why a value is kept, for the report.
    if (Attribute kept = op->getAttr("gnn.kept"))
      for (Value value : values)
        if (Operation *maker = rootOf(value).getDefiningOp(); isa_and_present<KernelOp, GemmOp>(maker))
          maker->setAttr("gnn.kept", kept);
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }
  /// A row-major reshape, nothing if the type is the same.
  Value reshaped(Value value, ArrayRef<SizeAttr> sizes) {
    RankedTensorType type = tensorType(sizes, elementOf(value));
    return type == value.getType() ? value : ReshapeOp::create(b, loc, type, value).getResult();
  }

  Operation *op;
  OpBuilder b;
  Location loc;
  StringRef label;
};

LogicalResult Former::elementwise() {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(op->getResult(0)));
  SmallVector<KernelBuilder::Operand> operands;
  for (Value v : op->getOperands())
    operands.push_back(isa<RankedTensorType>(v.getType()) && cast<RankedTensorType>(v.getType()).getRank() == 0
                           ? kernel.input(v, {})
                           : kernel.input(v, point));
  kernel.result(resultType(), point);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    SmallVector<Value> scalars =
        llvm::map_to_vector(operands, [&](auto &operand) { return scalarOf(body, loc, operand, inputs); });
    Operation *scalar =
        body.create(loc, op->getName().getIdentifier(), scalars, {resultType().getElementType()}, op->getAttrs());
    return SmallVector<Value>{scalar->getResult(0)};
  });
  return replace(result.getResults());
}

LogicalResult Former::copy() {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(op->getResult(0)));
  // Reading the op's own result follows it to what it re-indexes.
  KernelBuilder::Operand operand = kernel.input(op->getResult(0), point);
  kernel.result(resultType(), point);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    return SmallVector<Value>{scalarOf(body, loc, operand, inputs)};
  });
  return replace(result.getResults());
}

LogicalResult Former::gather(GatherOp gather) {
  bool none = llvm::any_of(gather.getIndices(), mayBeNone);
  bool isIndex = isa<IntegerType>(elementOf(gather.getResult()));
  if (!none || (!gather.getFill() && !isIndex))
    return copy();
  // Where an index is none, the fill.
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(gather.getResult()));
  ArrayRef<int64_t> dims = gather.getDims();
  int64_t first = *llvm::min_element(dims);
  int64_t indexRank = cast<RankedTensorType>(gather.getIndices()[0].getType()).getRank();
  SmallVector<AffineExpr> indexPosition(ArrayRef(point).slice(first, indexRank)), source, indexExprs;
  int64_t sourceRank = cast<RankedTensorType>(gather.getSource().getType()).getRank(), next = 0;
  for (int64_t d = 0; d < sourceRank; ++d) {
    const auto *it = llvm::find(dims, d);
    if (d == first)
      next = first + indexRank;
    if (it != dims.end()) {
      indexExprs.push_back(kernel.index(gather.getIndices()[it - dims.begin()], indexPosition));
      source.push_back(indexExprs.back());
      continue;
    }
    source.push_back(point[next++]);
  }
  KernelBuilder::Operand value = kernel.input(gather.getSource(), source), fill;
  Type element = elementOf(gather.getResult());
  if (gather.getFill())
    fill = kernel.input(gather.getFill(), {});
  else
    fill.constant = b.getIntegerAttr(element, -1);
  kernel.result(resultType(), point);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange indices, ValueRange) {
    Value isNone;
    Value zero = arith::ConstantOp::create(body, loc, body.getI32IntegerAttr(0));
    for (AffineExpr e : indexExprs) {
      int64_t number = KernelBuilder::indexNumber(e);
      if (number < 0)
        continue;
      Value negative = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::slt, indices[number], zero);
      isNone = isNone ? arith::OrIOp::create(body, loc, isNone, negative).getResult() : negative;
    }
    Value scalar = scalarOf(body, loc, value, inputs);
    return SmallVector<Value>{
        isNone ? arith::SelectOp::create(body, loc, isNone, scalarOf(body, loc, fill, inputs), scalar).getResult()
               : scalar};
  });
  return replace(result.getResults());
}

LogicalResult Former::segmentReduce(SegmentReduceOp reduce) {
  MLIRContext *ctx = b.getContext();
  SmallVector<Value> indices(reduce.getIndices());
  SmallVector<SizeAttr> entrySizes(dimsOf(indices[0]));
  int64_t at = reduce.getAt(), consumed = entrySizes.size();
  SmallVector<SizeAttr> sourceDims(dimsOf(reduce.getSource())), resultDims(dimsOf(reduce.getResult()));
  ArrayRef<int64_t> targetDims = reduce.getDims();

  // Several index arrays are one into the product of their targets; entries of several dimensions are one of their
  // product.
  SizeAttr entries = product(ctx, entrySizes);
  SmallVector<SizeAttr> targets;
  for (int64_t d : targetDims)
    targets.push_back(resultDims[d]);
  SizeAttr rows = product(ctx, targets);
  Value index = reshaped(indices[0], {entries});
  for (size_t k = 1; k < indices.size(); ++k) {
    Value next = reshaped(indices[k], {entries});
    RankedTensorType type = cast<RankedTensorType>(index.getType());
    KernelBuilder kernel(b, loc, "index");
    AffineExpr e = kernel.iterator(IteratorKind::Parallel, entries);
    KernelBuilder::Operand left = kernel.input(index, {e}), right = kernel.input(next, {e});
    Value sizeValue = SizeOp::create(b, loc, scalarType(b.getI32Type()), targets[k]);
    KernelBuilder::Operand size = kernel.input(sizeValue, {});
    kernel.result(type, {e});
    index = kernel
                .create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
                  Value l = scalarOf(body, loc, left, inputs), r = scalarOf(body, loc, right, inputs);
                  Value flat = arith::AddIOp::create(
                      body, loc, arith::MulIOp::create(body, loc, l, scalarOf(body, loc, size, inputs)), r);
                  // -1 in one of them is none; or-ing the signs finds it.
                  Value zero = arith::ConstantOp::create(body, loc, body.getI32IntegerAttr(0));
                  Value none = arith::ConstantOp::create(body, loc, body.getI32IntegerAttr(-1));
                  Value isNone = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::slt,
                                                       arith::OrIOp::create(body, loc, l, r), zero);
                  return SmallVector<Value>{arith::SelectOp::create(body, loc, isNone, none, flat)};
                })
                .getResult(0);
  }
  SmallVector<SizeAttr> flatSource(sourceDims.begin(), sourceDims.begin() + at);
  flatSource.push_back(entries);
  flatSource.append(sourceDims.begin() + at + consumed, sourceDims.end());
  Value source = reshaped(reduce.getSource(), flatSource);

  Value order;
  if (auto endpoint = index.getDefiningOp<EndpointOp>())
    order = OrderOp::create(b, loc, OrderType::get(ctx, rows, entries), endpoint.getEnd(), endpoint.getGraph());
  else
    order = OrderByOp::create(b, loc, OrderType::get(ctx, rows, entries), index);

  KernelBuilder kernel(b, loc, label);
  AffineExpr row = kernel.iterator(IteratorKind::Parallel, rows);
  AffineExpr entry = kernel.iterator(IteratorKind::Segment, entries);
  kernel.setOrder(order);
  SmallVector<AffineExpr> others, position;
  for (auto [d, size] : llvm::enumerate(flatSource)) {
    if (static_cast<int64_t>(d) == at) {
      position.push_back(entry);
      continue;
    }
    others.push_back(kernel.iterator(IteratorKind::Parallel, size));
    position.push_back(others.back());
  }
  KernelBuilder::Operand operand = kernel.input(source, position);

  // The kernel's result has the rows as its first dimension, so that parts of long rows are laid out like rows; it is
  // brought into order afterwards. All targets stand together.
  int64_t first = targetDims[0];
  for (auto [k, d] : llvm::enumerate(targetDims))
    if (d != first + static_cast<int64_t>(k))
      return op->emitError("the targets of a reduction by several index arrays must stand side by side in the result");
  SmallVector<SizeAttr> kernelDims{rows}, orderedDims;
  SmallVector<AffineExpr> resultPosition{row};
  SmallVector<int64_t> perm;
  size_t next = 0;
  for (size_t d = 0; d < resultDims.size(); ++d) {
    if (static_cast<int64_t>(d) == first) {
      orderedDims.push_back(rows);
      perm.push_back(0);
    }
    if (llvm::is_contained(targetDims, static_cast<int64_t>(d)))
      continue;
    kernelDims.push_back(resultDims[d]);
    orderedDims.push_back(resultDims[d]);
    resultPosition.push_back(others[next++]);
    perm.push_back(next);
  }
  auto ordered = [&](Value value, ArrayRef<SizeAttr> dims) {
    if (!llvm::is_sorted(perm))
      value = TransposeOp::create(b, loc, tensorType(orderedDims, elementOf(value)), value, perm);
    return reshaped(value, dims);
  };
  CombineKind kind = combineOf(reduce.getKind());
  bool extremum = reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::Min;
  TypedAttr empty = constantOf(reduce.getEmpty());
  if (reduce.getEmpty() && !empty)
    return op->emitError("what an empty segment gives must be a constant");
  bool wantsWinner = reduce.getWinner() && !reduce.getWinner().use_empty();
  kernel.result(tensorType(kernelDims, resultType().getElementType()), resultPosition, kind, empty);
  AffineExpr tag;
  if (extremum && wantsWinner) {
    CombineKind winner = reduce.getKind() == ReduceKind::Max ? CombineKind::ArgMax : CombineKind::ArgMin;
    if (reduce.getTags())
      tag = kernel.index(reduce.getTags(), {entry});
    kernel.result(tensorType(kernelDims, b.getI32Type()), resultPosition, tag ? CombineKind::Tag : winner);
  }
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange indices, ValueRange iterators) {
    Value scalar = scalarOf(body, loc, operand, inputs);
    SmallVector<Value> yields(extremum && wantsWinner ? 2 : 1, scalar);
    if (tag)
      yields[1] = indexValue(body, loc, tag, indices, iterators);
    return yields;
  });
  SmallVector<Value> results{ordered(result.getResult(0), resultDims)};
  if (reduce.getWinner())
    results.push_back(wantsWinner ? ordered(result.getResult(1), dimsOf(reduce.getWinner()))
                                  : EmptyOp::create(b, loc, reduce.getWinner().getType(), Value()).getResult());
  return replace(results);
}

LogicalResult Former::shareSum(ShareSumOp share) {
  ArrayRef<SizeAttr> sizes = dimsOf(share.getSource());
  auto type = OrderType::get(b.getContext(), dimsOf(share.getExtremum())[0], sizes[0]);
  Value order;
  if (auto endpoint = share.getIndex().getDefiningOp<EndpointOp>())
    order = OrderOp::create(b, loc, type, endpoint.getEnd(), endpoint.getGraph());
  else
    order = OrderByOp::create(b, loc, type, share.getIndex());
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> rows{kernel.iterator(IteratorKind::Parallel, type.getRows())};
  SmallVector<AffineExpr> entries{kernel.iterator(IteratorKind::Segment, type.getEntries())};
  kernel.setOrder(order);
  for (SizeAttr size : sizes.drop_front()) {
    rows.push_back(kernel.iterator(IteratorKind::Parallel, size));
    entries.push_back(rows.back());
  }
  SmallVector<AffineExpr> targets(rows);
  targets[0] = kernel.index(share.getTarget(), entries[0]);
  if (KernelBuilder::indexNumber(targets[0]) < 0)
    return op->emitError("this is a fault of gnnc: shares go to the rows that they come from");
  KernelBuilder::Operand y = kernel.input(share.getY(), rows), tags = kernel.input(share.getTags(), rows),
                         source = kernel.input(share.getSource(), entries),
                         extremum = kernel.input(share.getExtremum(), rows);
  kernel.result(resultType(), targets, CombineKind::Share, {}, share.getInit());
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    Value x = scalarOf(body, loc, source, inputs);
    Value equal = arith::CmpFOp::create(body, loc, arith::CmpFPredicate::OEQ, x, scalarOf(body, loc, extremum, inputs));
    Value isNan = arith::CmpFOp::create(body, loc, arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{scalarOf(body, loc, y, inputs), scalarOf(body, loc, tags, inputs),
                              arith::OrIOp::create(body, loc, equal, isNan)};
  });
  return replace(result.getResults());
}

LogicalResult Former::reduce(ReduceOp reduce) {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> position, kept;
  for (auto [d, size] : llvm::enumerate(dimsOf(reduce.getSource()))) {
    bool reduced = llvm::is_contained(reduce.getDims(), static_cast<int64_t>(d));
    position.push_back(kernel.iterator(reduced ? IteratorKind::Reduction : IteratorKind::Parallel, size));
    if (!reduced)
      kept.push_back(position.back());
  }
  KernelBuilder::Operand operand = kernel.input(reduce.getSource(), position);
  kernel.result(resultType(), kept, combineOf(reduce.getKind()));
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    return SmallVector<Value>{scalarOf(body, loc, operand, inputs)};
  });
  return replace(result.getResults());
}

LogicalResult Former::argReduce(ArgReduceOp reduce) {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> position, kept;
  for (auto [d, size] : llvm::enumerate(dimsOf(reduce.getSource()))) {
    bool reduced = static_cast<int64_t>(d) == static_cast<int64_t>(reduce.getDim());
    position.push_back(kernel.iterator(reduced ? IteratorKind::Reduction : IteratorKind::Parallel, size));
    if (!reduced)
      kept.push_back(position.back());
  }
  KernelBuilder::Operand operand = kernel.input(reduce.getSource(), position);
  kernel.result(resultType(), kept, reduce.getKind() == ReduceKind::Max ? CombineKind::ArgMax : CombineKind::ArgMin);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    return SmallVector<Value>{scalarOf(body, loc, operand, inputs)};
  });
  return replace(result.getResults());
}

/// Whether `labels` is `first` followed by `second`.
bool isConcat(ArrayRef<int64_t> labels, ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  return labels.size() == first.size() + second.size() && labels.take_front(first.size()) == first &&
         labels.take_back(second.size()) == second;
}

LogicalResult Former::contract(ContractOp contract) {
  ArrayRef<int64_t> l = contract.getLhsLabels(), r = contract.getRhsLabels(), out = contract.getResultLabels();
  SmallVector<int64_t> m, n, k;
  bool plain = isa<FloatType>(resultType().getElementType());
  for (int64_t label : out) {
    bool inL = llvm::is_contained(l, label), inR = llvm::is_contained(r, label);
    plain &= inL != inR; // a label in all three counts blocks, which is no plain product
    (inL ? m : n).push_back(label);
  }
  for (int64_t label : l)
    if (!llvm::is_contained(out, label)) {
      plain &= llvm::is_contained(r, label);
      k.push_back(label);
    }
  for (int64_t label : r)
    plain &= llvm::is_contained(out, label) || llvm::is_contained(l, label);
  if (!plain || m.empty() || n.empty() || k.empty())
    return contractAsKernel(contract);

  MLIRContext *ctx = b.getContext();
  Value lhs = contract.getLhs(), rhs = contract.getRhs();
  auto sizeOf = [&](ArrayRef<int64_t> labels) {
    SizeAttr size = SizeAttr::constant(ctx, 1);
    for (int64_t label : labels) {
      const auto *it = llvm::find(l, label);
      size = size.mul(it != l.end() ? dimsOf(contract.getLhs())[it - l.begin()]
                                    : dimsOf(contract.getRhs())[llvm::find(r, label) - r.begin()]);
    }
    return size;
  };
  // BLAS reads each operand as rows by columns, either way round; another order of dimensions is brought into shape
  // first.
  auto arrange = [&](Value value, ArrayRef<int64_t> labels, ArrayRef<int64_t> wanted) -> Value {
    SmallVector<int64_t> perm = llvm::map_to_vector(
        wanted, [&](int64_t label) -> int64_t { return llvm::find(labels, label) - labels.begin(); });
    SmallVector<SizeAttr> sizes = llvm::map_to_vector(perm, [&](int64_t d) { return dimsOf(value)[d]; });
    return TransposeOp::create(b, loc, tensorType(sizes, elementOf(value)), value, perm);
  };
  bool transposeLhs = isConcat(l, k, m), transposeRhs = isConcat(r, n, k);
  if (!transposeLhs && !isConcat(l, m, k)) {
    SmallVector<int64_t> wanted(m);
    wanted.append(k);
    lhs = arrange(lhs, l, wanted);
  }
  if (!transposeRhs && !isConcat(r, k, n)) {
    SmallVector<int64_t> wanted(k);
    wanted.append(n);
    rhs = arrange(rhs, r, wanted);
  }
  SmallVector<int64_t> natural(m);
  natural.append(n);
  auto dimOf = [&](int64_t label) { return dimsOf(contract.getResult())[llvm::find(out, label) - out.begin()]; };
  SmallVector<SizeAttr> naturalDims = llvm::map_to_vector(natural, dimOf);
  Value product;
  if (isConcat(out, n, m) && !n.empty() && out != ArrayRef(natural)) {
    // The transposed product: swap the operands instead of the result.
    product = GemmOp::create(b, loc, resultType(), rhs, lhs, Value(), !transposeRhs, !transposeLhs, sizeOf(n),
                             sizeOf(m), sizeOf(k));
    return replace(product);
  }
  product = GemmOp::create(b, loc, tensorType(naturalDims, resultType().getElementType()), lhs, rhs, Value(),
                           transposeLhs, transposeRhs, sizeOf(m), sizeOf(n), sizeOf(k));
  if (out != ArrayRef(natural)) {
    SmallVector<int64_t> perm = llvm::map_to_vector(
        out, [&](int64_t label) -> int64_t { return llvm::find(natural, label) - natural.begin(); });
    product = TransposeOp::create(b, loc, resultType(), product, perm);
  }
  return replace(product);
}

LogicalResult Former::contractAsKernel(ContractOp contract) {
  KernelBuilder kernel(b, loc, label);
  DenseMap<int64_t, AffineExpr> iterators;
  ArrayRef<int64_t> l = contract.getLhsLabels(), r = contract.getRhsLabels(), out = contract.getResultLabels();
  bool reduces = false;
  auto add = [&](ArrayRef<int64_t> labels, Value value) {
    for (auto [label, size] : llvm::zip(labels, dimsOf(value)))
      if (!iterators.contains(label)) {
        bool reduced = !llvm::is_contained(out, label);
        reduces |= reduced;
        iterators[label] = kernel.iterator(reduced ? IteratorKind::Reduction : IteratorKind::Parallel, size);
      }
  };
  // Without parallel iterators in front, the operands' own order of dimensions keeps the reads in order.
  if (!out.empty())
    add(out, contract.getResult());
  add(l, contract.getLhs());
  add(r, contract.getRhs());
  auto position = [&](ArrayRef<int64_t> labels) {
    return llvm::map_to_vector(labels, [&](int64_t label) { return iterators[label]; });
  };
  KernelBuilder::Operand lhs = kernel.input(contract.getLhs(), position(l)),
                         rhs = kernel.input(contract.getRhs(), position(r));
  kernel.result(resultType(), position(out), reduces ? CombineKind::Sum : CombineKind::None);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    Value x = scalarOf(body, loc, lhs, inputs), y = scalarOf(body, loc, rhs, inputs);
    if (isa<FloatType>(x.getType()))
      return SmallVector<Value>{arith::MulFOp::create(body, loc, x, y)};
    return SmallVector<Value>{arith::MulIOp::create(body, loc, x, y)};
  });
  return replace(result.getResults());
}

LogicalResult Former::concat(ConcatOp concat) {
  Value whole = EmptyOp::create(b, loc, resultType(), Value());
  SizeAttr begin = SizeAttr::constant(b.getContext(), 0);
  for (Value part : concat.getSources()) {
    KernelBuilder kernel(b, loc, label);
    SmallVector<AffineExpr> point = parallel(kernel, dimsOf(part)), target(point);
    target[concat.getDim()] = target[concat.getDim()] + kernel.size(begin);
    KernelBuilder::Operand operand = kernel.input(part, point);
    kernel.result(resultType(), target, CombineKind::None, {}, whole);
    whole = kernel
                .create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
                  return SmallVector<Value>{scalarOf(body, loc, operand, inputs)};
                })
                .getResult(0);
    begin = begin.add(dimsOf(part)[concat.getDim()]);
  }
  return replace(whole);
}

LogicalResult Former::unslice(UnsliceOp unslice) {
  KernelBuilder zeros(b, loc, label);
  SmallVector<AffineExpr> all = parallel(zeros, dimsOf(unslice.getResult()));
  // Zeros in a buffer of their own: equal ones would become one, and each is written to.
  zeros.result(resultType(), all, CombineKind::None, {}, EmptyOp::create(b, loc, resultType(), Value()));
  Value whole = zeros
                    .create([&](OpBuilder &body, ValueRange, ValueRange, ValueRange) {
                      return SmallVector<Value>{
                          arith::ConstantOp::create(body, loc, body.getZeroAttr(resultType().getElementType()))};
                    })
                    .getResult(0);
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(unslice.getSource())), target(point);
  target[unslice.getDim()] = target[unslice.getDim()] * unslice.getStep() + kernel.size(unslice.getFrom());
  KernelBuilder::Operand operand = kernel.input(unslice.getSource(), point);
  kernel.result(resultType(), target, CombineKind::None, {}, whole);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    return SmallVector<Value>{scalarOf(body, loc, operand, inputs)};
  });
  return replace(result.getResults());
}

LogicalResult Former::iota(IotaOp iota) {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(iota.getResult()));
  kernel.result(resultType(), point);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange, ValueRange, ValueRange iterators) {
    return SmallVector<Value>{
        arith::IndexCastOp::create(body, loc, resultType().getElementType(), iterators[iota.getDim()])};
  });
  return replace(result.getResults());
}

LogicalResult Former::uniform(UniformOp uniform) {
  // The counter of a draw is the logical index of its element. Its strides are constants of the body; where they are
  // not constant, one flat iterator is that index.
  SmallVector<SizeAttr> sizes(dimsOf(uniform.getResult()));
  bool isFlat = llvm::any_of(ArrayRef(sizes).drop_front(sizes.empty() ? 0 : 1),
                             [](SizeAttr size) { return !size.getConstant(); });
  if (isFlat)
    sizes = {product(b.getContext(), sizes)};
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, sizes);
  KernelBuilder::Operand key = kernel.input(uniform.getKey(), {});
  FloatType real = cast<FloatType>(resultType().getElementType());
  kernel.result(tensorType(sizes, real), point);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange iterators) {
    Value counter = arith::ConstantOp::create(body, loc, body.getI64IntegerAttr(0));
    for (auto [size, iterator] : llvm::zip(sizes, iterators)) {
      Value number = arith::IndexCastOp::create(body, loc, body.getI64Type(), iterator);
      if (iterator == iterators.front()) {
        counter = number;
        continue;
      }
      Value stride = arith::ConstantOp::create(body, loc, body.getI64IntegerAttr(*size.getConstant()));
      counter = arith::AddIOp::create(body, loc, arith::MulIOp::create(body, loc, counter, stride), number);
    }
    Value keyValue = scalarOf(body, loc, key, inputs);
    auto word = [&](int64_t number, int64_t drop) -> Value {
      Value bits = RandomBitsOp::create(body, loc, body.getI32Type(), keyValue, counter, number);
      Value shift = arith::ConstantOp::create(body, loc, body.getI32IntegerAttr(drop));
      // At most 27 bits are left, so the signed conversion is the unsigned one.
      return arith::SIToFPOp::create(body, loc, real, arith::ShRUIOp::create(body, loc, bits, shift));
    };
    auto constant = [&](double value) -> Value {
      return arith::ConstantOp::create(body, loc, body.getFloatAttr(real, value));
    };
    if (real.isF32())
      return SmallVector<Value>{arith::MulFOp::create(body, loc, word(0, 8), constant(0x1p-24))};
    // 53 bits from two words: 27 high ones and 26 low ones.
    Value high = arith::MulFOp::create(body, loc, word(0, 5), constant(0x1p-27));
    Value low = arith::MulFOp::create(body, loc, word(1, 6), constant(0x1p-53));
    return SmallVector<Value>{arith::AddFOp::create(body, loc, high, low)};
  });
  return replace(reshaped(result.getResult(0), dimsOf(uniform.getResult())));
}

/// Writes a value into a part of another one, which is the init of the kernel: `place` turns positions in the value
/// into those in the whole.
LogicalResult Former::update(Value target, Value value,
                             llvm::function_ref<void(KernelBuilder &, SmallVectorImpl<AffineExpr> &)> place) {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(value)), at(point);
  place(kernel, at);
  KernelBuilder::Operand operand = kernel.input(value, point);
  kernel.result(resultType(), at, CombineKind::None, {}, target);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
    return SmallVector<Value>{scalarOf(body, loc, operand, inputs)};
  });
  return replace(result.getResults());
}

LogicalResult Former::updateIndex(UpdateIndexOp op) {
  return update(op.getTarget(), op.getValue(), [&](KernelBuilder &kernel, SmallVectorImpl<AffineExpr> &at) {
    at.insert(at.begin() + op.getDim(), kernel.index(op.getPosition(), {}, false));
  });
}

LogicalResult Former::updateSlice(UpdateSliceOp op) {
  return update(op.getTarget(), op.getValue(), [&](KernelBuilder &kernel, SmallVectorImpl<AffineExpr> &at) {
    at[op.getDim()] = at[op.getDim()] * op.getStep() + kernel.size(op.getFrom());
  });
}

LogicalResult Former::run() {
  if (isElementwise(op))
    return elementwise();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<BroadcastOp, TransposeOp, SliceOp>([&](auto) { return copy(); })
      .Case([&](GatherOp o) { return gather(o); })
      .Case([&](SegmentReduceOp o) { return segmentReduce(o); })
      .Case([&](ShareSumOp o) { return shareSum(o); })
      .Case([&](ReduceOp o) { return reduce(o); })
      .Case([&](ArgReduceOp o) { return argReduce(o); })
      .Case([&](ContractOp o) { return contract(o); })
      .Case([&](ConcatOp o) { return concat(o); })
      .Case([&](UnsliceOp o) { return unslice(o); })
      .Case([&](IotaOp o) { return iota(o); })
      .Case([&](UniformOp o) { return uniform(o); })
      .Case([&](SelectIndexOp o) { return isView(o) ? success() : copy(); })
      .Case([&](UpdateIndexOp o) { return updateIndex(o); })
      .Case([&](UpdateSliceOp o) { return updateSlice(o); })
      .Case<NondiffOp, SavedOp, NoRuleOp>([&](auto o) { return replace(o->getOperand(0)); })
      // Structure, scalars of the host, memory and constants are for the lowering.
      .Case<EndpointOp, DegreeOp, AddSelfLoopsOp, OrderOp, OrderByOp, SizeOp, DefineSizeOp, FoldKeyOp, ReshapeOp,
            EmptyOp, KernelOp, GemmOp, CheckIndexOp, IfOp, ForOp, WhileOp, YieldOp, arith::ConstantOp, func::ReturnOp>(
          [](auto) { return success(); })
      .Default([&](Operation *o) {
        return o->emitError("this op has no kernel; this is a fault of gnnc, please report it");
      });
}

/// Whether a value is memory that a kernel or a product of this function wrote, so that it can be written where
/// the caller wants it.
bool isOwnMemory(Value value) { return isa_and_present<KernelOp, GemmOp, IfOp, ForOp, WhileOp>(value.getDefiningOp()); }

struct FormKernelsPass : gnnc::gnn::impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    if (failed(form(func.getBody().front())))
      return signalPassFailure();
    forEachBlock(func, [&](Block &block) { formRest(block); });
    separateResults(cast<func::ReturnOp>(func.getBody().front().getTerminator()));
    forEachBlock(func, [&](Block &block) { dropDead(block); });
  }

  /// From the last op to the first, those inside of branches and loops in their place: a user that follows its
  /// operand's re-indexing finds it still there, and what nobody reads any more is dropped before it becomes a kernel.
  LogicalResult form(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops)) {
      if (isOpTriviallyDead(op)) {
        op->erase();
        continue;
      }
      if (isa<IfOp, ForOp, WhileOp>(op))
        for (Region &region : op->getRegions())
          if (failed(form(region.front())))
            return failure();
      if (failed(Former(op).run()))
        return failure();
    }
    return success();
  }

  /// Forms the ops that forming others brought in: transposes before a product, for example.
  void formRest(Block &block) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (isOpTriviallyDead(&op)) {
          op.erase();
          continue;
        }
        auto select = dyn_cast<SelectIndexOp>(op);
        if (isa<BroadcastOp, TransposeOp, SliceOp, GatherOp>(op) || isElementwise(&op) || (select && !isView(select))) {
          if (failed(Former(&op).run()))
            return signalPassFailure();
          changed = true;
        }
      }
    }
  }

  void dropDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// Every returned value gets memory of its own, which the lowering can place at the caller's.
  void separateResults(func::ReturnOp ret) {
    llvm::SmallSetVector<Value, 8> taken;
    for (OpOperand &operand : ret->getOpOperands()) {
      Value value = operand.get();
      if (!isa<RankedTensorType>(value.getType()))
        continue;
      Value root = rootOf(value);
      if (isOwnMemory(root) && taken.insert(root))
        continue;
      OpBuilder b(ret);
      operand.set(copyOf(b, ret.getLoc(), value));
    }
  }
};

} // namespace
