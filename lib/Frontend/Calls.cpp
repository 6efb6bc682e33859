// Calls: what is called, and which argument goes with which parameter. Functions.cpp and Closures.cpp say what a call
// does.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

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
  if (closure.kind == Closure::isPush)
    return callPush(closure, call);
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
  case Closure::isPush:
    diags
        .error(Diag::badWrt, call.range, "a built-in function has no named parameters to differentiate with respect to")
        .note("wrap it: grad(|x| f(x), wrt=x)");
    return std::nullopt;
  }
  return std::nullopt;
}

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
                      "'" + call.callee + "' takes " + counted(params.size(), "argument") + ", here is one more");
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

} // namespace gnnc::elab
