// Where the standard library is.
#ifndef GNNC_TOOLS_GNNC_STANDARDLIBRARY_H
#define GNNC_TOOLS_GNNC_STANDARDLIBRARY_H

#include <string>

namespace gnnc {

/// The folder share/gnnc/stdlib beside the running tool's bin folder, or the one that it was built with; empty where
/// there is neither.
std::string findStandardLibrary(const char *argv0);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_STANDARDLIBRARY_H
