// Names that a function of a shared object can't have, or an argument in its C header.
#ifndef GNNC_FRONTEND_CNAMES_H
#define GNNC_FRONTEND_CNAMES_H

#include "llvm/ADT/StringRef.h"

namespace gnnc {

/// Whether C or C++ reserves the word.
bool isCKeyword(llvm::StringRef name);
/// What else has the name of a function in a program in C, such as "the C library"; empty if nothing.
llvm::StringRef ownerInC(llvm::StringRef name);

} // namespace gnnc

#endif
