// Reading source files, and the way between byte offsets and lines and columns.
#include "gnnc/Frontend/Source.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>

using namespace gnnc;
using namespace llvm;

static bool isContinuationByte(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

static unsigned countCharacters(StringRef text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !isContinuationByte(c); });
}

FileId SourceManager::add(std::string name, std::unique_ptr<MemoryBuffer> buffer) {
  std::vector<uint32_t> lineStarts = {0};
  StringRef text = buffer->getBuffer();
  for (size_t at = text.find('\n'); at != StringRef::npos; at = text.find('\n', at + 1))
    lineStarts.push_back(at + 1);
  files.push_back({std::move(name), std::move(buffer), std::move(lineStarts)});
  return files.size() - 1;
}

Expected<FileId> SourceManager::openFile(StringRef path) {
  if (path != "-") {
    // A folder opens and only fails to read, with a message that tells the user little.
    sys::fs::file_status status;
    if (std::error_code ec = sys::fs::status(path, status))
      return createStringError(ec, ec.message());
    if (status.type() == sys::fs::file_type::directory_file)
      return createStringError("it is a folder");
    if (status.type() == sys::fs::file_type::regular_file && status.getSize() > maxFileSize)
      return createStringError("it is larger than 64 MiB");
  }
  // Volatile: the text must not change under the AST while an editor saves the file.
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      path == "-" ? MemoryBuffer::getSTDIN()
                  : MemoryBuffer::getFile(path, /*IsText=*/true, /*RequiresNullTerminator=*/true, /*IsVolatile=*/true);
  if (!buffer)
    return createStringError(buffer.getError(), buffer.getError().message());
  if ((*buffer)->getBufferSize() > maxFileSize)
    return createStringError("it is larger than 64 MiB");
  return add(path == "-" ? "<stdin>" : path.str(), std::move(*buffer));
}

FileId SourceManager::addBuffer(StringRef name, StringRef text) {
  return add(name.str(), MemoryBuffer::getMemBufferCopy(text, name));
}

LineColumn SourceManager::lineColumn(FileId file, uint32_t offset) const {
  const std::vector<uint32_t> &starts = files[file].lineStarts;
  auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  unsigned line = next - starts.begin();
  return {line, countCharacters(text(file).slice(starts[line - 1], offset)) + 1};
}

StringRef SourceManager::lineText(FileId file, unsigned line) const {
  const std::vector<uint32_t> &starts = files[file].lineStarts;
  StringRef rest = text(file).substr(starts[line - 1]);
  return rest.take_until([](char c) { return c == '\n'; }).rtrim('\r');
}

std::optional<SourceRange> SourceManager::rangeAt(StringRef name, unsigned line, unsigned column) const {
  for (const auto &[id, file] : enumerate(files)) {
    if (file.name != name)
      continue;
    if (line == 0 || line > file.lineStarts.size() || column == 0)
      return std::nullopt;
    StringRef lineText = this->lineText(id, line);
    size_t at = 0;
    for (unsigned i = 1; i < column && at < lineText.size(); ++i)
      for (++at; at < lineText.size() && isContinuationByte(lineText[at]);)
        ++at;
    StringRef word = lineText.substr(at).take_while([](char c) { return isAlnum(c) || c == '_'; });
    uint32_t begin = file.lineStarts[line - 1] + at;
    uint32_t length = std::max<size_t>(word.size(), at < lineText.size());
    return SourceRange{static_cast<FileId>(id), begin, begin + length};
  }
  return std::nullopt;
}
