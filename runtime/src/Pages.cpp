//===- Pages.cpp - memory from the system, large blocks on huge pages --------------------------------------------===//
#include "Pages.h"

#include <new>
#include <sys/mman.h>

using namespace gnnrt;

namespace {

constexpr std::align_val_t arrayAlignment{64};

void *map(int64_t bytes) noexcept {
  void *memory = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

int64_t wholePages(int64_t bytes) { return (bytes + pageBytes - 1) / pageBytes * pageBytes; }

} // namespace

void *gnnrt::mapPages(int64_t bytes) noexcept {
  if (bytes < largeBlock)
    return map(bytes);
  // Room to move to the next boundary; what is left over on both sides goes back. It has never been touched.
  int64_t room = hugePageBytes - pageBytes;
  char *mapped = static_cast<char *>(map(bytes + room));
  if (!mapped)
    return nullptr;
  int64_t before = -reinterpret_cast<intptr_t>(mapped) & (hugePageBytes - 1);
  char *memory = mapped + before;
  if (before > 0)
    munmap(mapped, size_t(before));
  if (before < room)
    munmap(memory + bytes, size_t(room - before));
  madvise(memory, size_t(bytes), MADV_HUGEPAGE); // only a hint; where it is not granted nothing is lost
  return memory;
}

void gnnrt::unmapPages(void *memory, int64_t bytes) noexcept { munmap(memory, size_t(bytes)); }

void *gnnrt::allocateArray(int64_t bytes) {
  if (bytes < largeBlock)
    return ::operator new(size_t(bytes), arrayAlignment);
  void *memory = mapPages(wholePages(bytes));
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

void gnnrt::freeArray(void *memory, int64_t bytes) noexcept {
  if (bytes < largeBlock)
    ::operator delete(memory, arrayAlignment);
  else
    unmapPages(memory, wholePages(bytes));
}
