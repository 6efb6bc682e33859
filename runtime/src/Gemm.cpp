//===- Gemm.cpp - dense products ---------------------------------------------------------------------------------===//
//
// A product is cut into blocks of C, and where C is small and the inner dimension long, of the inner dimension. The
// blocks depend on the sizes alone, and each is one call of a single-threaded BLAS.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Blas.h"
#include "Combine.h"
#include "Frame.h"
#include "Profile.h"
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

/// OpenBLAS's kernels for small matrices neither pack their operands nor clear the result first, and take products of
/// up to 10^6 multiplications: with B or C of 64 x 64 twice as fast as one large product (docs/runtime.md). So a block
/// whose B or C is small is computed in calls of that size.
constexpr int64_t smallProduct = 1000000, smallMatrix = 1 << 14;

/// Whether B is small enough to be multiplied with rows of A a few at a time. It is then wanted as it is, since there
/// is no fast kernel for its transpose.
bool hasSmallB(int64_t n, int64_t k) { return n <= smallMatrix / k; }

template <typename T> struct Matrix {
  const T *data;
  int64_t stride;
  bool transposed;
  const T *at(int64_t row, int64_t column) const {
    return data + (transposed ? column * stride + row : row * stride + column);
  }
};

template <typename T>
void multiplyBlock(Matrix<T> a, Matrix<T> b, int64_t m, int64_t n, int64_t k, bool add, T *c, int64_t ldc) {
  int64_t rows = m, inner = k;
  auto most = [](int64_t perStep) { return std::max<int64_t>(smallProduct / perStep / 16 * 16, 16); };
  if (hasSmallB(n, k))
    rows = std::min(m, most(n * k));
  else if (m <= smallMatrix / n)
    inner = std::min(k, most(m * n));
  for (int64_t r = 0; r < m; r += rows)
    for (int64_t p = 0; p < k; p += inner)
      blasGemm<T>(a.transposed, b.transposed, std::min(rows, m - r), n, std::min(inner, k - p), a.at(r, p), a.stride,
                  b.at(p, 0), b.stride, add || p > 0, c + r * ldc, ldc);
}

template <typename T>
void multiply(gnnrt_frame &frame, bool transA, bool transB, int64_t m, int64_t n, int64_t k, const T *a, const T *b,
              bool add, T *c, T *workspace, int32_t dtype) {
  int64_t lda = transA ? m : k, ldb = transB ? k : n;
  if (std::max({lda, ldb, n}) > std::numeric_limits<int32_t>::max())
    fail(GNNRT_ERROR_TOO_LARGE, "a matrix product of sizes ", m, " x ", k, " and ", k, " x ", n,
         ": a row has more than 2147483647 elements");
  Blocks blocks = cutProduct(m, n, k);
  bool parts = blocks.inner.pieces > 1;
  if (parts && !workspace)
    fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: a matrix product without its workspace");

  Matrix<T> left{a, lda, transA}, right{b, ldb, transB};
  if (transB && hasSmallB(n, k)) {
    if (!workspace)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: a matrix product without its workspace");
    T *turned = workspace + (parts ? blocks.inner.pieces * m * n : 0);
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        turned[p * n + j] = b[j * k + p];
    right = {turned, n, false};
  }
  ThreadPool &pool = *frame.context.pool;
  std::atomic<bool> outOfMemory{false};
  int64_t perPart = blocks.rows.pieces * blocks.columns.pieces;
  pool.forEach(perPart * blocks.inner.pieces, [&](int64_t task) {
    int64_t part = task / perPart, row = task % perPart / blocks.columns.pieces, column = task % blocks.columns.pieces;
    int64_t r0 = blocks.rows.begin(row), c0 = blocks.columns.begin(column), k0 = blocks.inner.begin(part);
    try {
      Matrix<T> rows{left.at(r0, k0), lda, transA}, columns{right.at(k0, c0), right.stride, right.transposed};
      multiplyBlock(rows, columns, blocks.rows.end(row) - r0, blocks.columns.end(column) - c0,
                    blocks.inner.end(part) - k0, add && !parts, (parts ? workspace + part * m * n : c) + r0 * n + c0,
                    n);
    } catch (...) { // tasks must not throw; there is nothing else here that does
      outOfMemory.store(true, std::memory_order_relaxed);
    }
  });
  if (outOfMemory.load())
    throw std::bad_alloc();
  if (!parts)
    return;
  for (int64_t i = 0; add && i < m * n; ++i) // small, or there were no parts
    workspace[i] += c[i];
  CutRow row = {0, 0, blocks.inner.pieces};
  gnnrt_combine sum = {workspace, c, nullptr, nullptr, m * n, GNNRT_COMBINE_SUM, dtype};
  combineRows(pool, &row, 1, &sum, 1);
}

} // namespace

int32_t gnnrt_gemm(gnnrt_frame *frame, const gnnrt_step *step, int32_t dtype, int32_t trans_a, int32_t trans_b,
                   int64_t m, int64_t n, int64_t k, const void *a, const void *b, int32_t add, void *c,
                   void *workspace) {
  return frame->guarded([&] {
    Measured measured(*frame, *step);
    if ((dtype != GNNRT_F32 && dtype != GNNRT_F64) || m < 0 || n < 0 || k < 0)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: a matrix product of type ", dtypeName(dtype), ", sizes ", m,
           ", ", n, ", ", k);
    if (m == 0 || n == 0)
      return;
    if (k == 0) {
      if (!add)
        std::memset(c, 0, size_t(m * n * dtypeBytes(dtype)));
      return;
    }
    if (dtype == GNNRT_F32)
      multiply(*frame, trans_a, trans_b, m, n, k, static_cast<const float *>(a), static_cast<const float *>(b), add,
               static_cast<float *>(c), static_cast<float *>(workspace), dtype);
    else
      multiply(*frame, trans_a, trans_b, m, n, k, static_cast<const double *>(a), static_cast<const double *>(b), add,
               static_cast<double *>(c), static_cast<double *>(workspace), dtype);
  });
}

int64_t gnnrt_gemm_workspace(int32_t dtype, int64_t m, int64_t n, int64_t k) {
  if (m <= 0 || n <= 0 || k <= 0)
    return 0;
  int64_t parts = cutProduct(m, n, k).inner.pieces, elements = 0, bytes;
  // Where B has to be turned, a place for it; it is small.
  int64_t turned = n <= smallMatrix && k <= smallMatrix && hasSmallB(n, k) ? n * k : 0;
  if ((parts > 1 && (__builtin_mul_overflow(parts, m, &elements) || __builtin_mul_overflow(elements, n, &elements))) ||
      __builtin_add_overflow(elements, turned, &elements) ||
      __builtin_mul_overflow(elements, dtypeBytes(dtype), &bytes))
    return std::numeric_limits<int64_t>::max(); // which reserving it refuses
  return bytes;
}
