// Types as they are written: resolved in the scope of the frame at hand.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace gnnc::elab {

static std::optional<Elem> scalarNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<Elem>>(name)
      .Case("real", Elem::real)
      .Case("f32", Elem::f32)
      .Case("f64", Elem::f64)
      .Case("i32", Elem::i32)
      .Case("i64", Elem::i64)
      .Case("bool", Elem::boolean)
      .Case("Key", Elem::key)
      .Default(std::nullopt);
}

TypeRef Elaborator::typeOf(const ast::TypeExpr *t) {
  switch (t->kind) {
  case ast::TypeKind::named:
    return namedType(cast<ast::NamedType>(t));
  case ast::TypeKind::index: {
    const auto *i = cast<ast::IndexType>(t);
    std::optional<SizeAttr> target = dimension(i->target);
    std::optional<Dims> dims = dimensions(i->dims);
    return target && dims ? tensor(Elem::index, *dims, *target) : errorType();
  }
  case ast::TypeKind::graph: {
    const auto *g = cast<ast::GraphType>(t);
    Type type;
    type.kind = Type::graph;
    if (g->source) {
      std::optional<SizeAttr> src = dimension(g->source), dst = dimension(g->target);
      if (!src || !dst)
        return errorType();
      type.src = *src;
      type.dst = *dst;
    } else {
      type.src = type.dst = var(newVar(graphName + ".nodes", t->range));
    }
    unsigned edges = newVar(graphName + ".edges", t->range);
    vars[edges].isProvisional = graphName == "?";
    type.edges = var(edges);
    if (g->batch) {
      if (type.src != type.dst) {
        diags
            .error(Diag::badType, t->range,
                   "a batch is of graphs over one set of nodes, found " + str(type.src) + " -> " + str(type.dst))
            .note("write GraphBatch(V -> V), or GraphBatch");
        return errorType();
      }
      type.graphs = var(newVar(graphName + ".graphs", t->range));
    }
    return make(std::move(type));
  }
  case ast::TypeKind::function: {
    const auto *f = cast<ast::FunctionType>(t);
    Type type;
    type.kind = Type::function;
    for (const ast::TypeExpr *p : f->params) {
      type.elements.push_back(typeOf(p));
      if (type.elements.back()->isError())
        return errorType();
    }
    type.result = typeOf(f->result);
    if (type.result->isError())
      return errorType();
    return make(std::move(type));
  }
  case ast::TypeKind::tuple: {
    const auto *tuple = cast<ast::TupleType>(t);
    if (tuple->elements.empty())
      return &unitTy;
    Type type;
    type.kind = Type::tuple;
    for (const ast::TupleElement &e : tuple->elements) {
      if (e.name && llvm::is_contained(type.names, e.name.text)) {
        diags.error(Diag::redefinedName, e.name.range, "'" + e.name.text + "' is declared twice");
        return &errorTy;
      }
      Restore<std::string> naming(graphName, e.name ? e.name.text.str() : "?");
      TypeRef element = typeOf(e.type);
      if (element->isError())
        return element;
      type.elements.push_back(element);
      type.names.push_back(e.name.text);
      // Later elements may name the sets of this one.
      if (e.name && element->kind == Type::graph) {
        Binding b;
        b.range = e.name.range;
        b.val.type = element;
        frame->scope->names[e.name.text] = b;
      }
    }
    if (type.elements.size() == 1)
      return type.elements.front();
    return make(std::move(type));
  }
  }
  return errorType();
}

TypeRef Elaborator::namedType(const ast::NamedType *t) {
  if (!t->module) {
    Binding *b = lookup(t->name.text);
    if (b && b->kind == Binding::typeParameter) {
      if (!t->brackets.empty()) {
        diags.error(Diag::badType, t->brackets.front().range,
                    "'" + t->name.text + "' is a parameter and takes no brackets");
        return errorType();
      }
      return b->type;
    }
    std::optional<Elem> elem = scalarNamed(t->name.text);
    if (elem && !lookupDecl(t->name.text, frame->module)) {
      if (t->brackets.empty())
        return scalar(*elem);
      if (t->brackets.size() > 1 || *elem == Elem::key) {
        diags.error(Diag::badType, t->brackets.back().range,
                    *elem == Elem::key ? "a 'Key' has no dimensions" : "a tensor has one group of dimensions");
        return errorType();
      }
      std::optional<Dims> dims = dimensions(t->brackets.front().items);
      if (!dims)
        return errorType();
      if (llvm::count_if(*dims, [](const Dim &d) { return d.kind == Dim::pack; }) > 1) {
        diags.error(Diag::badType, t->range, "a shape holds at most one pack");
        return errorType();
      }
      return tensor(*elem, *dims);
    }
  }
  const ast::Module *module = frame->module;
  if (t->module) {
    const auto *import = dyn_cast_or_null<ast::ImportDecl>(lookupDecl(t->module.text, module));
    if (!import) {
      diags.error(Diag::unknownName, t->module.range, "unknown module '" + t->module.text + "'")
          .note("write import " + t->module.text + "; at the beginning of the file");
      return errorType();
    }
    if (!import->module)
      return errorType();
    module = import->module;
  }
  const ast::Decl *d = lookupDecl(t->name.text, module);
  const auto *decl = dyn_cast_or_null<ast::StructDecl>(d);
  if (!decl) {
    if (d || (!t->module && (lookup(t->name.text) || findBuiltin(t->name.text))))
      diags.error(Diag::badType, t->name.range, "'" + t->name.text + "' is not a type");
    else
      unknownName(t->name.text, t->name.range, t->module ? module : nullptr);
    return errorType();
  }
  unsigned groups = t->brackets.size(), expected = decl->generics.empty() ? 0 : 1;
  TypeRef type =
      structType(decl, module, expected && groups ? t->brackets.front().items : ArrayRef<ast::Expr *>(), t->range);
  for (unsigned k = expected; k < groups && !type->isError(); ++k)
    type = arrayOf(type, t->brackets[k].items, t->brackets[k].range);
  return type;
}

TypeRef Elaborator::arrayOf(TypeRef structure, ArrayRef<ast::Expr *> items, SourceRange range) {
  std::optional<Dims> count = dimensions(items);
  if (!count)
    return errorType();
  if (count->size() != 1 || count->front().kind == Dim::pack || !structure->blocks.empty()) {
    diags.error(Diag::badType, range,
                "an array of structs has one number of blocks, such as " + str(structure) + "[4]");
    return errorType();
  }
  if (llvm::any_of(structure->args, [](const StructArg &a) { return a.type != nullptr; })) {
    notSupported(range, "an array of structs that take struct types");
    return errorType();
  }
  Type t = *structure;
  t.blocks = *count;
  return make(std::move(t));
}

TypeRef Elaborator::structType(const ast::StructDecl *decl, const ast::Module *module, ArrayRef<ast::Expr *> items,
                               SourceRange range) {
  if (decl->hasErrors) // reported by the parser
    return errorType();
  if (items.size() != decl->generics.size()) {
    std::string params;
    for (const ast::GenericParam &g : decl->generics)
      params += (params.empty() ? "[" : ", ") + g.name.text.str();
    params += params.empty() ? "" : "]";
    diags
        .error(Diag::badType, range,
               "'" + decl->name.text + "' has " + counted(decl->generics.size(), "parameter") + ", found " +
                   llvm::Twine(items.size()))
        .note(decl->name.range, "it is declared as " + decl->name.text + params);
    return errorType();
  }
  if (llvm::is_contained(openStructs, decl)) {
    diags.error(Diag::badType, range, "the struct '" + decl->name.text + "' holds itself");
    return errorType();
  }
  Type t;
  t.kind = Type::structure;
  t.decl = decl;
  t.module = module;
  for (auto [g, item] : llvm::zip(decl->generics, items)) {
    if (g.kind == ast::GenericParam::structType) {
      TypeRef type = typeArgument(item);
      if (type->isError())
        return type;
      t.args.push_back({{}, type});
      continue;
    }
    std::optional<SizeAttr> size = dimension(item);
    if (!size)
      return errorType();
    t.args.push_back({*size, nullptr});
  }
  return make(std::move(t));
}

std::pair<const ast::StructDecl *, const ast::Module *> Elaborator::structNamed(const ast::Expr *e) {
  const ast::Module *module = frame->module;
  StringRef name;
  if (const auto *n = dyn_cast<ast::NameExpr>(e)) {
    name = n->name;
  } else if (const auto *f = dyn_cast<ast::FieldExpr>(e); f && isa<ast::NameExpr>(f->base)) {
    const auto *import = dyn_cast_or_null<ast::ImportDecl>(lookupDecl(cast<ast::NameExpr>(f->base)->name, module));
    if (!import) {
      unknownName(cast<ast::NameExpr>(f->base)->name, f->base->range);
      return {};
    }
    if (!import->module)
      return {};
    module = import->module;
    name = f->field.text;
  } else {
    diags.error(Diag::badType, e->range, "expected the name of a struct");
    return {};
  }
  const ast::Decl *d = lookupDecl(name, module);
  if (const auto *s = dyn_cast_or_null<ast::StructDecl>(d)) {
    if (s->hasErrors) // reported by the parser
      return {};
    return {s, module};
  }
  if (d || findBuiltin(name))
    diags.error(Diag::badType, e->range, "'" + name + "' is not a struct");
  else
    unknownName(name, e->range, module == frame->module ? nullptr : module);
  return {};
}

/// A struct type in brackets: `Gcn[In, Hidden]`, `S`.
TypeRef Elaborator::typeArgument(const ast::Expr *e) {
  if (const auto *n = dyn_cast<ast::NameExpr>(e))
    if (Binding *b = lookup(n->name); b && b->kind == Binding::typeParameter)
      return b->type;
  // Groups of brackets, the outermost first.
  SmallVector<const ast::IndexExpr *> groups;
  const ast::Expr *head = e;
  while (const auto *i = dyn_cast<ast::IndexExpr>(head)) {
    groups.insert(groups.begin(), i);
    head = i->base;
  }
  auto [decl, module] = structNamed(head);
  if (!decl)
    return errorType();
  unsigned expected = decl->generics.empty() ? 0 : 1;
  TypeRef type =
      structType(decl, module, expected && !groups.empty() ? groups.front()->items : ArrayRef<ast::Expr *>(), e->range);
  for (unsigned k = expected; k < groups.size() && !type->isError(); ++k)
    type = arrayOf(type, groups[k]->items, groups[k]->range);
  return type;
}

void Elaborator::declareGenerics(ArrayRef<ast::GenericParam> generics) {
  for (const ast::GenericParam &g : generics) {
    Binding b;
    b.range = g.name.range;
    switch (g.kind) {
    case ast::GenericParam::dimension:
      b.val = integerValue(var(newVar(g.name.text, g.name.range)));
      break;
    case ast::GenericParam::pack: {
      Type shape;
      shape.kind = Type::shape;
      shape.dims.push_back({Dim::pack, var(newPack(g.name.text, g.name.range))});
      b.val.type = make(std::move(shape));
      break;
    }
    case ast::GenericParam::structType: {
      structVars.push_back({g.name.text.str(), frame->owner, nullptr});
      Type opaque;
      opaque.kind = Type::opaque;
      opaque.parameter = structVars.size() - 1;
      b.kind = Binding::typeParameter;
      b.type = make(std::move(opaque));
      break;
    }
    }
    declare(g.name, std::move(b));
  }
}

void Elaborator::checkStruct(const ast::StructDecl *decl, const ast::Module *module) {
  Frame &inner = newFrame(module);
  Restore<Frame *> in(frame, &inner);
  openStructs.push_back(decl);
  declareGenerics(decl->generics);
  llvm::StringMap<SourceRange> seen;
  for (const ast::StructField &f : decl->fields) {
    if (!seen.try_emplace(f.name.text, f.name.range).second)
      diags.error(Diag::redefinedName, f.name.range, "the field '" + f.name.text + "' is declared twice")
          .note(seen[f.name.text], "here is the first one");
    Restore<std::string> naming(graphName, f.name.text.str());
    TypeRef type = typeOf(f.type);
    if (type->kind == Type::graph || type->kind == Type::function || type->kind == Type::tuple ||
        type->kind == Type::unit)
      diags.error(Diag::badType, f.type->range, "a struct holds tensors, numbers and structs, found " + str(type));
    // Typing the fields of a field shows structs that hold each other.
    if (type->kind == Type::structure)
      (void)fieldTypes(type);
    if (f.init)
      initialiser(f.init);
  }
  openStructs.pop_back();
}

} // namespace gnnc::elab
