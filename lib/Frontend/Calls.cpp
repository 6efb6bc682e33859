// Calls. Arguments are bound to parameters and their types unified; then, while checking, the result is a placeholder
// of the declared type, and while lowering the body is walked in a frame whose variables stand for the caller's sizes.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

/// Calls nest no deeper than this; only functions that call themselves through arguments get there.
static constexpr unsigned maxDepth = 128;

Value &Elaborator::arg(CallArg &a) {
  if (!a.value)
    a.value = expr(a.expr);
  return *a.value;
}

CallArg *Elaborator::option(Call &call, StringRef name, unsigned position) {
  unsigned seen = 0;
  for (CallArg &a : call.args) {
    if (a.name == name || (a.name.empty() && seen == position))
      return &a;
    seen += a.name.empty();
  }
  return nullptr;
}

bool Elaborator::accept(Call &call, unsigned min, unsigned max, ArrayRef<StringRef> names, bool dims) {
  unsigned positional = llvm::count_if(call.args, [](const CallArg &a) { return a.name.empty(); });
  bool ok = true;
  if (call.hasDims && !dims) {
    diags.error(Diag::wrongArguments, call.dimsRange, "'" + call.callee + "' takes no dimensions in brackets");
    ok = false;
  } else if (!call.hasDims && dims) {
    diags.error(Diag::wrongArguments, call.range, "'" + call.callee + "' needs dimensions in brackets")
        .note("write " + call.callee + "[n, 3](...), or " + call.callee + "[](...) for a scalar");
    ok = false;
  }
  llvm::StringMap<bool> seen;
  for (const CallArg &a : call.args) {
    if (a.name.empty())
      continue;
    if (!llvm::is_contained(names, a.name)) {
      Diagnostic &error =
          diags.error(Diag::wrongArguments, a.nameRange, "'" + call.callee + "' has no argument '" + a.name + "'");
      if (!names.empty())
        error.note("it takes " + llvm::join(names, ", "));
      ok = false;
    } else if (!seen.try_emplace(a.name, true).second) {
      diags.error(Diag::wrongArguments, a.nameRange, "'" + a.name + "' is given twice");
      ok = false;
    }
  }
  if (ok && (positional < min || positional > max)) {
    std::string count = min == max   ? std::to_string(min)
                        : max == ~0u ? "at least " + std::to_string(min)
                                     : std::to_string(min) + " to " + std::to_string(max);
    diags.error(Diag::wrongArguments, call.range,
                "'" + call.callee + "' takes " + count + (min == max && max == 1 ? " argument" : " arguments") +
                    ", found " + llvm::Twine(positional));
    ok = false;
  }
  return ok;
}

Value Elaborator::call(const ast::CallExpr *e) {
  Value callee = expr(e->callee);
  Call c;
  c.range = e->range;
  c.dims = e->dims;
  c.hasDims = e->hasDims;
  c.dimsRange = e->dims.empty() ? e->callee->range : e->dims.front().value->range.to(e->dims.back().value->range);
  StringRef text = diags.sourceManager().text(e->callee->range);
  c.callee = text;
  for (const ast::Arg &a : e->args) {
    CallArg arg;
    arg.name = a.name.text;
    arg.nameRange = a.name.range;
    arg.range = a.value->range;
    arg.expr = a.value;
    c.args.push_back(std::move(arg));
  }
  if (callee.isError()) {
    // What is wrong with the arguments is worth knowing too.
    for (CallArg &a : c.args)
      if (a.name.empty() && !isa<ast::PackExpr, ast::ListExpr, ast::LambdaExpr>(a.expr))
        arg(a);
    return callee;
  }
  if (callee.type->kind != Type::function) {
    diags.error(Diag::notCallable, e->callee->range, "expected a function, found " + describe(callee));
    return errorValue();
  }
  return callClosure(*callee.closure, c);
}

Value Elaborator::callClosure(const Closure &closure, Call &call) {
  if (closure.kind == Closure::isBuiltin) {
    call.callee = closure.builtin->name;
    if (!closure.builtin->handler) {
      notSupported(closure.range, "'" + closure.builtin->name + "'");
      return errorValue();
    }
    return (this->*closure.builtin->handler)(call);
  }
  if (closure.kind == Closure::isBack)
    return callBack(closure, call);
  std::optional<Prepared> prepared = prepare(closure, call);
  return prepared ? prepared->invoke(prepared->args) : errorValue();
}

std::optional<Prepared> Elaborator::prepare(const Closure &closure, Call &call) {
  switch (closure.kind) {
  case Closure::isFunction:
    return prepareFunction(closure.fn, closure.module, call);
  case Closure::isLambda:
    return prepareLambda(closure, call);
  case Closure::isParameter:
    return prepareParameter(closure, call);
  case Closure::isDerivative:
    return prepareDerivative(closure, call);
  case Closure::isBuiltin:
  case Closure::isBack:
    diags
        .error(Diag::badWrt, call.range, "a built-in function has no named parameters to differentiate with respect to")
        .note("wrap it: grad(|x| f(x), wrt=x)");
    return std::nullopt;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Declared functions
//===----------------------------------------------------------------------===//

std::optional<SmallVector<CallArg *>> Elaborator::matchArguments(Call &call, ArrayRef<ParamInfo> params,
                                                                 ArrayRef<bool> hasDefault) {
  SmallVector<CallArg *> matched(params.size(), nullptr);
  bool ok = true;
  unsigned next = 0;
  for (CallArg &a : call.args) {
    if (isa_and_nonnull<ast::PackExpr>(a.expr)) {
      diags.error(Diag::wrongArguments, a.range, "a pack of dimensions is not an argument of '" + call.callee + "'");
      ok = false;
      continue;
    }
    unsigned k = next;
    if (a.name.empty()) {
      ++next;
      if (k >= params.size()) {
        if (k == params.size())
          diags.error(Diag::wrongArguments, a.range,
                      "'" + call.callee + "' takes " + llvm::Twine(params.size()) +
                          (params.size() == 1 ? " argument" : " arguments") + ", here is one more");
        ok = false;
        continue;
      }
    } else {
      k = llvm::find_if(params, [&](const ParamInfo &p) { return p.name == a.name; }) - params.begin();
      if (k == params.size()) {
        diags.error(Diag::wrongArguments, a.nameRange, "'" + call.callee + "' has no parameter '" + a.name + "'");
        ok = false;
        continue;
      }
    }
    if (matched[k]) {
      diags.error(Diag::wrongArguments, a.name.empty() ? a.range : a.nameRange,
                  "the argument '" + params[k].name + "' is given twice");
      ok = false;
      continue;
    }
    matched[k] = &a;
  }
  std::string missing;
  for (auto [k, p] : llvm::enumerate(params))
    if (!matched[k] && !hasDefault[k])
      missing +=
          (missing.empty() ? "'" : ", '") + (p.name.empty() ? "argument " + std::to_string(k + 1) : p.name.str()) + "'";
  if (ok && !missing.empty()) {
    Diagnostic &error =
        diags.error(Diag::wrongArguments, call.range, "this call of '" + call.callee + "' has no value for " + missing);
    if (params.front().range.isValid())
      error.note(params.front().range.to(params.back().range), "its parameters");
    ok = false;
  }
  return ok ? std::optional(matched) : std::nullopt;
}

Frame &Elaborator::openFrame(const ast::FnDecl *fn, const ast::Module *module) {
  Frame &f = newFrame(module);
  f.fn = fn;
  Restore<Frame *> in(frame, &f);
  declareGenerics(fn->generics);
  declareParameters(f);
  return f;
}

void Elaborator::declareParameters(Frame &f) {
  const ast::FnDecl *fn = f.fn;
  f.params.assign(fn->params.size(), nullptr);
  // Graphs first: the other types name their sets.
  for (bool graphs : {true, false})
    for (auto [k, p] : llvm::enumerate(fn->params)) {
      if (isa<ast::GraphType>(p.type) != graphs)
        continue;
      Restore<std::string> naming(graphName, p.name.text.str());
      Binding b;
      b.val.type = f.params[k] = typeOf(p.type);
      b.range = p.name.range;
      b.isMutable = b.isInout = p.isInout;
      b.declared = p.isInout ? b.val.type : nullptr;
      declare(p.name, std::move(b));
    }
  if (!fn->result) {
    f.result = &unitTy;
    return;
  }
  // Sets of graphs in the result are what the function makes: a return binds them.
  ScopeGuard scope(*this);
  f.owner = f.resultId;
  f.result = typeOf(fn->result);
  f.owner = f.id;
  auto holdsFunction = [](TypeRef t) { return t->kind == Type::function; };
  if (holdsFunction(f.result) || llvm::any_of(f.result->elements, holdsFunction)) {
    diags.error(Diag::badType, fn->result->range,
                "a function can't be returned: functions are resolved at compile time");
    f.result = errorType();
  }
}

bool Elaborator::bindExplicitDims(const ast::FnDecl *fn, Call &call, Frame &callee) {
  bool ok = true;
  for (auto [k, d] : llvm::enumerate(call.dims)) {
    auto *g = d.name
                  ? llvm::find_if(fn->generics, [&](const ast::GenericParam &p) { return p.name.text == d.name.text; })
                  : (k < fn->generics.size() ? fn->generics.begin() + k : fn->generics.end());
    if (g == fn->generics.end()) {
      diags.error(Diag::wrongArguments, d.name ? d.name.range : d.value->range,
                  d.name ? "'" + call.callee + "' has no dimension parameter '" + d.name.text + "'"
                         : "'" + call.callee + "' has " + llvm::Twine(fn->generics.size()) +
                               " parameters in brackets, here is one more");
      ok = false;
      continue;
    }
    const Binding &b = callee.scope->names[g->name.text];
    if (g->kind == ast::GenericParam::structType) {
      TypeRef type = typeArgument(d.value);
      if (type->isError())
        return false;
      structVars[b.type->parameter].bound = type;
    } else if (g->kind == ast::GenericParam::pack) {
      diags.error(Diag::wrongArguments, d.value->range,
                  "a pack of dimensions follows from the arguments, it can't be given");
      ok = false;
    } else if (std::optional<SizeAttr> size = dimension(d.value)) {
      bindVar(*b.val.size.getSet(), *size);
    } else {
      ok = false;
    }
  }
  return ok;
}

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
    scratch.dropAllReferences();
    scratch.clear();
  }
  return closureValue(std::move(c));
}

std::optional<Prepared> Elaborator::prepareFunction(const ast::FnDecl *fn, const ast::Module *module, Call &call) {
  // Reported by the parser; without a body there is something to check in a call, but nothing to lower.
  if (fn->signatureHasErrors || (fn->hasErrors && !checking))
    return std::nullopt;
  Prepared prepared;
  prepared.callee = fn->name.text.str();
  SmallVector<bool> hasDefault;
  for (const ast::FnParam &p : fn->params) {
    prepared.params.push_back({p.name.text, p.name.range, p.nondiff || fn->nondiff, p.isInout});
    hasDefault.push_back(p.defaultValue != nullptr);
  }
  std::optional<SmallVector<CallArg *>> matched = matchArguments(call, prepared.params, hasDefault);
  bool ok = matched.has_value();
  for (CallArg &a : call.args)
    if (!isa_and_nonnull<ast::PackExpr>(a.expr))
      ok &= !arg(a).isError();
  if (!ok)
    return std::nullopt;
  Frame &callee = openFrame(fn, module);
  // What is wrong with a declaration is said there.
  if (callee.result->isError() || llvm::any_of(callee.params, [](TypeRef t) { return t->isError(); }))
    return std::nullopt;

  // A function of scalars applies to tensors element by element.
  auto isNumber = [](TypeRef t) { return t->isScalar() && t->elem != Elem::key && t->elem != Elem::index; };
  if (isNumber(callee.result) && llvm::all_of(callee.params, isNumber) && llvm::any_of(*matched, [&](CallArg *a) {
        return a && a->value->type->isTensor() && !a->value->type->dims.empty();
      })) {
    Closure c;
    c.fn = fn;
    c.module = module;
    c.frame = &callee;
    return prepareLifted(c, call, callee.params, callee.result);
  }

  if (!bindExplicitDims(fn, call, callee))
    return std::nullopt;
  prepared.args.resize(callee.params.size());
  std::vector<SmallVector<Deferred>> deferred(callee.params.size());
  auto isFunction = [](TypeRef t) { return t->kind == Type::function; };
  auto what = [&](unsigned k) { return ("argument '" + fn->params[k].name.text + "'").str(); };
  for (bool graphs : {true, false})
    for (auto [k, type] : llvm::enumerate(callee.params)) {
      CallArg *a = (*matched)[k];
      if (!a || isFunction(type) || (type->kind == Type::graph) != graphs)
        continue;
      prepared.args[k] = *a->value;
      if (unify(type, a->value->type, callee.id, deferred[k]))
        continue;
      mismatch(a->range, substitute(type, callee.id), *a->value, what(k));
      ok = false;
    }
  for (auto [k, type] : llvm::enumerate(callee.params))
    if (ok && !settled(deferred[k], callee.id)) {
      mismatch((*matched)[k]->range, substitute(type, callee.id), *(*matched)[k]->value, what(k));
      ok = false;
    }
  if (!ok)
    return std::nullopt;
  for (auto [k, type] : llvm::enumerate(callee.params)) {
    CallArg *a = (*matched)[k];
    if (a && isFunction(type)) {
      if (a->value->type->kind != Type::function) {
        mismatch(a->range, substitute(type, callee.id), *a->value, what(k));
        return std::nullopt;
      }
      prepared.args[k] = callSignature(*a->value->closure, type, callee, *a, ok);
    } else if (!a) {
      // Defaults are constants of the callee's own scope.
      Restore<Frame *> in(frame, &callee);
      const ast::Expr *e = fn->params[k].defaultValue;
      Value v = expr(e);
      if (v.isError())
        return std::nullopt;
      CallArg given;
      given.range = e->range;
      if (!isFunction(type)) {
        prepared.args[k] = coerce(v, type, e->range, what(k));
        ok &= !prepared.args[k].isError();
      } else if (v.type->kind != Type::function) {
        mismatch(e->range, type, v, what(k));
        return std::nullopt;
      } else {
        prepared.args[k] = callSignature(*v.closure, type, callee, given, ok);
        prepared.args[k].closure->callee = 0; // its signature is in the dimensions of its own frame
      }
    }
  }
  if (!ok)
    return std::nullopt;
  for (const ast::GenericParam &g : fn->generics) {
    const Binding &b = callee.scope->names[g.name.text];
    bool bound = b.type ? structVars[b.type->parameter].bound != nullptr
                        : bool(vars[*(b.val.size ? b.val.size : b.val.type->dims[0].extent).getSet()].bound);
    if (bound)
      continue;
    diags
        .error(Diag::unsolvedDimension, call.range,
               "the arguments of '" + call.callee + "' don't say what '" + g.name.text + "' is")
        .note("write " + call.callee + "[" + g.name.text + "=...](...)");
    ok = false;
  }
  if (!ok)
    return std::nullopt;
  for (auto [k, type] : llvm::enumerate(callee.params))
    if (!isFunction(type) && (*matched)[k])
      prepared.args[k] = convert(prepared.args[k], substitute(type, callee.id), loc((*matched)[k]->range));
  SmallVector<const ast::Expr *> inouts(callee.params.size(), nullptr);
  for (auto [k, p] : llvm::enumerate(fn->params)) {
    if (!p.isInout)
      continue;
    inouts[k] = (*matched)[k] ? (*matched)[k]->expr : nullptr;
    if (!inouts[k] || !isa<ast::NameExpr, ast::FieldExpr>(inouts[k])) {
      diags.error(Diag::badInout, (*matched)[k] ? (*matched)[k]->range : call.range,
                  "the inout argument '" + p.name.text + "' must be a variable that can be assigned to");
      return std::nullopt;
    }
  }
  SourceRange range = call.range;
  prepared.invoke = [this, &callee, inouts, range](ArrayRef<Value> args) {
    Value result = invokeFunction(callee, args, range);
    for (auto [k, e] : llvm::enumerate(inouts))
      if (e && !result.isError()) {
        Value updated = callee.scope->names[callee.fn->params[k].name.text].val;
        assign(e, retype(updated, substitute(callee.params[k], callee.id)), e->range);
      }
    return result;
  };
  return prepared;
}

Value Elaborator::invokeFunction(Frame &callee, ArrayRef<Value> args, SourceRange range) {
  const ast::FnDecl *fn = callee.fn;
  if (fn->isExtern) {
    notSupported(range, "calling an extern function");
    return errorValue();
  }
  Location at = loc(range);
  Value result;
  if (checking) {
    // Everything the callee sees may be in its result: so what it is differentiated with respect to counts as used.
    SmallVector<mlir::Value> operands;
    for (const Value &a : args)
      collectIr(a, operands);
    for (auto [k, p] : llvm::enumerate(fn->params))
      if (p.isInout)
        callee.scope->names[p.name.text].val = placeholder(args[k].type, operands, at);
    // The sets that the result names are new here.
    llvm::DenseMap<int64_t, SizeAttr> fresh;
    size_t count = vars.size();
    for (size_t id = 0; id < count; ++id)
      if (vars[id].frame == callee.resultId) {
        unsigned mine = newSet(vars[id].name, range);
        vars[mine].isProvisional = true;
        vars[id].bound = var(mine);
      }
    TypeRef type = substitute(substitute(callee.result, callee.resultId), callee.id);
    result = placeholder(type, operands, at);
  } else {
    if (++inlineDepth > maxDepth) {
      --inlineDepth;
      diags.error(Diag::recursion, range,
                  "'" + fn->name.text +
                      "' calls itself: calls are resolved at compile time, so it has no finite expansion");
      return errorValue();
    }
    for (auto [k, p] : llvm::enumerate(fn->params)) {
      Value v = args[k].closure ? args[k] : retype(args[k], callee.params[k]);
      callee.scope->names[p.name.text].val = p.nondiff ? holdConstant(v, at) : v;
    }
    Restore<std::optional<Location>> site(callSite, at);
    {
      Restore<Frame *> in(frame, &callee);
      result = walkBody(callee, range);
    }
    --inlineDepth;
    if (result.isError())
      return result;
    size_t count = vars.size();
    for (size_t id = 0; id < count; ++id)
      if (vars[id].frame == callee.resultId && vars[id].bound) {
        SizeAttr ir = irSize(vars[id].bound);
        unsigned mine = newVar(vars[id].name, range);
        vars[mine].isProvisional = true;
        vars[mine].ir = ir;
        vars[id].bound = var(mine);
      }
    result = retype(result, substitute(substitute(callee.result, callee.resultId), callee.id));
  }
  return fn->nondiff ? holdConstant(result, at) : result;
}

/// Walks a function's body; its result is in the frame's dimensions.
Value Elaborator::walkBody(Frame &f, SourceRange at) {
  ReturnSlot slot;
  slot.expected = f.result;
  Restore<ReturnSlot *> returns(f.returns, &slot);
  if (!f.fn->body) // it has a syntax error
    return errorValue();
  block(f.fn->body);
  if (slot.done)
    return slot.value.value_or(errorValue());
  if (f.result->kind == Type::unit)
    return unitValue();
  if (!f.result->isError())
    diags.error(Diag::missingReturn, f.fn->name.range,
                "'" + f.fn->name.text + "' does not return its result, " + str(f.result));
  return errorValue();
}

//===----------------------------------------------------------------------===//
// Functions of scalars on tensors
//===----------------------------------------------------------------------===//

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
  prepared.callee = call.callee.str();
  SourceRange range = call.range;
  Closure target = closure;
  std::string callee = call.callee.str();
  prepared.invoke = [this, target, shape, range, result, callee](ArrayRef<Value> args) -> Value {
    Location at = loc(range);
    bool known = target.fn ? !checking : target.base != nullptr;
    if (!known) {
      SmallVector<mlir::Value> operands;
      for (const Value &a : args)
        collectIr(a, operands);
      Value r = placeholder(tensor(result->elem, shape), operands, at);
      return target.fn && target.fn->nondiff ? holdConstant(r, at) : r;
    }
    if (++inlineDepth > maxDepth) {
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
        for (auto [p, a] : llvm::zip(target.fn->params, args)) {
          Value v = lift(a);
          target.frame->scope->names[p.name.text].val = p.nondiff ? holdConstant(v, at) : v;
        }
        ReturnSlot slot;
        Restore<ReturnSlot *> returns(target.frame->returns, &slot);
        block(target.fn->body);
        r = slot.value.value_or(errorValue());
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

//===----------------------------------------------------------------------===//
// Lambdas and parameters
//===----------------------------------------------------------------------===//

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
    diags
        .error(Diag::wrongArguments, lambda->range,
               "this lambda has " + llvm::Twine(lambda->params.size()) + " parameters, but is called with " +
                   llvm::Twine(call.args.size()) + " arguments")
        .note(call.range, "it is called here");
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
  Closure target = closure;
  SourceRange range = call.range;
  prepared.invoke = [this, target, range](ArrayRef<Value> args) -> Value {
    if (++inlineDepth > maxDepth) {
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
  prepared.callee = call.callee.str();
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
  Closure target = closure;
  SourceRange range = call.range;
  std::string callee = call.callee.str();
  prepared.invoke = [this, target, range, callee](ArrayRef<Value> args) -> Value {
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
