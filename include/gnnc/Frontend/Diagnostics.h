// Errors and warnings about the user's program. They are collected, and shown once, in the order of the source, when
// the stage that finds them is done. Each kind has a stable code (ErrorCodes.def) with an entry in
// docs/errors.md.
#ifndef GNNC_FRONTEND_DIAGNOSTICS_H
#define GNNC_FRONTEND_DIAGNOSTICS_H

#include "gnnc/Frontend/Source.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

namespace gnnc {

/// Kinds of diagnostics, by name: `Diag::unknownName` is G0101.
enum class Diag : uint16_t {
#define GNNC_DIAG(code, name, title) name,
#include "gnnc/Frontend/ErrorCodes.def"
};

/// "G0101".
llvm::StringRef diagCode(Diag id);
/// What kind of error it is, in a few words: "unknown name".
llvm::StringRef diagTitle(Diag id);

enum class Severity : uint8_t { error, warning };

/// A remark below a diagnostic; its range may be invalid, then it is a plain sentence ("help: ...").
struct DiagNote {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  Diag id;
  Severity severity;
  SourceRange range;
  std::string message;
  llvm::SmallVector<DiagNote, 1> notes;

  /// Adds a remark with a place ("'w' is declared here").
  Diagnostic &note(SourceRange place, const llvm::Twine &text) {
    notes.push_back({place, text.str()});
    return *this;
  }
  /// Adds a remark without a place ("write over=0 or over=-1").
  Diagnostic &note(const llvm::Twine &text) { return note(SourceRange(), text); }
};

class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}

  /// Messages begin with a small letter and end without a full stop; names stand in 'quotes'. The reference stays
  /// valid.
  Diagnostic &error(Diag id, SourceRange range, const llvm::Twine &message) {
    return report(id, Severity::error, range, message);
  }
  Diagnostic &warning(Diag id, SourceRange range, const llvm::Twine &message) {
    return report(id, Severity::warning, range, message);
  }

  /// Whether anything that stops compilation was reported, shown or not yet shown.
  bool hasErrors() const { return errors != 0; }
  unsigned numErrors() const { return errors; }
  unsigned numWarnings() const { return warnings; }
  llvm::ArrayRef<Diagnostic *> pending() const { return order; }

  /// At most this many errors are shown; 0 shows all.
  void setErrorLimit(unsigned limit) { errorLimit = limit; }
  /// Shows what was collected since the last call: by file and place, each once.
  void flush(llvm::raw_ostream &out, bool colour = false);

  const SourceManager &sourceManager() const { return sources; }

private:
  Diagnostic &report(Diag id, Severity severity, SourceRange range, const llvm::Twine &message);

  const SourceManager &sources;
  std::deque<Diagnostic> storage;
  std::vector<Diagnostic *> order;
  unsigned errors = 0, warnings = 0;
  unsigned errorLimit = 20;
  unsigned shown = 0;
};

/// Shows one diagnostic: `file:line:col: error[G0101]: message`, the source line, a marker below it, notes.
void renderDiagnostic(const SourceManager &sources, const Diagnostic &diagnostic, llvm::raw_ostream &out, bool colour);

} // namespace gnnc

#endif // GNNC_FRONTEND_DIAGNOSTICS_H
