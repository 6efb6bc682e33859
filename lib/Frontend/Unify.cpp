// Unification: what a caller's types make of a callee's dimension parameters. A parameter that stands alone is bound
// where it stands; polynomials of parameters are compared in normal form once all arguments have been seen.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

bool Elaborator::unifySize(SizeAttr param, SizeAttr arg, unsigned of, SmallVectorImpl<Deferred> &deferred) {
  SizeAttr known = substitute(param, of);
  if (known == arg)
    return true;
  bool open = false;
  known.forEachSet([&](int64_t id) { open |= vars[id].frame == of && !vars[id].bound; });
  if (!open)
    return false;
  if (std::optional<int64_t> id = known.getSet()) {
    bindVar(*id, arg);
    return true;
  }
  deferred.push_back({known, arg});
  return true;
}

bool Elaborator::unifyDims(ArrayRef<Dim> param, ArrayRef<Dim> arg, unsigned of, SmallVectorImpl<Deferred> &deferred) {
  Dims known = substitute(param, of);
  auto isOpenPack = [&](const Dim &d) { return d.kind == Dim::pack && vars[*d.extent.getSet()].frame == of; };
  auto fits = [&](const Dim &p, const Dim &a) {
    if (p.kind == Dim::pack || a.kind == Dim::pack)
      return p == a;
    return unifySize(p.extent, a.extent, of, deferred);
  };
  auto *pack = llvm::find_if(known, isOpenPack);
  if (pack == known.end()) {
    if (known.size() != arg.size())
      return false;
    return llvm::all_of(llvm::zip(known, arg), [&](auto pair) { return fits(std::get<0>(pair), std::get<1>(pair)); });
  }
  unsigned before = pack - known.begin(), after = known.end() - pack - 1;
  if (arg.size() < before + after)
    return false;
  for (unsigned k = 0; k < before; ++k)
    if (!fits(known[k], arg[k]))
      return false;
  for (unsigned k = 0; k < after; ++k)
    if (!fits(known[known.size() - 1 - k], arg[arg.size() - 1 - k]))
      return false;
  bindPack(*pack->extent.getSet(), arg.slice(before, arg.size() - before - after));
  return true;
}

bool Elaborator::unify(TypeRef param, TypeRef arg, unsigned of, SmallVectorImpl<Deferred> &deferred) {
  if (arg->isError() || param->isError())
    return true;
  if (param->kind == Type::opaque) {
    StructVar &v = structVars[param->parameter];
    if (v.frame == of && !v.bound && (arg->kind == Type::structure || arg->kind == Type::opaque)) {
      v.bound = arg;
      return true;
    }
    return same(substitute(param, of), arg);
  }
  if (param->kind != arg->kind)
    return false;
  switch (param->kind) {
  case Type::tensor: {
    bool literal = arg->elem == Elem::number    ? isFloat(param->elem)
                   : arg->elem == Elem::integer ? isFloat(param->elem) || isRuntimeInt(param->elem)
                                                : false;
    if (param->elem != arg->elem && !literal)
      return false;
    if (param->elem == Elem::index && !unifySize(param->target, arg->target, of, deferred))
      return false;
    return unifyDims(param->dims, arg->dims, of, deferred);
  }
  case Type::structure:
    if (param->decl != arg->decl)
      return false;
    for (auto [p, a] : llvm::zip(param->args, arg->args))
      if (p.type ? !a.type || !unify(p.type, a.type, of, deferred)
                 : !a.size || !unifySize(p.size, a.size, of, deferred))
        return false;
    return unifyDims(param->blocks, arg->blocks, of, deferred);
  case Type::graph:
    return unifySize(param->src, arg->src, of, deferred) && unifySize(param->dst, arg->dst, of, deferred) &&
           unifySize(param->edges, arg->edges, of, deferred) &&
           (!param->graphs || (arg->graphs && unifySize(param->graphs, arg->graphs, of, deferred)));
  case Type::tuple:
    return param->elements.size() == arg->elements.size() &&
           llvm::all_of(llvm::zip(param->elements, arg->elements),
                        [&](auto pair) { return unify(std::get<0>(pair), std::get<1>(pair), of, deferred); });
  default:
    return same(param, arg);
  }
}

bool Elaborator::settled(ArrayRef<Deferred> deferred, unsigned of) const {
  return llvm::all_of(deferred, [&](const Deferred &d) { return substitute(d.param, of) == d.arg; });
}

void Elaborator::mismatch(SourceRange range, TypeRef expected, const Value &found, StringRef what) {
  std::string text = what.empty() ? "" : (what + ": ").str();
  Diagnostic &error =
      diags.error(Diag::typeMismatch, range, text + "expected " + str(expected) + ", found " + describe(found));
  if (!expected->isTensor() || !found.type->isTensor())
    return;
  Elem to = expected->elem, from = found.type->elem;
  if (expected->dims == found.type->dims && to != from && to != Elem::index && to != Elem::key && to != Elem::boolean &&
      from != Elem::key && from != Elem::integer && !isLiteral(to))
    error.note("write " + str(scalar(to)) + "(...) to convert it");
  for (const Dim &d : found.type->dims)
    if (std::optional<int64_t> id = d.kind == Dim::size ? d.extent.getSet() : std::nullopt)
      if (llvm::none_of(expected->dims, [&](const Dim &e) { return e == d; }) && vars[*id].range.isValid() &&
          vars[*id].name.find(".edges") != std::string::npos)
        error.note(vars[*id].range, "'" + vars[*id].name + "' is the edge set of this graph");
}

Value Elaborator::coerce(const Value &value, TypeRef target, SourceRange range, StringRef what, unsigned of) {
  if (value.isError() || target->isError())
    return errorValue();
  SmallVector<Deferred> deferred;
  if (!unify(target, value.type, of, deferred) || !settled(deferred, of) || !literalFits(value, target->elem)) {
    mismatch(range, substitute(target, of), value, what);
    return errorValue();
  }
  return convert(value, substitute(target, of), loc(range));
}

/// The value as one of type `target`, which it fits: literals get their element type, a `_` becomes the size 1.
Value Elaborator::convert(const Value &value, TypeRef target, Location at) {
  if (value.isError())
    return value;
  if (target->kind == Type::tensor)
    return retype(materialise(value, target->elem, at), target);
  if (target->kind == Type::tuple) {
    Value v = value;
    for (auto [part, type] : llvm::zip(v.parts, target->elements))
      part = convert(part, type, at);
    v.type = target;
    return v;
  }
  if (target->kind == Type::graph) {
    // A batch is a graph too.
    Value v = value;
    if (v.type->graphs && !target->graphs) {
      v.type = target;
      v.batch = {};
    }
    return v;
  }
  return retype(value, target);
}

} // namespace gnnc::elab
