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
  std::string said = problem;
  if (auto buffer = MemoryBuffer::getFile(messages))
    said += (*buffer)->getBuffer().trim().str();
  return createStringError("linking with '" + linker->path + "' failed: " + said);
}
