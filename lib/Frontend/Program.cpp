// Loads a program: its main file and, through `import`, all that belongs to it, each file once.
#include "gnnc/Frontend/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace gnnc;
using namespace llvm;

static std::string realPath(StringRef path) {
  SmallString<128> real;
  return sys::fs::real_path(path, real) ? path.str() : std::string(real);
}

bool Program::load(StringRef path) {
  unsigned errorsBefore = diagnostics.numErrors();
  Expected<FileId> file = sources.openFile(path);
  if (!file) {
    diagnostics.error(Diag::fileNotReadable, SourceRange(), "can't read '" + path + "': " + toString(file.takeError()));
    return false;
  }
  bool isStdin = path == "-";
  loadModule(*file, isStdin ? "stdin" : sys::path::stem(path), isStdin ? "" : realPath(path));
  return diagnostics.numErrors() == errorsBefore;
}

ast::Module *Program::loadModule(FileId file, StringRef name, const std::string &path) {
  std::unique_ptr<ast::Module> parsed = parseFile(sources, file, diagnostics);
  ast::Module *module = parsed.get();
  module->name = module->save(name);
  modules.push_back(std::move(parsed));
  if (!path.empty())
    byPath[path] = module;
  loading.push_back(module);
  scope_exit done([&] { loading.pop_back(); });
  for (ast::Decl *decl : module->decls)
    if (auto *import = dyn_cast<ast::ImportDecl>(decl))
      resolveImport(*import, sys::path::parent_path(sources.name(file)));
  return module;
}

void Program::resolveImport(ast::ImportDecl &import, StringRef folder) {
  std::vector<std::string> folders = {folder.str()};
  folders.insert(folders.end(), importPaths.begin(), importPaths.end());
  for (const std::string &candidate : folders) {
    SmallString<128> path(candidate);
    sys::path::append(path, import.name.text + ".gnn");
    if (!sys::fs::exists(path))
      continue;
    std::string real = realPath(path);
    if (auto known = byPath.find(real); known != byPath.end()) {
      // A file that is still being loaded is one that leads here.
      if (is_contained(loading, known->second)) {
        diagnostics
            .error(Diag::importCycle, import.range,
                   known->second == loading.back() ? "this file imports itself"
                                                   : "'" + import.name.text + "' imports this file in turn")
            .note("move what both need to a third file");
        return;
      }
      import.module = known->second;
      return;
    }
    if (loading.size() >= maxImportDepth) {
      diagnostics.error(Diag::importCycle, import.range, "imports are nested more than 100 deep");
      return;
    }
    Expected<FileId> file = sources.openFile(path);
    if (!file) {
      diagnostics.error(Diag::fileNotReadable, import.range,
                        "can't read '" + path + "': " + toString(file.takeError()));
      return;
    }
    import.module = loadModule(*file, import.name.text, real);
    return;
  }
  Diagnostic &error =
      diagnostics.error(Diag::importNotFound, import.name.range, "there is no file '" + import.name.text + ".gnn'");
  std::string searched;
  for (const std::string &candidate : folders)
    searched += (searched.empty() ? "'" : ", '") + (candidate.empty() ? "." : candidate) + "'";
  error.note("searched in " + searched + "; -I adds a folder");
}
