// Branches and loops. A branch or a body is walked once, into a region of its own; variables that it assigns to leave
// it as results, and what a loop changes is carried. Nothing is unrolled, and no branch is dropped.
#include "Elaborator.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gnnc::elab {

/// The variables that can be assigned to here.
SmallVector<Elaborator::Variable> Elaborator::variables() {
  SmallVector<Variable> found;
  for (ScopePtr s = frame->scope; s; s = s->parent) {
    for (auto &entry : s->names)
      if (entry.second.isMutable && entry.second.kind == Binding::value)
        found.push_back({entry.first().str(), &entry.second, entry.second.val});
    if (s->isLambda)
      break;
  }
  // A map has no order of its own.
  llvm::sort(found, [](const Variable &a, const Variable &b) {
    return std::pair(a.binding->range.begin, a.name) < std::pair(b.binding->range.begin, b.name);
  });
  return found;
}

/// A scalar of type bool; no value after an error.
std::optional<Value> Elaborator::condition(const ast::Expr *e, StringRef what) {
  Value c = expr(e);
  if (c.isError())
    return std::nullopt;
  if (c.type->isScalar() && c.type->elem == Elem::boolean)
    return c;
  Diagnostic &error =
      diags.error(Diag::badOperand, e->range, "the condition of '" + what + "' is one bool, found " + describe(c));
  if (c.type->isTensor() && c.type->elem == Elem::boolean)
    error.note("where(c, a, b) chooses element by element");
  return std::nullopt;
}

/// A return from the function in a statement, or in branches inside of it; null if there is none.
static const ast::Stmt *returnIn(const ast::Stmt *s) {
  if (isa<ast::ReturnStmt>(s))
    return s;
  if (const auto *i = dyn_cast<ast::IfStmt>(s))
    for (const ast::Block *b : {i->thenBlock, i->elseBlock})
      for (const ast::Stmt *inner : b ? b->stmts : ArrayRef<ast::Stmt *>())
        if (const ast::Stmt *found = returnIn(inner))
          return found;
  return nullptr;
}

bool Elaborator::isReturningBranch(const ast::Stmt *s) { return isa<ast::IfStmt>(s) && returnIn(s); }

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Gives literals in a value the types that they have at run time.
Value Elaborator::settleLiterals(const Value &value, SourceRange range) {
  return mapLeaves(value, [&](const Value &leaf) {
    if (!isLiteral(leaf.type->elem))
      return leaf;
    return materialise(leaf, leaf.type->elem == Elem::number ? Elem::real : Elem::i32, loc(range));
  });
}

/// Two values of one type, whose literals adapt to each other; false after an error.
bool Elaborator::unifyBranches(Value &a, Value &b, Block *aBlock, Block *bBlock, SourceRange aRange,
                               SourceRange bRange) {
  auto elemOf = [](const Value &v) { return v.type->isTensor() ? std::optional<Elem>(v.type->elem) : std::nullopt; };
  std::optional<Elem> ea = elemOf(a), eb = elemOf(b);
  OpBuilder::InsertionGuard guard(builder);
  auto adapt = [&](Value &v, Block *block, SourceRange range, std::optional<Elem> other) {
    builder.setInsertionPointToEnd(block);
    if (v.type->isTensor() && isLiteral(v.type->elem) && other && !isLiteral(*other) && v.type->dims.empty() &&
        !(v.type->elem == Elem::number && !isFloat(*other)) && literalFits(v, *other))
      v = materialise(v, *other, loc(range));
  };
  if (ea && eb && isLiteral(*ea) && isLiteral(*eb) && (*ea == Elem::number || *eb == Elem::number))
    ea = eb = Elem::real;
  adapt(a, aBlock, aRange, eb);
  adapt(b, bBlock, bRange, ea);
  builder.setInsertionPointToEnd(aBlock);
  a = settleLiterals(a, aRange);
  builder.setInsertionPointToEnd(bBlock);
  b = settleLiterals(b, bRange);
  std::function<bool(TypeRef)> isFixed = [&](TypeRef t) {
    return t->kind == Type::graph || t->kind == Type::function || llvm::any_of(t->elements, isFixed);
  };
  if (isFixed(a.type) || isFixed(b.type)) {
    notSupported(bRange, "a graph or a function that depends on an 'if'");
    return false;
  }
  if (!same(a.type, b.type)) {
    diags.error(Diag::typeMismatch, bRange, "this branch gives " + describe(b) + ", the other " + describe(a))
        .note(aRange, "here is the other one");
    return false;
  }
  return true;
}

/// What both branches leave, chosen by the condition: their values, if they have any, and the variables that they
/// assigned to. `onTrue` and `onFalse` walk the branches. False after an error.
bool Elaborator::branch(const Value &condition, SourceRange range, llvm::function_ref<Outcome()> onTrue,
                        llvm::function_ref<Outcome()> onFalse, Outcome &result) {
  SmallVector<Variable> before = variables();
  Region regions[2];
  Outcome outcomes[2];
  SmallVector<SmallVector<Value>> after(2);
  for (unsigned k : {0u, 1u}) {
    regions[k].push_back(new Block);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&regions[k].front());
    for (Variable &v : before)
      v.binding->val = v.value;
    outcomes[k] = k == 0 ? onTrue() : onFalse();
    for (Variable &v : before)
      after[k].push_back(v.binding->val);
  }
  for (Variable &v : before)
    v.binding->val = v.value;
  if (outcomes[0].failed || outcomes[1].failed)
    return false;
  Block *blocks[2] = {&regions[0].front(), &regions[1].front()};
  SmallVector<mlir::Value> yields[2];
  bool valued = outcomes[0].value && outcomes[1].value;
  if (valued) {
    Value &a = *outcomes[0].value, &b = *outcomes[1].value;
    if (a.isError() || b.isError())
      return false;
    if (!unifyBranches(a, b, blocks[0], blocks[1], outcomes[0].range, outcomes[1].range))
      return false;
    collectIr(a, yields[0]);
    collectIr(b, yields[1]);
  }
  // Variables of which both branches have a value, and which one changed.
  SmallVector<std::pair<unsigned, SmallVector<unsigned>>> changed; // variable, leaves
  for (auto [n, v] : llvm::enumerate(before)) {
    Value &a = after[0][n], &b = after[1][n];
    if (!a.type || !b.type || a.isError() || b.isError())
      continue;
    SmallVector<mlir::Value> left, right;
    collectIr(a, left);
    collectIr(b, right);
    SmallVector<unsigned> leaves;
    for (auto [l, r, k] : llvm::zip(left, right, llvm::seq<unsigned>(0, left.size())))
      if (l != r) {
        if (!isa<RankedTensorType>(l.getType()) || l.getType() != r.getType()) {
          notSupported(range, "a graph in '" + v.name + "' that depends on an 'if'");
          return false;
        }
        yields[0].push_back(l);
        yields[1].push_back(r);
        leaves.push_back(k);
      }
    if (!v.value.type || !leaves.empty())
      changed.push_back({n, leaves});
  }
  Location at = loc(range);
  SmallVector<mlir::Type> types;
  for (mlir::Value v : yields[0])
    types.push_back(v.getType());
  for (unsigned k : {0u, 1u}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(blocks[k]);
    gnn::YieldOp::create(builder, at, yields[k]);
  }
  auto op = gnn::IfOp::create(builder, at, types, condition.ir);
  op.getThenRegion().takeBody(regions[0]);
  op.getElseRegion().takeBody(regions[1]);
  SmallVector<mlir::Value> results(op.getResults());
  ArrayRef<mlir::Value> rest = results;
  if (valued)
    result.value = replaceIr(*outcomes[0].value, rest);
  for (auto &[n, leaves] : changed) {
    Value v = after[0][n];
    SmallVector<mlir::Value> ir;
    collectIr(v, ir);
    for (unsigned k : leaves) {
      ir[k] = rest.front();
      rest = rest.drop_front();
    }
    ArrayRef<mlir::Value> all = ir;
    before[n].binding->val = replaceIr(v, all);
  }
  return true;
}

void Elaborator::ifStatement(const ast::IfStmt *s) {
  std::optional<Value> c = condition(s->condition, "if");
  if (!c) {
    abandonQuietly();
    return;
  }
  auto walk = [&](const ast::Block *b) {
    Outcome outcome;
    unsigned errors = diags.numErrors();
    if (b)
      block(b);
    outcome.failed = diags.numErrors() != errors;
    return outcome;
  };
  Outcome result;
  (void)branch(*c, s->range, [&] { return walk(s->thenBlock); }, [&] { return walk(s->elseBlock); }, result);
}

/// An 'if' that may return: what follows it belongs to the branches that don't. `rest` walks it.
void Elaborator::returningIf(const ast::IfStmt *s, llvm::function_ref<void()> rest) {
  ReturnSlot &slot = *frame->returns;
  if (slot.inLoop) {
    notSupported(returnIn(s)->range, "'return' in a loop");
    return abandonQuietly();
  }
  std::optional<Value> c = condition(s->condition, "if");
  if (!c)
    return abandonQuietly();
  auto walk = [&](const ast::Block *b) {
    ReturnSlot inner;
    inner.expected = slot.expected;
    Outcome outcome;
    unsigned errors = diags.numErrors();
    {
      Restore<ReturnSlot *> returns(frame->returns, &inner);
      if (b)
        block(b, rest);
      else
        rest();
    }
    outcome.value = inner.value;
    outcome.range = inner.done ? inner.range : s->range;
    outcome.failed = diags.numErrors() != errors || inner.isAbandoned;
    if (!inner.done && !outcome.failed && slot.expected && slot.expected->kind != Type::unit) {
      diags.error(Diag::missingReturn, s->range, "after this 'if' the function does not always return its result");
      outcome.failed = true;
    }
    if (!outcome.value && !outcome.failed)
      outcome.value = unitValue();
    return outcome;
  };
  Outcome result;
  bool ok = branch(*c, s->range, [&] { return walk(s->thenBlock); }, [&] { return walk(s->elseBlock); }, result);
  slot.done = true;
  slot.range = s->range;
  slot.isAbandoned = !ok;
  slot.value = ok && result.value ? *result.value : errorValue();
}

Value Elaborator::conditional(const ast::ConditionalExpr *e) {
  std::optional<Value> c = condition(e->condition, "if");
  auto walk = [&](const ast::Block *b) {
    ReturnSlot inner;
    Outcome outcome;
    unsigned errors = diags.numErrors();
    Restore<ReturnSlot *> returns(frame->returns, &inner);
    block(b);
    if (inner.value)
      outcome.value = *inner.value;
    outcome.range = inner.range;
    outcome.failed = diags.numErrors() != errors || !inner.value;
    if (outcome.value && outcome.value->type->kind == Type::unit) {
      diags.error(Diag::badOperand, inner.range, "this call gives no value");
      outcome.failed = true;
    }
    return outcome;
  };
  if (!c)
    return errorValue();
  Outcome result;
  for (const ast::Block *b : {e->thenBlock, e->elseBlock})
    for (const ast::Stmt *s : b->stmts)
      if (const ast::Stmt *found = returnIn(s)) {
        notSupported(found->range, "'return' in an 'if' that is a value");
        return errorValue();
      }
  if (!branch(
          *c, e->range, [&] { return walk(e->thenBlock); }, [&] { return walk(e->elseBlock); }, result) ||
      !result.value)
    return errorValue();
  return *result.value;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// What follows an error whose consequences are not known: nothing is said about it.
void Elaborator::abandonQuietly() {
  frame->returns->done = frame->returns->isAbandoned = true;
  frame->returns->value = errorValue();
}

/// The variables that have a value, as what a loop may change, with their leaves that are tensors.
SmallVector<Elaborator::Variable> Elaborator::carriedVariables(SmallVectorImpl<mlir::Value> &inits) {
  SmallVector<Variable> carried;
  for (Variable &v : variables()) {
    if (!v.binding->val.type || v.binding->val.isError())
      continue;
    SmallVector<mlir::Value> ir;
    collectIr(v.binding->val, ir);
    llvm::copy_if(ir, std::back_inserter(inits), [](mlir::Value x) { return isa<RankedTensorType>(x.getType()); });
    carried.push_back(v);
  }
  return carried;
}

/// Gives variables other IR values for their tensors, in order.
void Elaborator::setCarried(ArrayRef<Variable> carried, ArrayRef<mlir::Value> values) {
  for (const Variable &v : carried) {
    SmallVector<mlir::Value> ir;
    collectIr(v.value, ir);
    for (mlir::Value &x : ir)
      if (isa<RankedTensorType>(x.getType())) {
        x = values.front();
        values = values.drop_front();
      }
    ArrayRef<mlir::Value> all = ir;
    v.binding->val = replaceIr(v.value, all);
  }
}

/// Walks a loop's body at the end of `body`, whose last arguments are what is carried. Yields what is carried next;
/// false after an error.
bool Elaborator::loopBody(const ast::Block *b, Block &body, ArrayRef<Variable> carried, ArrayRef<mlir::Value> arguments,
                          SourceRange range) {
  SmallVector<Variable> all = variables();
  setCarried(carried, arguments);
  ReturnSlot inner;
  inner.inLoop = true;
  unsigned errors = diags.numErrors();
  {
    Restore<ReturnSlot *> returns(frame->returns, &inner);
    block(b);
  }
  bool ok = diags.numErrors() == errors;
  if (inner.done && !inner.isAbandoned) {
    notSupported(inner.range, "'return' in a loop");
    ok = false;
  }
  SmallVector<mlir::Value> next;
  for (const Variable &v : carried) {
    SmallVector<mlir::Value> before, after;
    collectIr(v.value, before);
    collectIr(v.binding->val, after);
    for (auto [x, y] : llvm::zip(before, after)) {
      if (isa<RankedTensorType>(x.getType())) {
        if (x.getType() == y.getType()) {
          next.push_back(y);
          continue;
        }
      } else if (x == y) {
        continue;
      }
      if (ok)
        notSupported(range, "a graph in '" + v.name + "' that changes in a loop");
      ok = false;
    }
  }
  if (ok)
    gnn::YieldOp::create(builder, loc(range), next);
  // What got its first value in the body has none behind it: the body may not have run.
  for (Variable &v : all)
    v.binding->val = v.value;
  return ok;
}

/// The bounds of a loop, as they are written, and its direction; false after an error.
static bool rangeOf(const ast::Expr *e, const ast::RangeExpr *&range, bool &reverse) {
  reverse = false;
  if (const auto *call = dyn_cast<ast::CallExpr>(e)) {
    const auto *callee = dyn_cast<ast::NameExpr>(call->callee);
    if (!callee || callee->name != "rev" || call->args.size() != 1 || call->args[0].name)
      return false;
    reverse = true;
    e = call->args[0].value;
  }
  range = dyn_cast<ast::RangeExpr>(e);
  return range != nullptr;
}

void Elaborator::forStatement(const ast::ForStmt *s) {
  const ast::RangeExpr *bounds = nullptr;
  bool reverse = false;
  if (!rangeOf(s->iterable, bounds, reverse)) {
    diags.error(Diag::badOperand, s->iterable->range, "a 'for' counts: it needs a range")
        .note("write for t in 0..T, or for t in rev(0..T)");
    return abandonQuietly();
  }
  Value limits[2];
  const ast::Expr *written[2] = {bounds->begin, bounds->end};
  Elem elem = Elem::i32;
  for (unsigned k : {0u, 1u}) {
    limits[k] = expr(written[k]);
    if (limits[k].isError())
      return abandonQuietly();
    Elem e = limits[k].type->isScalar() ? limits[k].type->elem : Elem::boolean;
    if (e != Elem::integer && !isRuntimeInt(e)) {
      diags.error(Diag::badOperand, written[k]->range,
                  "the bounds of a loop are integers, found " + describe(limits[k]));
      return abandonQuietly();
    }
    if (e == Elem::i64 || !literalFits(limits[k], Elem::i32))
      elem = Elem::i64;
  }
  Location at = loc(s->range);
  std::optional<std::pair<SizeAttr, SizeAttr>> known;
  auto sizeOfBound = [&](unsigned k) {
    // A number that has a name may be a size already.
    const auto *n = dyn_cast<ast::NameExpr>(written[k]);
    Binding *b = n && !limits[k].size ? lookup(n->name) : nullptr;
    return b && !b->isMutable && b->dimension ? b->dimension : limits[k].size;
  };
  if (SizeAttr lower = sizeOfBound(0), upper = sizeOfBound(1); lower && upper)
    known = {irSize(lower), irSize(upper)};
  for (Value &limit : limits)
    limit = isLiteral(limit.type->elem) ? materialise(limit, elem, at) : convertElem(limit, elem, at);

  SmallVector<mlir::Value> inits;
  SmallVector<Variable> carried = carriedVariables(inits);
  Region region;
  Block *body = new Block;
  region.push_back(body);
  mlir::Value counter = body->addArgument(limits[0].ir.getType(), at);
  for (mlir::Value v : inits)
    body->addArgument(v.getType(), v.getLoc());
  if (known)
    counters[counter] = *known;
  bool ok;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(body);
    ScopeGuard scope(*this);
    if (s->variable.text != "_") {
      Binding b;
      b.val = tensorValue(counter, elem);
      b.range = s->variable.range;
      declare(s->variable, std::move(b));
    }
    SmallVector<mlir::Value> arguments(body->args_begin() + 1, body->args_end());
    ok = loopBody(s->body, *body, carried, arguments, s->range);
  }
  counters.erase(counter);
  if (!ok)
    return abandonQuietly();
  auto op = gnn::ForOp::create(builder, at, ValueRange(inits).getTypes(), limits[0].ir, limits[1].ir, inits, reverse,
                               s->checkpoint, SizeAttr());
  op.getBody().takeBody(region);
  setCarried(carried, SmallVector<mlir::Value>(op.getResults()));
}

void Elaborator::whileStatement(const ast::WhileStmt *s) {
  Location at = loc(s->range);
  SmallVector<mlir::Value> inits;
  SmallVector<Variable> carried = carriedVariables(inits);
  Region regions[2];
  for (Region &region : regions) {
    region.push_back(new Block);
    for (mlir::Value v : inits)
      region.front().addArgument(v.getType(), v.getLoc());
  }
  auto argumentsOf = [](Region &region) {
    return SmallVector<mlir::Value>(region.front().args_begin(), region.front().args_end());
  };
  bool ok = true;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&regions[0].front());
    SmallVector<Variable> all = variables();
    setCarried(carried, argumentsOf(regions[0]));
    std::optional<Value> c = condition(s->condition, "while");
    for (Variable &v : all)
      v.binding->val = v.value;
    if (c)
      gnn::YieldOp::create(builder, at, c->ir);
    builder.setInsertionPointToEnd(&regions[1].front());
    ok = loopBody(s->body, regions[1].front(), carried, argumentsOf(regions[1]), s->range) && c;
  }
  if (!ok)
    return abandonQuietly();
  auto op = gnn::WhileOp::create(builder, at, ValueRange(inits).getTypes(), inits, s->checkpoint);
  op.getCondition().takeBody(regions[0]);
  op.getBody().takeBody(regions[1]);
  setCarried(carried, SmallVector<mlir::Value>(op.getResults()));
}

//===----------------------------------------------------------------------===//
// Positions and sizes known only at run time
//===----------------------------------------------------------------------===//

/// A run-time position of a dimension, as an i32 that is in range: that is checked unless a loop's bounds show it.
mlir::Value Elaborator::checkedPosition(const Value &i, SizeAttr extent, SourceRange at) {
  Location l = loc(at);
  SizeAttr size = irSize(extent);
  auto isNonNegative = [](SizeAttr x) {
    ArrayRef<int64_t> terms = x.getTerms();
    for (size_t k = 0; k < terms.size(); k += 2 + terms[k + 1])
      if (terms[k] < 0)
        return false;
    return true;
  };
  auto known = counters.find(i.ir);
  mlir::Value position = i.ir;
  if (known == counters.end() || !isNonNegative(known->second.first) || !isNonNegative(size.sub(known->second.second)))
    position = gnn::CheckIndexOp::create(builder, l, position.getType(), position, size,
                                         ("the index " + diags.sourceManager().text(at)).str());
  return convertElem(tensorValue(position, i.type->elem), Elem::i32, l).ir;
}

/// Whether a size depends on an integer known only at run time.
bool Elaborator::hasNumber(SizeAttr size) const {
  bool found = false;
  size.forEachSet([&](int64_t id) { found |= vars[id].isNumber || (vars[id].bound && hasNumber(vars[id].bound)); });
  return found;
}

/// The size that an integer known only at run time is: a set of its own, defined where the integer is.
SizeAttr Elaborator::sizeOf(const Value &number, StringRef name, SourceRange at) {
  DenseIntElementsAttr constant;
  if (matchPattern(number.ir, m_Constant(&constant)))
    return constantSize(std::max<int64_t>(constant.getSplatValue<APInt>().getSExtValue(), 0));
  auto [place, isNew] = numberSizes.try_emplace({frame->owner, number.ir});
  if (!isNew)
    return place->second;
  unsigned id = newSet(name, at);
  vars[id].isNumber = true;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(number.ir);
  gnn::DefineSizeOp::create(builder, loc(at), number.ir.getType(), number.ir, vars[id].ir);
  return numberSizes[{frame->owner, number.ir}] = var(id);
}

} // namespace gnnc::elab
