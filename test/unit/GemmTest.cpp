// Dense products against a plain triple loop, and their independence of threads.
#include "Support.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

using namespace gnnrt_test;

namespace {

template <typename T> constexpr int32_t dtype = std::is_same_v<T, float> ? GNNRT_F32 : GNNRT_F64;

template <typename T> std::vector<T> randomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(int64_t(random() % 2001) - 1000) / T(1000);
  return values;
}

template <typename T>
std::vector<T> product(gnnrt_context *context, bool transA, bool transB, int64_t m, int64_t n, int64_t k,
                       const std::vector<T> &a, const std::vector<T> &b, std::vector<T> addTo = {}) {
  bool add = !addTo.empty();
  std::vector<T> c = add ? addTo : std::vector<T>(m * n, T(NAN)); // what was there before must not matter
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        int64_t bytes = gnnrt_gemm_workspace(dtype<T>, m, n, k);
                        gnnrt_lifetime life = {0, 0};
                        void *workspace;
                        if (gnnrt_reserve(frame, 1, &bytes, &life, &workspace))
                          return 1;
                        return gnnrt_gemm(frame, Step("product"), dtype<T>, transA, transB, m, n, k, a.data(), b.data(),
                                          add, c.data(), workspace);
                      }),
            GNNRT_OK)
      << gnnrt_last_error(context);
  return c;
}

template <typename T> void check(gnnrt_context *context, int64_t m, int64_t n, int64_t k) {
  std::vector<T> a = randomValues<T>(m * k, 1), b = randomValues<T>(k * n, 2);
  for (bool transA : {false, true})
    for (bool transB : {false, true}) {
      std::vector<T> c = product(context, transA, transB, m, n, k, a, b), before = randomValues<T>(m * n, 3),
                     added = product(context, transA, transB, m, n, k, a, b, before);
      double tolerance = (std::is_same_v<T, float> ? 3e-6 : 1e-13) * std::sqrt(double(k) + 1);
      // All elements, or of large products some.
      int64_t step = 1 + m * n * k / 1000000;
      for (int64_t e = 0; e < m * n; e += step) {
        int64_t i = e / n, j = e % n;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += double(a[transA ? p * m + i : i * k + p]) * double(b[transB ? j * k + p : p * n + j]);
        ASSERT_NEAR(c[i * n + j], sum, tolerance)
            << m << " " << n << " " << k << " " << transA << transB << " at " << i << " " << j;
        ASSERT_NEAR(added[i * n + j], before[i * n + j] + sum, tolerance)
            << "added: " << m << " " << n << " " << k << " " << transA << transB << " at " << i << " " << j;
      }
    }
}

TEST(Gemm, ManyShapes) {
  Context context(2);
  const int64_t shapes[][3] = {{1, 1, 1},       {3, 5, 7},      {1, 64, 33},   {64, 1, 33},
                               {128, 128, 128}, {129, 17, 65},  {1000, 7, 50}, {2708, 16, 1433},
                               {5, 1000, 300},  {33, 700, 100}, {257, 300, 9}};
  for (auto [m, n, k] : shapes) {
    check<float>(context, m, n, k);
    check<double>(context, m, n, k);
  }
}

TEST(Gemm, SmallMatricesAreMultipliedInSmallSteps) {
  Context context(2);
  for (auto [m, n, k] : {std::array<int64_t, 3>{1000, 64, 64},
                         {64, 64, 5000},
                         {64, 65, 1021},
                         {4096, 3, 2},
                         {129, 128, 128},
                         {2, 16384, 1},
                         {300, 1, 16385}}) {
    check<float>(context, m, n, k);
    check<double>(context, m, n, k);
  }
}

TEST(Gemm, LongInnerDimensionsAreCut) {
  Context context(2);
  EXPECT_GT(gnnrt_gemm_workspace(GNNRT_F32, 16, 7, 100000), 0);
  for (int64_t k : {2047, 2048, 2049, 20000, 100003}) {
    check<float>(context, 16, 7, k);
    check<double>(context, 1, 1, k);
    check<float>(context, 130, 33, k);
  }
}

TEST(Gemm, EmptySizes) {
  Context context(2);
  EXPECT_EQ(gnnrt_gemm_workspace(GNNRT_F64, 0, 3, 5), 0);
  std::vector<double> none, some(6, 1.0);
  EXPECT_EQ(product<double>(context, false, false, 2, 3, 0, none, none), std::vector<double>(6, 0.0));
  EXPECT_TRUE(product<double>(context, false, true, 0, 3, 2, none, some).empty());
  EXPECT_TRUE(product<double>(context, true, false, 3, 0, 2, some, none).empty());
}

TEST(Gemm, BitsDoNotDependOnThreads) {
  const int64_t shapes[][3] = {{2708, 16, 1433}, {1433, 16, 2708}, {16, 7, 100000}, {600, 600, 3000}, {4, 3000, 200}};
  for (auto [m, n, k] : shapes) {
    std::vector<float> a = randomValues<float>(m * k, 3), b = randomValues<float>(k * n, 4), one;
    for (int32_t threads : {1, 2, 3, 7}) {
      Context context(threads);
      std::vector<float> c = product(context, false, false, m, n, k, a, b);
      if (one.empty())
        one = c;
      EXPECT_EQ(std::memcmp(one.data(), c.data(), c.size() * sizeof(float)), 0) << threads << " threads";
    }
  }
}

TEST(Gemm, ManyCallersAtOnce) {
  // Just beyond the sizes for which OpenBLAS packs nothing.
  std::vector<double> a = randomValues<double>(120 * 120, 5), b = randomValues<double>(120 * 120, 6), one;
  {
    Context context;
    one = product(context, false, false, 120, 120, 120, a, b);
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Context context;
      for (int repetition = 0; repetition < 1000; ++repetition)
        wrong[t] += product(context, false, false, 120, 120, 120, a, b) != one;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}

TEST(Gemm, WithoutAddressSpaceForTheBlasItFails) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers reserve more address space than there is";
#endif
  pid_t child = fork();
  if (child == 0) {
    Context context;
    std::vector<float> values(200 * 200, 1.0f), out(200 * 200);
    std::ifstream pages("/proc/self/statm");
    size_t used = 0;
    pages >> used;
    size_t bytes = used * size_t(getpagesize()) + (size_t(64) << 20);
    rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    gnnrt_status status = GNNRT_OK;
    // In a thread of its own, which has no work area yet.
    std::thread([&] {
      status = withFrame(context, [&](gnnrt_frame *frame) {
        return gnnrt_gemm(frame, Step("product"), GNNRT_F32, 0, 0, 200, 200, 200, values.data(), values.data(), 0,
                          out.data(), nullptr);
      });
    }).join();
    _exit(status == GNNRT_ERROR_MEMORY && context.error() == "out of memory" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Gemm, KernelsAreThoseForTheProcessor) {
#if defined(__x86_64__)
  if (getenv("OPENBLAS_CORETYPE"))
    GTEST_SKIP() << "the environment names the kernels";
  // Whatever its model number, a processor with AVX2 does not get kernels for one without.
  std::string kernels = gnnrt_blas_kernels();
  if (__builtin_cpu_supports("avx512f"))
    EXPECT_EQ(kernels, "SkylakeX");
  else if (__builtin_cpu_supports("avx2"))
    EXPECT_TRUE(kernels == "Haswell" || kernels == "Zen") << kernels;
#else
  EXPECT_STRNE(gnnrt_blas_kernels(), "");
#endif
}

TEST(Gemm, WhatDoesNotExistIsAFault) {
  Context context;
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        return gnnrt_gemm(frame, Step("product"), GNNRT_I32, 0, 0, 1, 1, 1, nullptr, nullptr, 0,
                                          nullptr, nullptr);
                      }),
            GNNRT_ERROR_INTERNAL);
  float value = 0;
  EXPECT_EQ(withFrame(context,
                      [&](gnnrt_frame *frame) {
                        return gnnrt_gemm(frame, Step("product"), GNNRT_F32, 0, 0, 1, int64_t(1) << 31, 1, &value,
                                          &value, 0, &value, nullptr);
                      }),
            GNNRT_ERROR_TOO_LARGE);
}

} // namespace
