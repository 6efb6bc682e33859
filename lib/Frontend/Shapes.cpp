// Built-ins that make and change shapes, and random draws.
#include "Elaborator.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace gnnc::elab {

/// `[g.nodes, H * D]` as an argument.
std::optional<Dims> Elaborator::shapeArg(CallArg &a) {
  const auto *list = dyn_cast_or_null<ast::ListExpr>(a.expr);
  if (!list) {
    diags.error(Diag::badOperand, a.range, "expected a list of dimensions, such as [n, 3]");
    return std::nullopt;
  }
  std::optional<Dims> dims = dimensions(list->items);
  return dims && requireNonNegative(*dims, a.range) ? dims : std::nullopt;
}

/// The dimensions in a built-in's brackets: zeros[n, 3]().
std::optional<Dims> Elaborator::callDims(const Call &call) {
  SmallVector<ast::Expr *> items;
  for (const ast::Arg &a : call.dims) {
    if (a.name) {
      diags.error(Diag::wrongArguments, a.name.range, "'" + call.callee + "' takes its dimensions by position");
      return std::nullopt;
    }
    items.push_back(a.value);
  }
  std::optional<Dims> dims = dimensions(items);
  return dims && requireNonNegative(*dims, call.dimsRange) ? dims : std::nullopt;
}

/// `over=` of functions that go along one dimension; the last one without it.
std::optional<unsigned> Elaborator::positionArg(const CallArg *over, const Value &x) {
  if (!over)
    return x.type->dims.size() - 1;
  std::optional<SmallVector<unsigned>> dims = overDims(*over, x);
  if (!dims)
    return std::nullopt;
  if (dims->size() == 1)
    return dims->front();
  diags.error(Diag::badReduction, over->range, "expected one dimension");
  return std::nullopt;
}

Value Elaborator::reshapeTo(const Value &x, ArrayRef<Dim> dims, Location at) { return insertOnes(x, dims, at); }

Value Elaborator::reshapeFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  Value x = arg(call.args[0]);
  std::optional<Dims> dims = shapeArg(call.args[1]);
  if (x.isError() || !dims)
    return errorValue();
  if (!x.type->isTensor() || isLiteral(x.type->elem)) {
    diags.error(Diag::badOperand, call.args[0].range, "'reshape' takes a tensor, found " + describe(x));
    return errorValue();
  }
  auto count = [&](ArrayRef<Dim> ds) {
    SizeAttr product = constantSize(1);
    for (const Dim &d : ds)
      product = product.mul(d.extent);
    return product;
  };
  SizeAttr from = count(x.type->dims), to = count(*dims);
  if (from != to) {
    diags.error(Diag::reshapeSize, call.args[1].range,
                "'reshape' must keep the number of elements: " + str(x.type->dims) + " has " + str(from) + ", " +
                    str(*dims) + " has " + str(to));
    return errorValue();
  }
  return reshapeTo(x, *dims, loc(call.range));
}

/// transpose(x) of a matrix; transpose(x, [b, a]) by names of dimensions or by positions.
Value Elaborator::transposeFunction(Call &call) {
  if (!accept(call, 1, 2))
    return errorValue();
  Value x = arg(call.args[0]);
  if (x.isError())
    return x;
  if (!x.type->isTensor() || isLiteral(x.type->elem)) {
    diags.error(Diag::badOperand, call.args[0].range, "'transpose' takes a tensor, found " + describe(x));
    return errorValue();
  }
  ArrayRef<Dim> dims = x.type->dims;
  if (call.args.size() == 1) {
    if (dims.size() == 2 && dims[0].kind != Dim::pack && dims[1].kind != Dim::pack)
      return permute(x, {1, 0}, loc(call.range));
    diags
        .error(Diag::badOperand, call.args[0].range,
               "'transpose' without an order takes a matrix, found " + describe(x))
        .note("give the order of the dimensions: transpose(x, [1, 0, 2])");
    return errorValue();
  }
  const auto *list = dyn_cast_or_null<ast::ListExpr>(call.args[1].expr);
  if (!list || list->items.size() != dims.size()) {
    diags.error(Diag::badOperand, call.args[1].range,
                "expected a list of the " + llvm::Twine(dims.size()) + " dimensions of " + str(x.type) +
                    " in their new order");
    return errorValue();
  }
  SmallVector<unsigned> perm;
  for (const ast::Expr *item : list->items)
    if (!overItem(item, x, perm))
      return errorValue();
  return permute(x, perm, loc(call.range));
}

Value Elaborator::broadcastFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  Value x = arg(call.args[0]);
  std::optional<Dims> dims = shapeArg(call.args[1]);
  if (x.isError() || !dims)
    return errorValue();
  if (!x.type->isTensor()) {
    diags.error(Diag::badOperand, call.args[0].range, "'broadcast' takes a tensor, found " + describe(x));
    return errorValue();
  }
  if (isLiteral(x.type->elem))
    x = materialise(x, Elem::real, loc(call.args[0].range));
  std::optional<Value> wide = broadcastInto(x, *dims, call.range);
  return wide ? *wide : errorValue();
}

/// concat(a, b, ..., over=-1).
Value Elaborator::concatFunction(Call &call) {
  if (!accept(call, 1, ~0u, {"over"}))
    return errorValue();
  std::vector<Value> parts;
  SmallVector<SourceRange> ranges;
  for (CallArg &a : call.args) {
    if (!a.name.empty())
      continue;
    Value v = arg(a);
    if (v.isError())
      return v;
    if (!v.type->isTensor() || v.type->dims.empty()) {
      diags.error(Diag::badOperand, a.range, "'concat' takes tensors with dimensions, found " + describe(v));
      return errorValue();
    }
    parts.push_back(v);
    ranges.push_back(a.range);
  }
  const Value &first = parts.front();
  std::optional<unsigned> position = positionArg(option(call, "over"), first);
  if (!position)
    return errorValue();
  unsigned rank = first.type->dims.size(), dim = *position;
  SizeAttr total = constantSize(0);
  SmallVector<mlir::Value> irParts;
  for (auto [k, v] : llvm::enumerate(parts)) {
    bool fits = v.type->elem == first.type->elem && v.type->target == first.type->target && v.type->dims.size() == rank;
    for (unsigned d = 0; fits && d < rank; ++d)
      fits = d == dim ? v.type->dims[d].kind != Dim::pack
                      : v.type->dims[d].kind == first.type->dims[d].kind &&
                            v.type->dims[d].extent == first.type->dims[d].extent;
    if (!fits) {
      diags.error(Diag::typeMismatch, ranges[k],
                  "'concat' joins tensors that differ only in dimension " + llvm::Twine(dim) + ", found " +
                      describe(first) + " and " + describe(v));
      return errorValue();
    }
    total = total.add(v.type->dims[dim].extent);
    irParts.push_back(v.ir);
  }
  Dims dims = first.type->dims;
  dims[dim] = {Dim::size, total};
  mlir::Value r =
      gnn::ConcatOp::create(builder, loc(call.range), irTensor(first.type->elem, dims), irParts, irPosition(dims, dim));
  return tensorValue(r, first.type->elem, dims, first.type->target);
}

/// split(x, 3) into equal parts, split(x, [H, H, D]) into parts of these sizes; along the last dimension or `over=`.
Value Elaborator::splitFunction(Call &call) {
  if (!accept(call, 2, 2, {"over"}))
    return errorValue();
  Value x = arg(call.args[0]);
  if (x.isError())
    return x;
  if (!x.type->isTensor() || x.type->dims.empty()) {
    diags.error(Diag::badOperand, call.args[0].range, "'split' takes a tensor with dimensions, found " + describe(x));
    return errorValue();
  }
  std::optional<unsigned> position = positionArg(option(call, "over"), x);
  if (!position)
    return errorValue();
  unsigned dim = *position;
  if (x.type->dims[dim].kind == Dim::pack) {
    diags.error(Diag::badOperand, call.args[0].range, "'split' can't cut a pack of dimensions, found " + describe(x));
    return errorValue();
  }
  SizeAttr extent = x.type->dims[dim].extent;
  SmallVector<SizeAttr> sizes;
  if (isa_and_nonnull<ast::ListExpr>(call.args[1].expr)) {
    std::optional<Dims> given = shapeArg(call.args[1]);
    if (!given)
      return errorValue();
    SizeAttr total = constantSize(0);
    for (const Dim &d : *given) {
      total = total.add(d.extent);
      sizes.push_back(d.extent);
    }
    if (total != extent) {
      diags.error(Diag::reshapeSize, call.args[1].range,
                  "the parts add up to " + str(total) + ", but the dimension is " + str(extent));
      return errorValue();
    }
  } else {
    Value parts = arg(call.args[1]);
    if (parts.isError())
      return parts;
    std::optional<int64_t> n =
        parts.type->isTensor() && parts.type->elem == Elem::integer ? parts.size.getConstant() : std::nullopt;
    if (!n || *n < 1 || *n > 1024) {
      diags.error(Diag::badOperand, call.args[1].range,
                  "expected a constant number of parts, or a list of their sizes");
      return errorValue();
    }
    // Equal parts: every coefficient must be divisible, whatever the sizes are.
    SizeAttr part = extent.ceilDiv(*n);
    if (part.scale(*n) != extent) {
      diags
          .error(Diag::reshapeSize, call.args[1].range,
                 str(extent) + " can't be split into " + llvm::Twine(*n) + " equal parts for all sizes")
          .note("give the sizes of the parts: split(x, [a, b])");
      return errorValue();
    }
    sizes.assign(*n, part);
  }
  std::vector<Value> parts;
  SizeAttr from = constantSize(0);
  for (SizeAttr size : sizes) {
    if (!requireNonNegative(size, call.args[1].range, "a part of 'split' has a negative size"))
      return errorValue();
    parts.push_back(sliceBy(x, dim, from, 1, size, loc(call.range)));
    from = from.add(size);
  }
  return tupleValue(std::move(parts));
}

/// repeat(x, n): n copies one behind the other, along the last dimension or `over=`.
Value Elaborator::repeatFunction(Call &call) {
  if (!accept(call, 2, 2, {"over"}))
    return errorValue();
  Value x = arg(call.args[0]), n = arg(call.args[1]);
  if (x.isError() || n.isError())
    return errorValue();
  if (!x.type->isTensor() || x.type->dims.empty() || isLiteral(x.type->elem)) {
    diags.error(Diag::badOperand, call.args[0].range, "'repeat' takes a tensor with dimensions, found " + describe(x))
        .note("broadcast(x, [n]) makes a tensor of a scalar");
    return errorValue();
  }
  if (!n.type->isTensor() || n.type->elem != Elem::integer) {
    diags.error(Diag::badOperand, call.args[1].range, "expected how many copies, a size, found " + describe(n));
    return errorValue();
  }
  std::optional<unsigned> position = positionArg(option(call, "over"), x);
  if (!position)
    return errorValue();
  unsigned dim = *position;
  if (x.type->dims[dim].kind == Dim::pack) {
    diags.error(Diag::badOperand, call.args[0].range,
                "'repeat' can't repeat a pack of dimensions, found " + describe(x));
    return errorValue();
  }
  if (!requireNonNegative(n.size, call.args[1].range, "the number of copies is negative"))
    return errorValue();
  Location at = loc(call.range);
  Dims wide = x.type->dims, result = x.type->dims;
  wide.insert(wide.begin() + dim, {Dim::size, n.size});
  result[dim] = {Dim::size, n.size.mul(x.type->dims[dim].extent)};
  SmallVector<unsigned> where;
  for (unsigned k = 0; k < x.type->dims.size(); ++k)
    where.push_back(k < dim ? k : k + 1);
  return reshapeTo(broadcastTo(x, wide, where, at), result, at);
}

/// pick(x, i): of every x[n, :] the element that i[n] points at. A selection and a sum: its adjoint needs no scatter.
Value Elaborator::pickFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  std::optional<Value> operand = floatArg(call, call.args[0]);
  Value i = arg(call.args[1]);
  if (!operand || i.isError())
    return errorValue();
  const Value &x = *operand;
  if (!i.type->isTensor() || i.type->elem != Elem::index) {
    diags.error(Diag::badIndex, call.args[1].range, "'pick' takes an index array, found " + describe(i));
    return errorValue();
  }
  SmallVector<unsigned> found;
  for (auto [k, d] : llvm::enumerate(x.type->dims))
    if (d.kind == Dim::size && d.extent == i.type->target)
      found.push_back(k);
  if (found.size() != 1) {
    diags.error(found.empty() ? Diag::badIndex : Diag::ambiguousDimension, call.args[1].range,
                "this index points into " + str(i.type->target) + ", which stands " +
                    (found.empty() ? "not" : "twice") + " in " + str(x.type));
    return errorValue();
  }
  Dims rest = x.type->dims;
  rest.erase(rest.begin() + found[0]);
  std::optional<Value> wide = broadcastInto(i, rest, call.range);
  if (!wide)
    return errorValue();
  Location at = loc(call.range);
  SmallVector<unsigned> where;
  for (unsigned k = 0; k < x.type->dims.size(); ++k)
    if (k != found[0])
      where.push_back(k);
  mlir::Value chosen = broadcastTo(*wide, x.type->dims, where, at).ir;
  mlir::Value classes =
      gnn::IotaOp::create(builder, at, irTensor(Elem::index, x.type->dims), irPosition(x.type->dims, found[0]));
  mlir::Value hit = compare(at, false, "==", classes, chosen);
  mlir::Value only = arith::SelectOp::create(builder, at, hit, x.ir, filled(at, x.type->elem, x.type->dims, 0));
  return reduceOver(Reduce::sum, tensorValue(only, x.type->elem, x.type->dims), found, at);
}

/// one_hot(i): real[S..., A] of i: index(A)[S...].
Value Elaborator::oneHotFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  Value i = arg(call.args[0]);
  if (i.isError())
    return i;
  if (!i.type->isTensor() || i.type->elem != Elem::index) {
    diags.error(Diag::badIndex, call.args[0].range, "'one_hot' takes an index array, found " + describe(i));
    return errorValue();
  }
  Location at = loc(call.range);
  Dims dims = i.type->dims;
  SmallVector<unsigned> where;
  for (unsigned k = 0; k < dims.size(); ++k)
    where.push_back(k);
  dims.push_back({Dim::size, i.type->target});
  mlir::Value wide = broadcastTo(i, dims, where, at).ir;
  mlir::Value classes =
      gnn::IotaOp::create(builder, at, irTensor(Elem::index, dims), irPosition(dims, dims.size() - 1));
  Value hit = tensorValue(compare(at, false, "==", classes, wide), Elem::boolean, dims);
  return convertElem(hit, Elem::real, at);
}

/// iota[K](): index(K)[K], 0 to K - 1.
Value Elaborator::iotaFunction(Call &call) {
  if (!accept(call, 0, 0, {}, true))
    return errorValue();
  std::optional<Dims> dims = callDims(call);
  if (!dims)
    return errorValue();
  if (dims->size() != 1 || (*dims)[0].kind == Dim::pack) {
    diags.error(Diag::wrongArguments, call.dimsRange, "'iota' takes one dimension: iota[n]()");
    return errorValue();
  }
  mlir::Value r = gnn::IotaOp::create(builder, loc(call.range), irTensor(Elem::index, *dims), 0);
  return tensorValue(r, Elem::index, *dims, (*dims)[0].extent);
}

/// zeros[n, F](), ones[n, F]().
Value Elaborator::filledFunction(Call &call) {
  if (!accept(call, 0, 0, {}, true))
    return errorValue();
  std::optional<Dims> dims = callDims(call);
  if (!dims)
    return errorValue();
  return tensorValue(filled(loc(call.range), Elem::real, *dims, call.callee == "ones" ? 1 : 0), Elem::real, *dims);
}

Value Elaborator::ceildivFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  Value a = arg(call.args[0]), b = arg(call.args[1]);
  if (a.isError() || b.isError())
    return errorValue();
  auto isInteger = [](const Value &v) { return v.type->isTensor() && v.type->elem == Elem::integer; };
  std::optional<int64_t> divisor = isInteger(b) ? b.size.getConstant() : std::nullopt;
  if (!isInteger(a) || !divisor || *divisor < 1) {
    diags.error(Diag::badOperand, call.range, "'ceildiv' takes a size and a positive constant");
    return errorValue();
  }
  return integerValue(a.size.ceilDiv(*divisor));
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

/// key(seed) is fold(0, seed).
Value Elaborator::keyFunction(Call &call) {
  if (!accept(call, 1, 1))
    return errorValue();
  Value seed = coerce(arg(call.args[0]), scalar(Elem::i64), call.args[0].range, "the seed of 'key'");
  if (seed.isError())
    return seed;
  Location at = loc(call.range);
  mlir::Value zero = constantInteger(at, Elem::key, 0);
  return tensorValue(gnn::FoldKeyOp::create(builder, at, zero.getType(), zero, seed.ir), Elem::key);
}

Value Elaborator::foldFunction(Call &call) {
  if (!accept(call, 2, 2))
    return errorValue();
  Value key = coerce(arg(call.args[0]), scalar(Elem::key), call.args[0].range, "the first argument of 'fold'");
  Value number = arg(call.args[1]);
  Location at = loc(call.range);
  if (!number.isError() && number.type->isScalar() &&
      (isRuntimeInt(number.type->elem) || number.type->elem == Elem::index))
    number = convertElem(number, Elem::i64, at);
  number = coerce(number, scalar(Elem::i64), call.args[1].range, "the number folded into a key");
  if (key.isError() || number.isError())
    return errorValue();
  return tensorValue(gnn::FoldKeyOp::create(builder, at, key.ir.getType(), key.ir, number.ir), Elem::key);
}

/// uniform[n, F](key): in [0, 1).
Value Elaborator::uniformFunction(Call &call) {
  if (!accept(call, 1, 1, {}, true))
    return errorValue();
  std::optional<Dims> dims = callDims(call);
  Value key = coerce(arg(call.args[0]), scalar(Elem::key), call.args[0].range, "the argument of 'uniform'");
  if (!dims || key.isError())
    return errorValue();
  mlir::Value r = gnn::UniformOp::create(builder, loc(call.range), irTensor(Elem::real, *dims), key.ir);
  return tensorValue(r, Elem::real, *dims);
}

/// randn[n, F](key): standard normal numbers, by the transform of Box and Muller (1958) from two uniform draws.
Value Elaborator::randnFunction(Call &call) {
  if (!accept(call, 1, 1, {}, true))
    return errorValue();
  std::optional<Dims> dims = callDims(call);
  Value key = coerce(arg(call.args[0]), scalar(Elem::key), call.args[0].range, "the argument of 'randn'");
  if (!dims || key.isError())
    return errorValue();
  Location at = loc(call.range);
  RankedTensorType type = irTensor(Elem::real, *dims);
  auto draw = [&](int64_t number) {
    mlir::Value folded =
        gnn::FoldKeyOp::create(builder, at, key.ir.getType(), key.ir, constantInteger(at, Elem::key, number));
    return gnn::UniformOp::create(builder, at, type, folded).getResult();
  };
  auto constant = [&](double c) { return filled(at, Elem::real, *dims, c); };
  // 1 - u is in (0, 1], so its logarithm is finite.
  mlir::Value u = arith::SubFOp::create(builder, at, constant(1), draw(0));
  mlir::Value square = arith::MulFOp::create(builder, at, constant(-2), math::LogOp::create(builder, at, u));
  mlir::Value angle = arith::MulFOp::create(builder, at, constant(2 * M_PI), draw(1));
  mlir::Value r = arith::MulFOp::create(builder, at, math::SqrtOp::create(builder, at, square),
                                        math::CosOp::create(builder, at, angle));
  return tensorValue(r, Elem::real, *dims);
}

/// dropout(x, rate, key): a selection of x / (1 - rate), never a product with 0.
Value Elaborator::dropoutFunction(Call &call) {
  if (!accept(call, 3, 3))
    return errorValue();
  std::optional<Value> x = floatArg(call, call.args[0]);
  Value given = arg(call.args[1]);
  Value key = coerce(arg(call.args[2]), scalar(Elem::key), call.args[2].range, "the third argument of 'dropout'");
  if (!x || given.isError() || key.isError())
    return errorValue();
  Elem elem = x->type->elem;
  Value rate = coerce(given, scalar(elem), call.args[1].range, "the rate of 'dropout'");
  if (rate.isError())
    return rate;
  Location at = loc(call.range);
  // A constant may have come through parameters of functions.
  llvm::APFloat constant(0.0);
  bool isConstant = matchPattern(rate.ir, m_ConstantFloat(&constant));
  if (isConstant && !(constant.convertToDouble() >= 0 && constant.convertToDouble() < 1)) {
    diags.error(Diag::badOperand, call.args[1].range, "a dropout rate is at least 0 and below 1");
    return errorValue();
  }
  if (isConstant && constant.isZero())
    return *x;
  ArrayRef<Dim> dims = x->type->dims;
  mlir::Value one = constantTensor(at, elem, 1);
  mlir::Value scale = arith::DivFOp::create(builder, at, one, arith::SubFOp::create(builder, at, one, rate.ir));
  mlir::Value draw = gnn::UniformOp::create(builder, at, irTensor(elem, dims), key.ir);
  mlir::Value kept = compare(at, true, ">=", draw, broadcastTo(rate, dims, {}, at).ir);
  mlir::Value scaled =
      arith::MulFOp::create(builder, at, x->ir, broadcastTo(tensorValue(scale, elem), dims, {}, at).ir);
  return tensorValue(arith::SelectOp::create(builder, at, kept, scaled, filled(at, elem, dims, 0)), elem, dims);
}

} // namespace gnnc::elab
