// Builds gnn.kernel ops, following operands through ops that only re-index.
#include "gnnc/Transforms/KernelBuilder.h"

#include "gnnc/Dialect/EntryAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gnnc::gnn;

// While a kernel is built, symbols from here on stand for sizes: how many index operands there will be is not known
// yet.
static constexpr unsigned firstOffset = 1u << 16;

bool gnnc::gnn::mayBeNone(Value index) {
  Operation *def = index.getDefiningOp();
  // Arguments are checked when they are bound: their entries lie within their set. Residuals are as they were kept.
  if (auto arg = dyn_cast<BlockArgument>(index)) {
    // What a loop carries is whatever it made.
    auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    return !func || func.getArgAttr(arg.getArgNumber(), attrs::residual);
  }
  if (isa<EndpointOp, DegreeOp, IotaOp>(def))
    return false;
  if (auto gather = dyn_cast<GatherOp>(def))
    return mayBeNone(gather.getSource()) || llvm::any_of(gather.getIndices(), mayBeNone);
  if (isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, SelectIndexOp, NondiffOp, SavedOp>(def))
    return mayBeNone(def->getOperand(0));
  return true;
}

bool gnnc::gnn::isView(SelectIndexOp select) {
  return select.getDim() == 0 &&
         !isa_and_present<BroadcastOp, TransposeOp, SliceOp, GatherOp>(select.getSource().getDefiningOp());
}

void gnnc::gnn::forEachBlock(func::FuncOp func, llvm::function_ref<void(Block &)> f) {
  if (func.isExternal())
    return;
  func.walk([&](Operation *op) {
    if (isa<IfOp, ForOp, WhileOp, func::FuncOp>(op))
      for (Region &region : op->getRegions())
        f(region.front());
  });
}

Value gnnc::gnn::rootOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getSource();
  return value;
}

AffineExpr KernelBuilder::iterator(IteratorKind kind, SizeAttr size) {
  iterators.push_back(IteratorKindAttr::get(builder.getContext(), kind));
  space.push_back(size);
  return builder.getAffineDimExpr(iterators.size() - 1);
}

void KernelBuilder::setOrder(Value value) { order = value; }

AffineExpr KernelBuilder::size(SizeAttr value) {
  if (auto constant = value.getConstant())
    return builder.getAffineConstantExpr(*constant);
  auto *it = llvm::find(offsets, value);
  unsigned number = it - offsets.begin();
  if (it == offsets.end())
    offsets.push_back(value);
  return builder.getAffineSymbolExpr(firstOffset + number);
}

/// Follows `value` at `position` through one op that only re-indexes. Returns false if there is none.
static bool followReindexing(KernelBuilder &kernel, Builder &b, Value &value, SmallVector<AffineExpr> &position) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return false;
  if (isa<NondiffOp, SavedOp>(def)) {
    value = def->getOperand(0);
    return true;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(def)) {
    SmallVector<AffineExpr> source;
    ArrayRef<SizeAttr> from = dimsOf(broadcast.getSource()), to = dimsOf(broadcast.getResult());
    for (auto [k, dim] : llvm::enumerate(broadcast.getDims()))
      source.push_back(from[k] == to[dim] ? position[dim] : b.getAffineConstantExpr(0));
    value = broadcast.getSource();
    position = source;
    return true;
  }
  if (auto transpose = dyn_cast<TransposeOp>(def)) {
    SmallVector<AffineExpr> source(position.size());
    for (auto [k, dim] : llvm::enumerate(transpose.getPerm()))
      source[dim] = position[k];
    value = transpose.getSource();
    position = source;
    return true;
  }
  if (auto slice = dyn_cast<SliceOp>(def)) {
    position[slice.getDim()] = position[slice.getDim()] * slice.getStep() + kernel.size(slice.getFrom());
    value = slice.getSource();
    return true;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(def)) {
    // A dimension is taken apart, or dimensions of size 1 come or go. Dimensions that are put together would need a
    // division.
    ArrayRef<SizeAttr> from = dimsOf(reshape.getSource()), to = dimsOf(reshape.getResult());
    auto isOne = [](SizeAttr s) { return s.getConstant() == 1; };
    SmallVector<AffineExpr> source;
    size_t next = 0;
    for (SizeAttr size : from) {
      AffineExpr sum = b.getAffineConstantExpr(0);
      SizeAttr covered = SizeAttr::constant(b.getContext(), 1);
      while (covered != size) {
        if (next == to.size())
          return false;
        if (!isOne(to[next]))
          sum = sum * kernel.size(to[next]) + position[next];
        covered = covered.mul(to[next++]);
      }
      source.push_back(sum);
    }
    while (next < to.size())
      if (!isOne(to[next++]))
        return false;
    value = reshape.getSource();
    position = source;
    return true;
  }
  if (auto select = dyn_cast<SelectIndexOp>(def); select && !isView(select)) {
    position.insert(position.begin() + select.getDim(), kernel.index(select.getPosition(), {}, false));
    value = select.getSource();
    return true;
  }
  if (auto gather = dyn_cast<GatherOp>(def)) {
    bool none = llvm::any_of(gather.getIndices(), mayBeNone);
    // A place that is read as 0 must mean 0; an index array's none is -1.
    if (none && (gather.getFill() || isa<IntegerType>(elementOf(gather.getResult()))))
      return false;
    ArrayRef<int64_t> dims = gather.getDims();
    int64_t first = *llvm::min_element(dims);
    int64_t indexRank = cast<RankedTensorType>(gather.getIndices()[0].getType()).getRank();
    ArrayRef<AffineExpr> indexPosition = ArrayRef(position).slice(first, indexRank);
    SmallVector<AffineExpr> source;
    int64_t sourceRank = cast<RankedTensorType>(gather.getSource().getType()).getRank(), next = 0;
    for (int64_t d = 0; d < sourceRank; ++d) {
      const auto *it = llvm::find(dims, d);
      if (d == first)
        next = first + indexRank;
      if (it != dims.end()) {
        source.push_back(kernel.index(gather.getIndices()[it - dims.begin()], indexPosition));
        continue;
      }
      source.push_back(position[next++]);
    }
    value = gather.getSource();
    position = source;
    return true;
  }
  return false;
}

AffineExpr KernelBuilder::index(Value value, ArrayRef<AffineExpr> at, std::optional<bool> none) {
  SmallVector<AffineExpr> position(at);
  while (followReindexing(*this, builder, value, position))
    ;
  // The end of an edge by which the edges are grouped is the row.
  if (order)
    if (auto endpoint = value.getDefiningOp<EndpointOp>())
      if (auto of = order.getDefiningOp<OrderOp>())
        if (of.getGraph() == endpoint.getGraph() && of.getEnd() == endpoint.getEnd() &&
            position[0] == builder.getAffineDimExpr(1))
          return builder.getAffineDimExpr(0);
  for (auto [k, known] : llvm::enumerate(indices))
    if (known == value && indexPositions[k] == position)
      return builder.getAffineSymbolExpr(k);
  indices.push_back(value);
  indexPositions.push_back(position);
  maybeNone.push_back(none ? *none : mayBeNone(value));
  return builder.getAffineSymbolExpr(indices.size() - 1);
}

int64_t KernelBuilder::indexNumber(AffineExpr expr) {
  auto symbol = dyn_cast<AffineSymbolExpr>(expr);
  return symbol && symbol.getPosition() < firstOffset ? symbol.getPosition() : -1;
}

bool KernelBuilder::isSize(AffineExpr expr) {
  auto symbol = dyn_cast<AffineSymbolExpr>(expr);
  return symbol && symbol.getPosition() >= firstOffset;
}

KernelBuilder::Operand KernelBuilder::input(Value value, ArrayRef<AffineExpr> at) {
  SmallVector<AffineExpr> position(at);
  while (followReindexing(*this, builder, value, position))
    ;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()); elements && elements.isSplat())
      return {-1, cast<TypedAttr>(elements.getSplatValue<Attribute>())};
  for (auto [k, known] : llvm::enumerate(inputs))
    if (known == value && positions[k] == position)
      return {static_cast<int64_t>(k), {}};
  inputs.push_back(value);
  positions.push_back(position);
  return {static_cast<int64_t>(inputs.size() - 1), {}};
}

void KernelBuilder::result(Type type, ArrayRef<AffineExpr> position, CombineKind combine, TypedAttr empty, Value init) {
  resultTypes.push_back(type);
  resultPositions.emplace_back(position);
  combines.push_back(CombineKindAttr::get(builder.getContext(), combine));
  empties.push_back(empty ? Attribute(empty) : Attribute(builder.getUnitAttr()));
  anyEmpty |= static_cast<bool>(empty);
  if (init)
    inits.push_back(init);
}

KernelOp KernelBuilder::create(Body body) {
  MLIRContext *ctx = builder.getContext();
  unsigned numSymbols = indices.size() + offsets.size();
  auto toMap = [&](ArrayRef<AffineExpr> exprs) {
    SmallVector<AffineExpr> symbols;
    SmallVector<AffineExpr> replaced;
    DenseMap<AffineExpr, AffineExpr> renumber;
    for (unsigned k = 0; k < offsets.size(); ++k)
      renumber[builder.getAffineSymbolExpr(firstOffset + k)] = builder.getAffineSymbolExpr(indices.size() + k);
    for (AffineExpr e : exprs)
      replaced.push_back(e.replace(renumber));
    return AffineMap::get(iterators.size(), numSymbols, replaced, ctx);
  };
  SmallVector<AffineMap> indexMaps = llvm::map_to_vector(indexPositions, [&](auto &p) { return toMap(p); });
  SmallVector<AffineMap> maps = llvm::map_to_vector(positions, [&](auto &p) { return toMap(p); });
  SmallVector<AffineMap> resultMaps = llvm::map_to_vector(resultPositions, [&](auto &p) { return toMap(p); });
  auto kernel =
      KernelOp::create(builder, loc, resultTypes, order, indices, inputs, inits, builder.getArrayAttr(iterators),
                       DimsAttr::get(ctx, space), DimsAttr::get(ctx, offsets), builder.getAffineMapArrayAttr(indexMaps),
                       builder.getAffineMapArrayAttr(maps), builder.getAffineMapArrayAttr(resultMaps),
                       builder.getArrayAttr(combines), builder.getDenseBoolArrayAttr(maybeNone),
                       anyEmpty ? builder.getArrayAttr(empties) : ArrayAttr(), builder.getStringAttr(label));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody());
  for (Value v : inputs)
    block->addArgument(elementOf(v), loc);
  for (size_t k = 0; k < indices.size(); ++k)
    block->addArgument(builder.getI32Type(), loc);
  for (size_t k = 0; k < iterators.size(); ++k)
    block->addArgument(builder.getIndexType(), loc);
  ValueRange args = block->getArguments();
  SmallVector<Value> yields = body(builder, args.take_front(inputs.size()), args.slice(inputs.size(), indices.size()),
                                   args.take_back(iterators.size()));
  YieldOp::create(builder, loc, yields);
  return kernel;
}

Value gnnc::gnn::copyOf(OpBuilder &builder, Location loc, Value value) {
  KernelBuilder kernel(builder, loc, "copy");
  SmallVector<AffineExpr> point =
      llvm::map_to_vector(dimsOf(value), [&](SizeAttr s) { return kernel.iterator(IteratorKind::Parallel, s); });
  KernelBuilder::Operand in = kernel.input(value, point);
  kernel.result(value.getType(), point);
  return kernel
      .create([&](OpBuilder &body, ValueRange inputs, ValueRange, ValueRange) {
        return SmallVector<Value>{in.number >= 0 ? inputs[in.number]
                                                 : arith::ConstantOp::create(body, loc, in.constant).getResult()};
      })
      .getResult(0);
}
