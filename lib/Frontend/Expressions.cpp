// Expressions: literals, names and what they may mean, fields, construction of structs, dimensions.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace gnnc::elab {

ScopeGuard::ScopeGuard(Elaborator &e) : elaborator(e), saved(e.frame->scope) {
  e.scopes.push_back({});
  e.scopes.back().parent = saved;
  e.frame->scope = &e.scopes.back();
}
ScopeGuard::~ScopeGuard() { elaborator.frame->scope = saved; }

Value Elaborator::expr(const ast::Expr *e) {
  switch (e->kind) {
  case ast::ExprKind::intLit:
    return integerValue(constantSize(cast<ast::IntLit>(e)->value));
  case ast::ExprKind::floatLit:
    return numberValue(cast<ast::FloatLit>(e)->value);
  case ast::ExprKind::boolLit:
    return tensorValue(constantInteger(loc(e->range), Elem::boolean, cast<ast::BoolLit>(e)->value), Elem::boolean);
  case ast::ExprKind::stringLit: {
    Value v;
    v.type = &textTy;
    v.text = cast<ast::StringLit>(e)->value;
    return v;
  }
  case ast::ExprKind::name:
    return name(cast<ast::NameExpr>(e));
  case ast::ExprKind::field:
    return field(cast<ast::FieldExpr>(e));
  case ast::ExprKind::unary:
    return unary(cast<ast::UnaryExpr>(e));
  case ast::ExprKind::binary:
    return binary(cast<ast::BinaryExpr>(e));
  case ast::ExprKind::call:
    return call(cast<ast::CallExpr>(e));
  case ast::ExprKind::index:
    return index(cast<ast::IndexExpr>(e));
  case ast::ExprKind::tuple: {
    std::vector<Value> parts;
    for (const ast::Expr *item : cast<ast::TupleExpr>(e)->items) {
      parts.push_back(expr(item));
      if (parts.back().type->kind == Type::unit) {
        diags.error(Diag::badOperand, item->range, "this call gives no value");
        return errorValue();
      }
    }
    return tupleValue(std::move(parts));
  }
  case ast::ExprKind::construct:
    return construct(cast<ast::ConstructExpr>(e));
  case ast::ExprKind::lambda: {
    Closure c;
    c.kind = Closure::isLambda;
    c.lambda = cast<ast::LambdaExpr>(e);
    c.frame = frame;
    c.scope = frame->scope;
    c.range = e->range;
    return closureValue(std::move(c));
  }
  case ast::ExprKind::conditional:
    return conditional(cast<ast::ConditionalExpr>(e));
  case ast::ExprKind::list:
    diags.error(Diag::badOperand, e->range,
                "a list of dimensions stands only as an argument of functions such as 'reshape'");
    return errorValue();
  case ast::ExprKind::range:
    diags.error(Diag::badOperand, e->range, "a range stands only behind 'for ... in'");
    return errorValue();
  case ast::ExprKind::pack:
    diags.error(Diag::badOperand, e->range, "a pack of dimensions is not a value");
    return errorValue();
  case ast::ExprKind::wildcard:
  case ast::ExprKind::none:
  case ast::ExprKind::slice:
    diags.error(Diag::badPlaceForNone, e->range, "this is not a value");
    return errorValue();
  }
  return errorValue();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Binding *Elaborator::lookup(StringRef name, bool *beyondLambda) {
  bool beyond = false;
  for (ScopePtr s = frame->scope; s; s = s->parent) {
    auto found = s->names.find(name);
    if (found != s->names.end()) {
      if (beyondLambda)
        *beyondLambda = beyond;
      return &found->second;
    }
    beyond |= s->isLambda;
  }
  return nullptr;
}

const ast::Decl *Elaborator::lookupDecl(StringRef name, const ast::Module *module) const {
  for (const ast::Decl *d : module->decls) {
    if (const auto *fn = dyn_cast<ast::FnDecl>(d); fn && fn->name.text == name)
      return d;
    if (const auto *s = dyn_cast<ast::StructDecl>(d); s && s->name.text == name)
      return d;
    if (const auto *i = dyn_cast<ast::ImportDecl>(d); i && i->name.text == name)
      return d;
  }
  return nullptr;
}

std::optional<Value> Elaborator::declValue(const ast::Decl *decl, const ast::Module *module, SourceRange range) {
  if (const auto *fn = dyn_cast<ast::FnDecl>(decl)) {
    use(fn, module, range);
    Closure c;
    c.fn = fn;
    c.module = module;
    c.range = range;
    return closureValue(std::move(c));
  }
  if (const auto *s = dyn_cast<ast::StructDecl>(decl))
    diags.error(Diag::notAValue, range, "'" + s->name.text + "' is a struct, not a value")
        .note("write " + diags.sourceManager().text(range) + " { ... } to make one");
  else
    diags.error(Diag::notAValue, range, "'" + cast<ast::ImportDecl>(decl)->name.text + "' is a module, not a value");
  return std::nullopt;
}

void Elaborator::unknownName(StringRef name, SourceRange range, const ast::Module *module) {
  std::string where = module ? (" in '" + module->name + "'").str() : "";
  Diagnostic &error = diags.error(Diag::unknownName, range, "unknown name '" + name + "'" + where);
  StringRef best;
  // Of two letters or fewer any other name would be similar.
  unsigned limit = name.size() / 3, distance = limit + 1;
  auto consider = [&](StringRef candidate) {
    unsigned d = name.edit_distance(candidate, true, limit + 1);
    // Something of the name must be left.
    if (d < distance && d < name.size() && candidate != name) {
      best = candidate;
      distance = d;
    }
  };
  if (!module)
    for (ScopePtr s = frame->scope; s; s = s->parent)
      for (const auto &entry : s->names)
        consider(entry.first());
  for (const ast::Decl *d : (module ? module : frame->module)->decls) {
    if (const auto *fn = dyn_cast<ast::FnDecl>(d))
      consider(fn->name.text);
    else if (const auto *s = dyn_cast<ast::StructDecl>(d))
      consider(s->name.text);
  }
  if (best.empty() && !module)
    best = similarBuiltin(name);
  if (!best.empty())
    error.note("did you mean '" + best + "'?");
  else if (!module)
    for (const ast::Decl *d : frame->module->decls)
      if (const auto *import = dyn_cast<ast::ImportDecl>(d);
          import && import->module && lookupDecl(name, import->module))
        error.note("write " + import->name.text + "." + name + " for what '" + import->name.text + "' declares");
}

Value Elaborator::name(const ast::NameExpr *e) {
  if (Binding *b = lookup(e->name)) {
    if (b->kind == Binding::typeParameter) {
      diags.error(Diag::notAValue, e->range, "'" + e->name + "' is a struct type, not a value");
      return errorValue();
    }
    if (!b->val.type) {
      diags.error(Diag::unsetVariable, e->range, "'" + e->name + "' is used before it has a value")
          .note(b->range, "it is declared here");
      return errorValue();
    }
    if (b->val.type->kind == Type::shape) {
      diags.error(Diag::notAValue, e->range, "'" + e->name + "' is a pack of dimensions").note("write .." + e->name);
      return errorValue();
    }
    return b->val;
  }
  if (const ast::Decl *d = lookupDecl(e->name, frame->module))
    return declValue(d, frame->module, e->range).value_or(errorValue());
  if (const Builtin *b = findBuiltin(e->name)) {
    Closure c;
    c.kind = Closure::isBuiltin;
    c.builtin = b;
    c.range = e->range;
    return closureValue(std::move(c));
  }
  if (e->name == "pi")
    return numberValue(M_PI);
  if (e->name == "inf")
    return numberValue(INFINITY);
  unknownName(e->name, e->range);
  return errorValue();
}

Value Elaborator::field(const ast::FieldExpr *e) {
  if (const auto *n = dyn_cast<ast::NameExpr>(e->base); n && !lookup(n->name))
    if (const auto *import = dyn_cast_or_null<ast::ImportDecl>(lookupDecl(n->name, frame->module))) {
      if (!import->module)
        return errorValue(); // not found, which was reported
      const ast::Decl *d = lookupDecl(e->field.text, import->module);
      if (d && !isa<ast::ImportDecl>(d))
        return declValue(d, import->module, e->range).value_or(errorValue());
      unknownName(e->field.text, e->field.range, import->module);
      return errorValue();
    }
  if (const auto *n = dyn_cast<ast::NameExpr>(e->base);
      n && !lookup(n->name) && !lookupDecl(n->name, frame->module) && !findBuiltin(n->name)) {
    diags.error(Diag::unknownName, n->range, "unknown name '" + n->name + "'")
        .note("if it is a module, write import " + n->name + "; at the beginning of the file");
    return errorValue();
  }
  Value base = expr(e->base);
  if (base.isError())
    return base;
  StringRef name = e->field.text;
  if (base.type->kind == Type::graph) {
    Location at = loc(e->range);
    if (name == "src" || name == "dst")
      return endpoint(base, name == "src", at);
    if (name == "edges")
      return integerValue(base.type->edges);
    if (name == "nodes") {
      if (base.type->src == base.type->dst)
        return integerValue(base.type->src);
      diags.error(Diag::noSuchField, e->field.range, "a graph between two sets has no 'nodes': " + str(base.type))
          .note("write the name of one of its sets");
      return errorValue();
    }
    if (name == "old" || name == "new") {
      // Of edges that were merged the map leads from the old ones to these.
      bool merged = !base.parts.empty() && base.parts.front().type->target == base.type->edges;
      if (!base.parts.empty() && merged == (name == "new"))
        return base.parts.front();
      if (base.parts.empty())
        diags.error(Diag::noSuchField, e->field.range,
                    "this graph was not made from another one here, so it has no '" + name + "' edges");
      else
        diags
            .error(Diag::noSuchField, e->field.range,
                   merged ? "edges were merged here, so there is no old one for each new one"
                          : "edges were not merged here: an old one need not be among the new ones")
            .note(merged ? "'new' leads from the old edges to the new ones"
                         : "'old' leads from the new edges to the old ones");
      return errorValue();
    }
    if (name == "graphs" || name == "batch") {
      if (base.type->graphs)
        return name == "graphs"
                   ? integerValue(base.type->graphs)
                   : tensorValue(base.batch, Elem::index, Dims{{Dim::size, base.type->src}}, base.type->graphs);
      diags.error(Diag::noSuchField, e->field.range, "one graph has no '" + name + "'; a batch of graphs has")
          .note("its type is GraphBatch");
      return errorValue();
    }
    diags.error(Diag::noSuchField, e->field.range, "a graph has no '" + name + "'")
        .note(base.type->graphs ? "it has nodes, edges, src, dst, graphs and batch"
                                : "it has nodes, edges, src and dst");
    return errorValue();
  }
  if (base.type->kind == Type::structure && !base.type->blocks.empty()) {
    diags
        .error(Diag::noSuchField, e->field.range,
               "this is an array of structs, " + str(base.type) + ": choose one of them first")
        .note("write " + diags.sourceManager().text(e->base->range) + "[0]." + name);
    return errorValue();
  }
  if (base.type->kind == Type::structure) {
    for (auto [k, f] : llvm::enumerate(base.type->decl->fields))
      if (f.name.text == name)
        return base.parts[k];
    std::string fields;
    for (const ast::StructField &f : base.type->decl->fields)
      fields += (fields.empty() ? "" : ", ") + f.name.text.str();
    diags.error(Diag::noSuchField, e->field.range, str(base.type) + " has no field '" + name + "'")
        .note("it has " + fields);
    return errorValue();
  }
  if (base.type->kind == Type::opaque)
    diags
        .error(Diag::noSuchField, e->field.range,
               "'" + str(base.type) + "' may be any struct, so its fields are not known here")
        .note("map applies a function to all its leaves");
  else
    diags.error(Diag::noSuchField, e->field.range, describe(base) + " has no fields");
  return errorValue();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Value Elaborator::construct(const ast::ConstructExpr *e) {
  ArrayRef<ast::Expr *> items;
  const ast::Expr *head = e->type;
  bool explicitArgs = false;
  if (const auto *i = dyn_cast<ast::IndexExpr>(head)) {
    items = i->items;
    head = i->base;
    explicitArgs = true;
  }
  auto [decl, module] = structNamed(head);
  if (!decl)
    return errorValue();
  // Without brackets the struct's parameters follow from the fields: they are variables of a frame of their own.
  TypeRef given = explicitArgs || decl->generics.empty() ? structType(decl, module, items, e->type->range) : nullptr;
  if (given && given->isError())
    return errorValue();
  SmallVector<TypeRef> types;
  unsigned of = 0;
  SmallVector<StructArg, 4> args;
  if (given) {
    llvm::append_range(types, fieldTypes(given));
  } else {
    Frame &inner = newFrame(module);
    of = inner.id;
    Restore<Frame *> in(frame, &inner);
    declareGenerics(decl->generics);
    for (const ast::GenericParam &g : decl->generics) {
      const Binding &b = inner.scope->names[g.name.text];
      args.push_back({b.val.type ? b.val.size : SizeAttr(), b.type});
    }
    for (const ast::StructField &f : decl->fields)
      types.push_back(typeOf(f.type));
  }

  std::vector<Value> values(decl->fields.size());
  std::vector<SourceRange> ranges(decl->fields.size());
  bool ok = true;
  for (const ast::FieldInit &init : e->fields) {
    Value v = expr(init.value);
    auto *f = llvm::find_if(decl->fields, [&](const ast::StructField &s) { return s.name.text == init.name.text; });
    if (f == decl->fields.end()) {
      diags.error(Diag::noSuchField, init.name.range,
                  "'" + decl->name.text + "' has no field '" + init.name.text + "'");
      ok = false;
      continue;
    }
    unsigned k = f - decl->fields.begin();
    if (values[k].type) {
      diags.error(Diag::badConstruct, init.name.range, "the field '" + init.name.text + "' is given twice");
      ok = false;
    }
    values[k] = v;
    ranges[k] = init.value->range;
    ok &= !v.isError();
  }
  std::string missing;
  for (auto [k, f] : llvm::enumerate(decl->fields))
    if (!values[k].type)
      missing += (missing.empty() ? "'" : ", '") + f.name.text.str() + "'";
  if (!missing.empty()) {
    diags.error(Diag::badConstruct, e->range, "'" + decl->name.text + "' is made without a value for " + missing);
    ok = false;
  }
  if (!ok)
    return errorValue();
  std::vector<SmallVector<Deferred>> deferred(values.size());
  for (auto [k, v] : llvm::enumerate(values))
    if (!unify(types[k], v.type, of, deferred[k]) || !literalFits(v, types[k]->elem)) {
      mismatch(ranges[k], substitute(types[k], of), v, ("field '" + decl->fields[k].name.text + "'").str());
      ok = false;
    }
  for (auto [k, v] : llvm::enumerate(values))
    if (ok && !settled(deferred[k], of)) {
      mismatch(ranges[k], substitute(types[k], of), v, ("field '" + decl->fields[k].name.text + "'").str());
      ok = false;
    }
  if (!ok)
    return errorValue();
  if (!given) {
    Type t;
    t.kind = Type::structure;
    t.decl = decl;
    t.module = module;
    for (auto [a, g] : llvm::zip(args, decl->generics)) {
      bool bound = a.type ? structVars[a.type->parameter].bound != nullptr : bool(vars[*a.size.getSet()].bound);
      if (!bound) {
        diags.error(Diag::unsolvedDimension, e->type->range, "the fields don't say what '" + g.name.text + "' is")
            .note("write " + decl->name.text + "[...] { ... }");
        return errorValue();
      }
      t.args.push_back({substitute(a.size, of), a.type ? substitute(a.type, of) : nullptr});
    }
    given = make(std::move(t));
  }
  Value result;
  result.type = given;
  for (auto [v, type, range] : llvm::zip(values, fieldTypes(given), ranges))
    result.parts.push_back(convert(v, type, loc(range)));
  return result;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

std::optional<SizeAttr> Elaborator::dimension(const ast::Expr *e) {
  if (const auto *n = dyn_cast<ast::NameExpr>(e))
    if (Binding *b = lookup(n->name);
        b && b->kind == Binding::value && b->val.type && b->val.type->isScalar() && isRuntimeInt(b->val.type->elem)) {
      if (b->isMutable) {
        diags.error(Diag::badDimension, e->range, "'" + n->name + "' may change, so it is no dimension")
            .note("write let n = " + n->name + "; and n here");
        return std::nullopt;
      }
      if (!b->dimension && b->val.ir)
        b->dimension = sizeOf(b->val, n->name, e->range);
      if (!b->dimension) {
        Restore<unsigned> owner(frame->owner, frame->id); // not a set of the result, if that is what is read
        unsigned id = newVar(n->name, b->range);
        vars[id].isNumber = true;
        b->dimension = var(id);
      }
      return b->dimension;
    }
  Value v = expr(e);
  if (v.isError())
    return std::nullopt;
  if (v.type->isTensor() && v.type->elem == Elem::integer)
    return v.size;
  if (v.type->isScalar() && isRuntimeInt(v.type->elem)) {
    diags.error(Diag::badDimension, e->range, "this integer is known only at run time and has no name")
        .note("write let n = " + diags.sourceManager().text(e->range) + "; and n here");
    return std::nullopt;
  }
  diags.error(Diag::badDimension, e->range, "expected a dimension, found " + describe(v))
      .note("a dimension is a parameter, an index set such as g.nodes, an integer, or +, -, * of these");
  return std::nullopt;
}

std::optional<Dims> Elaborator::dimensions(ArrayRef<ast::Expr *> items) {
  Dims dims;
  bool ok = true;
  for (const ast::Expr *item : items) {
    if (const auto *p = dyn_cast<ast::PackExpr>(item)) {
      Binding *b = p->name ? lookup(p->name.text) : nullptr;
      if (!b || b->kind != Binding::value || !b->val.type || b->val.type->kind != Type::shape) {
        diags
            .error(Diag::badDimension, p->range,
                   p->name ? "'" + p->name.text + "' is not a pack of dimensions"
                           : llvm::Twine("this pack needs a name"))
            .note("packs are parameters of a function: fn f[..B](x: real[..B])");
        ok = false;
        continue;
      }
      llvm::append_range(dims, b->val.type->dims);
      continue;
    }
    std::optional<SizeAttr> size = dimension(item);
    if (!size) {
      ok = false;
      continue;
    }
    if (std::optional<int64_t> n = size->getConstant(); n && *n < 0) {
      diags.error(Diag::badDimension, item->range, "a dimension can't be negative, found " + llvm::Twine(*n));
      ok = false;
      continue;
    }
    dims.push_back({Dim::size, *size});
  }
  return ok ? std::optional<Dims>(dims) : std::nullopt;
}

} // namespace gnnc::elab
