//===- Gemm.cpp - dense products ---------------------------------------------------------------------------------===//
//
// A product is cut into blocks of C, and where C is small and the inner dimension long, of the inner dimension. The
// blocks depend on the sizes alone, and each is one call of a single-threaded BLAS.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Blas.h"
#include "Combine.h"
#include "Frame.h"
#include "Schedule.h"
#include "Tensor.h"
#include "ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <limits>

using namespace gnnrt;

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }
int64_t roundUp(int64_t value, int64_t unit) { return ceilDiv(value, unit) * unit; }
Pieces cut(int64_t count, int64_t size) { return {count, size, ceilDiv(count, size)}; }

struct Blocks {
  Pieces rows, columns, inner;
};

Blocks cutProduct(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t smallWork = 1 << 18; // multiplications; less is not worth sharing out
  Blocks blocks = {cut(m, m), cut(n, n), cut(k, k)};
  int64_t work;
  if (!__builtin_mul_overflow(m, n, &work) && !__builtin_mul_overflow(work, k, &work) && work <= smallWork)
    return blocks;
  // Every block of rows packs all of B again, which 128 rows pay for.
  blocks.rows = cut(m, std::clamp<int64_t>(roundUp(ceilDiv(m, 64), 16), 128, 1024));
  if (blocks.rows.pieces < 8)
    blocks.columns = cut(n, roundUp(ceilDiv(n, ceilDiv(n, 256)), 16));
  // Long sums are also more exact in parts.
  if (blocks.rows.pieces * blocks.columns.pieces < 16 && k >= 2048)
    blocks.inner = cut(k, std::clamp<int64_t>(roundUp(ceilDiv(k, 64), 64), 1024, 8192));
  return blocks;
}

template <typename T>
void multiply(gnnrt_frame &frame, bool transA, bool transB, int64_t m, int64_t n, int64_t k, const T *a, const T *b,
              T *c, T *workspace, int32_t dtype) {
  int64_t lda = transA ? m : k, ldb = transB ? k : n;
  if (std::max({lda, ldb, n}) > std::numeric_limits<int32_t>::max())
    fail(GNNRT_ERROR_TOO_LARGE, "a matrix product of sizes ", m, " x ", k, " and ", k, " x ", n,
         ": a row has more than 2147483647 elements");
  Blocks blocks = cutProduct(m, n, k);
  bool parts = blocks.inner.pieces > 1;
  if (parts && !workspace)
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: a matrix product without its workspace");

  ThreadPool &pool = *frame.context.pool;
  std::atomic<bool> outOfMemory{false};
  int64_t perPart = blocks.rows.pieces * blocks.columns.pieces;
  pool.forEach(perPart * blocks.inner.pieces, [&](int64_t task) {
    int64_t part = task / perPart, row = task % perPart / blocks.columns.pieces, column = task % blocks.columns.pieces;
    int64_t r0 = blocks.rows.begin(row), c0 = blocks.columns.begin(column), k0 = blocks.inner.begin(part);
    try {
      blasGemm<T>(transA, transB, blocks.rows.end(row) - r0, blocks.columns.end(column) - c0,
                  blocks.inner.end(part) - k0, transA ? a + k0 * lda + r0 : a + r0 * lda + k0, lda,
                  transB ? b + c0 * ldb + k0 : b + k0 * ldb + c0, ldb,
                  (parts ? workspace + part * m * n : c) + r0 * n + c0, n);
    } catch (...) { // tasks must not throw; there is nothing else here that does
      outOfMemory.store(true, std::memory_order_relaxed);
    }
  });
  if (outOfMemory.load())
    throw std::bad_alloc();
  if (!parts)
    return;
  CutRow row = {0, 0, blocks.inner.pieces};
  gnnrt_combine sum = {workspace, c, nullptr, nullptr, m * n, GNNRT_COMBINE_SUM, dtype};
  combineRows(pool, &row, 1, &sum, 1);
}

} // namespace

int32_t gnnrt_gemm(gnnrt_frame *frame, const char *, int32_t dtype, int32_t trans_a, int32_t trans_b, int64_t m,
                   int64_t n, int64_t k, const void *a, const void *b, void *c, void *workspace) {
  return frame->guarded([&] {
    if ((dtype != GNNRT_F32 && dtype != GNNRT_F64) || m < 0 || n < 0 || k < 0)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: a matrix product of type ", dtypeName(dtype), ", sizes ", m,
           ", ", n, ", ", k);
    if (m == 0 || n == 0)
      return;
    if (k == 0) {
      std::memset(c, 0, size_t(m * n * dtypeBytes(dtype)));
      return;
    }
    if (dtype == GNNRT_F32)
      multiply(*frame, trans_a, trans_b, m, n, k, static_cast<const float *>(a), static_cast<const float *>(b),
               static_cast<float *>(c), static_cast<float *>(workspace), dtype);
    else
      multiply(*frame, trans_a, trans_b, m, n, k, static_cast<const double *>(a), static_cast<const double *>(b),
               static_cast<double *>(c), static_cast<double *>(workspace), dtype);
  });
}

int64_t gnnrt_gemm_workspace(int32_t dtype, int64_t m, int64_t n, int64_t k) {
  if (m <= 0 || n <= 0 || k <= 0)
    return 0;
  int64_t parts = cutProduct(m, n, k).inner.pieces, bytes = 0;
  if (parts == 1)
    return 0;
  if (__builtin_mul_overflow(parts * dtypeBytes(dtype), m, &bytes) || __builtin_mul_overflow(bytes, n, &bytes))
    return std::numeric_limits<int64_t>::max(); // which reserving it refuses
  return bytes;
}
