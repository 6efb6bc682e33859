// `gnnc fmt`. What was formatted is read again and compared with what was read, so that a fault of the formatter can't
// change a program.
#include "gnnc/Driver/Format.h"
#include "gnnc/Driver/OutputFile.h"
#include "gnnc/Frontend/Format.h"
#include "gnnc/Frontend/Parser.h"

using namespace gnnc;
using namespace llvm;

static std::string treeOf(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics) {
  std::string text;
  raw_string_ostream out(text);
  ast::print(*parseFile(sources, file, diagnostics), out);
  return text;
}

/// Formats one file; nothing after an error, which has been shown.
static std::optional<std::string> formatOne(SourceManager &sources, StringRef path, const FormatOptions &options,
                                            raw_ostream &messages, FileId &file) {
  Expected<FileId> opened = sources.openFile(path);
  if (!opened) {
    messages << "gnnc: error: can't read '" << path << "': " << toString(opened.takeError()) << '\n';
    return std::nullopt;
  }
  file = *opened;
  DiagnosticEngine diagnostics(sources);
  diagnostics.setErrorLimit(options.errorLimit);
  std::optional<std::string> text = formatFile(sources, file, diagnostics);
  diagnostics.flush(messages, options.colour);
  if (!text)
    return std::nullopt;
  DiagnosticEngine again(sources);
  FileId formatted = sources.addBuffer(sources.name(file), *text);
  if (treeOf(sources, file, again) == treeOf(sources, formatted, again) && !again.hasErrors())
    return text;
  messages << "gnnc: internal error: formatting would change what " << sources.name(file)
           << " means; this is a fault of gnnc, please report it\n";
  return std::nullopt;
}

int gnnc::runFormat(const FormatOptions &options, raw_ostream &messages) {
  int status = 0;
  for (const std::string &path : options.inputs) {
    SourceManager sources;
    FileId file = noFile;
    std::optional<std::string> text = formatOne(sources, path, options, messages, file);
    if (!text) {
      status = 1;
      continue;
    }
    bool same = *text == sources.text(file);
    if (options.check) {
      if (same)
        continue;
      messages << sources.name(file) << ": not formatted\n";
      status = 1;
      continue;
    }
    if (options.inPlace && same)
      continue;
    if (Error error = writeOutput(options.inPlace ? StringRef(path) : StringRef(options.output),
                                  [&](raw_ostream &out) { out << *text; })) {
      messages << "gnnc: error: " << toString(std::move(error)) << '\n';
      status = 1;
    }
  }
  return status;
}
