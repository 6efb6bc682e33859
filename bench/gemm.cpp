// How fast OpenBLAS multiplies by a narrow matrix in one call, and in calls small enough for its kernels for small
// matrices: what Gemm.cpp's block sizes come from.
#include <algorithm>
#include <cblas.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

/// Gflop/s of C[m, n] = op(A) B in calls of `step` rows (or, where A is transposed, of `step` terms).
double rate(bool transposed, int m, int n, int k, int step) {
  std::vector<float> a(size_t(m) * k, 1.0f), b(size_t(k) * n, 1.0f), c(size_t(m) * n);
  double best = 0;
  for (int repetition = 0; repetition < 50; ++repetition) {
    auto begin = std::chrono::steady_clock::now();
    if (transposed)
      for (int p = 0; p < k; p += step)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, std::min(step, k - p), 1.0f, &a[size_t(p) * m], m,
                    &b[size_t(p) * n], n, p > 0 ? 1.0f : 0.0f, c.data(), n);
    else
      for (int r = 0; r < m; r += step)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, std::min(step, m - r), n, k, 1.0f, &a[size_t(r) * k], k,
                    b.data(), n, 0.0f, &c[size_t(r) * n], n);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * m * n * k / seconds.count() / 1e9);
  }
  return best;
}

} // namespace

int main() {
  std::printf("[1024, 64] @ [64, 64]: %.0f Gflop/s in one call, %.0f in calls of 240 rows\n",
              rate(false, 1024, 64, 64, 1024), rate(false, 1024, 64, 64, 240));
  std::printf("[64, 1024] @ [1024, 64], the left one transposed: %.0f in one call, %.0f in calls of 240 terms\n",
              rate(true, 64, 64, 1024, 1024), rate(true, 64, 64, 1024, 240));
}
