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

  /// Reads and parses `path` ("-" is standard input) and its imports. False after any error, which is in the
  /// diagnostics then; unless the file itself could not be read, main() may be used all the same, to look for more
  /// errors.
  bool load(llvm::StringRef path);

  bool isEmpty() const { return modules.empty(); }
  ast::Module &main() const { return *modules.front(); }
  llvm::ArrayRef<std::unique_ptr<ast::Module>> all() const { return modules; }

private:
  static constexpr size_t maxImportDepth = 100;

  ast::Module *loadModule(FileId file, llvm::StringRef name, const std::string &path);
  void resolveImport(ast::ImportDecl &import, llvm::StringRef folder);

  SourceManager &sources;
  DiagnosticEngine &diagnostics;
  std::vector<std::string> importPaths;
  std::vector<std::unique_ptr<ast::Module>> modules;
  llvm::StringMap<ast::Module *> byPath; // by real path
  std::vector<ast::Module *> loading;    // from the main file to the one at hand
};

} // namespace gnnc

#endif // GNNC_FRONTEND_PARSER_H
