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

/// C = op(A) op(B), or C += op(A) op(B), row-major, with leading dimensions. Any number of threads may call it at once;
/// results do not depend on the others. Throws std::bad_alloc where a thread's first call finds no address space for
/// its work area.
template <typename T>
void blasGemm(bool transA, bool transB, int64_t m, int64_t n, int64_t k, const T *a, int64_t lda, const T *b,
              int64_t ldb, bool add, T *c, int64_t ldc);

} // namespace gnnrt

#endif
