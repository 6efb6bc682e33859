// Where the standard library is.
#include "StandardLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

std::string gnnc::findStandardLibrary(const char *argv0) {
  static int anchor; // an address in this program, by which it is found where argv0 is of no use
  std::string self = sys::fs::getMainExecutable(argv0, &anchor);
  SmallString<128> installed(sys::path::parent_path(sys::path::parent_path(self)));
  sys::path::append(installed, "share", "gnnc", "stdlib");
  for (StringRef folder : {StringRef(installed), StringRef(GNNC_SOURCE_STDLIB)})
    if (sys::fs::is_directory(folder))
      return folder.str();
  return "";
}
