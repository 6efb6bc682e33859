// Structure and scalars of an entry's body: graphs and orders that the runtime makes, sizes that the call finds out,
// positions, keys.
#include "BodyEmitter.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::gnn;

/// The addresses of tensors, and all their sizes one behind the other.
std::pair<Value, Value> BodyEmitter::describeInputs(ValueRange inputs) {
  SmallVector<SizeAttr> dims;
  for (Value input : inputs)
    llvm::append_range(dims, dimsOf(input));
  Value addresses = host.local(host.ptr(), std::max<size_t>(inputs.size(), 1)),
        extents = host.local(host.i64(), std::max<size_t>(dims.size(), 1));
  for (auto [i, input] : llvm::enumerate(inputs))
    host.store(pointer(input), addresses, i);
  for (auto [i, dim] : llvm::enumerate(dims))
    host.store(size(dim), extents, i);
  return {addresses, extents};
}

void BodyEmitter::emitDerive(DeriveOp op) {
  GnnGraphType type = op.getResult().getType();
  auto [addresses, extents] = describeInputs(op.getInputs());
  Value numSrc = op.getHow() == Derivation::Induced ? host.integer(-1) : size(type.getSrc()),
        numDst = op.getHow() == Derivation::Induced ? host.integer(-1) : size(type.getDst());
  int32_t dtype = op.getInputs().empty() ? 0 : abiDtype(elementOf(op.getInputs().front()));
  Value made = host.call("gnnrt_derive", host.ptr(),
                         {frame, host.integer32(static_cast<int32_t>(op.getHow())),
                          op.getGraph() ? pointer(op.getGraph()) : host.null(), numSrc, numDst, addresses, extents,
                          host.integer32(dtype), host.integer32(op.getInputs().size())});
  host.returnIfNull(made);
  pointers[op.getResult()] = made;
  for (auto [k, array] : llvm::enumerate(op.getMaps()))
    pointers[array] = host.call("gnnrt_graph_map", host.ptr(), {made, host.integer32(k)});
  if (std::optional<int64_t> set = type.getEdges().getSet(); set && op.getHow() != Derivation::Reverse)
    setSize(*set, host.call("gnnrt_graph_num_edges", host.i64(), {made}));
  if (std::optional<int64_t> set = type.getSrc().getSet(); set && op.getHow() == Derivation::Induced)
    setSize(*set, host.call("gnnrt_graph_num_src", host.i64(), {made}));
}

void BodyEmitter::emitSearch(SearchOp op) {
  auto [addresses, extents] = describeInputs(op.getInputs());
  ArrayRef<SizeAttr> sizes = dimsOf(op.getResult());
  std::string line = sourceLine(op.getLoc());
  host.returnIfFailed(
      host.call("gnnrt_search", host.i32(),
                {frame, host.text(line), host.integer32(static_cast<int32_t>(op.getWhat())),
                 op.getGraph() ? pointer(op.getGraph()) : host.null(), addresses, extents,
                 host.integer32(abiDtype(elementOf(op.getInputs().front()))), host.integer32(op.getInputs().size()),
                 sizes.size() > 1 ? size(sizes[0]) : host.integer(1), size(sizes.back()), pointer(op.getResult())}));
}

void BodyEmitter::setSize(int64_t set, Value value) {
  host.store(value, sizes, set);
  // What was computed with an earlier value is out of date.
  SmallVector<SizeAttr> stale;
  for (auto &[size, known] : sizeValues)
    size.forEachSet([&, size = size](int64_t id) {
      if (id == set)
        stale.push_back(size);
    });
  for (SizeAttr size : stale)
    sizeValues.erase(size);
}

void BodyEmitter::emitDefineSize(DefineSizeOp op) {
  Value zero = host.integer(0), number = integer(op.getNumber());
  setSize(op.getSet(), LLVM::SMaxOp::create(b, host.loc, number, zero));
}

/// The address of an entry of the first dimension.
void BodyEmitter::emitView(SelectIndexOp op) {
  Type element = elementOf(op.getResult());
  Value offset = host.mul(integer(op.getPosition()), size(product(func.getContext(), dimsOf(op.getResult()))));
  Type memory = element.isInteger(1) ? Type(b.getI8Type()) : element;
  pointers[op.getResult()] =
      LLVM::GEPOp::create(b, host.loc, host.ptr(), memory, pointer(op.getSource()), ArrayRef<LLVM::GEPArg>{offset});
}

void BodyEmitter::emitOrderBy(OrderByOp op) {
  auto type = cast<OrderType>(op.getResult().getType());
  Value order = host.call("gnnrt_order_by", host.ptr(),
                          {frame, pointer(op.getIndex()), size(type.getEntries()), size(type.getRows())});
  host.returnIfNull(order);
  pointers[op.getResult()] = order;
}

void BodyEmitter::emitCheck(CheckIndexOp op) {
  Value position = integer(op.getPosition());
  Value inRange = LLVM::ICmpOp::create(b, host.loc, LLVM::ICmpPredicate::ult, position, size(op.getBound()));
  std::string line = sourceLine(op.getLoc());
  std::string message = (line.empty() ? "" : line + ": ") + op.getWhat().str() +
                        " is out of range: it must be from 0 to below " + info.sizeText(op.getBound());
  failUnless(inRange, errorIndex, message);
}

void BodyEmitter::emitSize(SizeOp op) {
  Type element = elementOf(op.getResult());
  Value value = size(op.getSize());
  if (isa<FloatType>(element))
    value = LLVM::SIToFPOp::create(b, host.loc, element, value);
  else if (element != host.i64())
    value = LLVM::TruncOp::create(b, host.loc, element, value);
  Value memory = host.local(element, 1);
  host.store(value, memory);
  pointers[op.getResult()] = memory;
}

void BodyEmitter::emitFoldKey(FoldKeyOp op) {
  auto constant = [&](uint64_t value) { return host.integer(static_cast<int64_t>(value)); };
  auto shifted = [&](Value value, int64_t by) -> Value {
    Value right = LLVM::LShrOp::create(b, host.loc, value, host.integer(by));
    return LLVM::XOrOp::create(b, host.loc, value, right);
  };
  Value number = integer(op.getNumber());
  Value z = host.add(scalar(op.getKey()), host.mul(constant(0x9E3779B97F4A7C15), host.add(number, host.integer(1))));
  z = host.mul(shifted(z, 30), constant(0xBF58476D1CE4E5B9));
  z = host.mul(shifted(z, 27), constant(0x94D049BB133111EB));
  Value memory = host.local(host.i64(), 1);
  host.store(shifted(z, 31), memory);
  pointers[op.getResult()] = memory;
}
