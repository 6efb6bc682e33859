// Facts about tokens for the formatter. Where statements and blocks begin comes from the syntax tree; everything else
// can be seen from neighbouring tokens.
#include "Layout.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Unicode.h"

using namespace gnnc;
using namespace gnnc::ast;
using namespace llvm;

namespace {
/// Collects where blocks and what stands in them begin.
class Begins {
public:
  DenseSet<uint32_t> items, blocks, structs, functions;

  void module(const Module &module) {
    for (const Decl *decl : module.decls) {
      items.insert(decl->range.begin);
      if (auto *fn = dyn_cast<FnDecl>(decl)) {
        functions.insert(fn->name.range.begin);
        for (const FnParam &param : fn->params)
          expr(param.defaultValue);
        block(fn->body);
      } else if (auto *structure = dyn_cast<StructDecl>(decl)) {
        structs.insert(decl->range.begin);
        for (const StructField &field : structure->fields)
          expr(field.init);
      }
    }
  }

private:
  void block(const Block *b) {
    if (!b)
      return;
    blocks.insert(b->range.begin);
    for (const Stmt *s : b->stmts) {
      items.insert(s->range.begin);
      stmt(s);
    }
    if (b->tail) {
      items.insert(b->tail->range.begin);
      expr(b->tail);
    }
  }
  /// `else if` is a block without braces, which begins nothing.
  void branch(const Block *b) {
    if (!b)
      return;
    const Stmt *only = b->stmts.size() == 1 ? b->stmts.front() : nullptr;
    if (only && only->range.begin == b->range.begin)
      return stmt(only);
    if (b->tail && b->tail->range.begin == b->range.begin)
      return expr(b->tail);
    block(b);
  }
  void stmt(const Stmt *s) {
    if (auto *let = dyn_cast<LetStmt>(s))
      return expr(let->value);
    if (auto *var = dyn_cast<VarStmt>(s))
      return expr(var->value);
    if (auto *assign = dyn_cast<AssignStmt>(s))
      return expr(assign->target), expr(assign->value);
    if (auto *e = dyn_cast<ExprStmt>(s))
      return expr(e->expr);
    if (auto *ret = dyn_cast<ReturnStmt>(s))
      return expr(ret->value);
    if (auto *branches = dyn_cast<IfStmt>(s))
      return expr(branches->condition), branch(branches->thenBlock), branch(branches->elseBlock);
    if (auto *loop = dyn_cast<ForStmt>(s))
      return expr(loop->iterable), block(loop->body);
    if (auto *loop = dyn_cast<WhileStmt>(s))
      return expr(loop->condition), block(loop->body);
  }
  void exprs(ArrayRef<Expr *> list) {
    for (const Expr *e : list)
      expr(e);
  }
  void args(ArrayRef<Arg> list) {
    for (const Arg &arg : list)
      expr(arg.value);
  }
  void expr(const Expr *e) {
    if (!e)
      return;
    if (auto *field = dyn_cast<FieldExpr>(e))
      return expr(field->base);
    if (auto *unary = dyn_cast<UnaryExpr>(e))
      return expr(unary->operand);
    if (auto *binary = dyn_cast<BinaryExpr>(e))
      return expr(binary->lhs), expr(binary->rhs);
    if (auto *call = dyn_cast<CallExpr>(e))
      return expr(call->callee), args(call->dims), args(call->args);
    if (auto *index = dyn_cast<IndexExpr>(e))
      return expr(index->base), exprs(index->items);
    if (auto *slice = dyn_cast<SliceExpr>(e))
      return expr(slice->begin), expr(slice->end), expr(slice->step);
    if (auto *range = dyn_cast<RangeExpr>(e))
      return expr(range->begin), expr(range->end);
    if (auto *list = dyn_cast<ListExpr>(e))
      return exprs(list->items);
    if (auto *tuple = dyn_cast<TupleExpr>(e))
      return exprs(tuple->items);
    if (auto *construct = dyn_cast<ConstructExpr>(e)) {
      for (const FieldInit &init : construct->fields)
        expr(init.value);
    } else if (auto *lambda = dyn_cast<LambdaExpr>(e)) {
      expr(lambda->expr), block(lambda->block);
    } else if (auto *conditional = dyn_cast<ConditionalExpr>(e)) {
      expr(conditional->condition), branch(conditional->thenBlock), branch(conditional->elseBlock);
    }
  }
};

unsigned characters(StringRef text) {
  return count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

bool isOpening(Tok kind) { return kind == Tok::lParen || kind == Tok::lSquare || kind == Tok::lBrace; }
bool isClosing(Tok kind) { return kind == Tok::rParen || kind == Tok::rSquare || kind == Tok::rBrace; }

/// Whether an operand ends with this token.
bool endsOperand(Tok kind) {
  switch (kind) {
  case Tok::identifier:
  case Tok::intLit:
  case Tok::floatLit:
  case Tok::stringLit:
  case Tok::kwTrue:
  case Tok::kwFalse:
  case Tok::kwNone:
  case Tok::rParen:
  case Tok::rSquare:
  case Tok::rBrace:
    return true;
  default:
    return false;
  }
}
} // namespace

Layout::Layout(const SourceManager &sources, const Module &module, TokenList list) {
  collect(sources, module, list);
  pair(sources, module);
  measure();
}

void Layout::collect(const SourceManager &sources, const Module &module, const TokenList &list) {
  StringRef text = sources.text(module.file);
  auto next = list.comments.begin();
  uint32_t previousEnd = 0; // of the last token or comment
  auto blankLineBefore = [&](uint32_t begin) { return text.slice(previousEnd, begin).count('\n') > 1; };
  for (size_t i = 0; i < list.tokens.size(); ++i) {
    const Token &token = list.tokens[i];
    Item item;
    item.kind = token.kind;
    item.text = text.slice(token.begin, token.end);
    item.width = characters(item.text);
    for (; next != list.comments.end() && next->token == i; ++next) {
      SourceRange range = next->range;
      unsigned column = sources.lineColumn(module.file, range.begin).column - 1;
      if (next->ownLine || tokens.empty())
        item.comments.push_back(comments.size());
      else
        tokens.back().trailing = comments.size();
      comments.push_back({sources.text(range), column, blankLineBefore(range.begin)});
      previousEnd = range.end;
    }
    item.blankLine = blankLineBefore(token.begin);
    previousEnd = token.end;
    // Commas at the end of a list come and go with its layout.
    if (isClosing(token.kind) && !tokens.empty() && tokens.back().kind == Tok::comma && tokens.back().trailing < 0 &&
        tokens.back().comments.empty()) {
      tokens.pop_back();
      offsets.pop_back();
    }
    tokens.push_back(std::move(item));
    offsets.push_back(token.begin);
  }
}

void Layout::pair(const SourceManager &sources, const Module &module) {
  Begins begins;
  begins.module(module);
  StringRef text = sources.text(module.file);
  SmallVector<size_t> open;
  bool inStruct = false, inSignature = false;
  auto close = [&](size_t i) {
    Item &first = tokens[open.pop_back_val()];
    size_t begin = &first - tokens.data();
    tokens[i].closes = true;
    tokens[i].match = begin;
    first.match = i;
    first.oneLine = !text.slice(offsets[begin], offsets[i]).contains('\n');
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    Item &item = tokens[i];
    item.begins = begins.items.contains(offsets[i]);
    item.prefix = i == 0 || item.begins ||
                  (!endsOperand(tokens[i - 1].kind) && !(tokens[i - 1].kind == Tok::dotDot && isClosing(item.kind)));
    inStruct |= begins.structs.contains(offsets[i]);
    inSignature |= begins.functions.contains(offsets[i]);
    if (isOpening(item.kind)) {
      item.block = begins.blocks.contains(offsets[i]);
      item.fields = item.kind == Tok::lBrace && std::exchange(inStruct, false);
      item.params = item.kind == Tok::lParen && inSignature;
      inSignature &= item.kind != Tok::lParen;
      item.opens = true;
      open.push_back(i);
    } else if (isClosing(item.kind)) {
      close(i);
    } else if (item.kind == Tok::pipe) {
      if (!open.empty() && tokens[open.back()].kind == Tok::pipe)
        close(i);
      else {
        item.opens = true;
        open.push_back(i);
      }
    }
  }
}

void Layout::measure() {
  widthUpTo.push_back(0);
  breaksUpTo.push_back(0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Item &item = tokens[i];
    bool broken = !item.comments.empty() || (i && tokens[i - 1].trailing >= 0);
    broken |= (item.block || item.fields) && !item.oneLine;
    broken |= i > 1 && isAttribute(i - 2);
    widthUpTo.push_back(widthUpTo.back() + item.width + (i && spaceBefore(i)));
    breaksUpTo.push_back(breaksUpTo.back() + broken);
  }
}

unsigned Layout::width(size_t begin, size_t end) const {
  if (begin >= end)
    return 0;
  // What is forced before the first token does not break the stretch, unless that is a brace.
  const Item &first = tokens[begin];
  unsigned breaks = breaksUpTo[end] - breaksUpTo[begin + 1];
  if (breaks || ((first.block || first.fields) && !first.oneLine))
    return unbreakable;
  return widthUpTo[end] - widthUpTo[begin + 1] + first.width;
}

bool Layout::isAttribute(size_t i) const { return tokens[i].kind == Tok::at && tokens[i].begins; }

bool Layout::isArgumentName(size_t i) const {
  return tokens[i].kind == Tok::equal && i > 1 && tokens[i - 1].kind == Tok::identifier &&
         (tokens[i - 2].kind == Tok::comma || tokens[i - 2].kind == Tok::lParen || tokens[i - 2].kind == Tok::lSquare);
}

int Layout::operatorLevel(size_t i) const {
  if (tokens[i].prefix)
    return -1;
  switch (tokens[i].kind) {
  case Tok::kwOr:
    return 0;
  case Tok::kwAnd:
    return 1;
  case Tok::equalEqual:
  case Tok::notEqual:
  case Tok::less:
  case Tok::lessEqual:
  case Tok::greater:
  case Tok::greaterEqual:
    return 2;
  case Tok::plus:
  case Tok::minus:
    return 3;
  case Tok::star:
  case Tok::slash:
  case Tok::at:
    return 4;
  default:
    return -1;
  }
}

bool Layout::spaceBefore(size_t i) const {
  const Item &a = tokens[i - 1], &b = tokens[i];
  switch (b.kind) {
  case Tok::comma:
  case Tok::semicolon:
  case Tok::rParen:
  case Tok::rSquare:
  case Tok::dot:
    return false;
  case Tok::colon:
    return a.kind == Tok::comma;
  case Tok::rBrace:
    return a.kind != Tok::lBrace;
  default:
    break;
  }
  if (a.kind == Tok::lParen || a.kind == Tok::lSquare || a.kind == Tok::dot || a.kind == Tok::dotDot ||
      isArgumentName(i - 1) || isArgumentName(i))
    return false;
  if (b.kind == Tok::pipe && b.closes)
    return false;
  switch (a.kind) {
  case Tok::pipe:
    return !a.opens;
  case Tok::minus:
    return !a.prefix;
  case Tok::at:
    return !isAttribute(i - 1);
  case Tok::colon: {
    if (b.kind == Tok::kwStruct)
      return true;
    // In brackets it makes a slice, elsewhere a type or a field follows.
    for (size_t at = i - 1; at-- > 0;) {
      if (tokens[at].closes)
        at = tokens[at].match;
      else if (tokens[at].opens)
        return tokens[at].kind != Tok::lSquare;
      else if (tokens[at].kind == Tok::semicolon)
        break;
    }
    return true;
  }
  default:
    break;
  }
  if (b.kind == Tok::dotDot)
    return b.prefix;
  if (b.kind == Tok::lParen || b.kind == Tok::lSquare) {
    bool callee = a.kind == Tok::identifier || a.kind == Tok::rParen || a.kind == Tok::rSquare || a.kind == Tok::kwFn ||
                  a.kind == Tok::kwNondiff || (a.kind == Tok::kwVar && !a.begins);
    return !callee;
  }
  return true;
}
