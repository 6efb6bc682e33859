// Links an object to a shared object with whatever linker the machine has.
#include "CodeGen.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace gnnc;

namespace {
/// A program that links: a linker itself, or a compiler that calls one.
struct Linker {
  std::string path;
  bool isCompiler = false;
};
} // namespace

static std::optional<Linker> findLinker() {
  // Beside LLVM's other tools first: it is there wherever gnnc's own libraries are.
  std::string beside = std::string(GNNC_LLVM_TOOLS) + "/ld.lld";
  if (sys::fs::can_execute(beside))
    return Linker{beside};
  for (const char *name : {"ld.lld-22", "ld.lld", "ld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return Linker{*path};
  for (const char *name : {"clang-22", "cc", "gcc", "clang"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return Linker{*path, true};
  return std::nullopt;
}

/// The folder of libgnnrt.so: beside gnnc's own, in the build tree and when installed.
static Expected<std::string> findRuntime() {
  static int anchor = 0;
  std::string program = sys::fs::getMainExecutable(nullptr, &anchor);
  SmallString<128> folder(sys::path::parent_path(sys::path::parent_path(program)));
  std::string tried;
  for (const char *lib : {"lib", "lib64"}) {
    SmallString<128> candidate(folder);
    sys::path::append(candidate, lib);
    SmallString<128> file(candidate);
    sys::path::append(file, "libgnnrt.so");
    if (sys::fs::exists(file))
      return candidate.str().str();
    tried += (tried.empty() ? "'" : ", '") + file.str().str() + "'";
  }
  return createStringError("the runtime library is not there (looked for " + tried +
                           "): build or install libgnnrt beside gnnc");
}

static std::string folderOf(StringRef file) {
  StringRef folder = sys::path::parent_path(file);
  return folder.empty() ? "." : folder.str();
}

/// Whether the disk has no room for about twice the object: linkers write to a file beside the one that is there.
static bool lacksSpace(StringRef output, StringRef object) {
  constexpr uint64_t tables = 16384;
  uint64_t size = 0;
  ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(folderOf(output));
  return space && !sys::fs::file_size(object, size) && space->available < 2 * (size + tables);
}

Error gnnc::linkSharedObject(StringRef object, StringRef output, StringRef name) {
  std::optional<Linker> linker = findLinker();
  if (!linker)
    return createStringError("no linker found: install lld-22 (apt-get install lld-22), or any of ld, gcc or clang; "
                             "'gnnc build --emit obj' writes the object without linking");
  Expected<std::string> runtime = findRuntime();
  if (!runtime)
    return runtime.takeError();
  std::string library = *runtime + "/libgnnrt.so";
  std::vector<std::string> args{linker->path, "-shared", "-o", output.str(), object.str(), library};
  auto option = [&](const std::string &text) {
    // A compiler hands on what stands behind -Wl.
    args.push_back(linker->isCompiler ? "-Wl," + text : text);
  };
  option("-soname=" + name.str());
  option("-rpath=" + *runtime);
  option("-rpath=$ORIGIN");
  option("--gc-sections");
  if (linker->isCompiler)
    args.push_back("-nostartfiles");

  SmallString<128> messages;
  if (std::error_code error = sys::fs::createTemporaryFile("gnnc-link", "txt", messages))
    return createStringError("cannot make a temporary file: " + error.message());
  FileRemover remove(messages);
  SmallVector<StringRef> argv(args.begin(), args.end());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(messages), StringRef(messages)};
  std::string problem;
  int status = sys::ExecuteAndWait(linker->path, argv, std::nullopt, redirects, 0, 0, &problem);
  if (status == 0)
    return Error::success();
  // Linkers write through mapped memory: a full disk ends them with a crash, or with a fault of something else.
  if (lacksSpace(output, object))
    return createStringError("can't write to the folder '" + folderOf(output) +
                             "': " + std::make_error_code(std::errc::no_space_on_device).message());
  std::string said = problem;
  if (auto buffer = MemoryBuffer::getFile(messages); buffer && status > 0)
    said += (*buffer)->getBuffer().trim().str();
  return createStringError("linking with '" + linker->path + "' failed: " + said);
}
