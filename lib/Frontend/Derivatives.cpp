// grad, value_and_grad, vjp, jvp: the function's body goes into the region of a gnn.vjp, whose block arguments are the
// floating-point leaves that are differentiated with respect to; gnn.back turns cotangents into gradients. Forward mode
// transposes reverse mode: gradients are linear in cotangents, so their own derivative takes tangents to tangents.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

Value Elaborator::derivativeFunction(Call &call) {
  if (!accept(call, 1, 1, {"wrt"}))
    return errorValue();
  Value f = arg(call.args[0]);
  if (f.isError())
    return f;
  if (f.type->kind != Type::function) {
    diags.error(Diag::badWrt, call.args[0].range, "'" + call.callee + "' takes a function, found " + describe(f))
        .note("write " + call.callee + "(f, wrt=x)(...) with the arguments of f in the second parentheses");
    return errorValue();
  }
  if (frame->fn)
    derivativeTakers.insert(frame->fn);
  Closure c;
  c.kind = Closure::isDerivative;
  c.base = f.closure;
  c.derivative = call.callee == "grad"  ? DerivativeKind::grad
                 : call.callee == "vjp" ? DerivativeKind::vjp
                 : call.callee == "jvp" ? DerivativeKind::jvp
                                        : DerivativeKind::valueAndGrad;
  CallArg *wrt = option(call, "wrt");
  c.wrt = wrt ? wrt->expr : nullptr;
  c.range = call.range;
  return closureValue(std::move(c));
}

static StringRef spelling(DerivativeKind kind) {
  return kind == DerivativeKind::grad  ? "grad"
         : kind == DerivativeKind::vjp ? "vjp"
         : kind == DerivativeKind::jvp ? "jvp"
                                       : "value_and_grad";
}

/// The elements of a result: those of a tuple, or the one value.
static ArrayRef<Value> elementsOf(const Value &v) {
  return v.type->kind == Type::tuple ? ArrayRef<Value>(v.parts) : ArrayRef<Value>(v);
}

std::optional<Prepared> Elaborator::prepareDerivative(const Closure &closure, Call &call) {
  std::optional<Prepared> base = prepare(*closure.base, call);
  if (!base)
    return std::nullopt;

  // What wrt names.
  SmallVector<std::pair<unsigned, SourceRange>> wrt;
  bool ok = true, tuple = closure.wrt && isa<ast::TupleExpr>(closure.wrt);
  SmallVector<const ast::Expr *> items;
  if (tuple)
    llvm::append_range(items, cast<ast::TupleExpr>(closure.wrt)->items);
  else if (closure.wrt)
    items.push_back(closure.wrt);
  std::string params;
  for (const ParamInfo &p : base->params)
    params += (params.empty() ? "" : ", ") + p.name.str();
  for (const ast::Expr *item : items) {
    const auto *n = dyn_cast<ast::NameExpr>(item);
    unsigned k =
        n ? llvm::find_if(base->params, [&](const ParamInfo &p) { return p.name == n->name; }) - base->params.begin()
          : base->params.size();
    if (k == base->params.size()) {
      diags
          .error(Diag::badWrt, item->range,
                 n ? base->callee + " has no parameter '" + n->name + "'"
                   : llvm::Twine("'wrt' takes names of parameters of " + base->callee))
          .note("its parameters are " + params);
      ok = false;
      continue;
    }
    if (llvm::any_of(wrt, [&](auto &w) { return w.first == k; })) {
      diags.error(Diag::badWrt, item->range, "'" + base->params[k].name + "' is given twice");
      ok = false;
      continue;
    }
    wrt.push_back({k, item->range});
  }
  if (!closure.wrt) {
    if (base->params.size() != 1) {
      diags
          .error(Diag::badWrt, closure.range,
                 "'" + spelling(closure.derivative) + "' needs to know what to differentiate with respect to")
          .note("write wrt= with one or more of " + params);
      return std::nullopt;
    }
    wrt.push_back({0, closure.range});
  }
  for (auto &[k, range] : wrt) {
    const ParamInfo &p = base->params[k];
    const Value &v = base->args[k];
    if (p.nondiff) {
      diags
          .error(Diag::heldConstant, range,
                 "'" + p.name + "' is held constant by nondiff: asking for its gradient contradicts that")
          .note(p.range, "it is declared here");
      ok = false;
    } else if (v.closure || !(hasFloatLeaf(v) || (v.type->isTensor() && isLiteral(v.type->elem)))) {
      std::string why = v.type->kind == Type::graph || (v.type->isTensor() && v.type->elem == Elem::index)
                            ? ": indices and structure have no derivative"
                            : ": only real values have one";
      diags.error(Diag::noDerivative, range,
                  "there is no derivative with respect to '" + p.name + "', which is " +
                      (v.closure ? std::string("a function") : str(v.type)) + why);
      ok = false;
    }
  }
  for (const ParamInfo &p : base->params)
    if (p.isInout) {
      diags
          .error(Diag::badWrt, call.range,
                 base->callee + " changes its argument '" + p.name + "' and can't be differentiated")
          .note(p.range, "it is inout here");
      ok = false;
    }
  if (!ok)
    return std::nullopt;

  Prepared result = *base;
  // A lambda may have been called with a literal.
  for (auto &[k, range] : wrt)
    if (isLiteral(result.args[k].type->elem) && result.args[k].type->isTensor())
      result.args[k] = materialise(result.args[k], Elem::real, loc(range));
  SourceRange range = call.range;
  Prepared inner = *base;
  result.invoke = [this, target = closure, range, wrt, tuple, inner](ArrayRef<Value> args) -> Value {
    Location at = loc(range);
    auto isActive = [](const Value &leaf) { return isFloat(leaf.type->elem); };
    SmallVector<mlir::Value> operands;
    for (auto &[k, where] : wrt)
      forEachLeaf(args[k], "", [&](const Value &leaf, const std::string &) {
        if (isActive(leaf))
          operands.push_back(leaf.ir);
      });
    // The body is built before the op: its results' types are known only then.
    Region region;
    Block *body = new Block;
    region.push_back(body);
    for (mlir::Value v : operands)
      body->addArgument(v.getType(), at);
    std::vector<Value> inside(args.begin(), args.end());
    unsigned next = 0;
    SmallVector<std::pair<unsigned, unsigned>> spans;
    for (auto &[k, where] : wrt) {
      unsigned first = next;
      inside[k] = mapLeaves(args[k], [&](const Value &leaf) {
        Value v = leaf;
        if (isActive(leaf))
          v.ir = body->getArgument(next++);
        return v;
      });
      spans.push_back({first, next});
    }
    Value y;
    SmallVector<mlir::Value> yields;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(body);
      y = inner.invoke(inside);
      if (!y.isError()) {
        y = mapLeaves(y, [&](const Value &leaf) {
          return isLiteral(leaf.type->elem) ? materialise(leaf, Elem::real, at) : leaf;
        });
        if (y.type->kind == Type::tuple)
          y = tupleValue(y.parts);
        collectIr(y, yields);
        gnn::YieldOp::create(builder, at, yields);
      }
    }
    if (y.isError())
      return y;
    ArrayRef<Value> elements = elementsOf(y);
    const Value &first = elements.front();
    bool scalarResult = first.type->isScalar() && isFloat(first.type->elem);
    bool anyResult = target.derivative == DerivativeKind::vjp || target.derivative == DerivativeKind::jvp;
    if (!anyResult && (!scalarResult || (target.derivative == DerivativeKind::grad && y.type->kind == Type::tuple))) {
      diags
          .error(Diag::notScalar, target.range,
                 "'" + spelling(target.derivative) + "' needs a scalar: the result of " + inner.callee + " is " +
                     str(y.type))
          .note(y.type->kind == Type::tuple && scalarResult
                    ? "value_and_grad differentiates the first of several results and hands on the rest"
                    : "use vjp, which takes a cotangent of the result");
      return errorValue();
    }
    if (!hasFloatLeaf(y)) {
      diags.error(Diag::noDerivative, target.range,
                  "the result of " + inner.callee + ", " + str(y.type) + ", has no derivative");
      return errorValue();
    }
    for (auto [w, span] : llvm::zip(wrt, spans)) {
      bool used = false;
      for (unsigned k = span.first; k < span.second; ++k)
        used |= !body->getArgument(k).use_empty();
      if (!used)
        diags.warning(Diag::unusedWrt, w.second,
                      "the result does not depend on '" + inner.params[w.first].name + "': its gradient is zero");
    }
    SmallVector<mlir::Type> types;
    for (mlir::Value v : yields)
      types.push_back(v.getType());
    auto vjp = gnn::VjpOp::create(builder, at, types, gnn::TapeType::get(ctx), operands);
    vjp.getBody().takeBody(region);
    SmallVector<mlir::Value> outside(vjp.getValues().begin(), vjp.getValues().end());
    ArrayRef<mlir::Value> rest = outside;
    y = replaceIr(y, rest);
    std::vector<Value> wrtValues;
    for (auto &[k, where] : wrt)
      wrtValues.push_back(args[k]);

    Closure back;
    back.kind = target.derivative == DerivativeKind::jvp ? Closure::isPush : Closure::isBack;
    back.range = target.range;
    back.tape = vjp.getTape();
    back.values = {y};
    back.wrtValues = std::move(wrtValues);
    back.isSingle = !tuple;
    if (anyResult)
      return tupleValue({y, closureValue(std::move(back))});
    // The first result's cotangent is 1, the others are not differentiated.
    SmallVector<mlir::Value> cotangents;
    forEachLeaf(y, "", [&](const Value &leaf, const std::string &) {
      if (isActive(leaf))
        cotangents.push_back(filled(at, leaf.type->elem, leaf.type->dims, cotangents.empty() ? 1 : 0));
    });
    Value gradient = gradients(back, cotangents, at);
    return target.derivative == DerivativeKind::grad ? gradient : tupleValue({y, gradient});
  };
  return result;
}

/// The gradients from cotangents of all floating-point leaves of the result: shaped like what wrt names, integer leaves
/// unchanged.
Value Elaborator::gradients(const Closure &back, ValueRange cotangents, Location at) {
  SmallVector<mlir::Type> types;
  for (const Value &w : back.wrtValues)
    forEachLeaf(w, "", [&](const Value &leaf, const std::string &) {
      if (isFloat(leaf.type->elem))
        types.push_back(leaf.ir.getType());
    });
  auto op = gnn::BackOp::create(builder, at, types, back.tape, cotangents);
  unsigned next = 0;
  std::vector<Value> parts;
  for (const Value &w : back.wrtValues)
    parts.push_back(mapLeaves(w, [&](const Value &leaf) {
      Value v = leaf;
      if (isFloat(leaf.type->elem))
        v.ir = op.getGradients()[next++];
      return v;
    }));
  return back.isSingle ? parts.front() : tupleValue(std::move(parts));
}

/// back(y_adj, ...): one cotangent for each element of the result that has a derivative.
Value Elaborator::callBack(const Closure &closure, Call &call) {
  SmallVector<const Value *> active;
  for (const Value &element : elementsOf(closure.values.front()))
    if (hasFloatLeaf(element))
      active.push_back(&element);
  if (!accept(call, active.size(), active.size()))
    return errorValue();
  SmallVector<mlir::Value> cotangents;
  Location at = loc(call.range);
  bool ok = true;
  for (auto [a, element] : llvm::zip(call.args, active)) {
    Value v = coerce(arg(a), element->type, a.range, "the cotangent");
    if (v.isError()) {
      ok = false;
      continue;
    }
    forEachLeaf(v, "", [&](const Value &leaf, const std::string &) {
      if (isFloat(leaf.type->elem))
        cotangents.push_back(leaf.ir);
    });
  }
  return ok ? gradients(closure, cotangents, at) : errorValue();
}

/// push(x_tan, ...): a tangent for each name of wrt gives one for each element of the result that has a derivative.
Value Elaborator::callPush(const Closure &closure, Call &call) {
  unsigned count = closure.wrtValues.size();
  if (!accept(call, count, count))
    return errorValue();
  Location at = loc(call.range);
  SmallVector<mlir::Value> tangents;
  SmallVector<mlir::Type> gradientTypes;
  bool ok = true;
  for (auto [a, w] : llvm::zip(call.args, closure.wrtValues)) {
    Value v = coerce(arg(a), w.type, a.range, "the tangent");
    if (v.isError()) {
      ok = false;
      continue;
    }
    forEachLeaf(v, "", [&](const Value &leaf, const std::string &) {
      if (!isFloat(leaf.type->elem))
        return;
      tangents.push_back(leaf.ir);
      gradientTypes.push_back(leaf.ir.getType());
    });
  }
  if (!ok)
    return errorValue();
  // Cotangents to gradients is a linear map; where it is taken is of no consequence.
  const Value &y = closure.values.front();
  SmallVector<mlir::Value> cotangents;
  Region region;
  Block *body = new Block;
  region.push_back(body);
  SmallVector<mlir::Type> tangentTypes;
  forEachLeaf(y, "", [&](const Value &leaf, const std::string &) {
    if (!isFloat(leaf.type->elem))
      return;
    cotangents.push_back(filled(at, leaf.type->elem, leaf.type->dims, 0));
    tangentTypes.push_back(leaf.ir.getType());
    body->addArgument(leaf.ir.getType(), at);
  });
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(body);
    auto back = gnn::BackOp::create(builder, at, gradientTypes, closure.tape, body->getArguments());
    gnn::YieldOp::create(builder, at, back.getGradients());
  }
  auto transposed = gnn::VjpOp::create(builder, at, gradientTypes, gnn::TapeType::get(ctx), cotangents);
  transposed.getBody().takeBody(region);
  auto pushed = gnn::BackOp::create(builder, at, tangentTypes, transposed.getTape(), tangents);
  unsigned next = 0;
  std::vector<Value> parts;
  for (const Value &element : elementsOf(y))
    if (hasFloatLeaf(element))
      parts.push_back(mapLeaves(element, [&](const Value &leaf) {
        Value v = leaf;
        if (isFloat(leaf.type->elem))
          v.ir = pushed.getGradients()[next++];
        return v;
      }));
  return parts.size() == 1 ? parts.front() : tupleValue(std::move(parts));
}

} // namespace gnnc::elab
