// The layout of programs: one way to write each, comments and paragraphs kept.
#ifndef GNNC_FRONTEND_FORMAT_H
#define GNNC_FRONTEND_FORMAT_H

#include "gnnc/Frontend/Diagnostics.h"
#include <optional>
#include <string>

namespace gnnc {

/// The text of a file in the layout of docs/gnnc.md. Only blanks, line ends and the commas before closing brackets
/// change, so the tokens and with them the meaning stay. Nothing when the file does not parse, which has been reported.
std::optional<std::string> formatFile(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics);

} // namespace gnnc

#endif // GNNC_FRONTEND_FORMAT_H
