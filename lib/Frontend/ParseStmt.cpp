// Blocks and statements.
#include "ParserImpl.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc;
using namespace gnnc::ast;
using namespace llvm;

Block *Parser::parseBlock(bool tailAllowed, const Twine &where) {
  Nest nest(*this);
  SourceRange open = here();
  if (tooDeep(open) || !expect(Tok::lBrace, "to begin " + where))
    return nullptr;
  // Everything inside is one level further down than what the block belongs to.
  unsigned outer = std::exchange(tallest, 0);
  SmallVector<SourceRange> outerWildcards = std::exchange(wildcards, {});
  scope_exit restore([&] {
    tallest = std::max(outer, tallest + 1);
    wildcards = std::move(outerWildcards);
  });

  SmallVector<Stmt *> stmts;
  Expr *tail = nullptr;
  bool ok = true;
  while (!is(Tok::rBrace)) {
    if (stopped)
      return nullptr;
    if (is(Tok::eof) || atDeclaration()) {
      Diagnostic &error = this->error(Diag::unclosedBracket, open, "this '{' is never closed");
      if (!is(Tok::eof))
        error.note(here(), "this declaration begins before it is closed");
      return nullptr;
    }
    if (tail) {
      error(Diag::expectedToken, SourceRange{file, tail->range.end, tail->range.end}, "expected ';' after this");
      tail = nullptr;
      ok = false;
    }
    size_t before = at;
    if (!parseStatement(stmts, tailAllowed ? &tail : nullptr)) {
      ok = false;
      skipToStatementEnd();
      if (at == before)
        advance();
    }
  }
  advance();
  if (!ok)
    return nullptr;
  return module.make<Block>(since(open), module.copy<Stmt *>(stmts), tail);
}

bool Parser::parseStatement(SmallVectorImpl<Stmt *> &stmts, Expr **tail) {
  wildcards.clear();
  statementBegin = at;
  auto add = [&](Stmt *stmt) {
    if (stmt)
      stmts.push_back(stmt);
    return stmt != nullptr;
  };
  SourceRange first = here();
  switch (current().kind) {
  case Tok::kwLet:
    return add(parseLet());
  case Tok::kwNondiff:
    if (peek().kind == Tok::kwLet)
      return add(parseLet());
    break;
  case Tok::kwVar:
    return add(parseVar());
  case Tok::kwReturn:
    return add(parseReturn());
  case Tok::kwFor:
    return add(parseFor(/*checkpoint=*/false, first));
  case Tok::kwWhile:
    return add(parseWhile(/*checkpoint=*/false, first));
  case Tok::at:
    return add(parseLoopWithAttribute());
  case Tok::kwIf:
    return parseIf(stmts, tail);
  case Tok::semicolon:
    error(Diag::expectedExpression, first, "there is no statement before this ';'");
    advance();
    return true;
  case Tok::kwElse:
    error(Diag::expectedExpression, first, "this 'else' belongs to no 'if'");
    return false;
  default:
    break;
  }
  return parseAssignmentOrExpr(stmts, tail);
}

Pattern *Parser::parsePattern() {
  Nest nest(*this);
  SourceRange first = here();
  if (tooDeep(first))
    return nullptr;
  if (is(Tok::lParen)) {
    advance();
    SmallVector<Pattern *> items;
    if (!parseList(first, Tok::rParen, [&] {
          Pattern *item = parsePattern();
          items.push_back(item);
          return item != nullptr;
        }))
      return nullptr;
    if (items.size() == 1)
      return items.front();
    if (items.empty()) {
      error(Diag::expectedToken, since(first), "there is no name between these parentheses");
      return nullptr;
    }
    return module.make<TuplePattern>(since(first), module.copy<Pattern *>(items));
  }
  Name name;
  if (!expectName(name, "a name or '('"))
    return nullptr;
  if (name.text == "_")
    return module.make<WildcardPattern>(name.range);
  return module.make<NamePattern>(name);
}

Stmt *Parser::parseLet() {
  SourceRange first = here();
  bool nondiff = consume(Tok::kwNondiff);
  advance();
  Pattern *pattern = parsePattern();
  if (!pattern)
    return nullptr;
  TypeExpr *type = nullptr;
  if (consume(Tok::colon) && !(type = parseType()))
    return nullptr;
  if (!consume(Tok::equal)) {
    if (is(Tok::semicolon))
      error(Diag::missingValue, since(first), "a 'let' needs a value")
          .note("'var' declares a variable that gets its value later");
    else
      expected(Diag::expectedToken, "'=' and a value");
    return nullptr;
  }
  Expr *value = parseExpr();
  if (!value || !expectSemicolon("the value of a 'let'"))
    return nullptr;
  rejectWildcards(0);
  return module.make<LetStmt>(since(first), nondiff, pattern, type, value);
}

Stmt *Parser::parseVar() {
  SourceRange first = here();
  advance();
  Pattern *pattern = parsePattern();
  if (!pattern)
    return nullptr;
  TypeExpr *type = nullptr;
  Expr *value = nullptr;
  if (consume(Tok::colon) && !(type = parseType()))
    return nullptr;
  if (consume(Tok::equal) && !(value = parseExpr()))
    return nullptr;
  if (!type && !value) {
    if (is(Tok::semicolon))
      error(Diag::missingValue, since(first), "a 'var' needs a type or a value");
    else
      expected(Diag::expectedToken, "':' and a type, or '=' and a value");
    return nullptr;
  }
  if (!expectSemicolon("a 'var'"))
    return nullptr;
  rejectWildcards(0);
  return module.make<VarStmt>(since(first), pattern, type, value);
}

Stmt *Parser::parseReturn() {
  SourceRange first = here();
  advance();
  Expr *value = nullptr;
  if (!is(Tok::semicolon) && !is(Tok::rBrace) && !(value = parseExpr()))
    return nullptr;
  if (!expectSemicolon("a 'return'"))
    return nullptr;
  rejectWildcards(0);
  return module.make<ReturnStmt>(since(first), value);
}

/// `@checkpoint` before a loop.
Stmt *Parser::parseLoopWithAttribute() {
  SourceRange first = here();
  advance();
  if (!isName("checkpoint")) {
    expected(Diag::badModifier, "'checkpoint' after '@'");
    return nullptr;
  }
  advance();
  if (is(Tok::kwFor))
    return parseFor(/*checkpoint=*/true, first);
  if (is(Tok::kwWhile))
    return parseWhile(/*checkpoint=*/true, first);
  error(Diag::badModifier, since(first), "'@checkpoint' stands before a 'for' or a 'while'");
  return nullptr;
}

Stmt *Parser::parseFor(bool checkpoint, SourceRange first) {
  advance();
  Name variable;
  if (!expectName(variable, "the loop's variable after 'for'") || !expect(Tok::kwIn, "after the loop's variable"))
    return nullptr;
  Expr *iterable = parseRangeOrExpr(/*headOfBlock=*/true);
  if (!iterable)
    return nullptr;
  rejectWildcards(0);
  Block *body = parseBlock(/*tailAllowed=*/false, "the body of a loop");
  return body ? module.make<ForStmt>(since(first), checkpoint, variable, iterable, body) : nullptr;
}

Stmt *Parser::parseWhile(bool checkpoint, SourceRange first) {
  advance();
  Expr *condition = parseExpr(/*headOfBlock=*/true);
  if (!condition)
    return nullptr;
  rejectWildcards(0);
  Block *body = parseBlock(/*tailAllowed=*/false, "the body of a loop");
  return body ? module.make<WhileStmt>(since(first), checkpoint, condition, body) : nullptr;
}

bool Parser::parseIfParts(IfParts &parts, bool tailAllowed) {
  Nest nest(*this);
  SourceRange first = here();
  if (tooDeep(first))
    return false;
  advance();
  parts.elseBlock = nullptr;
  size_t outerWildcards = wildcards.size();
  parts.condition = parseExpr(/*headOfBlock=*/true);
  if (!parts.condition)
    return false;
  rejectWildcards(outerWildcards);
  if (is(Tok::equal)) {
    error(Diag::expectedToken, here(), "expected '{', found '='").note("equality is written '=='");
    return false;
  }
  parts.thenBlock = parseBlock(tailAllowed, "a branch");
  bool ok = parts.thenBlock != nullptr;
  if (consume(Tok::kwElse)) {
    if (!is(Tok::kwIf)) {
      parts.elseBlock = parseBlock(tailAllowed, "a branch");
      ok &= parts.elseBlock != nullptr;
    } else {
      // `else if`: a block of its own that holds the second 'if'.
      SourceRange inner = here();
      SmallVector<Stmt *> stmts;
      Expr *tail = nullptr;
      if (!parseIf(stmts, tailAllowed ? &tail : nullptr))
        return false;
      ++tallest;
      parts.elseBlock = module.make<Block>(since(inner), module.copy<Stmt *>(stmts), tail);
    }
  }
  parts.range = since(first);
  return ok;
}

/// An 'if' where a statement may stand; with `tail`, one whose branches have values is the value of the block.
bool Parser::parseIf(SmallVectorImpl<Stmt *> &stmts, Expr **tail) {
  IfParts parts;
  if (!parseIfParts(parts, tail != nullptr))
    return false;
  bool thenValue = parts.thenBlock->tail, elseValue = parts.elseBlock && parts.elseBlock->tail;
  if (thenValue && elseValue) {
    *tail = make<ConditionalExpr>(tallest, parts.range, parts.condition, parts.thenBlock, parts.elseBlock);
    return *tail != nullptr;
  }
  if (thenValue || elseValue) {
    Block *with = thenValue ? parts.thenBlock : parts.elseBlock;
    error(Diag::missingValue, with->tail->range, "only this branch gives a value")
        .note("end the line with ';', or give the other branch a value");
    return true;
  }
  stmts.push_back(module.make<IfStmt>(parts.range, parts.condition, parts.thenBlock, parts.elseBlock));
  return true;
}

static std::optional<AssignOp> assignOperator(Tok kind) {
  switch (kind) {
  case Tok::equal:
    return AssignOp::set;
  case Tok::plusEqual:
    return AssignOp::add;
  case Tok::minusEqual:
    return AssignOp::sub;
  case Tok::starEqual:
    return AssignOp::mul;
  case Tok::slashEqual:
    return AssignOp::div;
  default:
    return std::nullopt;
  }
}

bool Parser::parseAssignmentOrExpr(SmallVectorImpl<Stmt *> &stmts, Expr **tail) {
  Expr *e = parseExpr();
  if (!e)
    return false;
  std::optional<AssignOp> op = assignOperator(current().kind);
  if (!op) {
    rejectWildcards(0);
    if (tail && is(Tok::rBrace)) {
      *tail = e;
      return true;
    }
    if (!expectSemicolon("an expression"))
      return false;
    stmts.push_back(module.make<ExprStmt>(e->range.to(previousRange()), e));
    return true;
  }
  SourceRange opRange = here();
  if (isa<CallExpr>(e) && *op == AssignOp::set && splitBeforeParenthesis("an expression"))
    return true;
  if (!checkTarget(e, *op != AssignOp::set))
    return false;
  size_t targetWildcards = wildcards.size();
  advance();
  Expr *value = parseExpr();
  if (!value || !expectSemicolon("an assignment"))
    return false;
  rejectWildcards(targetWildcards);
  stmts.push_back(module.make<AssignStmt>(since(e->range), *op, opRange, e, value));
  return true;
}

bool Parser::checkTarget(const Expr *target, bool compound) {
  if (const auto *tuple = dyn_cast<TupleExpr>(target); tuple && !compound)
    return all_of(tuple->items, [&](const Expr *item) { return checkTarget(item, false); });
  if (isa<WildcardExpr>(target) && !compound)
    return true;
  const Expr *e = target;
  while (true) {
    if (const auto *field = dyn_cast<FieldExpr>(e))
      e = field->base;
    else if (const auto *index = dyn_cast<IndexExpr>(e))
      e = index->base;
    else
      break;
  }
  if (isa<NameExpr>(e))
    return true;
  Diagnostic &error = this->error(Diag::badAssignmentTarget, target->range, "this can't be assigned to");
  if (isa<TupleExpr>(target))
    error.note("write out what is to be done with each element");
  else
    error.note("assign to a variable, a field of one, or a part of one: v[i] = e");
  return false;
}

void Parser::rejectWildcards(size_t from) {
  for (SourceRange range : ArrayRef(wildcards).drop_front(from))
    error(Diag::badPlaceForNone, range, "'_' has no value: it stands only for a result that is not wanted");
  wildcards.resize(from);
}
