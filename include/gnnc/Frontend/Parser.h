// From text to syntax trees: one file, or a file with everything that it imports.
#ifndef GNNC_FRONTEND_PARSER_H
#define GNNC_FRONTEND_PARSER_H

#include "gnnc/Frontend/AST.h"
#include "gnnc/Frontend/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <vector>

namespace gnnc {

/// Parses one file. Always gives a module: what could be read of it, the rest having been reported.
std::unique_ptr<ast::Module> parseFile(const SourceManager &sources, FileId file, DiagnosticEngine &diagnostics);

/// A program: its main file first, then what that imports, each file once.
class Program {
public:
  Program(SourceManager &sources, DiagnosticEngine &diagnostics) : sources(sources), diagnostics(diagnostics) {}

  /// Folders where `import` looks after the importing file's own, in order; the standard library's comes last.
  void setImportPaths(std::vector<std::string> paths) { importPaths = std::move(paths); }

  /// Reads and parses `path` ("-" is standard input) and its imports. False when the file can't be read, and after any
  /// error, which is in the diagnostics then.
  bool load(llvm::StringRef path);

  ast::Module &main() const { return *modules.front(); }
  llvm::ArrayRef<std::unique_ptr<ast::Module>> all() const { return modules; }

private:
  ast::Module *loadModule(FileId file, llvm::StringRef name);
  void resolveImport(ast::ImportDecl &import, llvm::StringRef folder);

  SourceManager &sources;
  DiagnosticEngine &diagnostics;
  std::vector<std::string> importPaths;
  std::vector<std::unique_ptr<ast::Module>> modules;
  llvm::StringMap<ast::Module *> byPath; // by real path
};

} // namespace gnnc

#endif // GNNC_FRONTEND_PARSER_H
