// The formatter. What fits in a line stands in one line; else a list is filled up to the line's end and goes on below
// its first element, an expression is broken before its weakest operators, and blocks have a line for each statement.
#include "gnnc/Frontend/Format.h"
#include "Layout.h"
#include "gnnc/Frontend/Parser.h"

using namespace gnnc;
using namespace llvm;

namespace {
constexpr unsigned lineLength = 120;
/// Lists that would begin further right than this begin in a line of their own.
constexpr unsigned lastAlignment = 80;
constexpr unsigned blockIndent = 2, continuationIndent = 4;

class Formatter {
public:
  explicit Formatter(const Layout &layout) : layout(layout) {}
  std::string run();

private:
  struct Line {
    std::string code;
    unsigned width = 0;
    int comment = -1; // behind the code
  };

  //===--- Lines ---===//
  void newLine(unsigned indent, bool blankLine = false);
  void put(size_t i);
  void putAll(size_t begin, size_t end);
  /// The comments before a token, and the line that it begins.
  void lead(size_t i, unsigned indent, bool isFirst);
  void leadComments(size_t i, unsigned indent, bool isFirst);
  bool atStart() const { return lines.back().width <= lineIndent; }
  unsigned column() const { return lines.back().width; }
  /// The column of a token that is put next.
  unsigned columnOf(size_t i) const { return column() + (!atStart() && i && layout.spaceBefore(i)); }
  bool fits(size_t begin, size_t end, unsigned trailing) const {
    return !mustBreak && columnOf(begin) + layout.width(begin, end) + trailing <= lineLength;
  }

  //===--- Constructs ---===//
  void items(size_t begin, size_t end, unsigned indent);
  void item(size_t begin, size_t end);
  void structure(size_t begin, size_t end);
  void function(size_t begin, size_t end);
  void statement(size_t begin, size_t end);
  void block(size_t open);
  void expression(size_t begin, size_t end, unsigned trailing);
  void operators(size_t begin, size_t end, unsigned trailing, int level);
  void chain(size_t begin, size_t end, unsigned trailing);
  void list(size_t open, unsigned trailing);
  void fieldList(size_t open);

  /// The first bracket of a kind in [begin, end) that is in no other, or `end`.
  template <typename Test> size_t find(size_t begin, size_t end, Test test) const {
    for (size_t i = begin; i < end; i = layout.next(i))
      if (test(layout[i]))
        return i;
    return end;
  }
  bool holdsBlock(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      if (layout[i].block)
        return true;
    return false;
  }
  void alignComments();

  const Layout &layout;
  std::vector<Line> lines{{}};
  unsigned lineIndent = 0;
  unsigned continuation = 0; // where a broken line goes on
  unsigned depth = 0;        // of brackets
  bool mustBreak = false;    // a comment ended the line
  size_t led = SIZE_MAX;     // the token whose comments have been written
};
} // namespace

void Formatter::newLine(unsigned indent, bool blankLine) {
  if (lines.back().code.find_first_not_of(' ') == std::string::npos)
    lines.back() = {};
  else
    lines.push_back({});
  if (blankLine && lines.size() > 1)
    lines.push_back({});
  lines.back().code.assign(indent, ' ');
  lines.back().width = lineIndent = indent;
  mustBreak = false;
}

void Formatter::leadComments(size_t i, unsigned indent, bool isFirst) {
  for (unsigned comment : layout[i].comments) {
    newLine(indent, layout.comment(comment).blankLine && !isFirst);
    lines.back().code += layout.comment(comment).text;
    isFirst = false;
    mustBreak = true;
  }
}

void Formatter::lead(size_t i, unsigned indent, bool isFirst) {
  leadComments(i, indent, isFirst);
  newLine(indent, layout[i].blankLine && (!isFirst || !layout[i].comments.empty()));
  led = i;
}

void Formatter::put(size_t i) {
  const Layout::Item &token = layout[i];
  if (led != i)
    leadComments(i, continuation, /*isFirst=*/true);
  if (mustBreak)
    newLine(continuation);
  bool space = columnOf(i) != column();
  Line &line = lines.back();
  line.code += space ? " " : "";
  line.code += token.text;
  line.width += space + token.width;
  if (token.trailing >= 0) {
    line.comment = token.trailing;
    mustBreak = true;
  }
}

void Formatter::putAll(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i)
    put(i);
}

/// Declarations, or the statements of a block: each in a line of its own.
void Formatter::items(size_t begin, size_t end, unsigned indent) {
  for (size_t i = begin; i < end;) {
    size_t next = i + 1 < end ? find(layout.next(i), end, [](const auto &token) { return token.begins; }) : end;
    lead(i, indent, i == begin && depth + indent > 0);
    unsigned outerContinuation = std::exchange(continuation, indent + continuationIndent);
    unsigned outerDepth = std::exchange(depth, 0);
    item(i, next);
    continuation = outerContinuation;
    depth = outerDepth;
    i = next;
  }
}

void Formatter::item(size_t begin, size_t end) {
  if (layout.isAttribute(begin)) {
    putAll(begin, begin + 2);
    newLine(lineIndent);
    begin += 2;
  }
  if (fits(begin, end, 0))
    return putAll(begin, end);
  if (layout[begin].kind == Tok::kwStruct)
    return structure(begin, end);
  size_t name = find(begin, end, [](const auto &token) { return token.params; });
  if (name != end)
    return function(begin, end);
  statement(begin, end);
}

/// A line for each field; types and initialisers stand below each other.
void Formatter::structure(size_t begin, size_t end) {
  size_t open = find(begin, end, [](const auto &token) { return token.fields; });
  expression(begin, open, 2);
  fieldList(open);
}

void Formatter::fieldList(size_t open) {
  size_t close = layout[open].match;
  unsigned indent = lineIndent;
  put(open);
  struct Field {
    size_t begin, colon, equal, end;
  };
  SmallVector<Field> fields;
  unsigned nameWidth = 0, typeWidth = 0;
  for (size_t i = open + 1; i < close;) {
    size_t comma = find(i, close, [](const auto &token) { return token.kind == Tok::comma; });
    size_t colon = find(i, comma, [](const auto &token) { return token.kind == Tok::colon; });
    size_t equal = find(colon, comma, [](const auto &token) { return token.kind == Tok::equal; });
    fields.push_back({i, colon, equal, comma});
    nameWidth = std::max(nameWidth, layout.width(i, colon + 1));
    unsigned type = layout.width(colon + 1, equal);
    if (layout[open].fields && equal != comma && type < lineLength)
      typeWidth = std::max(typeWidth, type);
    i = comma + 1;
  }
  unsigned outer = std::exchange(continuation, indent + blockIndent + continuationIndent);
  for (const Field &field : fields) {
    lead(field.begin, indent + blockIndent, field.begin == open + 1);
    auto pad = [&](size_t from, size_t to, unsigned width) {
      if (!layout[open].fields || mustBreak || layout.width(from, to) >= width)
        return;
      unsigned blanks = width - layout.width(from, to);
      lines.back().code.append(blanks, ' ');
      lines.back().width += blanks;
    };
    putAll(field.begin, field.colon + 1);
    pad(field.begin, field.colon + 1, nameWidth);
    expression(field.colon + 1, field.equal, 1);
    if (field.equal != field.end) {
      pad(field.colon + 1, field.equal, typeWidth);
      put(field.equal);
      expression(field.equal + 1, field.end, 1);
    }
    if (field.end != close) {
      put(field.end);
    } else {
      lines.back().code += ',';
      ++lines.back().width;
    }
  }
  leadComments(close, indent + blockIndent, fields.empty());
  newLine(indent);
  led = close;
  continuation = outer;
  put(close);
}

void Formatter::function(size_t begin, size_t end) {
  size_t open = find(begin, end, [](const auto &token) { return token.params; });
  size_t body = find(open, end, [](const auto &token) { return token.block; });
  size_t close = layout[open].match;
  unsigned behind = body == end ? 0 : 2;
  if (fits(begin, close + 1, 0)) {
    putAll(begin, close + 1);
  } else {
    expression(begin, open, 1);
    list(open, 0);
  }
  if (!fits(close + 1, body, behind))
    newLine(continuation);
  expression(close + 1, body, behind);
  if (body == end)
    return;
  // The body belongs to the declaration, however its parameters were broken.
  lineIndent = continuation - continuationIndent;
  block(body);
}

void Formatter::statement(size_t begin, size_t end) {
  size_t first = begin;
  if (find(begin, end, [](const auto &token) { return token.block; }) == end) {
    size_t equal = find(begin, end, [&](const auto &token) {
      return token.kind == Tok::equal || token.kind == Tok::plusEqual || token.kind == Tok::minusEqual ||
             token.kind == Tok::starEqual || token.kind == Tok::slashEqual;
    });
    if (equal != end) {
      expression(begin, equal, 2);
      put(equal);
      first = equal + 1;
    } else if (layout[begin].kind == Tok::kwReturn) {
      put(begin);
      first = begin + 1;
    }
  }
  bool semicolon = layout[end - 1].kind == Tok::semicolon;
  expression(first, end - semicolon, semicolon);
  if (semicolon)
    put(end - 1);
}

void Formatter::block(size_t open) {
  size_t close = layout[open].match;
  unsigned indent = lineIndent;
  put(open);
  items(open + 1, close, indent + blockIndent);
  leadComments(close, indent + blockIndent, close == open + 1);
  newLine(indent);
  led = close;
  put(close);
}

void Formatter::expression(size_t begin, size_t end, unsigned trailing) {
  if (begin >= end)
    return;
  if (fits(begin, end, trailing))
    return putAll(begin, end);
  const Layout::Item &first = layout[begin];
  if (first.kind == Tok::pipe || first.kind == Tok::pipePipe) {
    size_t body = layout.next(begin);
    putAll(begin, body);
    return expression(body, end, trailing);
  }
  bool named = begin + 1 < end && first.kind == Tok::identifier &&
               (layout.isArgumentName(begin + 1) || layout[begin + 1].kind == Tok::colon);
  if (named) {
    putAll(begin, begin + 2);
    return expression(begin + 2, end, trailing);
  }
  // A lambda or a branch reaches to the end of its expression: no operator behind it is one of this level.
  int level = INT_MAX;
  for (size_t i = begin; i < end && layout[i].kind != Tok::kwIf && !layout[i].block; i = layout.next(i))
    if (int found = layout.operatorLevel(i); found >= 0)
      level = std::min(level, found);
  if (level == INT_MAX)
    return chain(begin, end, trailing);
  unsigned outer = continuation;
  if (depth)
    continuation = mustBreak ? continuation : columnOf(begin);
  operators(begin, end, trailing, level);
  continuation = outer;
}

/// Operands are put into a line as long as they fit; an operator stands at the beginning of the next.
void Formatter::operators(size_t begin, size_t end, unsigned trailing, int level) {
  size_t from = begin;
  while (from < end) {
    size_t to = from == begin ? from : from + 1;
    while (to < end && layout.operatorLevel(to) != level)
      to = layout.next(to);
    unsigned behind = to == end ? trailing : 0;
    if (from != begin) {
      if (!fits(from, to, behind))
        newLine(continuation);
      put(from);
    }
    expression(from == begin ? from : from + 1, to, behind);
    from = to;
  }
}

/// An operand with the calls and brackets behind it, or branches: the last bracket is broken first.
void Formatter::chain(size_t begin, size_t end, unsigned trailing) {
  for (size_t i = begin; i < end; i = layout.next(i)) {
    const Layout::Item &token = layout[i];
    if (token.block) {
      block(i);
    } else if (!token.opens) {
      put(i);
    } else {
      size_t close = token.match;
      if (fits(i, end, trailing))
        return putAll(i, end);
      size_t later = find(close + 1, end, [](const auto &token) { return token.opens; });
      if (later != end && fits(i, close + 1, 0))
        putAll(i, close + 1);
      else if (token.kind == Tok::lBrace)
        fieldList(i);
      else
        list(i, later == end ? layout.width(close + 1, end) + trailing : 0);
    }
  }
}

void Formatter::list(size_t open, unsigned trailing) {
  size_t close = layout[open].match;
  unsigned outerContinuation = continuation;
  put(open);
  ++depth;
  bool aligned = column() <= lastAlignment || close == open + 1;
  continuation = aligned ? column() : lineIndent + continuationIndent;
  if (!aligned && !holdsBlock(open, close))
    newLine(continuation);
  for (size_t i = open + 1; i < close;) {
    size_t comma = find(i, close, [](const auto &token) { return token.kind == Tok::comma; });
    unsigned behind = comma == close ? 1 + trailing : 1;
    // The first lines of a lambda's body stand beside its parameters.
    if (i != open + 1 && !fits(i, comma, behind) && !holdsBlock(i, comma))
      newLine(continuation);
    expression(i, comma, behind);
    if (comma != close)
      put(comma);
    i = comma + 1;
  }
  --depth;
  continuation = outerContinuation;
  put(close);
}

/// Comments behind the lines of a paragraph begin in one column: where they were if that was one, else as near as may
/// be.
void Formatter::alignComments() {
  auto align = [&](size_t begin, size_t end) {
    unsigned width = 0;
    std::optional<unsigned> column;
    bool same = true;
    for (size_t i = begin; i < end; ++i) {
      if (lines[i].comment < 0)
        continue;
      width = std::max(width, lines[i].width);
      unsigned was = layout.comment(lines[i].comment).column;
      same &= was == column.value_or(was);
      column = was;
    }
    if (!column)
      return;
    unsigned place = same && *column > width ? *column : width + 2;
    for (size_t i = begin; i < end; ++i)
      if (lines[i].comment >= 0)
        lines[i].code += std::string(place - lines[i].width, ' ') + layout.comment(lines[i].comment).text.str();
  };
  size_t begin = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    StringRef code = StringRef(lines[i].code).trim();
    // What opens or closes a block has a paragraph of its own.
    bool apart = code.empty() || code.starts_with("//") || code.ends_with("{") || code.starts_with("}");
    if (!apart)
      continue;
    align(begin, i);
    align(i, i + 1);
    begin = i + 1;
  }
  align(begin, lines.size());
}

std::string Formatter::run() {
  size_t last = layout.items().size() - 1;
  items(0, last, 0);
  leadComments(last, 0, last == 0);
  alignComments();
  std::string text;
  for (const Line &line : lines)
    text += StringRef(line.code).rtrim(' ').str() + '\n';
  return StringRef(text).trim('\n').empty() ? "" : StringRef(text).trim('\n').str() + '\n';
}

std::optional<std::string> gnnc::formatFile(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics) {
  std::unique_ptr<ast::Module> module = parseFile(sources, file, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  // The file has been read without an error, so a second reading has none to report.
  Layout layout(sources, *module, lex(sources, file, diagnostics));
  return Formatter(layout).run();
}
