// Functions as values: lambdas, parameters of function type, and functions of scalars that are applied to tensors. They
// are called in the frame that they come from, whose dimensions the arguments are translated into.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

/// Checks a function argument against its declared type by calling it, which may also say what dimensions of its result
/// are.
Value Elaborator::callSignature(const Closure &passed, TypeRef signature, Frame &callee, CallArg &a, bool &ok) {
  Closure c;
  c.kind = Closure::isParameter;
  c.signature = signature;
  c.callee = callee.id;
  c.frame = frame;
  c.base = std::make_shared<Closure>(passed);
  c.range = a.range;
  bool open = false;
  auto look = [&](SizeAttr size) {
    size.forEachSet([&](int64_t id) { open |= vars[id].frame == callee.id && !vars[id].bound; });
  };
  std::function<void(TypeRef)> walk = [&](TypeRef t) {
    for (const Dim &d : t->dims)
      look(d.extent);
    if (t->target)
      look(t->target);
    for (const StructArg &s : t->args)
      s.type ? walk(s.type) : look(s.size);
    for (TypeRef e : t->elements)
      walk(e);
  };
  for (TypeRef p : signature->elements)
    walk(p);
  if (open) {
    diags.error(Diag::unsolvedDimension, a.range,
                "the other arguments don't say what this function takes: " + str(substitute(signature, callee.id)));
    ok = false;
    return errorValue();
  }
  walk(signature->result);
  if (checking || open) {
    // A trial call: what it builds is thrown away.
    Block scratch;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&scratch);
    size_t sets = setNames.size(), known = conditions.size();
    auto numbers = numberSizes; // what is built here goes away
    Call trial;
    trial.range = a.range;
    trial.callee = "this function";
    for (TypeRef p : signature->elements) {
      CallArg given;
      given.range = a.range;
      given.value = placeholder(substitute(p, callee.id), {}, loc(a.range));
      trial.args.push_back(std::move(given));
    }
    Value r = callClosure(passed, trial);
    if (r.isError()) {
      ok = false;
    } else {
      r = coerce(r, signature->result, a.range, "the result of this function", callee.id);
      ok &= !r.isError();
    }
    if (!checking) {
      setNames.resize(sets);
      conditions.resize(known);
    }
    numberSizes = std::move(numbers);
    scratch.dropAllReferences();
    scratch.clear();
  }
  return closureValue(std::move(c));
}

std::optional<Prepared> Elaborator::prepareLifted(const Closure &closure, Call &call, ArrayRef<TypeRef> params,
                                                  TypeRef result) {
  Prepared prepared;
  SmallVector<bool> hasDefault;
  for (unsigned k = 0; k < params.size(); ++k) {
    const ast::FnParam *p = closure.fn ? &closure.fn->params[k] : nullptr;
    prepared.params.push_back(p ? ParamInfo{p->name.text, p->name.range, p->nondiff || closure.fn->nondiff, p->isInout}
                                : ParamInfo{});
    hasDefault.push_back(p && p->defaultValue);
  }
  std::optional<SmallVector<CallArg *>> matched = matchArguments(call, prepared.params, hasDefault);
  if (!matched)
    return std::nullopt;
  // The tensors get one shape; what is a scalar stays one.
  SmallVector<Value> wide;
  SmallVector<SourceRange> ranges;
  SmallVector<unsigned> which;
  prepared.args.resize(params.size());
  for (auto [k, type] : llvm::enumerate(params)) {
    CallArg *a = (*matched)[k];
    Value v;
    if (a) {
      v = coerce(arg(*a), arg(*a).type->isTensor() ? tensor(type->elem, arg(*a).type->dims) : type, a->range,
                 prepared.params[k].name.empty() ? StringRef() : prepared.params[k].name);
    } else {
      Restore<Frame *> in(frame, closure.frame);
      Restore<ScopePtr> scope(frame->scope, frame->generics);
      v = coerce(expr(closure.fn->params[k].defaultValue), type, closure.fn->params[k].range, "");
    }
    if (v.isError())
      return std::nullopt;
    prepared.args[k] = v;
    if (!v.type->dims.empty()) {
      wide.push_back(v);
      ranges.push_back(a->range);
      which.push_back(k);
    }
  }
  if (!jointShape(wide, ranges, call.range))
    return std::nullopt;
  Dims shape = wide.front().type->dims;
  for (auto [k, v] : llvm::zip(which, wide))
    prepared.args[k] = v;
  prepared.callee = ("'" + call.callee + "'").str();
  SourceRange range = call.range;
  std::string callee = call.callee.str();
  prepared.invoke = [this, target = closure, shape, range, result, callee](ArrayRef<Value> args) -> Value {
    Location at = loc(range);
    bool known = target.fn ? !checking : target.base != nullptr;
    if (!known) {
      SmallVector<mlir::Value> operands;
      for (const Value &a : args)
        collectIr(a, operands);
      Value r = placeholder(tensor(result->elem, shape), operands, at);
      return target.fn && target.fn->nondiff ? holdConstant(r, at) : r;
    }
    if (++inlineDepth > maxInlineDepth) {
      --inlineDepth;
      diags.error(Diag::recursion, range,
                  "'" + callee + "' calls itself: calls are resolved at compile time, so it has no finite expansion");
      return errorValue();
    }
    // One opaque pack stands for the shape in the function's own frame.
    SmallVector<SizeAttr> sizes = irDims(shape);
    Value r;
    {
      Restore<std::optional<Location>> site(callSite, at);
      Restore<Frame *> in(frame, target.frame);
      unsigned pack = newPack("shape", {});
      vars[pack].isLifted = true;
      vars[pack].irDims.assign(sizes.begin(), sizes.end());
      vars[pack].ir = gnn::product(ctx, sizes);
      Dims lifted{{Dim::pack, var(pack)}};
      auto lift = [&](const Value &a) { return a.type->dims.empty() ? a : retype(a, tensor(a.type->elem, lifted)); };
      if (target.fn) {
        const ast::CustomRuleDecl *rule = ruleOf(target.fn, target.module);
        std::vector<Value> mine;
        for (auto [p, a] : llvm::zip(target.fn->params, args)) {
          Value v = lift(a);
          // A rule gives every argument a gradient of the result's shape.
          if (rule && v.type->dims.empty() && isFloat(v.type->elem) && !p.nondiff)
            v = broadcastTo(v, lifted, {}, at);
          mine.push_back(p.nondiff ? holdConstant(v, at) : v);
        }
        auto run = [&](ArrayRef<Value> values) {
          if (target.fn->isExtern)
            return externCall(target.fn, result->elem, values, lifted, at);
          for (auto [p, v] : llvm::zip(target.fn->params, values))
            target.frame->scope->names[p.name.text].val = v;
          ReturnSlot slot;
          Restore<ReturnSlot *> returns(target.frame->returns, &slot);
          block(target.fn->body);
          Value y = slot.value.value_or(errorValue());
          // A result that no argument reaches has no shape yet.
          return rule && !y.isError() && y.type->isScalar()
                     ? broadcastTo(materialise(y, result->elem, at), lifted, {}, at)
                     : y;
        };
        r = rule ? applyRule(rule, *target.frame, mine, run, range) : run(mine);
      } else {
        Call inner;
        inner.range = range;
        inner.callee = callee;
        for (const Value &a : args) {
          CallArg given;
          given.range = range;
          given.value = lift(a);
          inner.args.push_back(std::move(given));
        }
        r = callClosure(*target.base, inner);
      }
      if (!r.isError()) {
        r = coerce(r, r.type->isTensor() && !r.type->dims.empty() ? tensor(result->elem, lifted) : result, range,
                   "the result");
        if (!r.isError() && r.type->dims.empty())
          r = broadcastTo(r, lifted, {}, at);
      }
    }
    --inlineDepth;
    if (r.isError())
      return r;
    r = retype(r, tensor(result->elem, shape));
    return target.fn && target.fn->nondiff ? holdConstant(r, at) : r;
  };
  return prepared;
}

std::optional<Prepared> Elaborator::prepareLambda(const Closure &closure, Call &call) {
  const ast::LambdaExpr *lambda = closure.lambda;
  Prepared prepared;
  prepared.callee = "this lambda";
  for (const ast::LambdaParam &p : lambda->params)
    prepared.params.push_back({p.name.text, p.name.range});
  if (call.hasDims) {
    diags.error(Diag::wrongArguments, call.dimsRange, "a lambda takes no dimensions in brackets");
    return std::nullopt;
  }
  if (call.args.size() != lambda->params.size() &&
      llvm::all_of(call.args, [](const CallArg &a) { return a.name.empty(); })) {
    Diagnostic &error = diags.error(Diag::wrongArguments, lambda->range,
                                    "this lambda has " + counted(lambda->params.size(), "parameter") +
                                        ", but is called with " + counted(call.args.size(), "argument"));
    if (call.range != lambda->range)
      error.note(call.range, "it is called here");
    return std::nullopt;
  }
  std::optional<SmallVector<CallArg *>> matched =
      matchArguments(call, prepared.params, SmallVector<bool>(lambda->params.size(), false));
  if (!matched)
    return std::nullopt;
  for (auto [k, p] : llvm::enumerate(lambda->params)) {
    Value v = arg(*(*matched)[k]);
    if (p.type) {
      Restore<Frame *> in(frame, closure.frame);
      Restore<ScopePtr> scope(closure.frame->scope, closure.scope);
      v = coerce(v, typeOf(p.type), (*matched)[k]->range, ("argument '" + p.name.text + "'").str());
    }
    if (v.isError())
      return std::nullopt;
    prepared.args.push_back(v);
  }
  SourceRange range = call.range;
  prepared.invoke = [this, target = closure, range](ArrayRef<Value> args) -> Value {
    if (++inlineDepth > maxInlineDepth) {
      --inlineDepth;
      diags.error(Diag::recursion, range,
                  "this lambda calls itself: calls are resolved at compile time, so it has no finite expansion");
      return errorValue();
    }
    std::optional<Location> at = callSite;
    if (target.frame != frame)
      at = loc(range);
    Restore<std::optional<Location>> site(callSite, at);
    Restore<Frame *> in(frame, target.frame);
    Restore<ScopePtr> outer(frame->scope, target.scope);
    ReturnSlot slot;
    Restore<ReturnSlot *> returns(frame->returns, &slot);
    ScopeGuard scope(*this);
    frame->scope->isLambda = true;
    for (auto [p, a] : llvm::zip(target.lambda->params, args)) {
      if (p.name.text == "_")
        continue;
      Binding b;
      b.val = a;
      b.range = p.name.range;
      declare(p.name, std::move(b));
    }
    Value result;
    if (target.lambda->expr) {
      result = expr(target.lambda->expr);
    } else {
      block(target.lambda->block);
      if (!slot.done)
        diags.error(Diag::missingReturn, target.lambda->range, "this lambda gives no value")
            .note("its last line is an expression without ';', or a return");
      result = slot.value.value_or(errorValue());
    }
    --inlineDepth;
    return result;
  };
  return prepared;
}

std::optional<Prepared> Elaborator::prepareParameter(const Closure &closure, Call &call) {
  TypeRef signature = closure.signature;
  auto isNumber = [](TypeRef t) { return t->isScalar() && t->elem != Elem::key && t->elem != Elem::index; };
  Prepared prepared;
  prepared.callee = ("'" + call.callee + "'").str();
  prepared.params.resize(signature->elements.size());
  std::optional<SmallVector<CallArg *>> matched =
      matchArguments(call, prepared.params, SmallVector<bool>(signature->elements.size(), false));
  if (!matched)
    return std::nullopt;
  bool wide = false;
  for (CallArg *a : *matched) {
    if (arg(*a).isError())
      return std::nullopt;
    wide |= arg(*a).type->isTensor() && !arg(*a).type->dims.empty();
  }
  if (wide && isNumber(signature->result) && llvm::all_of(signature->elements, isNumber))
    return prepareLifted(closure, call, signature->elements, signature->result);
  for (auto [k, type] : llvm::enumerate(signature->elements)) {
    Value v = coerce(arg(*(*matched)[k]), type, (*matched)[k]->range, "");
    if (v.isError())
      return std::nullopt;
    prepared.args.push_back(v);
  }
  SourceRange range = call.range;
  std::string callee = call.callee.str();
  prepared.invoke = [this, target = closure, range, callee](ArrayRef<Value> args) -> Value {
    Location at = loc(range);
    TypeRef signature = target.signature;
    if (!target.base) {
      SmallVector<mlir::Value> operands;
      for (const Value &a : args)
        collectIr(a, operands);
      return placeholder(signature->result, operands, at);
    }
    Value result;
    {
      // In the dimensions of the caller, which passed the function.
      Restore<Frame *> in(frame, target.frame);
      Restore<std::optional<Location>> site(callSite, at);
      Call inner;
      inner.range = range;
      inner.callee = callee;
      for (auto [a, type] : llvm::zip(args, signature->elements)) {
        CallArg given;
        given.range = range;
        given.value = a.closure ? a : retype(a, substitute(type, target.callee));
        inner.args.push_back(std::move(given));
      }
      result = callClosure(*target.base, inner);
      result = coerce(result, substitute(signature->result, target.callee), range, "the result of this function");
    }
    return result.isError() ? result : retype(result, signature->result);
  };
  return prepared;
}

} // namespace gnnc::elab
