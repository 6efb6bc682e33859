// Reductions: over named dimensions (or positions), or by index arrays, which is the transpose of a gather: the
// dimensions of the index are consumed and the set it points into stands in their place.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace gnnc::elab {

//===----------------------------------------------------------------------===//
// What `over=` and `by=` say
//===----------------------------------------------------------------------===//

bool Elaborator::overItem(const ast::Expr *e, const Value &x, SmallVectorImpl<unsigned> &out) {
  ArrayRef<Dim> dims = x.type->dims;
  if (const auto *t = dyn_cast<ast::TupleExpr>(e))
    return llvm::all_of(t->items, [&](const ast::Expr *item) { return overItem(item, x, out); });
  auto add = [&](unsigned k) {
    if (llvm::is_contained(out, k)) {
      diags.error(Diag::badReduction, e->range, "this dimension is given twice");
      return false;
    }
    out.push_back(k);
    return true;
  };
  // Integers written as such are positions.
  const ast::Expr *digits = e;
  bool negative = false;
  if (const auto *u = dyn_cast<ast::UnaryExpr>(e); u && u->op == ast::UnaryOp::neg) {
    digits = u->operand;
    negative = true;
  }
  if (const auto *lit = dyn_cast<ast::IntLit>(digits)) {
    int64_t rank = dims.size(), k = negative ? rank - lit->value : lit->value;
    if (k < 0 || k >= rank) {
      diags.error(Diag::badReduction, e->range,
                  "there is no position " + llvm::Twine(negative ? "-" : "") + llvm::Twine(lit->value) + " in " +
                      str(x.type));
      return false;
    }
    return add(k);
  }
  SmallVector<unsigned> found;
  std::string name;
  if (const auto *p = dyn_cast<ast::PackExpr>(e)) {
    name = ".." + p->name.text.str();
    for (auto [k, d] : llvm::enumerate(dims))
      if (d.kind == Dim::pack && (p->name.text.empty() || vars[*d.extent.getSet()].name == p->name.text))
        found.push_back(k);
  } else {
    std::optional<SizeAttr> size = dimension(e);
    if (!size)
      return false;
    name = str(*size);
    for (auto [k, d] : llvm::enumerate(dims))
      if (d.kind == Dim::size && d.extent == *size)
        found.push_back(k);
  }
  if (found.size() == 1)
    return add(found.front());
  if (found.empty()) {
    diags.error(Diag::noSuchDimension, e->range, "'" + name + "' is not a dimension of " + str(x.type));
    return false;
  }
  std::string ways;
  for (unsigned k : found)
    ways +=
        (ways.empty() ? "over=" : " or over=") + std::to_string(k + 1 == dims.size() && k ? -1 : static_cast<int>(k));
  diags.error(Diag::ambiguousDimension, e->range, "the dimension '" + name + "' stands twice in " + str(x.type))
      .note("say which one by its position: " + ways);
  return false;
}

/// The dimensions that `over` names.
std::optional<SmallVector<unsigned>> Elaborator::overDims(const CallArg &arg, const Value &x) {
  SmallVector<unsigned> out;
  if (!overItem(arg.expr, x, out))
    return std::nullopt;
  llvm::sort(out);
  return out;
}

/// The dimensions that a reduction runs over; without `over` all, except those that a scalar function is applied over.
std::optional<SmallVector<unsigned>> Elaborator::reducedDims(const CallArg *over, const Value &x) {
  if (over)
    return overDims(*over, x);
  SmallVector<unsigned> dims;
  for (auto [k, d] : llvm::enumerate(x.type->dims))
    if (d.kind != Dim::pack || !vars[*d.extent.getSet()].isLifted)
      dims.push_back(k);
  return dims;
}

std::optional<std::vector<Value>> Elaborator::byIndices(CallArg &a) {
  Value v = arg(a);
  if (v.isError())
    return std::nullopt;
  std::vector<Value> indices = v.type->kind == Type::tuple ? v.parts : std::vector<Value>{v};
  for (const Value &i : indices)
    if (!i.type->isTensor() || i.type->elem != Elem::index || i.type->dims.empty()) {
      diags.error(Diag::badReduction, a.range, "'by' takes an index array, or a tuple of them, found " + describe(i));
      return std::nullopt;
    }
  if (indices.size() > 1) {
    SmallVector<SourceRange> ranges(indices.size(), a.range);
    if (!jointShape(indices, ranges, a.range))
      return std::nullopt;
  }
  return indices;
}

std::optional<unsigned> Elaborator::consumedAt(const Value &x, const Value &by, SourceRange range, StringRef what) {
  ArrayRef<Dim> in = x.type->dims, consumed = by.type->dims;
  SmallVector<unsigned> found;
  for (unsigned k = 0; k + consumed.size() <= in.size(); ++k)
    if (in.slice(k, consumed.size()) == consumed)
      found.push_back(k);
  if (found.size() == 1)
    return found.front();
  if (found.size() > 1) {
    diags.error(Diag::ambiguousDimension, range,
                "the dimensions " + str(consumed) + " of the index stand twice in " + str(x.type));
    return std::nullopt;
  }
  // Say what would fit: the entry's dimensions in the place of the first one that does not.
  Dims expected(consumed.begin(), consumed.end());
  if (in.size() > consumed.size())
    expected.append(in.begin() + consumed.size(), in.end());
  mismatch(range, tensor(x.type->elem, expected), x, what);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Building reductions
//===----------------------------------------------------------------------===//

Value Elaborator::permute(const Value &x, ArrayRef<unsigned> perm, Location at) {
  Dims dims;
  SmallVector<unsigned> order(perm.begin(), perm.end());
  for (unsigned p : perm)
    dims.push_back(x.type->dims[p]);
  if (llvm::is_sorted(perm))
    return x;
  mlir::Value r =
      gnn::TransposeOp::create(builder, at, irTensor(x.type->elem, dims), x.ir, irPositions(x.type->dims, order));
  return tensorValue(r, x.type->elem, dims, x.type->target);
}

Value Elaborator::moveToFront(const Value &x, unsigned from, unsigned count, Location at) {
  SmallVector<unsigned> perm;
  for (unsigned k = 0; k < count; ++k)
    perm.push_back(from + k);
  for (unsigned k = 0; k < x.type->dims.size(); ++k)
    if (k < from || k >= from + count)
      perm.push_back(k);
  return permute(x, perm, at);
}

Value Elaborator::moveFromFront(const Value &x, unsigned to, unsigned count, Location at) {
  SmallVector<unsigned> perm;
  for (unsigned k = 0; k < to; ++k)
    perm.push_back(count + k);
  for (unsigned k = 0; k < count; ++k)
    perm.push_back(k);
  for (unsigned k = count + to; k < x.type->dims.size(); ++k)
    perm.push_back(k);
  return permute(x, perm, at);
}

static gnn::ReduceKind irKind(bool prod, bool max, bool min) {
  return prod ? gnn::ReduceKind::Prod : max ? gnn::ReduceKind::Max : min ? gnn::ReduceKind::Min : gnn::ReduceKind::Sum;
}

Value Elaborator::reduceOver(Reduce kind, const Value &x, ArrayRef<unsigned> over, Location at) {
  Dims rest;
  SizeAttr count = constantSize(1);
  for (auto [k, d] : llvm::enumerate(x.type->dims)) {
    if (llvm::is_contained(over, k))
      count = count.mul(d.extent);
    else
      rest.push_back(d);
  }
  Elem elem = x.type->elem;
  SmallVector<int64_t> positions = irPositions(x.type->dims, over);
  RankedTensorType type = irTensor(elem, rest);
  if (kind == Reduce::logsumexp)
    return tensorValue(gnn::LogSumExpOp::create(builder, at, type, x.ir, positions), elem, rest);
  gnn::ReduceKind op = irKind(kind == Reduce::prod, kind == Reduce::max, kind == Reduce::min);
  Value r = tensorValue(gnn::ReduceOp::create(builder, at, type, op, x.ir, positions), elem, rest);
  if (kind != Reduce::mean)
    return r;
  // The mean of nothing is 0, as its sum is.
  mlir::Value n = materialise(integerValue(count), elem, at).ir;
  mlir::Value one = constantTensor(at, elem, 1);
  mlir::Value share = arith::DivFOp::create(builder, at, one, arith::MaximumFOp::create(builder, at, n, one));
  Value wide = broadcastTo(tensorValue(share, elem), rest, {}, at);
  return tensorValue(arith::MulFOp::create(builder, at, r.ir, wide.ir), elem, rest);
}

/// How many entries point at each element of the targets, in real.
Value Elaborator::countBy(ArrayRef<Value> by, Location at) {
  Dims targets;
  SmallVector<mlir::Value> indices;
  SmallVector<int64_t> positions;
  for (auto [k, i] : llvm::enumerate(by)) {
    targets.push_back({Dim::size, i.type->target});
    indices.push_back(i.ir);
    positions.push_back(k);
  }
  // Degrees are known to the graph.
  if (by.size() == 1)
    if (auto end = by[0].ir.getDefiningOp<gnn::EndpointOp>()) {
      mlir::Value degree =
          gnn::DegreeOp::create(builder, at, irTensor(Elem::i32, targets), end.getEnd(), end.getGraph());
      return convertElem(tensorValue(degree, Elem::i32, targets), Elem::real, at);
    }
  mlir::Value ones = filled(at, Elem::real, by[0].type->dims, 1);
  mlir::Value r = gnn::SegmentReduceOp::create(builder, at, irTensor(Elem::real, targets), mlir::Type(),
                                               gnn::ReduceKind::Sum, ones, indices, mlir::Value(), 0, positions)
                      .getResult();
  return tensorValue(r, Elem::real, targets);
}

/// x with the `rank` dimensions from `place` on as one.
Value Elaborator::flatEntries(const Value &x, unsigned place, unsigned rank, Location at) {
  SizeAttr count = constantSize(1);
  for (const Dim &d : ArrayRef(x.type->dims).slice(place, rank))
    count = count.mul(d.extent);
  Dims flat(x.type->dims.begin(), x.type->dims.begin() + place);
  flat.push_back({Dim::size, count});
  flat.append(x.type->dims.begin() + place + rank, x.type->dims.end());
  return reshapeTo(x, flat, at);
}

Value Elaborator::flatIndex(ArrayRef<Value> by, Location at) {
  Value flat = by.front();
  ArrayRef<Dim> dims = flat.type->dims;
  for (const Value &next : by.drop_front()) {
    SizeAttr target = next.type->target;
    Value size = broadcastTo(materialise(integerValue(target), Elem::i32, at), dims, {}, at);
    mlir::Value zero = filled(at, Elem::i32, dims, 0), none = filled(at, Elem::i32, dims, -1);
    mlir::Value joint =
        arith::AddIOp::create(builder, at, arith::MulIOp::create(builder, at, flat.ir, size.ir), next.ir);
    // Either one being none makes the sign of both together negative.
    mlir::Value signs = arith::OrIOp::create(builder, at, flat.ir, next.ir);
    mlir::Value isNone = compare(at, false, "<", signs, zero);
    flat = tensorValue(arith::SelectOp::create(builder, at, isNone, none, joint), Elem::index, dims,
                       flat.type->target.mul(target));
  }
  return flat;
}

Value Elaborator::reduceBy(Reduce kind, const Value &x, ArrayRef<Value> by, const Value *empty, SourceRange at,
                           SourceRange xRange, mlir::Value *winner) {
  std::optional<unsigned> place = consumedAt(x, by[0], xRange);
  if (!place)
    return errorValue();
  Location l = loc(at);
  Elem elem = x.type->elem;
  bool extremum = kind == Reduce::max || kind == Reduce::min;
  if ((extremum || kind == Reduce::logsumexp) && by.size() > 1) {
    Value flat = reduceBy(kind, x, flatIndex(by, l), empty, at, xRange, winner);
    Dims dims(flat.type->dims.begin(), flat.type->dims.begin() + *place);
    for (const Value &i : by)
      dims.push_back({Dim::size, i.type->target});
    dims.append(flat.type->dims.begin() + *place + 1, flat.type->dims.end());
    if (winner)
      *winner = reshapeTo(tensorValue(*winner, Elem::index, flat.type->dims), dims, l).ir;
    return reshapeTo(flat, dims, l);
  }
  Value source = x;
  SmallVector<Value> indices(by.begin(), by.end());
  unsigned rank = by[0].type->dims.size(), irRank = irDims(by[0].type->dims).size();
  // The winner of an extremum is a position along one dimension, and so are the scores of logsumexp.
  if ((extremum || kind == Reduce::logsumexp) && irRank != 1) {
    source = flatEntries(x, *place, rank, l);
    indices[0] = flatEntries(by[0], 0, rank, l);
    rank = 1;
  }
  Dims result;
  for (auto [k, d] : llvm::enumerate(source.type->dims)) {
    if (k == *place)
      for (const Value &i : by)
        result.push_back({Dim::size, i.type->target});
    if (k < *place || k >= *place + rank)
      result.push_back(d);
  }

  if (kind == Reduce::logsumexp) {
    Value front = moveToFront(source, *place, 1, l);
    Dims dims = front.type->dims;
    dims[0] = {Dim::size, by[0].type->target};
    mlir::Value r = gnn::SegmentLogSumExpOp::create(builder, l, irTensor(elem, dims), front.ir, indices[0].ir);
    Value lse = moveFromFront(tensorValue(r, elem, dims), *place, 1, l);
    return empty ? fillEmpty(lse, *empty, convertElem(countBy(by, l), elem, l), *place, l) : lse;
  }
  SmallVector<mlir::Value> irIndices;
  SmallVector<int64_t> positions;
  int64_t first = irPosition(source.type->dims, *place);
  for (auto [k, i] : llvm::enumerate(indices)) {
    irIndices.push_back(i.ir);
    positions.push_back(first + k);
  }
  mlir::Value fill = empty ? materialise(*empty, elem, l).ir : mlir::Value();
  gnn::ReduceKind op = irKind(kind == Reduce::prod, kind == Reduce::max, kind == Reduce::min);
  RankedTensorType type = irTensor(elem, result);
  mlir::Type winnerType = extremum ? mlir::Type(irTensor(Elem::index, result)) : mlir::Type();
  auto reduce = gnn::SegmentReduceOp::create(builder, l, type, winnerType, op, source.ir, irIndices,
                                             kind == Reduce::mean ? mlir::Value() : fill, first, positions);
  if (winner)
    *winner = reduce.getWinner();
  Value r = tensorValue(reduce.getResult(), elem, result);
  if (kind != Reduce::mean)
    return r;
  Value n = convertElem(countBy(by, l), elem, l);
  mlir::Value ones = filled(l, elem, n.type->dims, 1);
  mlir::Value share = arith::DivFOp::create(builder, l, ones, arith::MaximumFOp::create(builder, l, n.ir, ones));
  SmallVector<unsigned> where;
  for (unsigned k = 0; k < by.size(); ++k)
    where.push_back(*place + k);
  Value wide = broadcastTo(tensorValue(share, elem, n.type->dims), result, where, l);
  Value mean = tensorValue(arith::MulFOp::create(builder, l, r.ir, wide.ir), elem, result);
  return empty ? fillEmpty(mean, *empty, n, *place, l) : mean;
}

/// `fill` where a segment has no entries; `count` says how many it has, and its dimensions stand at `place`.
Value Elaborator::fillEmpty(const Value &reduced, const Value &fill, const Value &count, unsigned place, Location at) {
  Elem elem = reduced.type->elem;
  ArrayRef<Dim> dims = reduced.type->dims;
  SmallVector<unsigned> where;
  for (unsigned k = 0; k < count.type->dims.size(); ++k)
    where.push_back(place + k);
  mlir::Value none = compare(at, true, "==", count.ir, filled(at, elem, count.type->dims, 0));
  Value noneWide = broadcastTo(tensorValue(none, Elem::boolean, count.type->dims), dims, where, at);
  Value fillWide = broadcastTo(materialise(fill, elem, at), dims, {}, at);
  return tensorValue(arith::SelectOp::create(builder, at, noneWide.ir, fillWide.ir, reduced.ir), elem, dims);
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

/// sum, mean, max, min, prod, logsumexp.
Value Elaborator::reduction(Call &call) {
  if (!accept(call, 1, 1, {"over", "by", "empty"}))
    return errorValue();
  auto kind = llvm::StringSwitch<Reduce>(call.callee)
                  .Case("mean", Reduce::mean)
                  .Case("max", Reduce::max)
                  .Case("min", Reduce::min)
                  .Case("prod", Reduce::prod)
                  .Case("logsumexp", Reduce::logsumexp)
                  .Default(Reduce::sum);
  Value x = arg(call.args[0]);
  if (x.isError())
    return x;
  CallArg *over = option(call, "over"), *by = option(call, "by"), *emptyArg = option(call, "empty");
  // sum(map(...)) adds the scalars of all leaves.
  auto isReal = [](const Value &v) { return v.type->isScalar() && isFloat(v.type->elem); };
  if (kind == Reduce::sum && x.type->kind == Type::tuple && llvm::all_of(x.parts, isReal) && !over && !by &&
      !emptyArg) {
    Value total = x.parts.front();
    for (const Value &part : x.parts)
      if (part.type->elem != total.type->elem) {
        diags.error(Diag::typeMismatch, call.args[0].range,
                    "'sum' adds values of one element type, found " + describe(total) + " and " + describe(part));
        return errorValue();
      }
    for (const Value &part : ArrayRef(x.parts).drop_front())
      total.ir = arith::AddFOp::create(builder, loc(call.range), total.ir, part.ir);
    return total;
  }
  if (x.type->kind == Type::structure || x.type->kind == Type::opaque) {
    diags.error(Diag::badReduction, call.args[0].range, "'" + call.callee + "' takes a tensor, found " + describe(x))
        .note("sum(map(|x| sum(x), ...)) adds up all leaves of a struct");
    return errorValue();
  }
  if (x.type->isTensor() && isLiteral(x.type->elem))
    x = materialise(x, Elem::real, loc(call.args[0].range));
  bool ints = kind != Reduce::mean && kind != Reduce::logsumexp;
  if (!x.type->isTensor() || !(isFloat(x.type->elem) || (ints && isRuntimeInt(x.type->elem)))) {
    Diagnostic &error = diags.error(Diag::badReduction, call.args[0].range,
                                    "'" + call.callee + "' takes a tensor of numbers, found " + describe(x));
    if (x.type->isTensor() && (x.type->elem == Elem::boolean || isRuntimeInt(x.type->elem)))
      error.note("write real(...) to convert it");
    return errorValue();
  }
  if (over && by) {
    diags.error(Diag::badReduction, call.range, "a reduction goes 'over' dimensions or 'by' an index, not both");
    return errorValue();
  }
  if (emptyArg && !by) {
    diags.error(Diag::badReduction, emptyArg->range,
                "'empty' goes with 'by': it is what a segment without entries gives");
    return errorValue();
  }
  if (by) {
    std::optional<std::vector<Value>> indices = byIndices(*by);
    if (!indices)
      return errorValue();
    std::optional<Value> empty;
    if (emptyArg) {
      empty = coerce(arg(*emptyArg), scalar(x.type->elem), emptyArg->range, "'empty'");
      if (empty->isError())
        return *empty;
    }
    return reduceBy(kind, x, *indices, empty ? &*empty : nullptr, call.range, call.args[0].range);
  }
  std::optional<SmallVector<unsigned>> dims = reducedDims(over, x);
  return dims ? reduceOver(kind, x, *dims, loc(call.range)) : errorValue();
}

/// softmax, log_softmax.
Value Elaborator::softmaxFunction(Call &call) {
  if (!accept(call, 1, 1, {"over", "by"}))
    return errorValue();
  std::optional<Value> operand = floatArg(call, call.args[0]);
  if (!operand)
    return errorValue();
  Value x = *operand;
  Location at = loc(call.range);
  Elem elem = x.type->elem;
  bool logarithm = call.callee == "log_softmax";
  CallArg *over = option(call, "over"), *by = option(call, "by");
  if (!over == !by) {
    diags.error(Diag::badReduction, call.range,
                "'" + call.callee + "' needs either 'over' a dimension or 'by' an index");
    return errorValue();
  }
  if (over) {
    std::optional<SmallVector<unsigned>> dims = overDims(*over, x);
    if (!dims)
      return errorValue();
    if (!logarithm)
      return tensorValue(gnn::SoftmaxOp::create(builder, at, x.ir.getType(), x.ir, irPositions(x.type->dims, *dims)),
                         elem, x.type->dims);
    Value lse = reduceOver(Reduce::logsumexp, x, *dims, at);
    SmallVector<unsigned> where;
    for (unsigned k = 0; k < x.type->dims.size(); ++k)
      if (!llvm::is_contained(*dims, k))
        where.push_back(k);
    Value wide = broadcastTo(lse, x.type->dims, where, at);
    return tensorValue(arith::SubFOp::create(builder, at, x.ir, wide.ir), elem, x.type->dims);
  }
  std::optional<std::vector<Value>> indices = byIndices(*by);
  if (!indices)
    return errorValue();
  std::optional<unsigned> place = consumedAt(x, indices->front(), call.args[0].range);
  if (!place)
    return errorValue();
  // Entries of one dimension, and one index array.
  unsigned rank = indices->front().type->dims.size();
  bool isFlat = irDims(indices->front().type->dims).size() == 1;
  Value entries = isFlat ? x : flatEntries(x, *place, rank, at);
  Value idx = flatIndex(*indices, at);
  if (!isFlat)
    idx = flatEntries(idx, 0, rank, at);
  if (logarithm) {
    Value lse = reduceBy(Reduce::logsumexp, entries, idx, nullptr, call.range, call.args[0].range);
    unsigned dims[] = {*place};
    Value back = gather(lse, dims, idx, {}, at);
    mlir::Value r = arith::SubFOp::create(builder, at, entries.ir, back.ir);
    return reshapeTo(tensorValue(r, elem, entries.type->dims), x.type->dims, at);
  }
  Value front = moveToFront(entries, *place, 1, at);
  mlir::Value r =
      gnn::SegmentSoftmaxOp::create(builder, at, front.ir.getType(), front.ir, idx.ir, irSize(idx.type->target));
  return reshapeTo(moveFromFront(tensorValue(r, elem, front.type->dims), *place, 1, at), x.type->dims, at);
}

/// argmax, argmin: over a dimension, or by an index, where it is the winning entry.
Value Elaborator::argExtremum(Call &call) {
  if (!accept(call, 1, 1, {"over", "by"}))
    return errorValue();
  std::optional<Value> operand = floatArg(call, call.args[0]);
  if (!operand)
    return errorValue();
  const Value &x = *operand;
  Location at = loc(call.range);
  bool max = call.callee == "argmax";
  CallArg *over = option(call, "over"), *by = option(call, "by");
  if (over && by) {
    diags.error(Diag::badReduction, call.range, "a reduction goes 'over' dimensions or 'by' an index, not both");
    return errorValue();
  }
  if (by) {
    std::optional<std::vector<Value>> indices = byIndices(*by);
    if (!indices)
      return errorValue();
    if (indices->front().type->dims.size() != 1 || indices->front().type->dims[0].kind == Dim::pack) {
      notSupported(by->range, "the winner by an index array of several dimensions");
      return errorValue();
    }
    mlir::Value winner;
    Value best =
        reduceBy(max ? Reduce::max : Reduce::min, x, *indices, nullptr, call.range, call.args[0].range, &winner);
    if (best.isError())
      return best;
    return tensorValue(winner, Elem::index, best.type->dims, indices->front().type->dims[0].extent);
  }
  SmallVector<unsigned> dims;
  if (over) {
    std::optional<SmallVector<unsigned>> named = overDims(*over, x);
    if (!named)
      return errorValue();
    dims = *named;
  } else if (x.type->dims.size() == 1) {
    dims = {0};
  }
  if (dims.size() != 1 || x.type->dims[dims[0]].kind == Dim::pack) {
    diags.error(Diag::badReduction, call.range, "'" + call.callee + "' goes over one dimension")
        .note("write over= with the name of a dimension of " + str(x.type));
    return errorValue();
  }
  Dims rest = x.type->dims;
  SizeAttr target = rest[dims[0]].extent;
  rest.erase(rest.begin() + dims[0]);
  mlir::Value r = gnn::ArgReduceOp::create(builder, at, irTensor(Elem::index, rest),
                                           max ? gnn::ReduceKind::Max : gnn::ReduceKind::Min, x.ir,
                                           irPosition(x.type->dims, dims[0]));
  return tensorValue(r, Elem::index, rest, target);
}

/// count(by=i).
Value Elaborator::countFunction(Call &call) {
  if (!accept(call, 0, 0, {"by"}))
    return errorValue();
  CallArg *by = option(call, "by");
  if (!by) {
    diags.error(Diag::badReduction, call.range, "'count' needs 'by' an index array: what is counted");
    return errorValue();
  }
  std::optional<std::vector<Value>> indices = byIndices(*by);
  return indices ? countBy(*indices, loc(call.range)) : errorValue();
}

/// norm(x, over=...): the root of the sum of squares.
Value Elaborator::normFunction(Call &call) {
  if (!accept(call, 1, 1, {"over"}))
    return errorValue();
  std::optional<Value> x = floatArg(call, call.args[0]);
  if (!x)
    return errorValue();
  std::optional<SmallVector<unsigned>> dims = reducedDims(option(call, "over"), *x);
  if (!dims)
    return errorValue();
  Location at = loc(call.range);
  Value squares = tensorValue(arith::MulFOp::create(builder, at, x->ir, x->ir), x->type->elem, x->type->dims);
  Value total = reduceOver(Reduce::sum, squares, *dims, at);
  return tensorValue(math::SqrtOp::create(builder, at, total.ir), total.type->elem, total.type->dims);
}

//===----------------------------------------------------------------------===//
// Variance
//===----------------------------------------------------------------------===//

/// The mean square deviation of each segment. With d the deviations from one of the segment's terms (its maximum), on
/// which the result does not depend, it is mean(d^2) - mean(d)^2: no large common part cancels, equal terms give
/// exactly 0, and both means come from one pass over the entries.
Value Elaborator::varianceBy(const Value &x, ArrayRef<Value> by, SourceRange at, SourceRange xRange) {
  std::optional<unsigned> place = consumedAt(x, by[0], xRange);
  if (!place)
    return errorValue();
  Location l = loc(at);
  Elem elem = x.type->elem;
  unsigned rank = by[0].type->dims.size();
  bool isFlat = irDims(by[0].type->dims).size() == 1;
  Value entries = isFlat ? x : flatEntries(x, *place, rank, l);
  Value idx = flatIndex(by, l);
  if (!isFlat)
    idx = flatEntries(idx, 0, rank, l);
  Value term = holdConstant(reduceBy(Reduce::max, entries, idx, nullptr, at, xRange), l);
  unsigned dims[] = {*place};
  ArrayRef<Dim> shape = entries.type->dims;
  Value d = tensorValue(arith::SubFOp::create(builder, l, entries.ir, gather(term, dims, idx, {}, l).ir), elem, shape);
  Value squares = tensorValue(arith::MulFOp::create(builder, l, d.ir, d.ir), elem, shape);
  Value mean = reduceBy(Reduce::mean, d, idx, nullptr, at, xRange);
  Value meanSquare = reduceBy(Reduce::mean, squares, idx, nullptr, at, xRange);
  mlir::Value v = arith::SubFOp::create(builder, l, meanSquare.ir, arith::MulFOp::create(builder, l, mean.ir, mean.ir));
  // Rounding may leave less than 0; what lifts it to 0 has no derivative, so the variance keeps its own at 0.
  mlir::Value zero = filled(l, elem, mean.type->dims, 0);
  mlir::Value lift = arith::SubFOp::create(builder, l, arith::MaximumFOp::create(builder, l, v, zero), v);
  mlir::Value held = gnn::NondiffOp::create(builder, l, lift.getType(), lift);
  v = arith::AddFOp::create(builder, l, v, held);
  Dims result(mean.type->dims.begin(), mean.type->dims.begin() + *place);
  for (const Value &i : by)
    result.push_back({Dim::size, i.type->target});
  result.append(mean.type->dims.begin() + *place + 1, mean.type->dims.end());
  return reshapeTo(tensorValue(v, elem, mean.type->dims), result, l);
}

/// Over dimensions: from deviations to the mean of deviations to one of the terms.
Value Elaborator::varianceOver(const Value &x, ArrayRef<unsigned> over, Location at) {
  Elem elem = x.type->elem;
  ArrayRef<Dim> dims = x.type->dims;
  SmallVector<unsigned> kept;
  for (unsigned k = 0; k < dims.size(); ++k)
    if (!llvm::is_contained(over, k))
      kept.push_back(k);
  auto minus = [&](const Value &a, const Value &reduced) {
    return tensorValue(arith::SubFOp::create(builder, at, a.ir, broadcastTo(reduced, dims, kept, at).ir), elem, dims);
  };
  Value term = holdConstant(reduceOver(Reduce::max, x, over, at), at);
  Value d = minus(x, term);
  Value r = minus(d, reduceOver(Reduce::mean, d, over, at));
  Value squares = tensorValue(arith::MulFOp::create(builder, at, r.ir, r.ir), elem, dims);
  return reduceOver(Reduce::mean, squares, over, at);
}

/// var, std: biased, 0 for an empty segment. The gradient of std is 0 where it is 0, as that of the square root is.
Value Elaborator::varianceFunction(Call &call) {
  if (!accept(call, 1, 1, {"over", "by", "empty"}))
    return errorValue();
  std::optional<Value> operand = floatArg(call, call.args[0]);
  if (!operand)
    return errorValue();
  const Value &x = *operand;
  Location at = loc(call.range);
  CallArg *over = option(call, "over"), *by = option(call, "by"), *emptyArg = option(call, "empty");
  if (over && by) {
    diags.error(Diag::badReduction, call.range, "a reduction goes 'over' dimensions or 'by' an index, not both");
    return errorValue();
  }
  if (emptyArg && !by) {
    diags.error(Diag::badReduction, emptyArg->range,
                "'empty' goes with 'by': it is what a segment without entries gives");
    return errorValue();
  }
  std::optional<std::vector<Value>> indices;
  Value v;
  if (by) {
    indices = byIndices(*by);
    if (!indices)
      return errorValue();
    v = varianceBy(x, *indices, call.range, call.args[0].range);
  } else {
    std::optional<SmallVector<unsigned>> dims = reducedDims(over, x);
    if (!dims)
      return errorValue();
    v = varianceOver(x, *dims, at);
  }
  if (v.isError())
    return v;
  if (call.callee == "std")
    v.ir = math::SqrtOp::create(builder, at, v.ir);
  if (!emptyArg)
    return v;
  Value empty = coerce(arg(*emptyArg), scalar(x.type->elem), emptyArg->range, "'empty'");
  if (empty.isError())
    return empty;
  std::optional<unsigned> place = consumedAt(x, indices->front(), call.args[0].range);
  return fillEmpty(v, empty, convertElem(countBy(*indices, at), x.type->elem, at), *place, at);
}

} // namespace gnnc::elab
