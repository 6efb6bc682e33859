// Turns tensor ops into row kernels, matrix products and views.
//
// Every op becomes a comprehension of its own; ops that only re-index are folded into the kernels that read them
// (KernelBuilder). What a dead op would have computed is erased on the way.
#include "FormKernels.h"
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

static bool isElementwise(Operation *op) {
  if (isa<SigmoidOp, SoftplusOp, PmulOp>(op))
    return true;
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

LogicalResult KernelFormer::elementwise() {
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

LogicalResult KernelFormer::copy() {
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

LogicalResult KernelFormer::gather(GatherOp gather) {
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

LogicalResult KernelFormer::concat(ConcatOp concat) {
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

LogicalResult KernelFormer::unslice(UnsliceOp unslice) {
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

LogicalResult KernelFormer::iota(IotaOp iota) {
  KernelBuilder kernel(b, loc, label);
  SmallVector<AffineExpr> point = parallel(kernel, dimsOf(iota.getResult()));
  kernel.result(resultType(), point);
  KernelOp result = kernel.create([&](OpBuilder &body, ValueRange, ValueRange, ValueRange iterators) {
    return SmallVector<Value>{
        arith::IndexCastOp::create(body, loc, resultType().getElementType(), iterators[iota.getDim()])};
  });
  return replace(result.getResults());
}

LogicalResult KernelFormer::uniform(UniformOp uniform) {
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
LogicalResult KernelFormer::update(Value target, Value value,
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

LogicalResult KernelFormer::updateIndex(UpdateIndexOp op) {
  return update(op.getTarget(), op.getValue(), [&](KernelBuilder &kernel, SmallVectorImpl<AffineExpr> &at) {
    at.insert(at.begin() + op.getDim(), kernel.index(op.getPosition(), {}, false));
  });
}

LogicalResult KernelFormer::updateSlice(UpdateSliceOp op) {
  return update(op.getTarget(), op.getValue(), [&](KernelBuilder &kernel, SmallVectorImpl<AffineExpr> &at) {
    at[op.getDim()] = at[op.getDim()] * op.getStep() + kernel.size(op.getFrom());
  });
}

LogicalResult KernelFormer::run() {
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
      .Case<EndpointOp, DegreeOp, DeriveOp, SearchOp, OrderOp, OrderByOp, SizeOp, DefineSizeOp, FoldKeyOp, ReshapeOp,
            EmptyOp, KernelOp, GemmOp, CheckIndexOp, IfOp, ForOp, WhileOp, YieldOp, arith::ConstantOp, func::ReturnOp>(
          [](auto) { return success(); })
      .Default([&](Operation *o) {
        return o->emitError("this op has no kernel; this is a fault of gnnc, please report it");
      });
}

namespace {

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
      if (failed(KernelFormer(op).run()))
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
          if (failed(KernelFormer(&op).run()))
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
