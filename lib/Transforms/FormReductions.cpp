// Kernels of what combines elements: segment reductions, reductions over dimensions, contractions.
#include "FormKernels.h"

using namespace mlir;
using namespace gnnc::gnn;

static CombineKind combineOf(ReduceKind kind) {
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

/// The constant that a 0-d operand holds, if it is one.
static TypedAttr constantOf(Value scalar) {
  auto constant = scalar ? scalar.getDefiningOp<arith::ConstantOp>() : nullptr;
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? cast<TypedAttr>(elements.getSplatValue<Attribute>()) : TypedAttr();
}

LogicalResult KernelFormer::segmentReduce(SegmentReduceOp reduce) {
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

LogicalResult KernelFormer::shareSum(ShareSumOp share) {
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

LogicalResult KernelFormer::reduce(ReduceOp reduce) {
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

LogicalResult KernelFormer::argReduce(ArgReduceOp reduce) {
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
static bool isConcat(ArrayRef<int64_t> labels, ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  return labels.size() == first.size() + second.size() && labels.take_front(first.size()) == first &&
         labels.take_back(second.size()) == second;
}

LogicalResult KernelFormer::contract(ContractOp contract) {
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

LogicalResult KernelFormer::contractAsKernel(ContractOp contract) {
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
