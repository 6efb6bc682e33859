//===- Array.h - uninitialised, aligned arrays -------------------------------------------------------------------===//
//
// Owned memory for index arrays: 64-byte aligned, not zeroed (they are filled at once), with room behind the end
// that holds valid values, because kernels prefetch ahead.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_ARRAY_H
#define GNNRT_SRC_ARRAY_H

#include "Pages.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace gnnrt {

/// How many entries behind the end of an index array may be read.
inline constexpr int64_t readAhead = 64;

template <typename T> class Array {
  static_assert(std::is_trivial_v<T>);

public:
  Array() = default;
  explicit Array(int64_t count) {
    if (count < 0 || count > std::numeric_limits<int64_t>::max() / 2 / int64_t(sizeof(T)))
      throw std::bad_alloc();
    memory = static_cast<T *>(allocateArray(count * int64_t(sizeof(T))));
    length = count;
  }
  Array(Array &&other) noexcept { swap(other); }
  Array &operator=(Array &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (memory)
      freeArray(memory, length * int64_t(sizeof(T)));
  }

  T *data() { return memory; }
  const T *data() const { return memory; }
  int64_t size() const { return length; }
  T &operator[](int64_t i) { return memory[i]; }
  const T &operator[](int64_t i) const { return memory[i]; }
  void swap(Array &other) noexcept {
    std::swap(memory, other.memory);
    std::swap(length, other.length);
  }

private:
  T *memory = nullptr;
  int64_t length = 0;
};

/// An array for `count` entries with room for reading ahead; fill it and call `padAhead`.
template <typename T> Array<T> arrayWithReadAhead(int64_t count) { return Array<T>(count + readAhead); }

/// Fills the room behind the end with copies of the last entry, or 0 if there is none.
template <typename T> void padAhead(Array<T> &array) {
  int64_t count = array.size() - readAhead;
  std::fill_n(array.data() + count, readAhead, count > 0 ? array[count - 1] : T(0));
}

} // namespace gnnrt

#endif
