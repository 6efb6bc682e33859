// Expressions, by precedence. From weakest to strongest: or, and, not, comparisons (which don't chain), + -, * / @,
// unary -, postfix (call, brackets, field).
#include "ParserImpl.h"
#include <cmath>

using namespace gnnc;
using namespace gnnc::ast;
using namespace llvm;

namespace {
struct Operator {
  BinaryOp op;
  unsigned level; // 0 binds weakest
};
constexpr unsigned notLevel = 2, comparisonLevel = 3, unaryLevel = 6;

std::optional<Operator> binaryOperator(Tok kind) {
  switch (kind) {
  case Tok::kwOr:
  case Tok::pipePipe:
    return Operator{BinaryOp::logicalOr, 0};
  case Tok::kwAnd:
  case Tok::ampAmp:
    return Operator{BinaryOp::logicalAnd, 1};
  case Tok::equalEqual:
    return Operator{BinaryOp::eq, comparisonLevel};
  case Tok::notEqual:
    return Operator{BinaryOp::ne, comparisonLevel};
  case Tok::less:
    return Operator{BinaryOp::lt, comparisonLevel};
  case Tok::lessEqual:
    return Operator{BinaryOp::le, comparisonLevel};
  case Tok::greater:
    return Operator{BinaryOp::gt, comparisonLevel};
  case Tok::greaterEqual:
    return Operator{BinaryOp::ge, comparisonLevel};
  case Tok::plus:
    return Operator{BinaryOp::add, 4};
  case Tok::minus:
    return Operator{BinaryOp::sub, 4};
  case Tok::star:
    return Operator{BinaryOp::mul, 5};
  case Tok::slash:
    return Operator{BinaryOp::div, 5};
  case Tok::at:
    return Operator{BinaryOp::matmul, 5};
  default:
    return std::nullopt;
  }
}

/// Sets a parser's flag for a scope.
class Flag {
public:
  Flag(bool &flag, bool value) : flag(flag), saved(flag) { flag = value; }
  ~Flag() { flag = saved; }

private:
  bool &flag;
  bool saved;
};
} // namespace

Expr *Parser::parseExpr(bool headOfBlock) {
  Flag head(braceOpensBlock, headOfBlock);
  return parseBinary(0);
}

Expr *Parser::parseRangeOrExpr(bool headOfBlock) {
  Expr *begin = parseExpr(headOfBlock);
  if (!begin || !consume(Tok::dotDot))
    return begin;
  Expr *end = parseExpr(headOfBlock);
  if (!end)
    return nullptr;
  return make<RangeExpr>(std::max(heightOf(begin), heightOf(end)), begin->range.to(end->range), begin, end);
}

Expr *Parser::parseItem() { return is(Tok::dotDot) ? parsePack() : parseExpr(); }

Expr *Parser::parsePack() {
  SourceRange first = here();
  advance();
  Name name;
  if (is(Tok::identifier)) {
    name = {text(current()), here()};
    advance();
  }
  return make<PackExpr>(0, since(first), name);
}

Expr *Parser::parseBinary(unsigned level) {
  if (level == notLevel && (is(Tok::kwNot) || is(Tok::bang))) {
    Nest nest(*this);
    SourceRange first = here();
    if (tooDeep(first))
      return nullptr;
    if (is(Tok::bang))
      error(Diag::foreignOperator, first, "'!' is not an operator here").note("write 'not'");
    advance();
    Expr *operand = parseBinary(notLevel);
    return operand ? make<UnaryExpr>(heightOf(operand), since(first), UnaryOp::logicalNot, operand) : nullptr;
  }
  Expr *lhs = level + 1 == unaryLevel ? parseUnary() : parseBinary(level + 1);
  const Expr *comparison = nullptr;
  while (lhs) {
    if (level + 1 == unaryLevel && (is(Tok::percent) || is(Tok::caret))) {
      error(Diag::foreignOperator, here(), found() + " is not an operator here")
          .note(is(Tok::caret) ? "a power is written pow(x, n)" : "there is no remainder of a division");
      return nullptr;
    }
    std::optional<Operator> op = binaryOperator(current().kind);
    if (!op || op->level != level)
      return lhs;
    SourceRange opRange = here();
    if (is(Tok::ampAmp) || is(Tok::pipePipe))
      error(Diag::foreignOperator, opRange, found() + " is not an operator here")
          .note(is(Tok::ampAmp) ? "write 'and'" : "write 'or'");
    if (comparison && level == comparisonLevel)
      error(Diag::comparisonChain, opRange, "comparisons don't chain").note("write 'a < b and b < c'");
    advance();
    Expr *rhs = level + 1 == unaryLevel ? parseUnary() : parseBinary(level + 1);
    if (!rhs)
      return nullptr;
    unsigned height = std::max(heightOf(lhs), heightOf(rhs));
    lhs = make<BinaryExpr>(height, lhs->range.to(rhs->range), op->op, opRange, lhs, rhs);
    comparison = lhs;
  }
  return nullptr;
}

Expr *Parser::parseUnary() {
  if (!is(Tok::minus))
    return parsePostfix();
  Nest nest(*this);
  SourceRange first = here();
  if (tooDeep(first))
    return nullptr;
  advance();
  Expr *operand = parseUnary();
  return operand ? make<UnaryExpr>(heightOf(operand), since(first), UnaryOp::neg, operand) : nullptr;
}

Expr *Parser::parsePostfix() {
  Nest nest(*this);
  if (tooDeep(here()))
    return nullptr;
  Expr *e = parsePrimary();
  while (e) {
    if (is(Tok::lParen)) {
      e = parseCall(e, /*hasDims=*/false, {});
    } else if (is(Tok::lSquare)) {
      e = parseBracketsAfter(e);
    } else if (consume(Tok::dot)) {
      Name field;
      if (!expectName(field, "the name of a field after '.'"))
        return nullptr;
      e = make<FieldExpr>(heightOf(e), e->range.to(field.range), e, field);
    } else if (is(Tok::lBrace) && !braceOpensBlock && isa<NameExpr, FieldExpr, IndexExpr>(e)) {
      e = parseConstruct(e);
    } else {
      return e;
    }
  }
  return nullptr;
}

Expr *Parser::parsePrimary() {
  SourceRange first = here();
  switch (current().kind) {
  case Tok::intLit:
    return parseInt();
  case Tok::floatLit:
    return parseFloat();
  case Tok::stringLit: {
    StringRef value = module.save(unescape(text(current())));
    advance();
    return make<StringLit>(0, first, value);
  }
  case Tok::kwTrue:
  case Tok::kwFalse: {
    bool value = is(Tok::kwTrue);
    advance();
    return make<BoolLit>(0, first, value);
  }
  case Tok::identifier: {
    StringRef name = text(current());
    advance();
    if (name != "_")
      return make<NameExpr>(0, first, name);
    wildcards.push_back(first);
    return make<WildcardExpr>(0, first);
  }
  case Tok::kwNondiff:
  case Tok::kwVar: {
    // nondiff(e) and var(x), the variance, are written as calls.
    if (peek().kind != Tok::lParen)
      break;
    StringRef name = text(current());
    advance();
    return make<NameExpr>(0, first, name);
  }
  case Tok::kwNone:
    error(Diag::badPlaceForNone, first, "'None' stands only in brackets: x[:, None]");
    return nullptr;
  case Tok::lParen:
    return parseParenthesised();
  case Tok::lSquare: {
    advance();
    SmallVector<Expr *> items;
    if (!parseList(first, Tok::rSquare, [&] {
          Expr *item = parseItem();
          items.push_back(item);
          return item != nullptr;
        }))
      return nullptr;
    return make<ListExpr>(tallestOf(items), since(first), module.copy<Expr *>(items));
  }
  case Tok::pipe:
  case Tok::pipePipe:
    return parseLambda();
  case Tok::kwIf:
    return parseConditional();
  default:
    break;
  }
  Diagnostic &error = expected(Diag::expectedExpression, "an expression");
  if (is(Tok::star) && at && list.tokens[at - 1].kind == Tok::star)
    error.note("a power is written pow(x, n)");
  else if (is(Tok::dotDot))
    error.note("a pack '..' stands only in brackets and as an argument");
  else if (is(Tok::lBrace))
    error.note("a block has a value only in a lambda and in 'if c { a } else { b }'");
  return nullptr;
}

Expr *Parser::parseInt() {
  SourceRange range = here();
  uint64_t value = 0;
  // A malformed number was reported by the lexer: any value will do.
  if (text(current()).getAsInteger(10, value))
    value = text(current()).find_first_not_of("0123456789") == StringRef::npos ? UINT64_MAX : 0;
  if (value > INT64_MAX) {
    error(Diag::badNumber, range, "this integer is too large").note("the largest one is 9223372036854775807");
    value = 0;
  }
  advance();
  return make<IntLit>(0, range, static_cast<int64_t>(value));
}

Expr *Parser::parseFloat() {
  SourceRange range = here();
  StringRef spelling = text(current());
  double value = 0;
  spelling.getAsDouble(value); // on failure, see parseInt
  if (!std::isfinite(value)) {
    error(Diag::badNumber, range, "this number is too large for 64 bits").note("infinity is written inf");
    value = 0;
  }
  advance();
  return make<FloatLit>(0, range, value, spelling);
}

/// `(a)` or a tuple.
Expr *Parser::parseParenthesised() {
  SourceRange open = here();
  advance();
  SmallVector<Expr *> items;
  bool comma = false;
  if (!parseList(open, Tok::rParen, [&] {
        Expr *item = parseItem();
        items.push_back(item);
        comma |= is(Tok::comma);
        return item != nullptr;
      }))
    return nullptr;
  SourceRange range = since(open);
  if (items.size() == 1 && !comma) {
    items.front()->range = range;
    return items.front();
  }
  if (items.size() == 1) {
    error(Diag::expectedExpression, range, "a tuple has two elements or more").note("leave out the ','");
    return nullptr;
  }
  if (items.empty()) {
    error(Diag::expectedExpression, range, "there is nothing between these parentheses")
        .note("a function without a result returns by 'return;'");
    return nullptr;
  }
  return make<TupleExpr>(tallestOf(items), range, module.copy<Expr *>(items));
}

/// `|a, b: real| e` or `|a| { ... }`.
Expr *Parser::parseLambda() {
  SourceRange first = here();
  SmallVector<LambdaParam> params;
  if (!consume(Tok::pipePipe)) {
    advance();
    while (!is(Tok::pipe)) {
      LambdaParam param;
      if (!expectName(param.name, "the name of a parameter"))
        return nullptr;
      if (consume(Tok::colon) && !(param.type = parseType()))
        return nullptr;
      params.push_back(param);
      if (!consume(Tok::comma) && !is(Tok::pipe)) {
        expected(Diag::expectedToken, "',' or '|' after a lambda's parameter");
        return nullptr;
      }
    }
    advance();
  }
  Expr *expr = nullptr;
  Block *block = nullptr;
  unsigned height = 0;
  if (is(Tok::lBrace)) {
    unsigned outer = std::exchange(tallest, 0);
    block = parseBlock(/*tailAllowed=*/true, "the body of a lambda");
    height = tallest;
    tallest = std::max(outer, height);
  } else {
    expr = parseExpr(braceOpensBlock);
    height = heightOf(expr);
  }
  if (!expr && !block)
    return nullptr;
  return make<LambdaExpr>(height, since(first), module.copy<LambdaParam>(params), expr, block);
}

Expr *Parser::parseConditional() {
  IfParts parts;
  unsigned outer = std::exchange(tallest, 0);
  bool ok = parseIfParts(parts, /*tailAllowed=*/true);
  unsigned height = tallest;
  tallest = std::max(outer, height);
  if (!ok)
    return nullptr;
  if (!parts.elseBlock) {
    error(Diag::missingValue, parts.range, "an 'if' that gives a value needs an 'else'");
    return nullptr;
  }
  for (const Block *block : {parts.thenBlock, parts.elseBlock}) {
    if (block->tail)
      continue;
    error(Diag::missingValue, block->range, "this branch gives no value")
        .note("its last line is an expression without ';'");
    return nullptr;
  }
  return make<ConditionalExpr>(height, parts.range, parts.condition, parts.thenBlock, parts.elseBlock);
}

bool Parser::parseArg(Arg &arg) {
  if (is(Tok::identifier) && peek().kind == Tok::equal) {
    arg.name = {text(current()), here()};
    advance();
    advance();
  }
  arg.value = is(Tok::dotDot) ? parsePack() : parseRangeOrExpr(/*headOfBlock=*/false);
  return arg.value != nullptr;
}

Expr *Parser::parseCall(Expr *callee, bool hasDims, ArrayRef<Arg> dims) {
  SourceRange open = here();
  advance();
  SmallVector<Arg> args;
  if (!parseList(open, Tok::rParen, [&] {
        Arg arg;
        if (!parseArg(arg))
          return false;
        if (!arg.name && !args.empty() && args.back().name)
          error(Diag::badArgumentOrder, arg.value->range, "a positional argument stands after a named one")
              .note("move it before '" + args.back().name.text + "=', or name it");
        args.push_back(arg);
        return true;
      }))
    return nullptr;
  unsigned height = std::max({heightOf(callee), tallestOf(dims), tallestOf(args)});
  return make<CallExpr>(height, since(callee->range), callee, hasDims, dims, module.copy<Arg>(args));
}

bool Parser::parseBracketItem(Arg &item) {
  SourceRange first = here();
  if (is(Tok::kwNone)) {
    advance();
    item.value = make<NoneExpr>(0, first);
    return true;
  }
  if (is(Tok::identifier) && peek().kind == Tok::equal) {
    item.name = {text(current()), first};
    advance();
    advance();
  }
  if (is(Tok::dotDot)) {
    item.value = parsePack();
    return item.value != nullptr;
  }
  Expr *parts[3] = {nullptr, nullptr, nullptr}; // begin, end, step
  unsigned colons = 0;
  auto atEnd = [&] { return is(Tok::colon) || is(Tok::comma) || is(Tok::rSquare); };
  if (!is(Tok::colon) && !(parts[0] = parseExpr()))
    return false;
  while (colons < 2 && consume(Tok::colon)) {
    ++colons;
    if (!atEnd() && !(parts[colons] = parseExpr()))
      return false;
  }
  if (colons == 0 && is(Tok::dotDot)) {
    error(Diag::expectedToken, here(), "'..' makes no slice").note("a slice is written a:b, or a:b:step");
    return false;
  }
  unsigned height = std::max({heightOf(parts[0]), heightOf(parts[1]), heightOf(parts[2])});
  item.value = colons ? make<SliceExpr>(height, since(first), parts[0], parts[1], parts[2]) : parts[0];
  return item.value != nullptr;
}

/// Brackets after an expression: an index, or, with a parenthesis behind them, the dimensions of a call.
Expr *Parser::parseBracketsAfter(Expr *base) {
  SourceRange open = here();
  advance();
  SmallVector<Arg> items;
  if (!parseList(open, Tok::rSquare, [&] {
        Arg item;
        if (!parseBracketItem(item))
          return false;
        items.push_back(item);
        return true;
      }))
    return nullptr;
  SourceRange brackets = since(open);
  if (is(Tok::lParen)) {
    for (const Arg &item : items) {
      if (!isa<NoneExpr, SliceExpr>(item.value))
        continue;
      if (current().startsLine)
        error(Diag::expectedToken, {file, brackets.end, brackets.end}, "expected ';' after this line");
      else
        error(Diag::badPlaceForNone, item.value->range, "a call's brackets hold dimensions");
      return nullptr;
    }
    return parseCall(base, /*hasDims=*/true, module.copy<Arg>(items));
  }
  if (items.empty()) {
    error(Diag::expectedExpression, brackets, "there is nothing between these brackets");
    return nullptr;
  }
  SmallVector<Expr *> values;
  for (const Arg &item : items) {
    if (item.name) {
      error(Diag::badPlaceForNone, item.name.range, "a dimension is named only in a call: f[H=8](x)");
      return nullptr;
    }
    values.push_back(item.value);
  }
  unsigned height = std::max(heightOf(base), tallestOf(values));
  return make<IndexExpr>(height, base->range.to(brackets), base, module.copy<Expr *>(values));
}

Expr *Parser::parseConstruct(Expr *type) {
  SourceRange open = here();
  advance();
  SmallVector<FieldInit> fields;
  if (!parseList(open, Tok::rBrace, [&] {
        FieldInit init;
        if (!expectName(init.name, "the name of a field"))
          return false;
        if (!expect(Tok::colon, "after the name of a field"))
          return false;
        init.value = parseExpr();
        fields.push_back(init);
        return init.value != nullptr;
      }))
    return nullptr;
  unsigned height = std::max(heightOf(type), tallestOf(fields));
  return make<ConstructExpr>(height, since(type->range), type, module.copy<FieldInit>(fields));
}
