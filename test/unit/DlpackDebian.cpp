// The layout as Debian's DLPack header has it, for DlpackTest.cpp.
#include <dlpack/dlpack.h>

#include "DlpackLayout.h"

std::array<int64_t, 26> debianDlpackLayout() { return dlpackLayout(); }
