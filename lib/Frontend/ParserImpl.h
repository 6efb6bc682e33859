// The recursive-descent parser, shared by the files that implement it: Parser.cpp (tokens, recovery, declarations),
// ParseExpr.cpp, ParseType.cpp, ParseStmt.cpp.
//
// A function that can't read what it should reports that and returns null, and its callers return null at once, up to a
// statement, field or declaration, which skips to where the next one begins. So there is one message for each mistake.
#ifndef GNNC_LIB_FRONTEND_PARSERIMPL_H
#define GNNC_LIB_FRONTEND_PARSERIMPL_H

#include "gnnc/Frontend/Lexer.h"
#include "gnnc/Frontend/Parser.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gnnc {

class Parser {
public:
  Parser(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics, ast::Module &module)
      : sources(sources), file(file), diagnostics(diagnostics), module(module), list(lex(sources, file, diagnostics)) {}

  void parseModule();

private:
  /// How deep a tree may be: every later walk recurses along it, on a stack of ordinary size.
  static constexpr unsigned maxDepth = 256;

  //===--- Tokens (Parser.cpp) ---===//
  const Token &current() const { return list.tokens[at]; }
  const Token &peek(size_t ahead = 1) const { return list.tokens[std::min(at + ahead, list.tokens.size() - 1)]; }
  bool is(Tok kind) const { return current().kind == kind; }
  void advance() {
    if (!is(Tok::eof))
      ++at;
  }
  bool consume(Tok kind) {
    if (!is(kind))
      return false;
    advance();
    return true;
  }
  SourceRange rangeOf(const Token &token) const { return {file, token.begin, token.end}; }
  SourceRange here() const { return rangeOf(current()); }
  SourceRange previousRange() const { return at ? rangeOf(list.tokens[at - 1]) : here(); }
  /// From the token that begins at `first` to the last one read.
  SourceRange since(SourceRange first) const { return first.to(previousRange()); }
  llvm::StringRef text(const Token &token) const { return sources.text(file).slice(token.begin, token.end); }
  /// The current token, for a message: "'+'", "the end of the file".
  std::string found() const;
  bool isName(llvm::StringRef text) const { return is(Tok::identifier) && this->text(current()) == text; }

  //===--- Errors (Parser.cpp) ---===//
  Diagnostic &error(Diag id, SourceRange range, const llvm::Twine &message) {
    return diagnostics.error(id, range, message);
  }
  /// "expected X, found Y" at the current token.
  Diagnostic &expected(Diag id, const llvm::Twine &what);
  bool expect(Tok kind, const llvm::Twine &where);
  /// The bracket that closes the one at `open`.
  bool expectClosing(Tok kind, SourceRange open, const llvm::Twine &orWhat = "");
  /// `;` after `what`. Where it is only missing, the parser goes on as if it stood there.
  bool expectSemicolon(const llvm::Twine &what);
  /// `f(x) <newline> (a, b) = g();` was read as one call, and the '=' at hand shows that it was not meant: reports the
  /// missing ';' and goes back to the parenthesis. False where no line begins so.
  bool splitBeforeParenthesis(const llvm::Twine &what);
  bool expectName(ast::Name &name, const llvm::Twine &what);
  bool atDeclaration() const;
  bool atStatementKeyword() const;
  void skipToStatementEnd();
  /// From an error in the list item that began at token `itemBegin` to the `,` behind it or to the bracket `closing`
  /// that ends the list, both left unread. False where there is none.
  bool skipInList(Tok closing, size_t itemBegin);

  /// Counts nesting while something is parsed that may hold itself.
  class Nest {
  public:
    explicit Nest(Parser &parser) : parser(parser) { ++parser.depth; }
    ~Nest() { --parser.depth; }

  private:
    Parser &parser;
  };
  /// Whether there are too many of them; then that is reported and parsing ends.
  bool tooDeep(SourceRange place) {
    if (depth < maxDepth)
      return false;
    stop(place);
    return true;
  }
  void stop(SourceRange place);

  //===--- Declarations (Parser.cpp) ---===//
  ast::Decl *parseDecl();
  ast::Decl *parseImport();
  ast::Decl *parseStruct(llvm::StringRef doc);
  ast::Decl *parseExportVjp(SourceRange first);
  ast::Decl *parseCustomRule();
  ast::Decl *parseFunction(llvm::StringRef doc);
  bool parseSignature(ast::FnDecl &fn);
  bool parseGenerics(llvm::ArrayRef<ast::GenericParam> &generics);
  bool parseParam(ast::FnParam &param);
  /// `item, item, ...` up to `closing`, which is read; a comma may stand at the end. After an error in an item the list
  /// goes on with the next one; false when anything was wrong.
  bool parseList(SourceRange open, Tok closing, llvm::function_ref<bool()> item);
  llvm::StringRef docBefore(size_t token);

  //===--- Expressions (ParseExpr.cpp) ---===//
  /// `headOfBlock`: a `{` after the expression opens a block, so `Name {` constructs nothing.
  ast::Expr *parseExpr(bool headOfBlock = false);
  /// An expression, or `a..b`.
  ast::Expr *parseRangeOrExpr(bool headOfBlock);
  /// An expression or a pack, for lists.
  ast::Expr *parseItem();
  ast::Expr *parseBinary(unsigned level);
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseParenthesised();
  ast::Expr *parseLambda();
  ast::Expr *parseConditional();
  ast::Expr *parsePack();
  ast::Expr *parseCall(ast::Expr *callee, bool hasDims, llvm::ArrayRef<ast::Arg> dims);
  ast::Expr *parseBracketsAfter(ast::Expr *base);
  ast::Expr *parseConstruct(ast::Expr *type);
  bool parseBracketItem(ast::Arg &item);
  bool parseArg(ast::Arg &arg);
  ast::Expr *parseInt();
  ast::Expr *parseFloat();

  /// Makes a node, its height from its children's; null when the tree becomes too high.
  template <typename T, typename... Args> ast::Expr *make(unsigned childHeight, SourceRange range, Args &&...args) {
    if (childHeight >= maxDepth) {
      stop(range);
      return nullptr;
    }
    ast::Expr *e = module.make<T>(range, std::forward<Args>(args)...);
    e->height = childHeight + 1;
    tallest = std::max<unsigned>(tallest, e->height);
    return e;
  }
  static unsigned heightOf(const ast::Expr *e) { return e ? e->height : 0; }
  template <typename Items> static unsigned tallestOf(const Items &items);

  //===--- Types (ParseType.cpp) ---===//
  ast::TypeExpr *parseType();
  ast::TypeExpr *parseNamedType();
  ast::TypeExpr *parseIndexType();
  ast::TypeExpr *parseGraphType();
  ast::TypeExpr *parseFunctionType();
  ast::TypeExpr *parseTupleType();
  bool parseTypeBrackets(ast::Brackets &brackets);

  //===--- Statements (ParseStmt.cpp) ---===//
  /// `tailAllowed`: the block may end in an expression without `;`, its value.
  ast::Block *parseBlock(bool tailAllowed, const llvm::Twine &where);
  /// Reads statements into `stmts`, or the tail. False after an error.
  bool parseStatement(llvm::SmallVectorImpl<ast::Stmt *> &stmts, ast::Expr **tail);
  ast::Stmt *parseLet();
  ast::Stmt *parseVar();
  ast::Stmt *parseReturn();
  ast::Stmt *parseFor(bool checkpoint, SourceRange first);
  ast::Stmt *parseWhile(bool checkpoint, SourceRange first);
  ast::Stmt *parseLoopWithAttribute();
  bool parseIf(llvm::SmallVectorImpl<ast::Stmt *> &stmts, ast::Expr **tail);
  /// `if c { } else { }` with its parts, not yet a statement or an expression.
  struct IfParts {
    SourceRange range;
    ast::Expr *condition;
    ast::Block *thenBlock, *elseBlock;
  };
  bool parseIfParts(IfParts &parts, bool tailAllowed);
  bool parseAssignmentOrExpr(llvm::SmallVectorImpl<ast::Stmt *> &stmts, ast::Expr **tail);
  ast::Pattern *parsePattern();
  bool checkTarget(const ast::Expr *target, bool compound);
  /// `_` is an expression to the parser until it is seen not to be a target.
  void rejectWildcards(size_t from);

  const SourceManager &sources;
  FileId file;
  DiagnosticEngine &diagnostics;
  ast::Module &module;
  TokenList list;
  size_t at = 0;
  size_t statementBegin = 0; // token of the statement at hand
  unsigned depth = 0;
  unsigned tallest = 0;                     // height of the highest expression of the block at hand
  bool braceOpensBlock = false;             // see parseExpr
  bool stopped = false;                     // by a tree that is too deep
  llvm::SmallVector<SourceRange> wildcards; // in the statement at hand
};

template <typename Items> unsigned Parser::tallestOf(const Items &items) {
  unsigned height = 0;
  for (const auto &item : items) {
    if constexpr (std::is_convertible_v<decltype(item), const ast::Expr *>)
      height = std::max(height, heightOf(static_cast<const ast::Expr *>(item)));
    else
      height = std::max(height, heightOf(static_cast<const ast::Expr *>(item.value)));
  }
  return height;
}

} // namespace gnnc

#endif // GNNC_LIB_FRONTEND_PARSERIMPL_H
