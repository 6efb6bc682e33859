// Computes elementwise values where they are read: the body of a kernel that is a map moves into the kernels that read
// its result, so that the result is never stored.
//
// What pays is decided for each map with all its readers at once, since a value that has to be stored for one of them
// may as well be read by all:
// - a value of edges is computed again by every reader, unless that costs an exponential or a sum each time, or the
//   reader would do so for every feature of a wider message (then grouping keeps it in a buffer beside the loop);
// - a value of nodes is computed again where that moves no more memory than storing it;
// - a scalar always.
#include "gnnc/Dialect/KernelNotes.h"
#include "gnnc/Transforms/Fusion.h"
#include "gnnc/Transforms/KernelBuilder.h"
#include "gnnc/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace gnnc::gnn {
#define GEN_PASS_DEF_INLINEMAPS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc::gnn

using namespace mlir;
using namespace gnnc::gnn;

//===----------------------------------------------------------------------===//
// Kinds of kernels
//===----------------------------------------------------------------------===//

static AffineMap mapAt(ArrayAttr maps, unsigned number) { return cast<AffineMapAttr>(maps[number]).getValue(); }

bool gnnc::gnn::isMap(KernelOp kernel) {
  if (kernel.getNumResults() != 1 || kernel.getOrder() || !kernel.getInits().empty())
    return false;
  for (Attribute kind : kernel.getIterators())
    if (cast<IteratorKindAttr>(kind).getValue() != IteratorKind::Parallel)
      return false;
  AffineMap map = mapAt(kernel.getResultMaps(), 0);
  if (map.getNumResults() != map.getNumDims())
    return false;
  llvm::SmallBitVector seen(map.getNumDims());
  for (AffineExpr position : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(position);
    if (!dim || seen[dim.getPosition()])
      return false;
    seen.set(dim.getPosition());
  }
  return true;
}

static unsigned cost(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return 0;
  if (isa<RandomBitsOp>(op))
    return 60;
  if (isa<math::AbsFOp, math::FmaOp, math::CopySignOp, math::FloorOp, math::CeilOp>(op))
    return 1;
  if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp, arith::DivSIOp, arith::RemSIOp>(op))
    return 6;
  if (isa<math::MathDialect>(op.getDialect()) || isa<SigmoidOp, SoftplusOp>(op))
    return 20;
  return 1;
}

unsigned gnnc::gnn::bodyCost(KernelOp kernel) {
  unsigned sum = 0;
  for (Operation &op : kernel.getBody().front().without_terminator())
    sum += cost(op);
  return sum;
}

llvm::DenseSet<SizeAttr> gnnc::gnn::entrySizes(func::FuncOp func) {
  llvm::DenseSet<SizeAttr> sizes;
  func.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto order = dyn_cast<OrderType>(type))
        sizes.insert(order.getEntries());
  });
  return sizes;
}

bool gnnc::gnn::hasEntries(KernelOp kernel, const llvm::DenseSet<SizeAttr> &entries) {
  return llvm::any_of(kernel.getSpace().getSizes(), [&](SizeAttr size) { return entries.contains(size); });
}

//===----------------------------------------------------------------------===//
// Inlining
//===----------------------------------------------------------------------===//

/// Whether an expression of iterators and indices can be computed in a body: it has no sizes in it.
static bool isComputable(AffineExpr expr, unsigned indices) {
  bool computable = true;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      computable &= symbol.getPosition() < indices;
  });
  return computable;
}

bool gnnc::gnn::canInline(KernelOp map, KernelOp kernel, unsigned input) {
  AffineMap read = mapAt(kernel.getMaps(), input), written = mapAt(map.getResultMaps(), 0);
  unsigned first = map.getInputs().size() + map.getIndices().size();
  // The numbers that the body asks for have to be there for the reader's body too.
  for (auto [position, expr] : llvm::enumerate(written.getResults())) {
    unsigned iterator = cast<AffineDimExpr>(expr).getPosition();
    if (!map.getBody().front().getArgument(first + iterator).use_empty() &&
        !isComputable(read.getResult(position), kernel.getIndices().size()))
      return false;
  }
  return true;
}

namespace {
/// Builds a kernel from another one's parts.
class Inliner {
public:
  Inliner(KernelOp kernel, llvm::function_ref<bool(unsigned)> inlined)
      : kernel(kernel), b(kernel), made(b, kernel.getLoc(), kernel.getLabel()), inlined(inlined) {}
  KernelOp run();
  /// The kernel as one of the entries of an order, of which `entry` is the iterator. `byRow`: a sum over all entries
  /// becomes one for each row.
  KernelOp run(Value order, unsigned entry, bool byRow);

private:
  /// Expressions of a kernel in terms of the one that is built.
  struct Scope {
    SmallVector<AffineExpr> iterators, symbols;
    AffineExpr in(AffineExpr expr) const { return expr.replaceDimsAndSymbols(iterators, symbols); }
    SmallVector<AffineExpr> in(AffineMap map) const {
      return llvm::map_to_vector(map.getResults(), [&](AffineExpr e) { return in(e); });
    }
  };
  struct Input {
    KernelBuilder::Operand operand;               // if it is read
    KernelOp map;                                 // if it is computed
    SmallVector<KernelBuilder::Operand> operands; // of the map
    SmallVector<AffineExpr> indices, iterators;   // of the map
    SmallVector<AffineExpr> mayBeMissing;         // indices at which 0 is read where they are -1
  };

  void readIndices(KernelOp op, Scope &scope);
  Input place(unsigned number, const Scope &scope);
  Value number(OpBuilder &body, AffineExpr expr, ValueRange indices, ValueRange iterators);
  Value compute(OpBuilder &body, Input &input, ValueRange inputs, ValueRange indices, ValueRange iterators);

  KernelOp build(Scope scope);

  KernelOp kernel;
  OpBuilder b;
  KernelBuilder made;
  llvm::function_ref<bool(unsigned)> inlined;
  std::pair<AffineExpr, SizeAttr> rows; // of results by row
};
} // namespace

void Inliner::readIndices(KernelOp op, Scope &scope) {
  for (auto [k, index] : llvm::enumerate(op.getIndices())) {
    // Sizes are symbols behind those of indices; an index's map reads earlier indices only.
    Scope known = scope;
    known.symbols.resize(op.getIndices().size(), b.getAffineConstantExpr(0));
    for (SizeAttr size : op.getOffsets().getSizes())
      known.symbols.push_back(made.size(size));
    scope.symbols.push_back(made.index(index, known.in(mapAt(op.getIndexMaps(), k)), op.getMaybeNone()[k]));
  }
  for (SizeAttr size : op.getOffsets().getSizes())
    scope.symbols.push_back(made.size(size));
}

Inliner::Input Inliner::place(unsigned number, const Scope &scope) {
  Input input;
  AffineMap read = mapAt(kernel.getMaps(), number);
  SmallVector<AffineExpr> position = scope.in(read);
  Value value = kernel.getInputs()[number];
  if (!inlined(number)) {
    input.operand = made.input(value, position);
    return input;
  }
  input.map = value.getDefiningOp<KernelOp>();
  Scope inner;
  inner.iterators.resize(position.size());
  for (auto [expr, at] : llvm::zip(mapAt(input.map.getResultMaps(), 0).getResults(), position))
    inner.iterators[cast<AffineDimExpr>(expr).getPosition()] = at;
  readIndices(input.map, inner);
  for (auto [k, operand] : llvm::enumerate(input.map.getInputs()))
    input.operands.push_back(made.input(operand, inner.in(mapAt(input.map.getMaps(), k))));
  input.indices.assign(inner.symbols.begin(), inner.symbols.begin() + input.map.getIndices().size());
  input.iterators = inner.iterators;
  for (unsigned k = 0; k < kernel.getIndices().size(); ++k)
    if (kernel.getMaybeNone()[k] && read.isFunctionOfSymbol(k))
      input.mayBeMissing.push_back(scope.symbols[k]);
  return input;
}

/// The value of an expression of iterators and indices, as an index.
Value Inliner::number(OpBuilder &body, AffineExpr expr, ValueRange indices, ValueRange iterators) {
  Location loc = kernel.getLoc();
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(body, loc, constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return iterators[dim.getPosition()];
  if (int64_t index = KernelBuilder::indexNumber(expr); index >= 0)
    return arith::IndexCastOp::create(body, loc, body.getIndexType(), indices[index]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value left = number(body, binary.getLHS(), indices, iterators);
  Value right = number(body, binary.getRHS(), indices, iterators);
  if (expr.getKind() == AffineExprKind::Add)
    return arith::AddIOp::create(body, loc, left, right);
  return arith::MulIOp::create(body, loc, left, right);
}

Value Inliner::compute(OpBuilder &body, Input &input, ValueRange inputs, ValueRange indices, ValueRange iterators) {
  Location loc = kernel.getLoc();
  auto scalar = [&](const KernelBuilder::Operand &operand) -> Value {
    if (operand.number >= 0)
      return inputs[operand.number];
    return arith::ConstantOp::create(body, loc, operand.constant);
  };
  if (!input.map)
    return scalar(input.operand);
  Block &block = input.map.getBody().front();
  IRMapping mapping;
  unsigned at = 0;
  for (const KernelBuilder::Operand &operand : input.operands)
    mapping.map(block.getArgument(at++), scalar(operand));
  for (AffineExpr index : input.indices) {
    // An index may have become the row.
    BlockArgument argument = block.getArgument(at++);
    if (argument.use_empty())
      continue;
    int64_t k = KernelBuilder::indexNumber(index);
    Value value = k >= 0 ? indices[k] : number(body, index, indices, iterators);
    if (k < 0)
      value = arith::IndexCastOp::create(body, loc, body.getI32Type(), value);
    mapping.map(argument, value);
  }
  for (AffineExpr iterator : input.iterators) {
    BlockArgument argument = block.getArgument(at++);
    if (!argument.use_empty())
      mapping.map(argument, number(body, iterator, indices, iterators));
  }
  for (Operation &op : block.without_terminator())
    body.clone(op, mapping);
  Value result = mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
  Value missing;
  for (AffineExpr index : input.mayBeMissing) {
    int64_t k = KernelBuilder::indexNumber(index);
    if (k < 0)
      continue;
    Value zero = arith::ConstantOp::create(body, loc, body.getI32IntegerAttr(0));
    Value none = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::slt, indices[k], zero);
    missing = missing ? arith::OrIOp::create(body, loc, missing, none).getResult() : none;
  }
  if (!missing)
    return result;
  Value zero = arith::ConstantOp::create(body, loc, body.getZeroAttr(result.getType()));
  return arith::SelectOp::create(body, loc, missing, zero, result);
}

KernelOp Inliner::run() {
  Scope scope;
  for (auto [kind, size] : llvm::zip(kernel.getIterators(), kernel.getSpace().getSizes()))
    scope.iterators.push_back(made.iterator(cast<IteratorKindAttr>(kind).getValue(), size));
  if (kernel.getOrder())
    made.setOrder(kernel.getOrder());
  return build(std::move(scope));
}

KernelOp Inliner::run(Value order, unsigned entry, bool byRow) {
  auto type = cast<OrderType>(order.getType());
  AffineExpr row = made.iterator(IteratorKind::Parallel, type.getRows());
  if (byRow)
    rows = {row, type.getRows()};
  AffineExpr segment = made.iterator(IteratorKind::Segment, type.getEntries());
  made.setOrder(order);
  Scope scope;
  for (auto [i, kind, size] : llvm::enumerate(kernel.getIterators(), kernel.getSpace().getSizes()))
    scope.iterators.push_back(i == entry ? segment : made.iterator(cast<IteratorKindAttr>(kind).getValue(), size));
  return build(std::move(scope));
}

KernelOp Inliner::build(Scope scope) {
  readIndices(kernel, scope);
  std::vector<Input> inputs;
  for (unsigned i = 0; i < kernel.getInputs().size(); ++i)
    inputs.push_back(place(i, scope));
  for (auto [k, result] : llvm::enumerate(kernel.getResults())) {
    TypedAttr empty = kernel.getEmpties() ? dyn_cast<TypedAttr>((*kernel.getEmpties())[k]) : TypedAttr();
    Value init = kernel.getInits().empty() ? Value() : kernel.getInits()[k];
    SmallVector<AffineExpr> position = scope.in(mapAt(kernel.getResultMaps(), k));
    Type type = result.getType();
    if (rows.second) {
      SmallVector<SizeAttr> dims(dimsOf(type));
      dims.insert(dims.begin(), rows.second);
      type = tensorType(dims, elementOf(result));
      position.insert(position.begin(), rows.first);
    }
    made.result(type, position, cast<CombineKindAttr>(kernel.getCombines()[k]).getValue(), empty, init);
  }
  KernelOp result = made.create([&](OpBuilder &body, ValueRange values, ValueRange indices, ValueRange iterators) {
    Block &block = kernel.getBody().front();
    IRMapping mapping;
    unsigned at = 0;
    for (Input &input : inputs)
      mapping.map(block.getArgument(at++), compute(body, input, values, indices, iterators));
    for (unsigned k = 0; k < kernel.getIndices().size(); ++k) {
      BlockArgument argument = block.getArgument(at++);
      if (argument.use_empty())
        continue;
      int64_t number = KernelBuilder::indexNumber(scope.symbols[k]);
      Value value = number >= 0 ? indices[number]
                                : arith::IndexCastOp::create(body, kernel.getLoc(), body.getI32Type(),
                                                             this->number(body, scope.symbols[k], indices, iterators))
                                      .getResult();
      mapping.map(argument, value);
    }
    for (AffineExpr iterator : scope.iterators)
      mapping.map(block.getArgument(at++), iterators[cast<AffineDimExpr>(iterator).getPosition()]);
    for (Operation &op : block.without_terminator())
      body.clone(op, mapping);
    return llvm::map_to_vector(block.getTerminator()->getOperands(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  });
  for (NamedAttribute attribute : kernel->getDiscardableAttrs())
    result->setDiscardableAttr(attribute.getName(), attribute.getValue());
  return result;
}

KernelOp gnnc::gnn::inlineMaps(KernelOp kernel, llvm::function_ref<bool(unsigned)> inlined) {
  KernelOp result = Inliner(kernel, inlined).run();
  KernelNotes notes = KernelNotes::of(kernel);
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    if (!inlined(i) || !seen.insert(input.getDefiningOp()).second)
      continue;
    auto map = input.getDefiningOp<KernelOp>();
    llvm::append_range(notes.inlined, KernelNotes::of(map).inlined);
    notes.inlined.push_back(NameLoc::get(StringAttr::get(kernel.getContext(), kernelTitle(map)), map.getLoc()));
  }
  notes.set(result);
  return result;
}

KernelOp gnnc::gnn::ofEntries(KernelOp kernel, Value order, unsigned entry) {
  return Inliner(kernel, [](unsigned) { return false; }).run(order, entry, /*byRow=*/false);
}

KernelOp gnnc::gnn::sumByRow(KernelOp kernel, Value order, unsigned entry) {
  return Inliner(kernel, [](unsigned) { return false; }).run(order, entry, /*byRow=*/true);
}

//===----------------------------------------------------------------------===//
// What pays
//===----------------------------------------------------------------------===//

namespace {
struct InlineMapsPass : gnnc::gnn::impl::InlineMapsBase<InlineMapsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    entries = entrySizes(func);
    forEachBlock(func, [&](Block &block) { inlineIn(block); });
  }

private:
  void inlineIn(Block &block) {
    // From the first to the last, so that a map has taken in what it reads itself.
    SmallVector<KernelOp> kernels(block.getOps<KernelOp>());
    for (KernelOp &kernel : kernels) {
      if (!isMap(kernel) || kernel.use_empty())
        continue;
      if (std::optional<std::string> reason = whyStored(kernel)) {
        KernelNotes notes = KernelNotes::of(kernel);
        notes.stored = *reason;
        notes.set(kernel);
        continue;
      }
      KernelNotes::identify(kernel);
      SmallVector<KernelOp> readers;
      for (Operation *user : kernel->getUsers())
        if (!llvm::is_contained(readers, cast<KernelOp>(user)))
          readers.push_back(cast<KernelOp>(user));
      for (KernelOp reader : readers) {
        KernelOp fused =
            inlineMaps(reader, [&](unsigned input) { return reader.getInputs()[input] == kernel.getResult(0); });
        for (KernelOp &other : kernels)
          if (other == reader)
            other = fused;
        reader.replaceAllUsesWith(fused.getResults());
        reader.erase();
      }
      kernel.erase();
    }
  }

  /// How a map is read by one input of a kernel.
  struct Reading {
    bool gathered = false; // at an index: any number of times
    bool repeated = false; // more than once for each element, but not at an index
    bool wider = false;    // by a kernel with iterators that the value has not
  };
  Reading readingOf(KernelOp reader, unsigned input);
  /// Why a map isn't computed by its readers; nothing where it is.
  std::optional<std::string> whyStored(KernelOp map);

  llvm::DenseSet<SizeAttr> entries;
};
} // namespace

InlineMapsPass::Reading InlineMapsPass::readingOf(KernelOp reader, unsigned input) {
  AffineMap read = mapAt(reader.getMaps(), input);
  Reading reading;
  for (unsigned k = 0; k < reader.getIndices().size(); ++k)
    reading.gathered |= read.isFunctionOfSymbol(k);
  for (unsigned d = 0; d < read.getNumDims(); ++d) {
    if (read.isFunctionOfDim(d) || reader.getSpace().getSizes()[d].getConstant() == 1)
      continue;
    // An entry has one row; what a row has is read for each of its entries.
    if (reader.getOrder() && d == 0 && (reading.gathered || read.isFunctionOfDim(1)))
      continue;
    reading.repeated = true;
    reading.wider |= !reader.getOrder() || d > 1;
  }
  return reading;
}

std::optional<std::string> InlineMapsPass::whyStored(KernelOp map) {
  unsigned cost = bodyCost(map), readers = 0;
  bool gathered = false, repeated = false, wider = false;
  for (OpOperand &use : map->getUses()) {
    auto reader = dyn_cast<KernelOp>(use.getOwner());
    if (!reader || reader->getBlock() != map->getBlock())
      return describeReader(use.getOwner());
    unsigned first = reader.getInputs().getBeginOperandIndex();
    if (use.getOperandNumber() < first || use.getOperandNumber() >= first + reader.getInputs().size())
      return "read as an index by " + describeKernel(reader);
    unsigned input = use.getOperandNumber() - first;
    if (!canInline(map, reader, input))
      return describeKernel(reader) + " does not know the position that its value depends on";
    if (bodyCost(reader) + cost > 400)
      return describeKernel(reader) + " would become too long";
    Reading reading = readingOf(reader, input);
    gathered |= reading.gathered;
    repeated |= reading.repeated;
    wider |= reading.wider;
    ++readers;
  }
  const std::string eachReader = "too costly to compute in each of " + std::to_string(readers) + " readers";
  auto unless = [](bool pays, std::string reason) -> std::optional<std::string> {
    return pays ? std::optional<std::string>() : std::move(reason);
  };
  bool heavy = cost >= 20;
  if (map.getIterators().empty())
    return unless(cost <= 40, "too costly to compute for every element");
  if (hasEntries(map, entries)) {
    if (gathered)
      return unless(cost <= 2, "would be computed again wherever it is gathered");
    // A wider reader computes it for each of its features.
    if (wider)
      return unless(cost == 0 || (cost <= 1 && readers == 1), "would be computed for each feature of what reads it");
    return unless(readers == 1 || !heavy, eachReader);
  }
  // Operands as large as the value itself, which are what is read in its place.
  unsigned full = 0;
  for (Attribute attr : map.getMaps()) {
    AffineMap read = cast<AffineMapAttr>(attr).getValue();
    bool all = true;
    for (unsigned d = 0; d < read.getNumDims(); ++d)
      all &= read.isFunctionOfDim(d);
    full += all;
  }
  if (gathered)
    return unless(cost <= 2 && full <= 1 && map.getInputs().size() <= full + 1 && map.getIndices().empty(),
                  "would be computed again wherever it is gathered");
  if (repeated)
    return unless(cost <= 2 && readers == 1 && full <= 1, "would be computed several times for each element");
  return unless(readers == 1 || (!heavy && full * readers <= full + 1 + readers),
                heavy ? eachReader
                      : "its " + std::to_string(readers) + " readers would read more than when it is stored");
}
