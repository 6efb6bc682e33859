//===- FloatMode.h - the calling thread's floating-point mode ----------------------------------------------------===//
//
// Worker threads compute in the mode (rounding, flushing of subnormals) of the thread that called, so that results
// do not depend on which thread did what. The host's own mode is never changed.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_FLOATMODE_H
#define GNNRT_SRC_FLOATMODE_H

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace gnnrt {

#if defined(__x86_64__)
class FloatMode {
public:
  static FloatMode current() { return FloatMode(_mm_getcsr()); }
  void adopt() const { _mm_setcsr(bits); }
  FloatMode() = default;

private:
  explicit FloatMode(unsigned bits) : bits(bits) {}
  unsigned bits = 0x1f80;
};
#else
class FloatMode {
public:
  static FloatMode current() {
    FloatMode mode;
    std::fegetenv(&mode.environment);
    return mode;
  }
  void adopt() const { std::fesetenv(&environment); }

private:
  std::fenv_t environment{};
};
#endif

} // namespace gnnrt

#endif
