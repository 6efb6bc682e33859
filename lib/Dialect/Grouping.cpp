// Groups of entries: combining them and spreading a group's value, over segments and over dimensions.
#include "gnnc/Dialect/Grouping.h"
#include "gnnc/Dialect/Elementwise.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gnnc::gnn;

SmallVector<int64_t> gnnc::gnn::otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(dims, d))
      others.push_back(d);
  return others;
}

static RankedTensorType keepDims(RankedTensorType type, ArrayRef<int64_t> dims) {
  SmallVector<SizeAttr> sizes;
  for (int64_t d : dims)
    sizes.push_back(dimsOf(type)[d]);
  return tensorType(sizes, type.getElementType());
}

/// The same dimensions with other elements.
static RankedTensorType withElement(RankedTensorType type, Type element) { return tensorType(dimsOf(type), element); }

Value gnnc::gnn::sumOver(OpBuilder &builder, Location loc, Value x, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return x;
  auto type = cast<RankedTensorType>(x.getType());
  return ReduceOp::create(builder, loc, keepDims(type, otherDims(type.getRank(), dims)), ReduceKind::Sum, x, dims);
}

Value gnnc::gnn::broadcastTo(OpBuilder &builder, Location loc, RankedTensorType type, Value x, ArrayRef<int64_t> dims) {
  return x.getType() == type ? x : BroadcastOp::create(builder, loc, type, x, dims).getResult();
}

int64_t gnnc::gnn::gatherPosition(ArrayRef<int64_t> dims) { return *llvm::min_element(dims); }

Value gnnc::gnn::gatherAt(OpBuilder &builder, Location loc, RankedTensorType type, Value source, ValueRange indices,
                          int64_t at, ArrayRef<int64_t> dims, Value fill) {
  int64_t indexRank = cast<RankedTensorType>(indices.front().getType()).getRank(), stands = gatherPosition(dims);
  // Where dimension k of `type` stands in what gather gives.
  SmallVector<int64_t> perm, inverse(type.getRank());
  for (int64_t k = 0, other = 0; k < type.getRank(); ++k) {
    if (k >= at && k < at + indexRank) {
      perm.push_back(stands + k - at);
      continue;
    }
    perm.push_back(other < stands ? other : other + indexRank);
    ++other;
  }
  for (auto [k, from] : llvm::enumerate(perm))
    inverse[from] = k;
  Value gathered = GatherOp::create(builder, loc, keepDims(type, inverse), source, indices, fill, dims);
  if (llvm::is_sorted(perm))
    return gathered;
  return TransposeOp::create(builder, loc, type, gathered, perm);
}

bool gnnc::gnn::maybeNone(Value index) { return !isa_and_present<EndpointOp, IotaOp>(index.getDefiningOp()); }

Value gnnc::gnn::anyNone(OpBuilder &builder, Location loc, ValueRange indices) {
  Value any;
  for (Value index : indices) {
    if (!maybeNone(index))
      continue;
    Expr none = Expr(builder, loc, index).isNegativeInteger();
    any = any ? Value(none | none.with(any)) : Value(none);
  }
  return any;
}

Grouping Grouping::along(OpBuilder &builder, Location loc, RankedTensorType entries, ArrayRef<int64_t> dims) {
  Grouping g(builder, loc);
  g.entries = entries;
  g.groups = keepDims(entries, otherDims(entries.getRank(), dims));
  g.dims.assign(dims.begin(), dims.end());
  return g;
}

Grouping Grouping::by(OpBuilder &builder, Location loc, RankedTensorType entries, RankedTensorType groups,
                      ValueRange indices, int64_t at, ArrayRef<int64_t> dims) {
  Grouping g(builder, loc);
  g.entries = entries;
  g.groups = groups;
  g.indices.assign(indices.begin(), indices.end());
  g.dims.assign(dims.begin(), dims.end());
  g.at = at;
  return g;
}

Value Grouping::combine(ReduceKind kind, Value values) const {
  RankedTensorType type = withElement(groups, elementOf(values));
  if (indices.empty())
    return ReduceOp::create(*builder, loc, type, kind, values, dims);
  // Targets that stand apart come side by side first, in the order of their index arrays.
  int64_t first = gatherPosition(dims);
  SmallVector<int64_t> others = otherDims(groups.getRank(), dims), order(others.begin(), others.begin() + first);
  order.append(dims.begin(), dims.end());
  order.append(others.begin() + first, others.end());
  SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(first, first + dims.size()));
  SmallVector<Type> types{keepDims(type, order)};
  if (kind == ReduceKind::Max || kind == ReduceKind::Min)
    types.push_back(withElement(keepDims(type, order), builder->getI32Type()));
  Value result = SegmentReduceOp::create(*builder, loc, types, kind, values, indices, Value(), at, places).getResult();
  if (llvm::is_sorted(order))
    return result;
  SmallVector<int64_t> perm(order.size());
  for (auto [from, to] : llvm::enumerate(order))
    perm[to] = from;
  return TransposeOp::create(*builder, loc, type, result, perm);
}

Value Grouping::spread(Value values) const {
  RankedTensorType type = withElement(entries, elementOf(values));
  if (indices.empty())
    return broadcastTo(*builder, loc, type, values, otherDims(entries.getRank(), dims));
  return gatherAt(*builder, loc, type, values, indices, at, dims);
}

Value Grouping::outside() const {
  Value none = anyNone(*builder, loc, indices);
  if (!none)
    return {};
  int64_t rank = cast<RankedTensorType>(none.getType()).getRank();
  return broadcastTo(*builder, loc, withElement(entries, builder->getI1Type()), none,
                     llvm::to_vector(llvm::seq<int64_t>(at, at + rank)));
}

Value gnnc::gnn::attainsExtremum(OpBuilder &builder, Location loc, const Grouping &groups, Value entries,
                                 Value extremum) {
  Expr x(builder, loc, entries);
  return x.equals(groups.spread(extremum)) | x.isNan();
}

Value gnnc::gnn::shareExtremum(OpBuilder &builder, Location loc, const Grouping &groups, Value entries, Value extremum,
                               Value y) {
  Expr winners(builder, loc, attainsExtremum(builder, loc, groups, entries, extremum));
  Expr count = winners.with(groups.sum(winners.indicator(groups.entriesType())));
  Expr part = winners.with(y) / count.binary<arith::MaximumFOp>(count.constant(1));
  return winners.choose(winners.with(groups.spread(part)), 0.0);
}
