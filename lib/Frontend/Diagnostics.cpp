// Collects diagnostics, and shows them in the order of the source: message, source line, marker, notes.
#include "gnnc/Frontend/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"
#include <tuple>

using namespace gnnc;
using namespace llvm;

namespace {
struct DiagInfo {
  StringRef code, title;
};
constexpr DiagInfo infos[] = {
#define GNNC_DIAG(code, name, title) {#code, title},
#include "gnnc/Frontend/ErrorCodes.def"
};

/// Switches colours on and, at the end of its scope, off.
class Paint {
public:
  Paint(raw_ostream &out, bool colour, raw_ostream::Colors which, bool bold = true) : out(out), colour(colour) {
    if (colour)
      out.changeColor(which, bold);
  }
  ~Paint() {
    if (colour)
      out.resetColor();
  }

private:
  raw_ostream &out;
  bool colour;
};
} // namespace

StringRef gnnc::diagCode(Diag id) { return infos[static_cast<size_t>(id)].code; }
StringRef gnnc::diagTitle(Diag id) { return infos[static_cast<size_t>(id)].title; }

Diagnostic &DiagnosticEngine::report(Diag id, Severity severity, SourceRange range, const Twine &message) {
  storage.push_back({id, severity, range, message.str(), {}});
  order.push_back(&storage.back());
  (severity == Severity::error ? errors : warnings)++;
  return storage.back();
}

/// Text as it is shown: bytes that are not UTF-8 become U+FFFD, what a terminal would act on a blank; tabs stay.
static std::string printable(StringRef text) {
  std::string shown;
  while (!text.empty()) {
    const auto *begin = reinterpret_cast<const UTF8 *>(text.data());
    unsigned length = getNumBytesForUTF8(*begin);
    if (length > text.size() || !isLegalUTF8Sequence(begin, begin + length)) {
      shown += "\xEF\xBF\xBD";
      length = 1;
    } else if (length == 1) {
      shown += isPrint(text[0]) || text[0] == '\t' ? text[0] : ' ';
    } else {
      shown += text.take_front(length);
    }
    text = text.drop_front(length);
  }
  return shown;
}

/// The width of printable text on a terminal, a tab counted as one column.
static unsigned displayWidth(StringRef text) {
  unsigned width = 0;
  for (StringRef run : split(text, '\t'))
    width += std::max(0, sys::unicode::columnWidthUTF8(run)) + 1;
  return width - 1;
}

/// The source line, and below it a marker that keeps the line's tabs, so that it stays aligned whatever a tab means.
static void showLine(const SourceManager &sources, SourceRange range, raw_ostream &out, bool colour) {
  // Longer lines are cut around the place: a message must not fill the screen.
  constexpr size_t longest = 200, before = 80;
  LineColumn place = sources.lineColumn(range.file, range.begin);
  StringRef line = sources.lineText(range.file, place.line);
  size_t lineBegin = line.data() - sources.text(range.file).data();
  size_t begin = std::min<size_t>(range.begin - lineBegin, line.size());
  size_t end = std::clamp<size_t>(range.end - lineBegin, begin, line.size());
  size_t cutFront = 0;
  if (line.size() > longest) {
    auto atCharacter = [&](size_t i) {
      while (i > 0 && i < line.size() && (line[i] & 0xC0) == 0x80)
        --i;
      return i;
    };
    cutFront = atCharacter(begin > before ? begin - before : 0);
    size_t cutBack = atCharacter(std::min(line.size(), cutFront + longest));
    line = line.slice(cutFront, cutBack);
    begin -= cutFront;
    end = std::min(end - cutFront, line.size());
  }
  StringRef lead = cutFront ? "  ..." : "  ";
  out << lead;
  out << printable(line) << '\n' << std::string(lead.size(), ' ');
  std::string front = printable(line.take_front(begin));
  interleave(split(front, '\t'), out, [&](StringRef run) { out << std::string(displayWidth(run), ' '); }, "\t");
  unsigned width = displayWidth(printable(line.slice(begin, end).rtrim()));
  Paint paint(out, colour, raw_ostream::GREEN);
  out << '^' << std::string(width > 1 ? width - 1 : 0, '~');
}

static void showPlace(const SourceManager &sources, SourceRange range, raw_ostream &out, bool colour) {
  Paint paint(out, colour, raw_ostream::SAVEDCOLOR);
  if (!range.isValid()) {
    out << "gnnc: ";
    return;
  }
  LineColumn place = sources.lineColumn(range.file, range.begin);
  out << sources.name(range.file) << ':' << place.line << ':' << place.column << ": ";
}

void gnnc::renderDiagnostic(const SourceManager &sources, const Diagnostic &diagnostic, raw_ostream &out, bool colour) {
  bool isError = diagnostic.severity == Severity::error;
  showPlace(sources, diagnostic.range, out, colour);
  {
    Paint paint(out, colour, isError ? raw_ostream::RED : raw_ostream::MAGENTA);
    out << (isError ? "error[" : "warning[") << diagCode(diagnostic.id) << "]: ";
  }
  {
    Paint paint(out, colour, raw_ostream::SAVEDCOLOR);
    out << diagnostic.message << '\n';
  }
  if (diagnostic.range.isValid()) {
    showLine(sources, diagnostic.range, out, colour);
    out << '\n';
  }
  for (const DiagNote &note : diagnostic.notes) {
    if (note.range.isValid())
      showPlace(sources, note.range, out, colour);
    else
      out << "  ";
    {
      Paint paint(out, colour, raw_ostream::CYAN);
      out << "note: ";
    }
    out << note.message << '\n';
    if (note.range.isValid()) {
      showLine(sources, note.range, out, colour);
      out << '\n';
    }
  }
}

void DiagnosticEngine::flush(raw_ostream &out, bool colour) {
  auto key = [](const Diagnostic *d) {
    // What has no place (a file that can't be read) comes first.
    return std::make_tuple(d->range.isValid() ? int64_t(d->range.file) : -1, d->range.begin, d->range.end, d->id,
                           StringRef(d->message));
  };
  llvm::sort(order, [&](const Diagnostic *a, const Diagnostic *b) { return key(a) < key(b); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](const Diagnostic *a, const Diagnostic *b) { return key(a) == key(b); }),
              order.end());
  unsigned left = 0;
  for (const Diagnostic *d : order) {
    bool isError = d->severity == Severity::error;
    if (errorLimit != 0 && shown >= errorLimit) {
      left += isError;
      continue;
    }
    renderDiagnostic(sources, *d, out, colour);
    shown += isError;
  }
  if (left)
    out << "gnnc: " << left << " more error" << (left == 1 ? " is" : "s are")
        << " not shown (--error-limit=0 shows all)\n";
  order.clear();
}
