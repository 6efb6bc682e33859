// Calls of declared functions. Arguments are bound to parameters and their types unified; then, while checking, the
// result is a placeholder of the declared type, and while lowering the body is walked in a frame whose variables stand
// for the caller's sizes.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

Frame &Elaborator::openFrame(const ast::FnDecl *fn, const ast::Module *module) {
  Frame &f = newFrame(module);
  f.fn = fn;
  Restore<Frame *> in(frame, &f);
  declareGenerics(fn->generics);
  f.generics = f.scope;
  scopes.push_back({});
  scopes.back().parent = f.generics;
  f.scope = &scopes.back();
  declareParameters(f);
  return f;
}

void Elaborator::declareParameters(Frame &f) {
  const ast::FnDecl *fn = f.fn;
  f.params.assign(fn->params.size(), nullptr);
  // Graphs and integers first: the other types name their sets and sizes.
  auto rankOf = [](const ast::TypeExpr *t) {
    const auto *named = dyn_cast<ast::NamedType>(t);
    bool integer =
        named && !named->module && named->brackets.empty() && (named->name.text == "i32" || named->name.text == "i64");
    return isa<ast::GraphType>(t) ? 0 : integer ? 1 : 2;
  };
  for (int rank : {0, 1, 2})
    for (auto [k, p] : llvm::enumerate(fn->params)) {
      if (rankOf(p.type) != rank)
        continue;
      Restore<std::string> naming(graphName, p.name.text.str());
      Binding b;
      b.val.type = f.params[k] = typeOf(p.type);
      b.range = p.name.range;
      b.isMutable = b.isInout = p.isInout;
      b.declared = p.isInout ? b.val.type : nullptr;
      if (f.generics->names.contains(p.name.text))
        diags.error(Diag::redefinedName, p.name.range, "'" + p.name.text + "' is declared twice")
            .note(f.generics->names[p.name.text].range, "here is the first one");
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
  llvm::SmallPtrSet<const ast::GenericParam *, 4> given;
  for (auto [k, d] : llvm::enumerate(call.dims)) {
    auto *g = d.name
                  ? llvm::find_if(fn->generics, [&](const ast::GenericParam &p) { return p.name.text == d.name.text; })
                  : (k < fn->generics.size() ? fn->generics.begin() + k : fn->generics.end());
    if (g == fn->generics.end()) {
      diags.error(Diag::wrongArguments, d.name ? d.name.range : d.value->range,
                  d.name ? "'" + call.callee + "' has no dimension parameter '" + d.name.text + "'"
                         : "'" + call.callee + "' has " + counted(fn->generics.size(), "parameter") +
                               " in brackets, here is one more");
      ok = false;
      continue;
    }
    if (!given.insert(g).second) {
      diags.error(Diag::wrongArguments, d.name ? d.name.range : d.value->range,
                  "'" + g->name.text + "' is given twice");
      ok = false;
      continue;
    }
    const Binding &b = callee.generics->names[g->name.text];
    if (g->kind == ast::GenericParam::structType) {
      TypeRef type = typeArgument(d.value);
      if (type->isError())
        return false;
      structVars[b.type->parameter].bound = type;
    } else if (g->kind == ast::GenericParam::pack) {
      diags.error(Diag::wrongArguments, d.value->range,
                  "a pack of dimensions follows from the arguments, it can't be given");
      ok = false;
    } else if (std::optional<SizeAttr> size = dimension(d.value);
               size && requireNonNegative(Dim{Dim::size, *size}, d.value->range)) {
      bindVar(*b.val.size.getSet(), *size);
    } else {
      ok = false;
    }
  }
  return ok;
}

/// Every parameter in brackets follows from the arguments or was given.
bool Elaborator::allSolved(Frame &callee, const Call &call) {
  bool ok = true;
  for (const ast::GenericParam &g : callee.fn->generics) {
    const Binding &b = callee.generics->names[g.name.text];
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
  return ok;
}

std::optional<Prepared> Elaborator::prepareFunction(const ast::FnDecl *fn, const ast::Module *module, Call &call) {
  // Reported by the parser; without a body there is something to check in a call, but nothing to lower.
  if (fn->signatureHasErrors || (fn->hasErrors && !checking))
    return std::nullopt;
  Prepared prepared;
  prepared.callee = ("'" + fn->name.text + "'").str();
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

  if (!bindExplicitDims(fn, call, callee))
    return std::nullopt;

  // A function of scalars applies to tensors element by element; what it changes would have no single value.
  auto isNumber = [](TypeRef t) { return t->isScalar() && t->elem != Elem::key && t->elem != Elem::index; };
  if (isNumber(callee.result) && llvm::all_of(callee.params, isNumber) &&
      llvm::none_of(fn->params, [](const ast::FnParam &p) { return p.isInout; }) &&
      llvm::any_of(*matched,
                   [&](CallArg *a) { return a && a->value->type->isTensor() && !a->value->type->dims.empty(); })) {
    if (!allSolved(callee, call))
      return std::nullopt;
    Closure c;
    c.fn = fn;
    c.module = module;
    c.frame = &callee;
    return prepareLifted(c, call, callee.params, callee.result);
  }

  // Integers that the signature has as sizes.
  for (auto [k, p] : llvm::enumerate(fn->params)) {
    CallArg *a = (*matched)[k];
    SizeAttr size = callee.scope->names[p.name.text].dimension;
    if (!size || !a)
      continue;
    const Value &v = *a->value;
    if (v.type->isTensor() && v.type->elem == Elem::integer) {
      if (!requireNonNegative(Dim{Dim::size, v.size}, a->range))
        return std::nullopt;
      bindVar(*size.getSet(), v.size);
    } else if (v.type->isScalar() && isRuntimeInt(v.type->elem)) {
      const auto *n = dyn_cast_or_null<ast::NameExpr>(a->expr);
      Binding *known = n ? lookup(n->name) : nullptr;
      SizeAttr given = known && known->dimension && !known->isMutable
                           ? known->dimension
                           : sizeOf(v, n ? n->name : llvm::StringRef(p.name.text), a->range);
      if (known && !known->isMutable)
        known->dimension = given;
      bindVar(*size.getSet(), given);
    }
  }

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
      if (unify(type, a->value->type, callee.id, deferred[k]) && literalFits(*a->value, type->elem))
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
      Restore<ScopePtr> scope(callee.scope, callee.generics);
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
  if (!allSolved(callee, call))
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
    if (++inlineDepth > maxInlineDepth) {
      --inlineDepth;
      diags.error(Diag::recursion, range,
                  "'" + fn->name.text +
                      "' calls itself: calls are resolved at compile time, so it has no finite expansion");
      return errorValue();
    }
    std::vector<Value> mine;
    for (auto [k, p] : llvm::enumerate(fn->params)) {
      Value v = args[k].closure ? args[k] : retype(args[k], callee.params[k]);
      mine.push_back(p.nondiff ? holdConstant(v, at) : v);
    }
    Restore<std::optional<Location>> site(callSite, at);
    {
      Restore<Frame *> in(frame, &callee);
      auto run = [&](ArrayRef<Value> values) {
        if (fn->isExtern)
          return externCall(fn, callee.result->elem, values, {}, at);
        for (auto [p, v] : llvm::zip(fn->params, values))
          callee.scope->names[p.name.text].val = v;
        return walkBody(callee);
      };
      const ast::CustomRuleDecl *rule = ruleOf(fn, callee.module);
      result = rule ? applyRule(rule, callee, mine, run, range) : run(mine);
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
Value Elaborator::walkBody(Frame &f) {
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

} // namespace gnnc::elab
