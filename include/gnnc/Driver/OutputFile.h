// Files that appear whole or not at all: written beside their final place under another name, and renamed when done.
#ifndef GNNC_DRIVER_OUTPUTFILE_H
#define GNNC_DRIVER_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace gnnc {

/// A file in the making. Removed again when destroyed without `keep`, and on a signal that ends the process.
class OutputFile {
public:
  /// Makes an empty temporary file in the folder of `path`. The error names the path and says why.
  static llvm::Expected<OutputFile> create(llvm::StringRef path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  /// Where to write, by any means: a stream, a linker.
  const std::string &temporaryPath() const { return temporary; }
  const std::string &path() const { return target; }
  llvm::Error write(llvm::function_ref<void(llvm::raw_ostream &)> writer);
  /// Moves it to its place, with the mode that a new file has there (executable if asked for).
  llvm::Error keep(bool executable = false);

private:
  OutputFile(std::string target, std::string temporary) : target(std::move(target)), temporary(std::move(temporary)) {}
  llvm::Error fail(std::error_code reason) const;

  std::string target, temporary; // temporary is empty once kept or moved from
};

/// Writes text to a file, whole or not at all, or to standard output for "-".
llvm::Error writeOutput(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> writer);

} // namespace gnnc

#endif // GNNC_DRIVER_OUTPUTFILE_H
