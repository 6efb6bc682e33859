//===- Elf.h - checking a shared object before it is loaded ------------------------------------------------------===//
#ifndef GNNRT_SRC_ELF_H
#define GNNRT_SRC_ELF_H

#include <string>

namespace gnnrt {

/// Throws Failure (file) for a file that cannot be read, is no shared object for this machine, or is cut short. The
/// dynamic loader does not check the latter: it would map pages that are not there, and the process would die.
void checkSharedObject(const std::string &path);

} // namespace gnnrt

#endif
