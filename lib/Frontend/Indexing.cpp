// Brackets. A lone index array goes by identity and replaces the dimension it points into; anything else is positional:
// integers, slices, None, and index arrays whose targets are checked against their positions.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

Value Elaborator::index(const ast::IndexExpr *e) {
  Value base = expr(e->base);
  if (base.isError())
    return base;
  if (base.type->kind == Type::structure && !base.type->blocks.empty())
    return blockOf(base, e);
  if (base.type->kind == Type::shape || !base.type->isTensor() || isLiteral(base.type->elem)) {
    diags.error(Diag::badOperand, e->base->range, "brackets index tensors, found " + describe(base));
    return errorValue();
  }
  if (e->items.size() == 1 && !isa<ast::SliceExpr, ast::NoneExpr, ast::PackExpr>(e->items[0])) {
    Value item = expr(e->items[0]);
    if (item.isError())
      return item;
    if (item.type->isTensor() && item.type->elem == Elem::index)
      return gatherByIdentity(base, item, e->items[0]->range, e->base);
  }
  return positional(base, e);
}

Value Elaborator::gatherByIdentity(const Value &base, const Value &idx, SourceRange at, const ast::Expr *baseExpr) {
  SmallVector<unsigned> found;
  for (auto [k, d] : llvm::enumerate(base.type->dims))
    if (d.kind == Dim::size && d.extent == idx.type->target)
      found.push_back(k);
  if (found.size() == 1)
    return gather(base, found, idx, {}, loc(at));
  std::string target = str(idx.type->target);
  if (found.empty()) {
    diags.error(Diag::badIndex, at,
                "this index points into " + target + ", but " + str(base.type) + " has no such dimension");
  } else {
    diags.error(Diag::ambiguousDimension, at, "the dimension " + target + " stands twice in " + str(base.type))
        .note("say which one by its position: x[i, :] or x[:, i]");
  }
  return errorValue();
}

/// x indexed at `dims` by index arrays of one shape, which stands in the result where the first of them stood.
Value Elaborator::gather(const Value &source, ArrayRef<unsigned> dims, ArrayRef<Value> indices, mlir::Value fill,
                         Location at) {
  Dims result;
  for (auto [k, d] : llvm::enumerate(source.type->dims)) {
    if (k == dims.front())
      llvm::append_range(result, indices.front().type->dims);
    if (!llvm::is_contained(dims, k))
      result.push_back(d);
  }
  // Where an index is none an index array gets none, not entry 0.
  if (!fill && source.type->elem == Elem::index)
    fill = constantInteger(at, Elem::index, -1);
  SmallVector<mlir::Value> irIndices;
  for (const Value &i : indices)
    irIndices.push_back(i.ir);
  mlir::Value r = gnn::GatherOp::create(builder, at, irTensor(source.type->elem, result), source.ir, irIndices, fill,
                                        irPositions(source.type->dims, dims));
  return tensorValue(r, source.type->elem, result, source.type->target);
}

/// One struct of an array of structs.
Value Elaborator::blockOf(const Value &base, const ast::IndexExpr *e) {
  Value i = e->items.size() == 1 && !isa<ast::SliceExpr, ast::NoneExpr, ast::PackExpr>(e->items[0]) ? expr(e->items[0])
                                                                                                    : unitValue();
  if (i.isError())
    return i;
  bool constant = i.type->isTensor() && i.type->elem == Elem::integer;
  if (!constant && !(i.type->isScalar() && isRuntimeInt(i.type->elem))) {
    diags.error(Diag::badIndex, e->range, "an integer chooses one of an array of structs, " + str(base.type));
    return errorValue();
  }
  bool ok = true;
  Value v = mapLeaves(base, [&](const Value &leaf) {
    if (!ok)
      return leaf;
    if (!constant)
      return selectIndex(leaf, 0, i, e->items[0]->range);
    std::optional<Value> one = dropDim(leaf, 0, i.size, e->items[0]->range);
    ok = one.has_value();
    return one.value_or(leaf);
  });
  if (!ok)
    return errorValue();
  Type one = *base.type;
  one.blocks.clear();
  return retype(v, make(std::move(one)));
}

/// The entry at a run-time position of a dimension, which is dropped.
Value Elaborator::selectIndex(const Value &value, unsigned dim, const Value &position, SourceRange at) {
  Dims rest = value.type->dims;
  rest.erase(rest.begin() + dim);
  mlir::Value checked = checkedPosition(position, value.type->dims[dim].extent, at);
  mlir::Value r = gnn::SelectIndexOp::create(builder, loc(at), irTensor(value.type->elem, rest), value.ir, checked,
                                             irPosition(value.type->dims, dim));
  return tensorValue(r, value.type->elem, rest, value.type->target);
}

/// A reshape that only adds or removes dimensions of size 1.
Value Elaborator::insertOnes(const Value &value, ArrayRef<Dim> dims, Location at) {
  RankedTensorType type = irTensor(value.type->elem, dims);
  Value v = tensorValue(value.ir, value.type->elem, dims, value.type->target);
  if (value.ir.getType() != type)
    v.ir = gnn::ReshapeOp::create(builder, at, type, value.ir);
  return v;
}

Value Elaborator::positional(const Value &base, const ast::IndexExpr *e) {
  // Which dimension of the base each item is about; None is about none, `..` about as many as are left.
  unsigned rank = base.type->dims.size(), consuming = 0;
  const ast::PackExpr *pack = nullptr;
  for (const ast::Expr *item : e->items) {
    if (const auto *p = dyn_cast<ast::PackExpr>(item)) {
      if (pack) {
        diags.error(Diag::badIndex, p->range, "'..' stands only once in brackets");
        return errorValue();
      }
      pack = p;
    } else if (!isa<ast::NoneExpr>(item)) {
      ++consuming;
    }
  }
  if (consuming > rank) {
    diags.error(Diag::badIndex, e->range,
                "too many indices: " + str(base.type) + " has " + counted(rank, "dimension") + ", found " +
                    (consuming == 1 ? llvm::Twine("an index") : llvm::Twine(consuming) + " indices"));
    return errorValue();
  }

  Value v = base;              // with integers and slices applied; its dimensions are counted by `at`
  unsigned at = 0;             // the dimension of v that the next item is about
  SmallVector<unsigned> nones; // where a `_` is to stand, in dimensions of v
  SmallVector<unsigned> gatherDims;
  SmallVector<Value> gatherIndices;
  SmallVector<SourceRange> gatherRanges;
  for (const ast::Expr *item : e->items) {
    if (isa<ast::PackExpr>(item)) {
      at += rank - consuming;
      continue;
    }
    if (isa<ast::NoneExpr>(item)) {
      nones.push_back(at);
      continue;
    }
    if (v.type->dims[at].kind == Dim::pack && !isa<ast::SliceExpr>(item)) {
      diags
          .error(Diag::badIndex, item->range,
                 "position " + llvm::Twine(at) + " of " + str(v.type) + " is a pack of dimensions")
          .note("'..' in brackets passes over it: x[.., i]");
      return errorValue();
    }
    if (const auto *s = dyn_cast<ast::SliceExpr>(item)) {
      std::optional<Value> part = slice(v, at, s);
      if (!part)
        return errorValue();
      v = *part;
      ++at;
      continue;
    }
    Value i = expr(item);
    if (i.isError())
      return i;
    if (i.type->isTensor() && i.type->elem == Elem::integer) {
      std::optional<Value> part = dropDim(v, at, i.size, item->range);
      if (!part)
        return errorValue();
      v = *part;
      continue;
    }
    if (i.type->isScalar() && isRuntimeInt(i.type->elem)) {
      v = selectIndex(v, at, i, item->range);
      continue;
    }
    if (!i.type->isTensor() || i.type->elem != Elem::index) {
      diags.error(Diag::badIndex, item->range,
                  "brackets take integers, slices, index arrays and None, found " + describe(i));
      return errorValue();
    }
    if (v.type->dims[at].extent != i.type->target) {
      diags.error(Diag::badIndex, item->range,
                  "this index points into " + str(i.type->target) + ", but position " + llvm::Twine(at) + " of " +
                      str(v.type) + " is " + str(v.type->dims[at].extent));
      return errorValue();
    }
    gatherDims.push_back(at++);
    gatherIndices.push_back(i);
    gatherRanges.push_back(item->range);
  }

  unsigned wide = 0; // how many dimensions the index arrays put in the place of the first one
  if (!gatherDims.empty()) {
    if (gatherIndices.size() > 1 && !jointShape(gatherIndices, gatherRanges, e->range))
      return errorValue();
    wide = gatherIndices.front().type->dims.size();
    v = gather(v, gatherDims, gatherIndices, {}, loc(e->range));
  }
  if (nones.empty())
    return v;
  Dims dims;
  auto moved = [&](unsigned k) { // where what stood before dimension k stands now
    unsigned place = k;
    for (auto [n, g] : llvm::enumerate(gatherDims))
      if (g < k)
        place = place - 1 + (n == 0 ? wide : 0);
    return place;
  };
  unsigned next = 0;
  for (unsigned none : nones) {
    for (unsigned end = moved(none); next < end; ++next)
      dims.push_back(v.type->dims[next]);
    dims.push_back({Dim::one, constantSize(1)});
  }
  for (; next < v.type->dims.size(); ++next)
    dims.push_back(v.type->dims[next]);
  return insertOnes(v, dims, loc(e->range));
}

bool Elaborator::requireNonNegative(SizeAttr size, SourceRange at, const llvm::Twine &what) {
  if (std::optional<int64_t> value = size.getConstant()) {
    if (*value >= 0)
      return true;
    diags.error(Diag::indexRange, at, what);
    return false;
  }
  SizeAttr ir = irSize(size);
  // Sizes are not negative, so neither is a polynomial whose coefficients aren't.
  bool proved = true;
  ArrayRef<int64_t> terms = ir.getTerms();
  for (size_t k = 0; k < terms.size(); k += 2 + terms[k + 1])
    proved &= terms[k] >= 0;
  if (proved)
    return true;
  if (std::optional<int64_t> value = ir.getConstant()) {
    if (*value < 0)
      diags.error(Diag::indexRange, at, what).note("with the sizes given by -D or by the call");
    return *value >= 0;
  }
  if (hasNumber(size)) {
    notSupported(at, "a size that an integer known only at run time might make negative, " + str(size) + ",");
    return false;
  }
  std::pair condition(ir, what.str());
  if (!checking && !llvm::is_contained(conditions, condition)) // a call inlined twice asks twice
    conditions.push_back(condition);
  return true;
}

bool Elaborator::requireNonNegative(ArrayRef<Dim> dims, SourceRange at) {
  return llvm::all_of(dims, [&](const Dim &d) {
    return d.kind == Dim::pack || requireNonNegative(d.extent, at, "the dimension " + str(d.extent) + " is negative");
  });
}

Value Elaborator::sliceBy(const Value &value, unsigned dim, SizeAttr from, int64_t step, SizeAttr count, Location at) {
  Dims dims = value.type->dims;
  if (step == 1 && from == constantSize(0) && count == dims[dim].extent)
    return value;
  dims[dim] = {Dim::size, count};
  mlir::Value r = gnn::SliceOp::create(builder, at, irTensor(value.type->elem, dims), value.ir,
                                       irPosition(value.type->dims, dim), irSize(from), step);
  return tensorValue(r, value.type->elem, dims, value.type->target);
}

std::optional<Value> Elaborator::slice(const Value &value, unsigned dim, const ast::SliceExpr *e) {
  if (!e->begin && !e->end && !e->step)
    return value;
  std::optional<Span> part = span(value, dim, e);
  if (!part)
    return std::nullopt;
  return sliceBy(value, dim, part->begin, part->step, part->count, loc(e->range));
}

std::optional<Elaborator::Span> Elaborator::span(const Value &value, unsigned dim, const ast::SliceExpr *e) {
  if (value.type->dims[dim].kind == Dim::pack) {
    diags.error(Diag::badIndex, e->range,
                "position " + llvm::Twine(dim) + " of " + str(value.type) + " is a pack of dimensions");
    return std::nullopt;
  }
  SizeAttr extent = value.type->dims[dim].extent;
  auto bound = [&](const ast::Expr *part) -> std::optional<SizeAttr> {
    std::optional<SizeAttr> size = dimension(part);
    // Constants count from the end if they are negative.
    if (size)
      if (std::optional<int64_t> n = size->getConstant(); n && *n < 0)
        return extent.add(*size);
    return size;
  };
  int64_t step = 1;
  if (e->step) {
    std::optional<SizeAttr> given = dimension(e->step);
    if (!given)
      return std::nullopt;
    std::optional<int64_t> constant = given->getConstant();
    if (!constant || *constant == 0) {
      diags.error(Diag::badIndex, e->step->range, "the step of a slice is a constant other than 0");
      return std::nullopt;
    }
    step = *constant;
  }
  SizeAttr last = extent.sub(constantSize(1));
  SizeAttr begin = step > 0 ? constantSize(0) : last, end = step > 0 ? extent : constantSize(-1);
  if (e->begin) {
    std::optional<SizeAttr> given = bound(e->begin);
    if (!given)
      return std::nullopt;
    begin = *given;
  }
  if (e->end) {
    std::optional<SizeAttr> given = bound(e->end);
    if (!given)
      return std::nullopt;
    end = *given;
  }
  SizeAttr length = step > 0 ? end.sub(begin) : begin.sub(end);
  SizeAttr lowest = step > 0 ? begin : end.add(constantSize(1)), highest = step > 0 ? end : begin.add(constantSize(1));
  std::string shape = str(value.type);
  std::string where = "the slice goes out of " + shape + " at position " + std::to_string(dim);
  if (!requireNonNegative(length, e->range,
                          "the slice of " + shape + " at position " + llvm::Twine(dim) + " ends before it begins") ||
      !requireNonNegative(lowest, e->range, where) || !requireNonNegative(extent.sub(highest), e->range, where))
    return std::nullopt;
  return Span{begin, length.ceilDiv(step < 0 ? -step : step), step};
}

std::optional<SizeAttr> Elaborator::constantPosition(const Value &value, unsigned dim, SizeAttr position,
                                                     SourceRange at) {
  SizeAttr extent = value.type->dims[dim].extent;
  std::string written = str(position);
  if (std::optional<int64_t> n = position.getConstant(); n && *n < 0)
    position = extent.add(position);
  std::string what = "the index " + written + " is out of range: position " + std::to_string(dim) + " of " +
                     str(value.type) + " is " + str(extent);
  if (!requireNonNegative(position, at, what) ||
      !requireNonNegative(extent.sub(position).sub(constantSize(1)), at, what))
    return std::nullopt;
  return position;
}

std::optional<Value> Elaborator::dropDim(const Value &value, unsigned dim, SizeAttr given, SourceRange at) {
  std::optional<SizeAttr> position = constantPosition(value, dim, given, at);
  if (!position)
    return std::nullopt;
  Location l = loc(at);
  Value one = sliceBy(value, dim, *position, 1, constantSize(1), l);
  Dims dims = one.type->dims;
  dims.erase(dims.begin() + dim);
  return insertOnes(one, dims, l);
}

} // namespace gnnc::elab
