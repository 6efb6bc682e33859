// Atomic writing; see Files.h.
#include "Files.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace gnnrun {
namespace {

namespace fs = std::filesystem;

/// Where the file really is: writing through a symbolic link keeps the link.
fs::path realTarget(const std::string &path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  return error ? fs::path(path) : target;
}

/// Pipes and devices can't be replaced by renaming, and have no old content to keep.
bool isSpecial(const fs::path &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/// Writes everything; false with errno set where it fails.
bool writeAll(int file, const std::vector<Bytes> &pieces) {
  for (Bytes piece : pieces) {
    while (!piece.empty()) {
      ssize_t written = ::write(file, piece.data(), piece.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return false;
      piece = piece.subspan(static_cast<size_t>(written));
    }
  }
  return true;
}

} // namespace

void checkWritable(const std::string &path) {
  fs::path target = realTarget(path);
  if (isSpecial(target))
    return;
  std::error_code error;
  if (fs::is_directory(target, error))
    fail("cannot write {}: it is a directory; name a file in it", path);
  fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    fail("cannot write {}: the directory {} does not exist; make it first (mkdir -p)", path, folder.string());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    fail("cannot write {}: no permission to write into {}", path, folder.string());
}

void writeFile(const std::string &path, const std::vector<Bytes> &pieces) {
  checkWritable(path);
  fs::path target = realTarget(path);
  bool inPlace = isSpecial(target);
  std::string name = inPlace ? target.string() : fmt::format("{}.tmp{}", target.string(), getpid());
  int file = ::open(name.c_str(), inPlace ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0)
    fail("cannot write {}: {}", path, std::strerror(errno));
  bool done = writeAll(file, pieces) && (inPlace || fsync(file) == 0);
  int reason = errno;
  if (::close(file) != 0 && done) {
    done = false;
    reason = errno;
  }
  if (inPlace && done)
    return;
  if (done && ::rename(name.c_str(), target.c_str()) != 0) {
    done = false;
    reason = errno;
  }
  if (done)
    return;
  if (!inPlace)
    ::unlink(name.c_str());
  fail("cannot write {}: {}; {}", path, std::strerror(reason),
       inPlace ? "nothing was kept" : "a file that was there before is unchanged");
}

void writeFile(const std::string &path, const std::string &text) {
  writeFile(path, {std::as_bytes(std::span(text.data(), text.size()))});
}

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()).good()) {
    std::error_code error;
    if (file && fs::file_size(path, error) == 0 && !error)
      return {};
    fail("cannot read {}: {}", path, std::strerror(errno ? errno : EIO));
  }
  return text.str();
}

} // namespace gnnrun
