// Measures the error of the expansions of mathematical functions, in units in the last place, against the C library's
// long double functions; fails above the limit that docs/math.md states.
//
//     math-error [--samples N] [--markdown]
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {
using Wide = long double;
using Reference = std::function<Wide(Wide, Wide)>;
constexpr int lanes = 16;
constexpr double limit = 2.0;
/// tan and sigmoid end in a quotient of two rounded numbers.
constexpr double quotientLimit = 2.5;

struct Function {
  const char *name;
  void (*single)(const float *, const float *, float *);
  void (*twice)(const double *, const double *, double *);
  Reference reference;
  /// Largest |x| with a stated error, beyond which the result is NaN; 0 for none.
  double rangeSingle = 0, rangeTwice = 0;
  bool binary = false, integerSecond = false;
};

template <typename T> struct Format;
template <> struct Format<float> {
  using Bits = uint32_t;
  static constexpr int minExponent = -149, digits = 24;
};
template <> struct Format<double> {
  using Bits = uint64_t;
  static constexpr int minExponent = -1074, digits = 53;
};

/// |got - want| in units in the last place of T at `want`.
template <typename T> double errorInUlps(T got, Wide want) {
  if (std::isnan(got) || std::isnan(want))
    return std::isnan(got) == std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  // Beyond the largest number the scale goes on: infinity stands for the next power of two.
  Wide top = std::ldexp(Wide(1), std::numeric_limits<T>::max_exponent);
  Wide g = std::isinf(got) ? std::copysign(top, Wide(got)) : Wide(got);
  Wide w = std::fabs(want) >= top ? std::copysign(top, want) : want;
  int exponent;
  std::frexp(w, &exponent);
  exponent = std::min(exponent, std::numeric_limits<T>::max_exponent);
  Wide ulp = std::ldexp(Wide(1), std::max(exponent - Format<T>::digits, Format<T>::minExponent));
  return static_cast<double>(std::fabs(g - w) / ulp);
}

template <typename T> T fromBits(uint64_t bits) {
  return std::bit_cast<T>(static_cast<typename Format<T>::Bits>(bits));
}

/// Values at which functions are special.
template <typename T> std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           T(0.5),
                           1,
                           T(1.5),
                           2,
                           3,
                           T(2.5),
                           4,
                           7,
                           10,
                           17,
                           88,
                           89,
                           100,
                           104,
                           150,
                           709,
                           710,
                           745,
                           746,
                           1023,
                           1024,
                           1075,
                           T(1e5),
                           T(1e10),
                           L::min(),
                           L::max(),
                           L::denorm_min(),
                           L::denorm_min() * 3,
                           L::min() / 2,
                           L::epsilon(),
                           L::epsilon() / 2,
                           L::infinity(),
                           T(0.70710678118654752),
                           T(1.4142135623730951),
                           T(0.34657359027997264),
                           T(1.5707963267948966),
                           T(3.1415926535897931)};
  for (size_t i = 0, n = values.size(); i < n; ++i) {
    T v = values[i];
    for (T near : {std::nextafter(v, L::infinity()), std::nextafter(v, -L::infinity())})
      values.push_back(near);
  }
  for (size_t i = 0, n = values.size(); i < n; ++i)
    values.push_back(-values[i]);
  values.push_back(L::quiet_NaN());
  return values;
}

struct Measured {
  double worst = 0;
  double x = 0, y = 0, got = 0, want = 0;
  bool failed = false;
};

template <typename T> class Measurement {
public:
  Measurement(const Function &f, void (*compiled)(const T *, const T *, T *), double range)
      : f(f), compiled(compiled), range(range) {}

  Measured result;

  void add(T x, T y) {
    if (f.integerSecond)
      y = std::isfinite(y) ? std::round(std::clamp<T>(y, -1000, 1000)) : 3;
    xs[count] = x, ys[count] = y;
    if (++count == lanes)
      flush();
  }

  void flush() {
    if (!count)
      return;
    std::fill(xs + count, xs + lanes, T(1));
    std::fill(ys + count, ys + lanes, T(1));
    compiled(xs, ys, out);
    for (int i = 0; i < count; ++i)
      check(xs[i], ys[i], out[i]);
    count = 0;
  }

private:
  static double limitOf(const Function &f) {
    std::string name = f.name;
    return name == "tan" || name == "sigmoid" ? quotientLimit : limit;
  }

  const Function &f;
  void (*compiled)(const T *, const T *, T *);
  double range;
  // Vectors are loaded and stored whole.
  alignas(128) T xs[lanes];
  alignas(128) T ys[lanes];
  alignas(128) T out[lanes];
  int count = 0;

  void check(T x, T y, T got) {
    Wide want = range && !(std::fabs(x) < range) ? std::numeric_limits<Wide>::quiet_NaN() : f.reference(x, y);
    double error = errorInUlps(got, want);
    // Zeros and infinities have a sign, and are exact.
    if (want == 0 && !std::isnan(got) && (got != 0 || std::signbit(got) != std::signbit(want)))
      error = std::numeric_limits<double>::infinity();
    if (error > result.worst || (std::isinf(error) && !result.failed)) {
      result = {error, double(x), double(y), double(got), double(want), error > limitOf(f)};
    }
  }
};

template <typename T>
Measured measure(const Function &f, void (*compiled)(const T *, const T *, T *), double range, uint64_t samples) {
  Measurement<T> m(f, compiled, range);
  std::vector<T> special = specials<T>();
  for (T x : special)
    for (T y : special) {
      m.add(x, y);
      if (!f.binary)
        break;
    }
  std::mt19937_64 random(1);
  // A third of the samples is even over all bit patterns, a third over ordinary magnitudes, a third around 1 and 0.
  uint64_t third = samples / 3;
  double extent = range ? range : 1000;
  std::uniform_real_distribution<double> even(-extent, extent), unit(-2, 2), ordinary(-110, 110);
  for (uint64_t i = 0; i < third; ++i) {
    T any = fromBits<T>(random()), other = fromBits<T>(random());
    m.add(any, f.binary && i % 2 ? T(ordinary(random)) : other);
    m.add(T(i % 2 ? even(random) : ordinary(random)), T(ordinary(random)));
    T near = T(unit(random));
    m.add(i % 2 ? near : T(1) + near * T(std::ldexp(1.0, -int(random() % 30))), T(unit(random) * (i % 3 ? 1 : 500)));
  }
  m.flush();
  return m.result;
}

Wide power(Wide x, Wide n) { return powl(x, n); }
Wide pmul(Wide c, Wide a) { return c == 0 ? Wide(0) : c * a; }
Wide roundAway(Wide x, Wide) { return roundl(x); }
Wide sigmoid(Wide x, Wide) {
  Wide e = expl(-fabsl(x));
  return (x < 0 ? e : Wide(1)) / (1 + e);
}
Wide softplus(Wide x, Wide) { return std::isnan(x) ? x : (x > 0 ? x : Wide(0)) + log1pl(expl(-fabsl(x))); }
Wide rsqrt(Wide x, Wide) { return 1 / sqrtl(x); }

#define FUNCTIONS(each)                                                                                                \
  each(exp) each(exp2) each(expm1) each(log) each(log2) each(log1p) each(tanh) each(sin) each(cos) each(tan)           \
      each(atan) each(erf) each(rsqrt) each(round) each(sigmoid) each(softplus) each(pow) each(atan2) each(pmul)       \
          each(pow_half) each(powi) each(powi_m3) each(powi_m2) each(powi_m1) each(powi_2) each(powi_3) each(powi_4)   \
              each(powi_5) each(powi_8) each(powi_17) each(powi_32) each(powi_100)
} // namespace

#define DECLARE(name)                                                                                                  \
  extern "C" void name##_f32(const float *, const float *, float *);                                                   \
  extern "C" void name##_f64(const double *, const double *, double *);
FUNCTIONS(DECLARE)

int main(int argc, char **argv) {
#ifdef GNNC_NEEDS_FMA
  if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2"))
    return 77; // skipped
#endif
  uint64_t samples = 600000;
  bool markdown = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--samples") && i + 1 < argc)
      samples = std::strtoull(argv[++i], nullptr, 10);
    else if (!std::strcmp(argv[i], "--markdown"))
      markdown = true;
    else
      return std::fprintf(stderr, "usage: math-error [--samples N] [--markdown]\n"), 2;
  }
#define UNARY(name, reference, ...)                                                                                    \
  {#name, name##_f32, name##_f64, [](Wide x, Wide) { return reference(x); }, ##__VA_ARGS__}
#define POWER(name, n)                                                                                                 \
  {                                                                                                                    \
    #name, name##_f32, name##_f64, [](Wide x, Wide) { return power(x, n); }                                            \
  }
  const Function functions[] = {
      UNARY(exp, expl),
      UNARY(exp2, exp2l),
      UNARY(expm1, expm1l),
      UNARY(log, logl),
      UNARY(log2, log2l),
      UNARY(log1p, log1pl),
      UNARY(tanh, tanhl),
      UNARY(sin, sinl, 0x1p19, 0x1p45),
      UNARY(cos, cosl, 0x1p19, 0x1p45),
      UNARY(tan, tanl, 0x1p19, 0x1p45),
      UNARY(atan, atanl),
      UNARY(erf, erfl),
      {"rsqrt", rsqrt_f32, rsqrt_f64, rsqrt},
      {"round", round_f32, round_f64, roundAway},
      {"sigmoid", sigmoid_f32, sigmoid_f64, sigmoid},
      {"softplus", softplus_f32, softplus_f64, softplus},
      {"pow", pow_f32, pow_f64, power, 0, 0, true},
      {"atan2", atan2_f32, atan2_f64, [](Wide y, Wide x) { return atan2l(y, x); }, 0, 0, true},
      {"pmul", pmul_f32, pmul_f64, pmul, 0, 0, true},
      POWER(pow_half, 0.5),
      {"powi", powi_f32, powi_f64, power, 0, 0, true, true},
      POWER(powi_m3, -3),
      POWER(powi_m2, -2),
      POWER(powi_m1, -1),
      POWER(powi_2, 2),
      POWER(powi_3, 3),
      POWER(powi_4, 4),
      POWER(powi_5, 5),
      POWER(powi_8, 8),
      POWER(powi_17, 17),
      POWER(powi_32, 32),
      POWER(powi_100, 100)};
  bool failed = false;
  if (markdown)
    std::printf("| function | f32 | f64 |\n| --- | --- | --- |\n");
  for (const Function &f : functions) {
    Measured single = measure<float>(f, f.single, f.rangeSingle, samples);
    Measured twice = measure<double>(f, f.twice, f.rangeTwice, samples);
    std::printf(markdown ? "| %s | %.2f | %.2f |\n" : "%-10s f32 %6.3f ulp   f64 %6.3f ulp\n", f.name, single.worst,
                twice.worst);
    std::fflush(stdout);
    for (const Measured &m : {single, twice})
      if (m.failed) {
        std::printf("  too large: %s(%.17g, %.17g) = %.17g, not %.17g\n", f.name, m.x, m.y, m.got, m.want);
        failed = true;
      }
  }
  return failed;
}
