// Text to tokens. A file is cut up at once, so that the parser may look ahead as far as it likes.
#ifndef GNNC_FRONTEND_LEXER_H
#define GNNC_FRONTEND_LEXER_H

#include "gnnc/Frontend/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace gnnc {

enum class Tok : uint8_t {
  eof,
  identifier,
  intLit,
  floatLit,
  stringLit,
#define GNNC_KEYWORD(name, text) name,
#define GNNC_PUNCT(name, text) name,
#include "gnnc/Frontend/Tokens.def"
};

struct Token {
  Tok kind = Tok::eof;
  bool startsLine = false; // only blanks stand before it in its line
  uint32_t begin = 0, end = 0;
};

/// A comment, from its slashes to the end of its line, without blanks at the end.
struct Comment {
  SourceRange range;
  uint32_t token; // that it stands before
  bool ownLine;   // nothing else stands in its line; otherwise it belongs to what ends there
};

struct TokenList {
  std::vector<Token> tokens; // the last one is eof
  std::vector<Comment> comments;
  /// For a token with `///` lines directly before it: the bytes from the first of them to the end of the last.
  llvm::DenseMap<uint32_t, SourceRange> docs;
};

/// What can't be read is reported and left out.
TokenList lex(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics);

/// For messages: "';'", "a name".
llvm::StringRef describe(Tok kind);

/// A string's value from its spelling with quotes.
std::string unescape(llvm::StringRef spelling);

} // namespace gnnc

#endif // GNNC_FRONTEND_LEXER_H
