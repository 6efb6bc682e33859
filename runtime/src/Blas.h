//===- Blas.h - the BLAS behind dense products -------------------------------------------------------------------===//
//
// OpenBLAS's serial build, linked into this library and hidden in it: another BLAS in the process neither takes its
// place nor sees it, so results do not depend on what else the host has loaded.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_BLAS_H
#define GNNRT_SRC_BLAS_H

#include <cstdint>

namespace gnnrt {

/// Who may call BLAS. OpenBLAS gives each caller a work area from a list: making a new one is not safe while others
/// call, more than 128 callers at once make it print a warning, and it hangs when there is no memory for one. So areas
/// are made here, with nobody inside, and the number of callers is limited.
class BlasGate;

/// The gate of this process.
BlasGate &blasGate();

/// While it lives, its thread may call BLAS.
class BlasPermit {
public:
  /// `callers`: how many threads are likely to call at once. Throws std::bad_alloc.
  BlasPermit(BlasGate &gate, int32_t callers);
  ~BlasPermit();
  BlasPermit(const BlasPermit &) = delete;
  BlasPermit &operator=(const BlasPermit &) = delete;

private:
  BlasGate &gate;
};

/// C = op(A) op(B), row-major, with leading dimensions.
template <typename T>
void blasGemm(bool transA, bool transB, int64_t m, int64_t n, int64_t k, const T *a, int64_t lda, const T *b,
              int64_t ldb, T *c, int64_t ldc);

} // namespace gnnrt

#endif
