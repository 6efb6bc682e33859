//===- Pages.h - memory from the system, large blocks on huge pages ----------------------------------------------===//
//
// A gather touches another page with almost every row; with pages of 2 MiB instead of 4 KiB the processor has most
// translations at hand.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_PAGES_H
#define GNNRT_SRC_PAGES_H

#include <cstdint>

namespace gnnrt {

inline constexpr int64_t pageBytes = 4096, hugePageBytes = int64_t(2) << 20;
/// From here on blocks are aligned to huge pages and ask for them.
inline constexpr int64_t largeBlock = 2 * hugePageBytes;

/// Zeroed memory, `bytes` being a multiple of pageBytes. Null where there is none.
void *mapPages(int64_t bytes) noexcept;
void unmapPages(void *memory, int64_t bytes) noexcept;

/// Memory for arrays, aligned to 64, not zeroed: from the heap, or large ones as pages. Throws std::bad_alloc.
void *allocateArray(int64_t bytes);
void freeArray(void *memory, int64_t bytes) noexcept;

} // namespace gnnrt

#endif
