//===- BlasKernels.cpp - which kernels OpenBLAS takes ------------------------------------------------------------===//
//
// When it is loaded, OpenBLAS looks up the processor's model number, and takes kernels of 2004 for one that it does not
// know: 0.3.21 does so on every Xeon since 2023, where its products then take four times as long. It first asks the
// environment, in OPENBLAS_CORETYPE; the linker redirects that question to this file (--wrap), which answers by what
// the processor can do. What a user has set there goes first.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "gnnrt/gnnrt.h"

#include <cblas.h>
#include <cstdlib>
#include <cstring>

namespace {

/// OpenBLAS's name for the kernels that fit the processor; null where it may go by the model, which any processor
/// without AVX2 is old enough for.
char *fittingKernels() {
#if defined(__x86_64__)
  static char skylake[] = "SkylakeX", zen[] = "Zen", haswell[] = "Haswell";
  __builtin_cpu_init(); // this runs before main
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    return skylake;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return __builtin_cpu_is("amd") ? zen : haswell;
#endif
  return nullptr;
}

} // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker gives the names.
char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  char *value = __real_getenv(name);
  return value || std::strcmp(name, "OPENBLAS_CORETYPE") != 0 ? value : fittingKernels();
}
// NOLINTEND(bugprone-reserved-identifier)
}

const char *gnnrt_blas_kernels(void) { return openblas_get_corename(); }
