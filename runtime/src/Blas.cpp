//===- Blas.cpp - the BLAS behind dense products -----------------------------------------------------------------===//
//
// OpenBLAS packs its operands into a work area, which it takes from a list in blas_memory_alloc. Its serial build looks
// for a free one and marks it as taken without a lock, so two callers can get the same one and spoil each other's
// products; it also warns on standard output at the 129th, and loops for ever when there is no memory. So the linker
// redirects both functions to this file (--wrap), and each thread has an area of its own.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Blas.h"

#include <cblas.h>
#include <new>
#include <sys/mman.h>

using namespace gnnrt;

namespace {

/// What OpenBLAS calls BUFFER_SIZE, and a page. This is address space: a product touches a few megabytes of it at most.
constexpr size_t areaBytes = (size_t(128) << 20) + 4096;

class WorkArea {
public:
  WorkArea() = default;
  ~WorkArea() {
    if (memory)
      munmap(memory, areaBytes);
  }
  WorkArea(const WorkArea &) = delete;
  WorkArea &operator=(const WorkArea &) = delete;

  /// Before BLAS is entered, since it can't fail once inside.
  void make() {
    if (memory)
      return;
    void *made = mmap(nullptr, areaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
      throw std::bad_alloc();
    memory = made;
  }
  void *get() const { return memory; }

private:
  void *memory = nullptr;
};

thread_local WorkArea workArea;

} // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker gives the names.
void *__wrap_blas_memory_alloc(int) { return workArea.get(); }
void __wrap_blas_memory_free(void *) {}
// NOLINTEND(bugprone-reserved-identifier)
}

template <>
void gnnrt::blasGemm<float>(bool transA, bool transB, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                            const float *b, int64_t ldb, bool add, float *c, int64_t ldc) {
  workArea.make();
  cblas_sgemm(CblasRowMajor, transA ? CblasTrans : CblasNoTrans, transB ? CblasTrans : CblasNoTrans, blasint(m),
              blasint(n), blasint(k), 1.0f, a, blasint(lda), b, blasint(ldb), add ? 1.0f : 0.0f, c, blasint(ldc));
}

template <>
void gnnrt::blasGemm<double>(bool transA, bool transB, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                             const double *b, int64_t ldb, bool add, double *c, int64_t ldc) {
  workArea.make();
  cblas_dgemm(CblasRowMajor, transA ? CblasTrans : CblasNoTrans, transB ? CblasTrans : CblasNoTrans, blasint(m),
              blasint(n), blasint(k), 1.0, a, blasint(lda), b, blasint(ldb), add ? 1.0 : 0.0, c, blasint(ldc));
}
