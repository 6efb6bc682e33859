// Broadcasting by identity: the dimensions of one operand are an ordered subsequence of the other's, in exactly one
// way; lists of equal length match by position; `_` matches any one dimension. In the IR every broadcast names
// positions.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

static bool matches(const Dim &a, const Dim &b) {
  if (a == b)
    return true;
  return (a.kind == Dim::one && b.kind != Dim::pack) || (b.kind == Dim::one && a.kind != Dim::pack);
}

/// Embeds `part` into `whole`: how many ways there are (at most 2 are told apart), and one of them.
static Fit embed(ArrayRef<Dim> part, ArrayRef<Dim> whole, SmallVectorImpl<unsigned> &where) {
  // ways[i][j]: part[i..] into whole[j..].
  unsigned n = part.size(), m = whole.size();
  std::vector<std::vector<unsigned>> ways(n + 1, std::vector<unsigned>(m + 1, 0));
  for (unsigned j = 0; j <= m; ++j)
    ways[n][j] = 1;
  for (unsigned i = n; i-- > 0;)
    for (unsigned j = m; j-- > 0;)
      ways[i][j] = std::min(2u, ways[i][j + 1] + (matches(part[i], whole[j]) ? ways[i + 1][j + 1] : 0));
  if (ways[0][0] != 1)
    return ways[0][0] == 0 ? Fit::none : Fit::several;
  for (unsigned i = 0, j = 0; i < n; ++j)
    if (matches(part[i], whole[j]) && ways[i + 1][j + 1] > 0) {
      where.push_back(j);
      ++i;
    }
  return Fit::one;
}

Fit Elaborator::align(ArrayRef<Dim> a, ArrayRef<Dim> b, Alignment &out) {
  bool swapped = a.size() > b.size();
  ArrayRef<Dim> part = swapped ? b : a, whole = swapped ? a : b;
  SmallVector<unsigned> where;
  Fit fit = embed(part, whole, where);
  if (fit != Fit::one)
    return fit;
  out.dims.assign(whole.begin(), whole.end());
  for (auto [k, position] : llvm::enumerate(where))
    if (out.dims[position].kind == Dim::one)
      out.dims[position] = part[k];
  SmallVector<unsigned> all;
  for (unsigned k = 0; k < whole.size(); ++k)
    all.push_back(k);
  out.lhs = swapped ? all : where;
  out.rhs = swapped ? where : all;
  return fit;
}

bool Elaborator::alignOrReport(const Value &a, const Value &b, SourceRange range, SourceRange aRange,
                               SourceRange bRange, Alignment &out) {
  Fit fit = align(a.type->dims, b.type->dims, out);
  if (fit == Fit::one)
    return true;
  const Dims &x = a.type->dims, &y = b.type->dims;
  auto textOf = [&](SourceRange r, StringRef fallback) {
    StringRef text = r.isValid() ? diags.sourceManager().text(r) : fallback;
    bool simple =
        text.size() <= 24 && llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    return simple ? text.str() : fallback.str();
  };
  std::string aText = textOf(aRange, "a"), bText = textOf(bRange, "b");
  std::string shapes = str(x) + " and " + str(y);
  if (fit == Fit::several) {
    const Dims &shorter = x.size() < y.size() ? x : y;
    std::string name = x.size() < y.size() ? aText : bText;
    std::string colons = ":";
    for (unsigned k = 1; k < shorter.size(); ++k)
      colons += ", :";
    diags.error(Diag::broadcast, range, "the shapes " + shapes + " fit together in more than one way")
        .note("say which dimension is new with None: " + name + "[None, " + colons + "] or " + name + "[" + colons +
              ", None]");
    return false;
  }
  Dims sortedX = x, sortedY = y;
  auto less = [&](const Dim &p, const Dim &q) { return str(p.extent) < str(q.extent); };
  llvm::sort(sortedX, less);
  llvm::sort(sortedY, less);
  if (sortedX == sortedY && x.size() > 1) {
    diags.error(Diag::broadcast, range, "the shapes " + shapes + " have the same dimensions in another order")
        .note(x.size() == 2 ? "write transpose(" + bText + "), which is " + str(x)
                            : "write transpose(" + bText + ", " + str(x) + ")");
    return false;
  }
  bool disjoint = llvm::none_of(x, [&](const Dim &d) { return llvm::is_contained(y, d); });
  Diagnostic &error = diags.error(
      Diag::broadcast, range,
      "the shapes " + shapes +
          (disjoint ? " have no dimension in common" : " don't fit together: neither is an ordered part of the other"));
  // Old edges and new ones are the likeliest mistake.
  auto edgesOf = [&](const Dims &dims) -> std::optional<int64_t> {
    for (const Dim &d : dims)
      if (std::optional<int64_t> id = d.kind == Dim::size ? d.extent.getSet() : std::nullopt)
        if (StringRef(vars[*id].name).ends_with(".edges"))
          return id;
    return std::nullopt;
  };
  std::optional<int64_t> xEdges = edgesOf(x), yEdges = edgesOf(y);
  if (xEdges && yEdges && *xEdges != *yEdges) {
    error.note("'" + vars[*xEdges].name + "' and '" + vars[*yEdges].name +
               "' are the edges of different graphs: let what edges carry travel with the graph");
  } else if (x.size() == 1 && y.size() == 1) {
    Dims outer = {x[0], y[0]};
    error.note("write " + aText + "[:, None] for all pairs, " + str(outer));
  } else {
    error.note("None in brackets inserts a dimension that matches any one: " + aText + "[:, None]");
  }
  return false;
}

Value Elaborator::broadcastTo(const Value &value, ArrayRef<Dim> dims, ArrayRef<unsigned> where, Location at) {
  RankedTensorType type = irTensor(value.type->elem, dims);
  Value v = tensorValue(value.ir, value.type->elem, dims, value.type->target);
  if (value.ir.getType() != type)
    v.ir = gnn::BroadcastOp::create(builder, at, type, value.ir, irPositions(dims, where));
  return v;
}

std::optional<Value> Elaborator::broadcastInto(const Value &value, ArrayRef<Dim> dims, SourceRange range) {
  SmallVector<unsigned> where;
  Fit fit = value.type->dims.size() > dims.size() ? Fit::none : embed(value.type->dims, dims, where);
  if (fit == Fit::one)
    return broadcastTo(value, dims, where, loc(range));
  Alignment unused;
  Value shape = value;
  shape.type = tensor(value.type->elem, dims);
  if (fit == Fit::several || value.type->dims.size() <= dims.size()) {
    alignOrReport(value, shape, range, range, {}, unused);
    return std::nullopt;
  }
  diags.error(Diag::broadcast, range, "the shape " + str(value.type->dims) + " does not fit into " + str(dims));
  return std::nullopt;
}

/// The element type that operands agree on: literals adapt to the others, and are real among themselves.
bool Elaborator::unifyElems(MutableArrayRef<Value> values, ArrayRef<SourceRange> ranges, SourceRange at,
                            StringRef what) {
  std::optional<unsigned> typed;
  for (auto [k, v] : llvm::enumerate(values)) {
    if (v.isError())
      return false;
    if (!v.type->isTensor()) {
      diags.error(Diag::badOperand, ranges[k], what + " takes tensors and numbers, found " + describe(v));
      return false;
    }
    if (!typed && !isLiteral(v.type->elem))
      typed = k;
  }
  Elem elem = typed ? values[*typed].type->elem : Elem::real;
  for (auto [k, v] : llvm::enumerate(values)) {
    Elem own = v.type->elem;
    if (own == Elem::integer && (isFloat(elem) || isRuntimeInt(elem)) && literalFits(v, elem)) {
      v = materialise(v, elem, loc(ranges[k]));
      continue;
    }
    if (own == Elem::number && isFloat(elem)) {
      v = materialise(v, elem, loc(ranges[k]));
      continue;
    }
    if (own == elem && (own != Elem::index || v.type->target == values[*typed].type->target))
      continue;
    Diagnostic &error = diags.error(Diag::typeMismatch, at,
                                    what + " needs operands of one element type, found " + describe(values[*typed]) +
                                        " and " + describe(v));
    if (own == Elem::number)
      error.note("write real(...) to make the integer operand real");
    else if (isFloat(elem) && (isRuntimeInt(own) || own == Elem::boolean))
      error.note(ranges[k], "write real(...) to convert it");
    else if (isFloat(own) && (isRuntimeInt(elem) || elem == Elem::boolean))
      error.note(ranges[*typed], "write real(...) to convert it");
    return false;
  }
  return true;
}

bool Elaborator::jointShape(MutableArrayRef<Value> values, ArrayRef<SourceRange> ranges, SourceRange at) {
  // The longest first; each must fit into what the others make.
  SmallVector<unsigned> order;
  for (unsigned k = 0; k < values.size(); ++k)
    order.push_back(k);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    size_t x = values[a].type->dims.size(), y = values[b].type->dims.size();
    return x != y ? x > y : a < b;
  });
  Dims joint = values[order[0]].type->dims;
  for (unsigned k : ArrayRef(order).drop_front()) {
    Alignment fit;
    Value shape = values[order[0]];
    shape.type = tensor(shape.type->elem, joint);
    if (!alignOrReport(shape, values[k], at, ranges[order[0]], ranges[k], fit))
      return false;
    joint = fit.dims;
  }
  for (auto [k, v] : llvm::enumerate(values)) {
    std::optional<Value> wide = broadcastInto(v, joint, at);
    if (!wide)
      return false;
    v = *wide;
  }
  return true;
}

} // namespace gnnc::elab
