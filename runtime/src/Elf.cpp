//===- Elf.cpp - checking a shared object before it is loaded ----------------------------------------------------===//
#include "Elf.h"

#include "Failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <memory>
#include <sys/stat.h>
#include <vector>

using namespace gnnrt;

namespace {

#if defined(__x86_64__)
constexpr int thisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int thisMachine = EM_AARCH64;
#else
#error "unknown processor"
#endif

struct CloseFile {
  void operator()(FILE *file) const { fclose(file); }
};

[[noreturn]] void failDamaged(const std::string &path) {
  fail(GNNRT_ERROR_FILE, path, " is damaged or was not written to its end: build it again with `gnnc build`");
}

bool within(uint64_t offset, uint64_t size, uint64_t fileSize) {
  return offset <= fileSize && size <= fileSize - offset;
}

} // namespace

void gnnrt::checkSharedObject(const std::string &path) {
  std::unique_ptr<FILE, CloseFile> file(fopen(path.c_str(), "rbe"));
  struct stat info;
  if (!file || fstat(fileno(file.get()), &info) != 0)
    fail(GNNRT_ERROR_FILE, "cannot open ", path, ": ", strerror(errno));
  if (!S_ISREG(info.st_mode))
    fail(GNNRT_ERROR_FILE, path, " is not a file");
  uint64_t size = uint64_t(info.st_size);
  Elf64_Ehdr header;
  bool complete = fread(&header, sizeof(header), 1, file.get()) == 1;
  if (!complete || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    fail(GNNRT_ERROR_FILE, path, " is not a shared object: a model is made by `gnnc build`");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN || header.e_machine != thisMachine)
    fail(GNNRT_ERROR_FILE, path, " is not a shared object for this machine");
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !within(header.e_phoff, uint64_t(header.e_phnum) * sizeof(Elf64_Phdr), size) ||
      !within(header.e_shoff, uint64_t(header.e_shnum) * header.e_shentsize, size))
    failDamaged(path);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (fseek(file.get(), long(header.e_phoff), SEEK_SET) != 0 ||
      fread(segments.data(), sizeof(Elf64_Phdr), segments.size(), file.get()) != segments.size())
    failDamaged(path);
  for (const Elf64_Phdr &segment : segments)
    if (segment.p_type != PT_NULL && !within(segment.p_offset, segment.p_filesz, size))
      failDamaged(path);
}
