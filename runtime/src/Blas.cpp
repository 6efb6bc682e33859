//===- Blas.cpp - the BLAS behind dense products -----------------------------------------------------------------===//
#include "Blas.h"

#include <algorithm>
#include <atomic>
#include <cblas.h>
#include <condition_variable>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

// OpenBLAS's own management of work areas (driver/others/memory.c).
extern "C" {
void *blas_memory_alloc(int);
void blas_memory_free(void *);
}

using namespace gnnrt;

namespace {

constexpr int32_t maxCallers = 64;
constexpr size_t areaBytes = (size_t(128) << 20) + 4096; // of address space; memory only where it is used

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int32_t callers = 0; // threads inside
  int32_t areas = 0;   // work areas made
  int32_t limit = maxCallers;
  bool growing = false;
  pid_t process = getpid();
};

/// The process's gate. A forked child may find the parent's held by threads that are gone, so it gets a new one.
Gate &gate() {
  static std::atomic<Gate *> current{new Gate};
  Gate *known = current.load(std::memory_order_acquire);
  if (known->process != getpid()) {
    Gate *fresh = new Gate;
    if (current.compare_exchange_strong(known, fresh))
      known = fresh;
    else
      delete fresh;
  }
  return *known;
}

/// Whether the address space has room for `count` areas.
bool haveRoom(int32_t count) {
  void *trial =
      mmap(nullptr, areaBytes * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (trial == MAP_FAILED)
    return false;
  munmap(trial, areaBytes * count);
  return true;
}

/// Makes areas up to `wanted`, with nobody inside: holding all at once makes OpenBLAS add to its list.
void makeAreas(int32_t have, int32_t wanted) {
  if (!haveRoom(wanted - have))
    throw std::bad_alloc();
  void *held[maxCallers];
  for (int32_t i = 0; i < wanted; ++i)
    held[i] = blas_memory_alloc(0);
  for (int32_t i = wanted; i-- > 0;)
    blas_memory_free(held[i]);
}

} // namespace

BlasPermit::BlasPermit(int32_t callers) {
  Gate &g = gate();
  std::unique_lock<std::mutex> lock(g.mutex);
  g.changed.wait(lock, [&] { return !g.growing && g.callers < g.limit; });
  if (g.callers == g.areas) {
    g.growing = true;
    g.changed.wait(lock, [&] { return g.callers == 0; });
    int32_t wanted = std::min(maxCallers, std::max(g.areas + 1, std::max(callers, 2 * g.areas)));
    bool failed = false;
    try {
      makeAreas(g.areas, wanted);
      g.areas = wanted;
    } catch (const std::bad_alloc &) {
      failed = g.areas == 0;
      if (!failed)
        g.limit = g.areas; // work goes on with fewer callers at once
    }
    g.growing = false;
    g.changed.notify_all();
    if (failed)
      throw std::bad_alloc();
  }
  ++g.callers;
}

BlasPermit::~BlasPermit() {
  Gate &g = gate();
  bool notify;
  {
    std::lock_guard<std::mutex> lock(g.mutex);
    --g.callers;
    notify = g.growing || g.callers == g.limit - 1;
  }
  if (notify)
    g.changed.notify_all();
}

template <>
void gnnrt::blasGemm<float>(bool transA, bool transB, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                            const float *b, int64_t ldb, float *c, int64_t ldc) {
  cblas_sgemm(CblasRowMajor, transA ? CblasTrans : CblasNoTrans, transB ? CblasTrans : CblasNoTrans, blasint(m),
              blasint(n), blasint(k), 1.0f, a, blasint(lda), b, blasint(ldb), 0.0f, c, blasint(ldc));
}

template <>
void gnnrt::blasGemm<double>(bool transA, bool transB, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                             const double *b, int64_t ldb, double *c, int64_t ldc) {
  cblas_dgemm(CblasRowMajor, transA ? CblasTrans : CblasNoTrans, transB ? CblasTrans : CblasNoTrans, blasint(m),
              blasint(n), blasint(k), 1.0, a, blasint(lda), b, blasint(ldb), 0.0, c, blasint(ldc));
}
