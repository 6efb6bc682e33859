// Source files and places in them. Every text that is compiled is held by one SourceManager for the whole run, so that
// an AST may point into it, and a place is a file and two byte offsets.
#ifndef GNNC_FRONTEND_SOURCE_H
#define GNNC_FRONTEND_SOURCE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gnnc {

using FileId = uint32_t;
constexpr FileId noFile = ~FileId(0);

/// Bytes [begin, end) of a file. A default-constructed range is no place at all.
struct SourceRange {
  FileId file = noFile;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return file != noFile; }
  bool operator==(const SourceRange &) const = default;
  /// The smallest range that holds both; both must be in one file, or one of them invalid.
  SourceRange to(SourceRange last) const {
    if (!isValid())
      return last;
    if (!last.isValid())
      return *this;
    return {file, std::min(begin, last.begin), std::max(end, last.end)};
  }
};

/// Line and column, both from 1. The column counts characters (code points), not bytes.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

class SourceManager {
public:
  /// Largest file that is accepted; offsets and columns stay far inside 32 bits.
  static constexpr size_t maxFileSize = size_t(64) << 20;

  /// Reads a file; "-" is standard input, which is called <stdin> in messages. On failure: an explanation for the user.
  llvm::Expected<FileId> openFile(llvm::StringRef path);
  FileId addBuffer(llvm::StringRef name, llvm::StringRef text);

  size_t size() const { return files.size(); }
  /// The name as the user gave it (or as an import found it).
  llvm::StringRef name(FileId file) const { return files[file].name; }
  llvm::StringRef text(FileId file) const { return files[file].buffer->getBuffer(); }
  llvm::StringRef text(SourceRange range) const { return text(range.file).slice(range.begin, range.end); }

  LineColumn lineColumn(FileId file, uint32_t offset) const;
  /// The text of a line (from 1), without its end of line.
  llvm::StringRef lineText(FileId file, unsigned line) const;
  /// The way back, for places that went through a FileLineColLoc: the token that begins there, or nothing.
  std::optional<SourceRange> rangeAt(llvm::StringRef name, unsigned line, unsigned column) const;

private:
  struct File {
    std::string name;
    std::unique_ptr<llvm::MemoryBuffer> buffer;
    std::vector<uint32_t> lineStarts;
  };
  FileId add(std::string name, std::unique_ptr<llvm::MemoryBuffer> buffer);

  std::vector<File> files;
};

} // namespace gnnc

#endif // GNNC_FRONTEND_SOURCE_H
