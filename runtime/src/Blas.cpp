//===- Blas.cpp - the BLAS behind dense products -----------------------------------------------------------------===//
#include "Blas.h"

#include <algorithm>
#include <atomic>
#include <cblas.h>
#include <condition_variable>
#include <memory>
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
void makeAreas(int32_t wanted) {
  void *held[maxCallers];
  for (int32_t i = 0; i < wanted; ++i)
    held[i] = blas_memory_alloc(0);
  for (int32_t i = wanted; i-- > 0;)
    blas_memory_free(held[i]);
}

} // namespace

class gnnrt::BlasGate {
public:
  bool madeHere() const { return process == getpid(); }
  void enter(int32_t expected);
  void leave();

private:
  void grow(std::unique_lock<std::mutex> &lock, int32_t wanted);

  std::mutex mutex;
  std::condition_variable changed;
  int32_t callers = 0; // threads inside
  int32_t areas = 0;   // work areas made
  // One at a time: the serial OpenBLAS marks its work areas as taken without a lock, so two callers can get the same one.
  int32_t limit = 1;
  bool growing = false;
  pid_t process = getpid();
};

void BlasGate::enter(int32_t expected) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !growing && callers < limit; });
  if (callers == areas)
    grow(lock, std::min(maxCallers, std::max({areas + 1, expected, 2 * areas})));
  ++callers;
}

void BlasGate::grow(std::unique_lock<std::mutex> &lock, int32_t wanted) {
  growing = true;
  changed.wait(lock, [&] { return callers == 0; });
  if (haveRoom(wanted - areas)) {
    makeAreas(wanted);
    areas = wanted;
  } else if (areas) {
    limit = 1; // work goes on with fewer callers at once
  }
  growing = false;
  changed.notify_all();
  if (areas == 0)
    throw std::bad_alloc();
}

void BlasGate::leave() {
  bool notify;
  {
    std::lock_guard<std::mutex> lock(mutex);
    --callers;
    notify = growing || callers == limit - 1;
  }
  if (notify)
    changed.notify_all();
}

BlasGate &gnnrt::blasGate() {
  static std::atomic<BlasGate *> current{new BlasGate};
  BlasGate *known = current.load(std::memory_order_acquire);
  if (known->madeHere())
    return *known;
  // A forked child may find its parent's gate held by threads that are gone, so it gets a new one.
  auto fresh = std::make_unique<BlasGate>();
  if (current.compare_exchange_strong(known, fresh.get()))
    known = fresh.release();
  return *known;
}

BlasPermit::BlasPermit(BlasGate &gate, int32_t callers) : gate(gate) { gate.enter(callers); }

BlasPermit::~BlasPermit() { gate.leave(); }

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
