// Statements: declarations, patterns, assignment, return.
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

void Elaborator::notSupported(SourceRange range, const llvm::Twine &what) {
  diags.error(Diag::notSupported, range, what + " is not supported yet");
}

void Elaborator::block(const ast::Block *b, llvm::function_ref<void()> rest) {
  ScopeGuard scope(*this);
  statements(b, 0, rest);
}

void Elaborator::statements(const ast::Block *b, size_t first, llvm::function_ref<void()> rest) {
  bool warned = false;
  for (size_t k = first; k < b->stmts.size(); ++k) {
    const ast::Stmt *s = b->stmts[k];
    if (frame->returns->done && !frame->returns->isAbandoned && !warned) {
      diags.warning(Diag::unreachable, s->range, "this is never reached")
          .note(frame->returns->range, "the function returns here");
      warned = true;
    }
    if (frame->returns->done)
      break;
    if (!isReturningBranch(s)) {
      statement(s);
      continue;
    }
    // What follows belongs to its branches.
    ScopePtr here = frame->scope;
    return returningIf(cast<ast::IfStmt>(s), [&, k, here] {
      Restore<ScopePtr> outer(frame->scope, here);
      ScopeGuard scope(*this);
      statements(b, k + 1, rest);
    });
  }
  if (b->tail && !frame->returns->done) {
    ReturnSlot &slot = *frame->returns;
    slot.done = true;
    slot.range = b->tail->range;
    slot.value = expr(b->tail);
  }
  if (rest && !frame->returns->done)
    rest();
}

void Elaborator::statement(const ast::Stmt *s) {
  switch (s->kind) {
  case ast::StmtKind::let: {
    const auto *let = cast<ast::LetStmt>(s);
    Value v = expr(let->value);
    if (let->type)
      v = coerce(v, typeOf(let->type), let->value->range, "");
    if (v.type->kind == Type::unit) {
      diags.error(Diag::badOperand, let->value->range, "this call gives no value");
      v = errorValue();
    }
    if (let->nondiff && !v.isError())
      v = holdConstant(v, loc(let->range));
    bindPattern(let->pattern, v, false);
    return;
  }
  case ast::StmtKind::var: {
    const auto *decl = cast<ast::VarStmt>(s);
    TypeRef type = decl->type ? typeOf(decl->type) : nullptr;
    if (!decl->value) {
      const auto *name = dyn_cast<ast::NamePattern>(decl->pattern);
      if (!name) {
        diags.error(Diag::badPattern, decl->pattern->range, "several variables are declared with a value");
        return;
      }
      Binding b;
      b.range = name->range;
      b.isMutable = true;
      b.declared = type;
      declare(name->name, std::move(b));
      return;
    }
    Value v = expr(decl->value);
    if (type)
      v = coerce(v, type, decl->value->range, "");
    // What will be assigned to is no longer a literal.
    v = v.isError() ? v : mapLeaves(v, [&](const Value &leaf) {
      if (!isLiteral(leaf.type->elem))
        return leaf;
      if (!literalFits(leaf, Elem::i32)) {
        diags.error(Diag::typeMismatch, decl->value->range, "expected i32, found " + describe(leaf))
            .note("give the variable a type: var name: i64 = ...");
        return errorValue();
      }
      return materialise(leaf, leaf.type->elem == Elem::number ? Elem::real : Elem::i32, loc(decl->value->range));
    });
    bindPattern(decl->pattern, v, true);
    return;
  }
  case ast::StmtKind::assign: {
    const auto *a = cast<ast::AssignStmt>(s);
    Value v = expr(a->value);
    if (const auto *part = dyn_cast<ast::IndexExpr>(a->target); part && a->op != ast::AssignOp::set && !v.isError())
      if (std::optional<bool> byArrays = hasIndexArrays(part); byArrays.value_or(true)) {
        if (!byArrays)
          return;
        Value sum = addPart(a, part, v);
        if (!sum.isError())
          assign(part->base, sum, a->value->range);
        return;
      }
    if (a->op != ast::AssignOp::set) {
      Value old = expr(a->target);
      if (old.isError() || v.isError())
        return;
      ast::BinaryOp op = a->op == ast::AssignOp::add   ? ast::BinaryOp::add
                         : a->op == ast::AssignOp::sub ? ast::BinaryOp::sub
                         : a->op == ast::AssignOp::mul ? ast::BinaryOp::mul
                                                       : ast::BinaryOp::div;
      v = arithmetic(op, old, v, a->opRange, a->target->range, a->value->range);
    }
    assign(a->target, v, a->value->range);
    return;
  }
  case ast::StmtKind::expr:
    expr(cast<ast::ExprStmt>(s)->expr);
    return;
  case ast::StmtKind::returnStmt: {
    const auto *r = cast<ast::ReturnStmt>(s);
    ReturnSlot &slot = *frame->returns;
    slot.done = true;
    slot.range = r->range;
    Value v = r->value ? expr(r->value) : unitValue();
    if (slot.expected && slot.expected->kind == Type::unit && v.type->kind != Type::unit && !v.isError()) {
      diags.error(Diag::typeMismatch, r->value->range, "this function returns nothing, found " + describe(v));
      v = errorValue();
    } else if (slot.expected) {
      v = coerce(v, slot.expected, r->value ? r->value->range : r->range, "the result", frame->resultId);
    }
    slot.value = v;
    return;
  }
  case ast::StmtKind::ifStmt:
    ifStatement(cast<ast::IfStmt>(s));
    return;
  case ast::StmtKind::forStmt:
    forStatement(cast<ast::ForStmt>(s));
    return;
  case ast::StmtKind::whileStmt:
    whileStatement(cast<ast::WhileStmt>(s));
    return;
  }
}

void Elaborator::declare(const ast::Name &name, Binding binding) {
  auto [place, fresh] = frame->scope->names.try_emplace(name.text, binding);
  if (fresh)
    return;
  diags.error(Diag::redefinedName, name.range, "'" + name.text + "' is declared twice")
      .note(place->second.range, "here is the first one");
  place->second = binding;
}

void Elaborator::bindPattern(const ast::Pattern *p, const Value &value, bool isMutable) {
  switch (p->kind) {
  case ast::PatternKind::wildcard:
    return;
  case ast::PatternKind::name: {
    const auto *n = cast<ast::NamePattern>(p);
    nameSets(value, n->name.text);
    Binding b;
    b.val = value;
    b.range = p->range;
    b.isMutable = isMutable;
    b.declared = isMutable ? value.type : nullptr;
    declare(n->name, std::move(b));
    return;
  }
  case ast::PatternKind::tuple: {
    const auto *t = cast<ast::TuplePattern>(p);
    bool fits = value.type->kind == Type::tuple && value.parts.size() == t->items.size();
    if (!fits && !value.isError())
      diags.error(Diag::badPattern, p->range,
                  "this takes " + llvm::Twine(t->items.size()) + " values apart, found " +
                      (value.type->kind == Type::tuple ? llvm::Twine(value.parts.size()) + " of them"
                                                       : llvm::Twine(describe(value))));
    for (auto [k, item] : llvm::enumerate(t->items))
      bindPattern(item, fits ? value.parts[k] : errorValue(), isMutable);
    return;
  }
  }
}

/// A graph made here is called by the name that it is bound to: gl.edges.
void Elaborator::nameSets(const Value &value, StringRef name) {
  if (value.type->kind != Type::graph)
    return;
  for (auto [set, what] : {std::pair(value.type->edges, ".edges"), std::pair(value.type->src, ".nodes")}) {
    std::optional<int64_t> id = set.getSet();
    if (!id || !vars[*id].isProvisional)
      continue;
    vars[*id].name = (name + what).str();
    vars[*id].isProvisional = false;
    if (std::optional<int64_t> known = vars[*id].ir ? vars[*id].ir.getSet() : std::nullopt)
      if (vars[*id].frame == frame->owner)
        setNames[*known] = vars[*id].name;
  }
}

void Elaborator::assign(const ast::Expr *target, const Value &value, SourceRange range) {
  if (isa<ast::WildcardExpr>(target))
    return;
  if (const auto *t = dyn_cast<ast::TupleExpr>(target)) {
    if (value.isError())
      return;
    if (value.type->kind != Type::tuple || value.parts.size() != t->items.size()) {
      diags.error(Diag::badPattern, target->range,
                  "this assigns " + llvm::Twine(t->items.size()) + " values, found " + describe(value));
      return;
    }
    for (auto [item, part] : llvm::zip(t->items, value.parts))
      assign(item, part, range);
    return;
  }
  if (const auto *part = dyn_cast<ast::IndexExpr>(target)) {
    // The whole with this part replaced.
    Value base = expr(part->base);
    if (base.isError() || value.isError())
      return;
    Value whole = assignPart(base, part, value, range);
    if (!whole.isError())
      assign(part->base, whole, range);
    return;
  }
  assignName(target, value, range);
}

/// Assigns to a variable or a field of one.
void Elaborator::assignName(const ast::Expr *target, const Value &value, SourceRange range) {
  const ast::Expr *root = target;
  while (const auto *f = dyn_cast<ast::FieldExpr>(root))
    root = f->base;
  if (!isa<ast::NameExpr>(root)) {
    notSupported(root->range, "assigning to a field of an element");
    return;
  }
  const auto *n = cast<ast::NameExpr>(root);
  bool beyondLambda = false;
  Binding *b = lookup(n->name, &beyondLambda);
  if (!b || b->kind != Binding::value) {
    if (b || lookupDecl(n->name, frame->module) || findBuiltin(n->name))
      diags.error(Diag::notAssignable, n->range, "'" + n->name + "' can't be assigned to");
    else
      unknownName(n->name, n->range);
    return;
  }
  if (!b->isMutable) {
    diags.error(Diag::notAssignable, n->range, "'" + n->name + "' can't be assigned to")
        .note(b->range, "it is declared here; 'var' and 'inout' make names that can");
    return;
  }
  if (beyondLambda) {
    diags.error(Diag::notAssignable, n->range,
                "a lambda can't assign to '" + n->name + "', which is declared outside of it");
    return;
  }
  Value v;
  if (root == target) {
    v = b->declared ? coerce(value, b->declared, range, ("'" + n->name + "'").str()) : value;
    if (!b->declared)
      b->declared = value.type;
  } else if (!b->val.type) {
    diags.error(Diag::unsetVariable, n->range, "'" + n->name + "' is used before it has a value")
        .note(b->range, "it is declared here");
    return;
  } else {
    v = assignInto(b->val, target, value, range);
  }
  if (!v.isError())
    b->val = v;
}

/// The struct `old` with the field that `target` names replaced.
Value Elaborator::assignInto(const Value &old, const ast::Expr *target, const Value &value, SourceRange range) {
  const auto *f = dyn_cast<ast::FieldExpr>(target);
  if (!f)
    return coerce(value, old.type, range, "");
  // The value that the field is taken from, then the field in it.
  SmallVector<const ast::FieldExpr *> path;
  for (const ast::Expr *e = target; (f = dyn_cast<ast::FieldExpr>(e)); e = f->base)
    path.push_back(f);
  Value result = old;
  Value *place = &result;
  for (const ast::FieldExpr *step : llvm::reverse(path)) {
    if (place->isError())
      return errorValue();
    Value *next = nullptr;
    if (place->type->kind == Type::structure)
      for (auto [k, d] : llvm::enumerate(place->type->decl->fields))
        if (d.name.text == step->field.text)
          next = &place->parts[k];
    if (!next) {
      diags.error(Diag::noSuchField, step->field.range,
                  str(place->type) + " has no field '" + step->field.text + "' to assign to");
      return errorValue();
    }
    place = next;
  }
  *place = coerce(value, place->type, range, ("'" + path.front()->field.text + "'").str());
  return place->isError() ? errorValue() : result;
}

} // namespace gnnc::elab
