// Files that appear whole or not at all.
#include "gnnc/Driver/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

using namespace gnnc;
using namespace llvm;

static Error cannotWrite(StringRef path, std::error_code reason) {
  return createStringError(reason, "can't write '" + path + "': " + reason.message());
}

Error OutputFile::fail(std::error_code reason) const { return cannotWrite(target, reason); }

Expected<OutputFile> OutputFile::create(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status)) {
    if (status.type() == sys::fs::file_type::directory_file)
      return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
    // A device or a pipe would be replaced by a file.
    if (status.type() != sys::fs::file_type::regular_file)
      return createStringError("can't write '" + path + "': it is not an ordinary file");
    // Renaming would replace a file that its owner has made read-only.
    if (std::error_code denied = sys::fs::access(path, sys::fs::AccessMode::Write))
      return cannotWrite(path, denied);
  }
  // Not createUniqueFile, which replaces each % of the path too.
  std::string temporary;
  std::error_code failed;
  for (unsigned attempt = 0; attempt < 100; ++attempt) {
    int descriptor;
    temporary = (path + ".tmp" + Twine(sys::Process::GetRandomNumber())).str();
    failed = sys::fs::openFileForWrite(temporary, descriptor, sys::fs::CD_CreateNew, sys::fs::OF_None, 0600);
    if (!failed) {
      sys::RemoveFileOnSignal(temporary);
      sys::fs::file_t file = sys::fs::convertFDToNativeFile(descriptor);
      (void)sys::fs::closeFile(file);
      return OutputFile(path.str(), std::move(temporary));
    }
    if (failed != std::errc::file_exists)
      break;
  }
  return cannotWrite(path, failed);
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : target(std::move(other.target)), temporary(std::exchange(other.temporary, {})) {}

OutputFile::~OutputFile() {
  if (temporary.empty())
    return;
  sys::fs::remove(temporary);
  sys::DontRemoveFileOnSignal(temporary);
}

/// Writes to the file `actual`, called `path` in messages.
static Error writeTo(StringRef actual, StringRef path, function_ref<void(raw_ostream &)> writer) {
  std::error_code failed;
  raw_fd_ostream out(actual, failed);
  if (failed)
    return cannotWrite(path, failed);
  writer(out);
  out.close();
  if (std::error_code failedLater = out.error()) {
    out.clear_error();
    return cannotWrite(path, failedLater);
  }
  return Error::success();
}

Error OutputFile::write(function_ref<void(raw_ostream &)> writer) { return writeTo(temporary, target, writer); }

Error OutputFile::keep(bool executable) {
  // Temporary files are private; a result has the mode that the user's mask leaves to new files.
  unsigned mode = (executable ? 0777 : 0666) & ~sys::fs::getUmask();
  if (std::error_code failed = sys::fs::setPermissions(temporary, static_cast<sys::fs::perms>(mode)))
    return fail(failed);
  if (std::error_code failed = sys::fs::rename(temporary, target))
    return fail(failed);
  sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return Error::success();
}

Error gnnc::writeOutput(StringRef path, function_ref<void(raw_ostream &)> writer) {
  if (path == "-") {
    writer(outs());
    outs().flush();
    if (std::error_code failed = outs().error()) {
      outs().clear_error();
      return createStringError(failed, "can't write to standard output: " + failed.message());
    }
    return Error::success();
  }
  // /dev/null, a pipe: there is nothing to keep whole.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path) && !sys::fs::is_directory(path))
    return writeTo(path, path, writer);
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  if (Error error = file->write(writer))
    return error;
  return file->keep();
}
