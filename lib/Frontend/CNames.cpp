// Names that C, its library, the runtime or the linker have taken.
#include "gnnc/Frontend/CNames.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

bool gnnc::isCKeyword(StringRef name) {
  static const StringSet<> keywords = [] {
    SmallVector<StringRef> words;
    StringRef(
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile "
        "while alignas alignof asm bool constexpr false nullptr static_assert thread_local true typeof and and_eq "
        "bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl concept const_cast "
        "consteval constinit decltype delete dynamic_cast explicit export friend linux mutable namespace new "
        "noexcept not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast "
        "template this throw try typeid typename unix using virtual wchar_t xor xor_eq")
        .split(words, ' ');
    StringSet<> set;
    set.insert_range(words);
    return set;
  }();
  return keywords.contains(name);
}

StringRef gnnc::ownerInC(StringRef name) {
  if (isCKeyword(name))
    return "the C language";
  if (name.starts_with("gnnrt_") || name.starts_with("gnnc_"))
    return "the runtime";
  // The dynamic loader would take one for the other, in the whole program.
  static const TargetLibraryInfoImpl library{Triple(sys::getDefaultTargetTriple())};
  LibFunc function;
  if (name == "main" || name.starts_with("_") || library.getLibFunc(name, function))
    return "the C library";
  return {};
}
