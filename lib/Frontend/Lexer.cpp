// The lexer: cuts a file into tokens, remembers comments, and reports what is no text of the language.
#include "gnnc/Frontend/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace gnnc;
using namespace llvm;

StringRef gnnc::describe(Tok kind) {
  switch (kind) {
  case Tok::eof:
    return "the end of the file";
  case Tok::identifier:
    return "a name";
  case Tok::intLit:
  case Tok::floatLit:
    return "a number";
  case Tok::stringLit:
    return "a string";
#define GNNC_KEYWORD(name, text)                                                                                       \
  case Tok::name:                                                                                                      \
    return "'" text "'";
#define GNNC_PUNCT(name, text)                                                                                         \
  case Tok::name:                                                                                                      \
    return "'" text "'";
#include "gnnc/Frontend/Tokens.def"
  }
  return "a token";
}

std::string gnnc::unescape(StringRef spelling) {
  std::string value;
  StringRef inner = spelling.drop_front();
  inner.consume_back("\""); // missing after an error
  for (size_t i = 0; i < inner.size(); ++i) {
    char c = inner[i];
    if (c == '\\' && i + 1 < inner.size()) {
      c = inner[++i];
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    value += c;
  }
  return value;
}

namespace {
bool isNameStart(char c) { return isAlpha(c) || c == '_'; }
bool isNamePart(char c) { return isAlnum(c) || c == '_'; }

class Lexer {
public:
  Lexer(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics)
      : file(file), text(sources.text(file)), diagnostics(diagnostics) {}

  TokenList run() {
    if (text.starts_with("\xEF\xBB\xBF"))
      at = 3;
    while (true) {
      skipBlanksAndComments();
      if (at >= text.size())
        break;
      lexToken();
    }
    add(Tok::eof, at);
    return std::move(list);
  }

private:
  SourceRange range(size_t begin, size_t end) const {
    return {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void add(Tok kind, size_t begin) {
    if (doc.isValid()) {
      list.docs[list.tokens.size()] = doc;
      doc = SourceRange();
    }
    list.tokens.push_back({kind, startsLine, static_cast<uint32_t>(begin), static_cast<uint32_t>(at)});
    startsLine = false;
  }

  /// The bytes of the character at `at`; 0 where it isn't UTF-8.
  unsigned characterLength() const {
    const UTF8 *begin = reinterpret_cast<const UTF8 *>(text.data()) + at;
    unsigned length = getNumBytesForUTF8(*begin);
    return length <= text.size() - at && isLegalUTF8Sequence(begin, begin + length) ? length : 0;
  }

  /// Reports the first byte of [begin, at) that isn't UTF-8, once a file.
  void checkEncoding(size_t begin) {
    const UTF8 *base = reinterpret_cast<const UTF8 *>(text.data());
    const UTF8 *from = base + begin;
    if (encodingReported || isLegalUTF8String(&from, base + at))
      return;
    size_t place = from - base;
    diagnostics.error(Diag::badEncoding, range(place, place + 1), "this is not UTF-8 text")
        .note("save the file in UTF-8; ASCII alone is fine too");
    encodingReported = true;
  }

  /// Whether a name or a closing bracket stands directly before: then `.1` is no number.
  bool afterOperand() const {
    return at > 0 && (isNamePart(text[at - 1]) || text[at - 1] == ')' || text[at - 1] == ']');
  }

  void skipBlanksAndComments();
  void skipComment();
  void lexToken();
  void lexName();
  void lexNumber();
  void lexString();
  void lexUnknown();

  FileId file;
  StringRef text;
  DiagnosticEngine &diagnostics;
  size_t at = 0;
  bool startsLine = true;
  bool encodingReported = false;
  SourceRange doc;
  TokenList list;
};
} // namespace

void Lexer::skipBlanksAndComments() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      startsLine = true;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '/' && peek(1) == '/') {
      skipComment();
    } else if (c == '/' && peek(1) == '*') {
      size_t end = text.find("*/", at + 2);
      diagnostics.error(Diag::badCharacter, range(at, at + 2), "comments begin with '//' and end with their line");
      at = end == StringRef::npos ? text.size() : end + 2;
    } else {
      return;
    }
  }
}

void Lexer::skipComment() {
  size_t begin = at;
  at = std::min(text.find('\n', at), text.size());
  StringRef comment = text.slice(begin, at);
  // Four slashes and more draw a line; they document nothing.
  if (comment.starts_with("///") && !comment.starts_with("////") && startsLine)
    doc = doc.to(range(begin, at));
  else
    doc = SourceRange();
  list.comments.push_back(
      {range(begin, begin + comment.rtrim().size()), static_cast<uint32_t>(list.tokens.size()), startsLine});
  checkEncoding(begin);
}

/// What is typed for an operator by typographers and word processors.
static StringRef plainSpelling(StringRef character) {
  return StringSwitch<StringRef>(character)
      .Cases({"−", "–", "—"}, "-")
      .Cases({"×", "·", "∗"}, "*")
      .Case("÷", "/")
      .Case("≤", "<=")
      .Case("≥", ">=")
      .Case("≠", "!=")
      .Case("→", "->")
      .Case("π", "pi")
      .Case("∞", "inf")
      .Default("");
}

/// The token of a spelling that is a reserved word or punctuation, else a name.
static Tok tokenOf(StringRef spelling) {
  return StringSwitch<Tok>(spelling)
#define GNNC_KEYWORD(name, text) .Case(text, Tok::name)
#define GNNC_PUNCT(name, text) .Case(text, Tok::name)
#include "gnnc/Frontend/Tokens.def"
      .Default(Tok::identifier);
}

void Lexer::lexToken() {
  char c = text[at];
  if (isNameStart(c))
    return lexName();
  if (isDigit(c) || (c == '.' && isDigit(peek(1)) && !afterOperand()))
    return lexNumber();
  if (c == '"')
    return lexString();
  StringRef rest = text.substr(at);
#define GNNC_PUNCT(name, spelling)                                                                                     \
  if (rest.starts_with(spelling)) {                                                                                    \
    at += sizeof(spelling) - 1;                                                                                        \
    return add(Tok::name, at - (sizeof(spelling) - 1));                                                                \
  }
#include "gnnc/Frontend/Tokens.def"
  lexUnknown();
}

/// A name or a reserved word. Letters of other scripts are read with it, for one message a word.
void Lexer::lexName() {
  size_t begin = at;
  bool ascii = true;
  while (at < text.size()) {
    if (isNamePart(text[at])) {
      ++at;
      continue;
    }
    unsigned length = characterLength();
    if (length < 2 || !plainSpelling(text.substr(at, length)).empty())
      break;
    at += length;
    ascii = false;
  }
  StringRef name = text.slice(begin, at);
  if (!ascii)
    diagnostics.error(Diag::badCharacter, range(begin, at),
                      "'" + name + "' is not a name: names are of ASCII letters, digits and '_'");
  add(ascii ? tokenOf(name) : Tok::identifier, begin);
}

/// `12`, `0.5`, `5e-4`. A dot belongs to the number only before a digit, so that `0..T` is a range.
void Lexer::lexNumber() {
  size_t begin = at;
  auto digits = [&] {
    while (isDigit(peek()))
      ++at;
  };
  bool isFloat = false;
  StringRef advice;
  if (peek() == '.')
    advice = "write a digit before the point: 0.5";
  digits();
  if (peek() == '.' && isDigit(peek(1))) {
    isFloat = true;
    ++at;
    digits();
  } else if (peek() == '.' && peek(1) != '.' && !isNameStart(peek(1))) {
    isFloat = true;
    ++at;
    advice = "write a digit after the point: 1.0";
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-';
    if (isDigit(peek(1 + sign))) {
      isFloat = true;
      at += 1 + sign;
      digits();
    } else {
      at += 1 + sign;
      advice = "an exponent has digits: 1e-3";
    }
  }
  if (isNamePart(peek())) {
    while (isNamePart(peek()))
      ++at;
    advice = "a number ends before a letter; a name begins with one";
  }
  if (!advice.empty())
    diagnostics.error(Diag::badNumber, range(begin, at), "'" + text.slice(begin, at) + "' is not a number")
        .note(advice);
  add(isFloat ? Tok::floatLit : Tok::intLit, begin);
}

void Lexer::lexString() {
  size_t begin = at++;
  bool escapesReported = false;
  while (at < text.size() && text[at] != '"' && text[at] != '\n') {
    if (text[at] == '\\') {
      if (!StringRef("\"\\nt").contains(peek(1)) && !escapesReported) {
        diagnostics.error(Diag::badString, range(at, std::min(at + 2, text.size())),
                          "unknown escape; there are \\\" \\\\ \\n \\t");
        escapesReported = true;
      }
      at += peek(1) != '\n' && at + 1 < text.size();
    }
    ++at;
  }
  if (peek() == '"' && at < text.size()) {
    ++at;
    checkEncoding(begin);
    return add(Tok::stringLit, begin);
  }
  diagnostics.error(Diag::badString, range(begin, at), "this string has no closing '\"' in its line");
  // The parser sees a string all the same, which leaves it what probably stands behind the missing quote.
  at = begin + std::max<size_t>(1, text.slice(begin, at).rtrim(" \t\r;,)").size());
  add(Tok::stringLit, begin);
}

/// A character that no token begins with. What was meant is guessed, so that the parser has nothing more to complain
/// of.
void Lexer::lexUnknown() {
  size_t begin = at;
  unsigned length = characterLength();
  if (length == 0) {
    while (at < text.size() && characterLength() == 0)
      ++at;
    return checkEncoding(begin);
  }
  if (length > 1 && plainSpelling(text.substr(at, length)).empty())
    return lexName();
  at += length;
  StringRef found = text.slice(begin, at);
  std::string shown = isPrint(found[0]) || length > 1
                          ? "'" + found.str() + "'"
                          : "byte 0x" + utohexstr(static_cast<unsigned char>(found[0]), /*LowerCase=*/false, 2);
  Diagnostic &error = diagnostics.error(Diag::badCharacter, range(begin, at), "unknown character " + shown);
  StringRef plain = plainSpelling(found);
  if (!plain.empty()) {
    error.note("write '" + plain + "'");
    add(tokenOf(plain), begin);
  } else if (found == "#") {
    error.note("comments begin with '//'");
    at = std::min(text.find('\n', at), text.size());
  }
}

TokenList gnnc::lex(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics) {
  return Lexer(sources, file, diagnostics).run();
}
