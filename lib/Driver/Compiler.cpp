// The driver: takes an input through the stages up to the one that is asked for.
#include "gnnc/Driver/Compiler.h"
#include "gnnc/Driver/OutputFile.h"
#include "gnnc/Frontend/Parser.h"
#include "llvm/Support/Path.h"

using namespace gnnc;
using namespace llvm;

std::string gnnc::outputPath(const CompileOptions &options) {
  if (!options.output.empty())
    return options.output;
  std::string stem = options.input == "-" ? "stdin" : sys::path::stem(options.input).str();
  switch (options.emit) {
  case Emit::sharedObject:
    return "lib" + stem + ".so";
  case Emit::object:
    return stem + ".o";
  default:
    return "-";
  }
}

namespace {
/// The front end's state for one input.
struct Frontend {
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  Program program{sources, diagnostics};

  explicit Frontend(const CompileOptions &options) {
    diagnostics.setErrorLimit(options.errorLimit);
    std::vector<std::string> folders = options.importPaths;
    if (!options.stdlibPath.empty())
      folders.push_back(options.stdlibPath);
    program.setImportPaths(std::move(folders));
  }
};
} // namespace

int gnnc::runBuild(const CompileOptions &options, raw_ostream &diagnostics) {
  Frontend frontend(options);
  bool ok = frontend.program.load(options.input);
  frontend.diagnostics.flush(diagnostics, options.colour);
  if (!ok)
    return 1;
  Error error = writeOutput(outputPath(options), [&](raw_ostream &out) { ast::print(frontend.program.main(), out); });
  if (error) {
    diagnostics << "gnnc: error: " << toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}

int gnnc::runCheck(ArrayRef<std::string> inputs, const CompileOptions &options, raw_ostream &diagnostics) {
  int status = 0;
  for (const std::string &input : inputs) {
    Frontend frontend(options);
    if (!frontend.program.load(input))
      status = 1;
    frontend.diagnostics.flush(diagnostics, options.colour);
  }
  return status;
}
