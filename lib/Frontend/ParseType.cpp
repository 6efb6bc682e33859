// Types, as they stand at the boundaries of functions and in structs.
#include "ParserImpl.h"

using namespace gnnc;
using namespace gnnc::ast;
using namespace llvm;

TypeExpr *Parser::parseType() {
  Nest nest(*this);
  if (tooDeep(here()))
    return nullptr;
  switch (current().kind) {
  case Tok::identifier:
    if (isName("index") && peek().kind == Tok::lParen)
      return parseIndexType();
    if (isName("Graph") || isName("GraphBatch"))
      return parseGraphType();
    return parseNamedType();
  case Tok::kwFn:
    return parseFunctionType();
  case Tok::lParen:
    return parseTupleType();
  default:
    expected(Diag::expectedType, "a type").note("a tensor's type is written real[n, F], a scalar's real");
    return nullptr;
  }
}

bool Parser::parseTypeBrackets(Brackets &brackets) {
  SourceRange open = here();
  advance();
  SmallVector<Expr *> items;
  if (!parseList(open, Tok::rSquare, [&] {
        Expr *item = parseItem();
        items.push_back(item);
        if (item && is(Tok::colon))
          return expected(Diag::expectedToken, "',' or ']' after a dimension"), false;
        return item != nullptr;
      }))
    return false;
  brackets = {since(open), module.copy<Expr *>(items)};
  if (!items.empty())
    return true;
  error(Diag::expectedExpression, brackets.range, "there is nothing between these brackets")
      .note("a scalar's type has none: real");
  return false;
}

TypeExpr *Parser::parseNamedType() {
  Name first, name = {text(current()), here()};
  advance();
  if (consume(Tok::dot)) {
    first = name;
    if (!expectName(name, "the name of a type after '.'"))
      return nullptr;
  }
  SourceRange begin = first ? first.range : name.range;
  SmallVector<Brackets, 2> brackets;
  while (is(Tok::lSquare))
    if (!parseTypeBrackets(brackets.emplace_back()))
      return nullptr;
  return module.make<NamedType>(since(begin), first, name, module.copy<Brackets>(brackets));
}

TypeExpr *Parser::parseIndexType() {
  SourceRange first = here();
  advance();
  SourceRange open = here();
  advance();
  Expr *target = parseExpr();
  if (!target || !expectClosing(Tok::rParen, open))
    return nullptr;
  Brackets brackets;
  if (is(Tok::lSquare) && !parseTypeBrackets(brackets))
    return nullptr;
  return module.make<IndexType>(since(first), target, brackets.items);
}

TypeExpr *Parser::parseGraphType() {
  SourceRange first = here();
  bool batch = isName("GraphBatch");
  advance();
  Expr *source = nullptr, *target = nullptr;
  SourceRange open = here();
  if (consume(Tok::lParen)) {
    if (!(source = parseExpr()))
      return nullptr;
    if (!consume(Tok::arrow)) {
      expected(Diag::expectedToken, "'->' between a graph's sets").note("write Graph(items -> users)");
      return nullptr;
    }
    if (!(target = parseExpr()) || !expectClosing(Tok::rParen, open))
      return nullptr;
  }
  return module.make<GraphType>(since(first), batch, source, target);
}

TypeExpr *Parser::parseFunctionType() {
  SourceRange first = here();
  advance();
  SourceRange open = here();
  if (!expect(Tok::lParen, "after 'fn' in a type"))
    return nullptr;
  SmallVector<TypeExpr *> params;
  if (!parseList(open, Tok::rParen, [&] {
        if (is(Tok::identifier) && peek().kind == Tok::colon) {
          advance();
          advance();
        }
        TypeExpr *type = parseType();
        params.push_back(type);
        return type != nullptr;
      }))
    return nullptr;
  if (!expect(Tok::arrow, "after the parameters of a function type"))
    return nullptr;
  TypeExpr *result = parseType();
  if (!result)
    return nullptr;
  return module.make<FunctionType>(since(first), module.copy<TypeExpr *>(params), result);
}

/// `(real, h: real[F])`; `(real)` is real itself.
TypeExpr *Parser::parseTupleType() {
  SourceRange open = here();
  advance();
  SmallVector<TupleElement> elements;
  if (!parseList(open, Tok::rParen, [&] {
        TupleElement element{};
        if (is(Tok::identifier) && peek().kind == Tok::colon) {
          element.name = {text(current()), here()};
          advance();
          advance();
        }
        element.type = parseType();
        elements.push_back(element);
        return element.type != nullptr;
      }))
    return nullptr;
  if (elements.size() == 1 && !elements.front().name)
    return elements.front().type;
  return module.make<TupleType>(since(open), module.copy<TupleElement>(elements));
}
