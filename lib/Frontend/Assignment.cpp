// Assignment to parts of tensors: v[t] = e, v[a:b] += e, v[idx] = e. The whole gets a new value in which that part is
// replaced; where nothing else needs the old one, later passes do it in place.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

/// A value as what stands at the places that are written: of their element type and shape, scalars repeated.
std::optional<Value> Elaborator::fitPart(const Value &value, Elem elem, ArrayRef<Dim> dims, SizeAttr target,
                                         SourceRange range) {
  if (!value.type->isTensor()) {
    diags.error(Diag::badOperand, range, "expected " + str(tensor(elem, dims, target)) + ", found " + describe(value));
    return std::nullopt;
  }
  Value v = value;
  bool adapts = isLiteral(v.type->elem) && (elem != Elem::index && elem != Elem::key && elem != Elem::boolean) &&
                !(v.type->elem == Elem::number && !isFloat(elem)) && literalFits(v, elem);
  if (adapts)
    v = materialise(v, elem, loc(range));
  if (v.type->elem != elem || (elem == Elem::index && v.type->target != target)) {
    diags.error(Diag::typeMismatch, range,
                "expected " + str(tensor(elem, dims, target)) + ", found " + describe(value));
    return std::nullopt;
  }
  return broadcastInto(v, dims, range);
}

/// Whether brackets hold index arrays; no answer after an error in them.
std::optional<bool> Elaborator::hasIndexArrays(const ast::IndexExpr *target) {
  for (const ast::Expr *item : target->items) {
    if (isa<ast::SliceExpr, ast::NoneExpr, ast::PackExpr, ast::IntLit>(item))
      continue;
    // What this builds is not used: the expression is evaluated again where it is needed.
    Block scratch;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&scratch);
    size_t known = conditions.size(), sets = setNames.size();
    auto numbers = numberSizes;
    Value v = expr(item);
    conditions.resize(known);
    if (!checking)
      setNames.resize(sets);
    numberSizes = std::move(numbers);
    bool isIndex = v.type->isTensor() && v.type->elem == Elem::index, isError = v.isError();
    scratch.dropAllReferences();
    scratch.clear();
    if (isError)
      return std::nullopt;
    if (isIndex)
      return true;
  }
  return false;
}

/// Where index arrays in brackets write: alone by identity, else by position, among whole dimensions.
std::optional<Elaborator::Places> Elaborator::placesOf(const Value &base, const ast::IndexExpr *target) {
  Places places;
  if (target->items.size() == 1) {
    Value i = expr(target->items[0]);
    if (i.isError())
      return std::nullopt;
    Value read = gatherByIdentity(base, i, target->items[0]->range, target->base);
    if (read.isError())
      return std::nullopt;
    auto gather = read.ir.getDefiningOp<gnn::GatherOp>();
    for (auto [k, d] : llvm::enumerate(base.type->dims))
      if (gather && irPosition(base.type->dims, k) == gather.getDims()[0])
        places.dims.push_back(k);
    places.indices.push_back(i);
    places.shape = read.type->dims;
    return places;
  }
  unsigned at = 0;
  for (const ast::Expr *item : target->items) {
    if (isa<ast::PackExpr>(item)) {
      at += base.type->dims.size() - (target->items.size() - 1);
      continue;
    }
    if (at >= base.type->dims.size()) {
      diags.error(Diag::badIndex, target->range,
                  "too many indices: " + str(base.type) + " has " + counted(base.type->dims.size(), "dimension"));
      return std::nullopt;
    }
    if (const auto *s = dyn_cast<ast::SliceExpr>(item); s && !s->begin && !s->end && !s->step) {
      ++at;
      continue;
    }
    Value i = isa<ast::SliceExpr, ast::NoneExpr>(item) ? unitValue() : expr(item);
    if (i.isError())
      return std::nullopt;
    if (!i.type->isTensor() || i.type->elem != Elem::index) {
      notSupported(item->range, "assigning by index arrays and integers or slices at once");
      return std::nullopt;
    }
    if (base.type->dims[at].kind == Dim::pack || base.type->dims[at].extent != i.type->target) {
      diags.error(Diag::badIndex, item->range,
                  "this index points into " + str(i.type->target) + ", but position " + llvm::Twine(at) + " of " +
                      str(base.type) + " is " + str(base.type->dims[at].extent));
      return std::nullopt;
    }
    places.dims.push_back(at++);
    places.indices.push_back(i);
  }
  SmallVector<SourceRange> ranges(places.indices.size(), target->range);
  if (places.indices.size() > 1 && !jointShape(places.indices, ranges, target->range))
    return std::nullopt;
  for (auto [k, d] : llvm::enumerate(base.type->dims)) {
    if (k == places.dims.front())
      llvm::append_range(places.shape, places.indices.front().type->dims);
    if (!llvm::is_contained(places.dims, k))
      places.shape.push_back(d);
  }
  return places;
}

/// v[idx] += e: what several entries add to one place is summed.
Value Elaborator::addPart(const ast::AssignStmt *s, const ast::IndexExpr *target, const Value &value) {
  Value base = expr(target->base);
  if (base.isError())
    return base;
  if (!base.type->isTensor() || isLiteral(base.type->elem)) {
    diags.error(Diag::badOperand, target->base->range, "brackets index tensors, found " + describe(base));
    return errorValue();
  }
  if (s->op != ast::AssignOp::add && s->op != ast::AssignOp::sub) {
    diags.error(Diag::notAssignable, s->opRange,
                "places named by an index array can be assigned with =, += and -= only: several entries may name one");
    return errorValue();
  }
  std::optional<Places> places = placesOf(base, target);
  if (!places)
    return errorValue();
  std::optional<Value> part = fitPart(value, base.type->elem, places->shape, base.type->target, s->value->range);
  if (!part)
    return errorValue();
  Location at = loc(s->range);
  SmallVector<mlir::Value> indices;
  for (const Value &i : places->indices)
    indices.push_back(i.ir);
  auto sum = gnn::SegmentReduceOp::create(builder, at, base.ir.getType(), mlir::Type(), gnn::ReduceKind::Sum, part->ir,
                                          indices, mlir::Value(), irPosition(places->shape, places->dims.front()),
                                          irPositions(base.type->dims, places->dims));
  Value total = tensorValue(sum.getResult(), base.type->elem, base.type->dims, base.type->target);
  return arithmetic(s->op == ast::AssignOp::add ? ast::BinaryOp::add : ast::BinaryOp::sub, base, total, s->opRange,
                    target->range, s->value->range);
}

/// The whole with the part that brackets name replaced.
Value Elaborator::assignPart(const Value &base, const ast::IndexExpr *target, const Value &value, SourceRange range) {
  if (!base.type->isTensor() || isLiteral(base.type->elem)) {
    diags.error(Diag::badOperand, target->base->range, "brackets index tensors, found " + describe(base));
    return errorValue();
  }
  std::optional<bool> byArrays = hasIndexArrays(target);
  if (!byArrays)
    return errorValue();
  if (!*byArrays) {
    unsigned consuming =
        llvm::count_if(target->items, [](const ast::Expr *e) { return !isa<ast::PackExpr, ast::NoneExpr>(e); });
    if (consuming > base.type->dims.size()) {
      diags.error(Diag::badIndex, target->range,
                  "too many indices: " + str(base.type) + " has " + counted(base.type->dims.size(), "dimension") +
                      ", found " + (consuming == 1 ? llvm::Twine("an index") : llvm::Twine(consuming) + " indices"));
      return errorValue();
    }
    SmallVector<ast::Expr *> items;
    for (ast::Expr *item : target->items) {
      // `..` is as many whole dimensions as are left.
      if (isa<ast::PackExpr>(item))
        items.append(base.type->dims.size() - consuming, nullptr);
      else
        items.push_back(item);
    }
    return replacePart(base, items, 0, value, range).value_or(errorValue());
  }
  std::optional<Places> places = placesOf(base, target);
  if (!places)
    return errorValue();
  if (places->indices.size() > 1 || places->indices.front().type->dims.size() != 1) {
    notSupported(target->range, "assigning by several index arrays, or by one of several dimensions,");
    return errorValue();
  }
  std::optional<Value> part = fitPart(value, base.type->elem, places->shape, base.type->target, range);
  if (!part)
    return errorValue();
  // The last entry that names a place wins: the one with the greatest number.
  Location at = loc(target->range);
  const Value &index = places->indices.front();
  SizeAttr count = irSize(index.type->dims[0].extent), rows = irSize(index.type->target);
  mlir::Type f64 = builder.getF64Type(), i32 = builder.getI32Type();
  mlir::Value numbers = gnn::IotaOp::create(builder, at, gnn::tensorType(count, i32), 0);
  numbers = arith::SIToFPOp::create(builder, at, gnn::tensorType(count, f64), numbers);
  auto last =
      gnn::SegmentReduceOp::create(builder, at, gnn::tensorType(rows, f64), gnn::tensorType(rows, i32),
                                   gnn::ReduceKind::Max, numbers, index.ir, mlir::Value(), 0, ArrayRef<int64_t>{0});
  mlir::Value winner = last.getWinner();
  int64_t place = irPosition(places->shape, places->dims.front());
  mlir::Value written =
      gnn::GatherOp::create(builder, at, base.ir.getType(), part->ir, winner, mlir::Value(), ArrayRef<int64_t>{place});
  mlir::Value none = compare(at, false, "<", winner,
                             gnn::BroadcastOp::create(builder, at, gnn::tensorType(rows, i32),
                                                      constantInteger(at, Elem::i32, 0), ArrayRef<int64_t>{}));
  ArrayRef<SizeAttr> sizes = gnn::dimsOf(base.ir);
  mlir::Value mask = gnn::BroadcastOp::create(builder, at, gnn::tensorType(sizes, builder.getI1Type()), none,
                                              ArrayRef<int64_t>{place});
  mlir::Value whole = arith::SelectOp::create(builder, at, mask, base.ir, written);
  return tensorValue(whole, base.type->elem, base.type->dims, base.type->target);
}

/// `base` with what `items` name from dimension `at` on replaced; null items are whole dimensions.
std::optional<Value> Elaborator::replacePart(const Value &base, ArrayRef<ast::Expr *> items, unsigned at,
                                             const Value &value, SourceRange range) {
  while (!items.empty()) {
    const auto *s = dyn_cast_or_null<ast::SliceExpr>(items.front());
    if (items.front() && !(s && !s->begin && !s->end && !s->step))
      break;
    items = items.drop_front();
    ++at;
  }
  if (items.empty())
    return fitPart(value, base.type->elem, base.type->dims, base.type->target, range);
  const ast::Expr *item = items.front();
  Location l = loc(item->range);
  if (isa<ast::NoneExpr>(item)) {
    diags.error(Diag::badPlaceForNone, item->range, "None makes a new dimension; there is none to assign to");
    return std::nullopt;
  }
  if (base.type->dims[at].kind == Dim::pack) {
    diags.error(Diag::badIndex, item->range,
                "position " + llvm::Twine(at) + " of " + str(base.type) + " is a pack of dimensions");
    return std::nullopt;
  }
  auto whole = [&](mlir::Value ir) { return tensorValue(ir, base.type->elem, base.type->dims, base.type->target); };
  int64_t dim = irPosition(base.type->dims, at);
  auto updateSlice = [&](const Value &part, SizeAttr from, int64_t step) -> Value {
    if (step == 1 && part.ir.getType() == base.ir.getType())
      return part;
    return whole(gnn::UpdateSliceOp::create(builder, l, base.ir.getType(), base.ir, part.ir, dim, irSize(from), step));
  };
  if (const auto *s = dyn_cast<ast::SliceExpr>(item)) {
    std::optional<Span> part = span(base, at, s);
    if (!part)
      return std::nullopt;
    Value old = sliceBy(base, at, part->begin, part->step, part->count, l);
    std::optional<Value> next = replacePart(old, items.drop_front(), at + 1, value, range);
    if (!next)
      return std::nullopt;
    return updateSlice(*next, part->begin, part->step);
  }
  Value i = expr(item);
  if (i.isError())
    return std::nullopt;
  if (i.type->isTensor() && i.type->elem == Elem::integer) {
    std::optional<SizeAttr> position = constantPosition(base, at, i.size, item->range);
    if (!position)
      return std::nullopt;
    Value one = sliceBy(base, at, *position, 1, constantSize(1), l);
    Dims dims = base.type->dims;
    dims.erase(dims.begin() + at);
    std::optional<Value> next = replacePart(insertOnes(one, dims, l), items.drop_front(), at, value, range);
    if (!next)
      return std::nullopt;
    return updateSlice(insertOnes(*next, one.type->dims, l), *position, 1);
  }
  if (!i.type->isScalar() || !isRuntimeInt(i.type->elem)) {
    diags.error(Diag::badIndex, item->range,
                "brackets to assign to take integers, slices and index arrays, found " + describe(i));
    return std::nullopt;
  }
  mlir::Value position = checkedPosition(i, base.type->dims[at].extent, item->range);
  Dims rest = base.type->dims;
  rest.erase(rest.begin() + at);
  mlir::Value old = gnn::SelectIndexOp::create(builder, l, irTensor(base.type->elem, rest), base.ir, position, dim);
  std::optional<Value> next =
      replacePart(tensorValue(old, base.type->elem, rest, base.type->target), items.drop_front(), at, value, range);
  if (!next)
    return std::nullopt;
  return whole(gnn::UpdateIndexOp::create(builder, l, base.ir.getType(), base.ir, position, next->ir, dim));
}

} // namespace gnnc::elab
