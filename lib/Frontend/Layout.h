// What the formatter knows of a program before it lays it out: the tokens with their comments, which of them begin
// statements and blocks, and how wide each stretch is in one line.
#ifndef GNNC_LIB_FRONTEND_LAYOUT_H
#define GNNC_LIB_FRONTEND_LAYOUT_H

#include "gnnc/Frontend/AST.h"
#include "gnnc/Frontend/Lexer.h"

namespace gnnc {

class Layout {
public:
  Layout(const SourceManager &sources, const ast::Module &module, TokenList list);

  /// Tokens without the commas that stand directly before a closing bracket; the last one is eof.
  struct Item {
    Tok kind = Tok::eof;
    llvm::StringRef text;
    unsigned width = 0;                      // in characters
    unsigned match = 0;                      // of a bracket, or a lambda's '|': the other one
    bool opens = false;                      // ( [ { and the '|' before a lambda's parameters
    bool closes = false;                     // their counterparts
    bool prefix = false;                     // an operand may begin here
    bool begins = false;                     // a declaration, a statement or the value of a block
    bool block = false;                      // '{' of a block
    bool fields = false;                     // '{' of a struct's declaration
    bool oneLine = false;                    // a bracket that is closed in the same line, without a comment inside
    bool params = false;                     // '(' before the parameters of a function's declaration
    bool blankLine = false;                  // one stands before it, behind its comments
    llvm::SmallVector<unsigned, 1> comments; // before it, in lines of their own
    int trailing = -1;                       // the comment behind it in its line
  };
  struct CommentText {
    llvm::StringRef text;
    unsigned column;        // from 0
    bool blankLine = false; // before it
  };

  llvm::ArrayRef<Item> items() const { return tokens; }
  const Item &operator[](size_t i) const { return tokens[i]; }
  const CommentText &comment(unsigned i) const { return comments[i]; }

  /// Whether a blank separates a token from the one before it in one line.
  bool spaceBefore(size_t i) const;
  /// `over=D`: an '=' between a name and an argument.
  bool isArgumentName(size_t i) const;
  /// The '@' of `@checkpoint`, which has a line of its own.
  bool isAttribute(size_t i) const;
  /// The level of a binary operator, 0 binding weakest; -1 for anything else.
  int operatorLevel(size_t i) const;

  static constexpr unsigned unbreakable = 1u << 30;
  /// The width of [begin, end) in one line; `unbreakable` where it can't stand in one.
  unsigned width(size_t begin, size_t end) const;
  /// The first token behind the bracket or the token at i.
  size_t next(size_t i) const { return tokens[i].opens ? tokens[i].match + 1 : i + 1; }

private:
  void collect(const SourceManager &sources, const ast::Module &module, const TokenList &list);
  void pair(const SourceManager &sources, const ast::Module &module);
  void measure();

  std::vector<Item> tokens;
  std::vector<uint32_t> offsets; // of the tokens
  std::vector<CommentText> comments;
  std::vector<unsigned> widthUpTo, breaksUpTo; // widths and forced line ends of tokens before i, that before i included
};

} // namespace gnnc

#endif // GNNC_LIB_FRONTEND_LAYOUT_H
