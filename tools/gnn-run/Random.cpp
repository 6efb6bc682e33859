// Counter-based draws and initialisers; see Random.h.
#include "Random.h"
#include <cmath>
#include <numbers>

namespace gnnrun {
namespace {

struct Fans {
  double in = 1, out = 1;
};

/// Fan-in and fan-out of one block: the first dimension, and the product of the others.
Fans fansOf(const std::vector<int64_t> &shape, int64_t blockRank) {
  Fans fans;
  for (size_t i = static_cast<size_t>(blockRank); i < shape.size(); ++i)
    (i == static_cast<size_t>(blockRank) ? fans.in : fans.out) *= static_cast<double>(shape[i]);
  return fans;
}

double argumentOr(const Initialiser &init, size_t i, double otherwise) {
  return i < init.args.size() ? init.args[i] : otherwise;
}

} // namespace

uint64_t fold(uint64_t k, uint64_t i) {
  uint64_t z = k + 0x9E3779B97F4A7C15ULL * (i + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

uint64_t keyOf(uint64_t seed, const std::string &path) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (char c : path)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return fold(key(seed), hash);
}

double uniform(uint64_t k, uint64_t i) { return static_cast<double>(fold(k, i) >> 11) * 0x1p-53; }

double normal(uint64_t k, uint64_t i) {
  // 1 - u is in (0, 1], so the logarithm is finite.
  double radius = std::sqrt(-2 * std::log(1 - uniform(k, 2 * i)));
  return radius * std::cos(2 * std::numbers::pi * uniform(k, 2 * i + 1));
}

Tensor initialise(const Arg &arg, const Initialiser &init, const std::vector<int64_t> &shape, uint64_t seed) {
  Tensor result(storageOf(arg.element), shape);
  uint64_t k = keyOf(seed, arg.path);
  Fans fans = fansOf(shape, init.blockRank);
  auto fill = [&](auto &&value) {
    for (int64_t i = 0; i < result.count(); ++i)
      result.setReal(i, value(static_cast<uint64_t>(i)));
  };
  if (init.fn == "zeros")
    return result;
  if (init.fn == "ones" || init.fn == "constant") {
    double value = init.fn == "ones" ? 1 : argumentOr(init, 0, 0);
    fill([&](uint64_t) { return value; });
    return result;
  }
  if (!isReal(arg.element))
    fail("the initialiser {} of {} makes reals, but its elements are {}", init.fn, arg.path, elementName(arg.element));
  if (init.fn == "glorot") {
    double limit = std::sqrt(6 / (fans.in + fans.out));
    fill([&](uint64_t i) { return limit * (2 * uniform(k, i) - 1); });
  } else if (init.fn == "he") {
    double deviation = std::sqrt(2 / fans.in);
    fill([&](uint64_t i) { return deviation * normal(k, i); });
  } else if (init.fn == "normal") {
    double deviation = argumentOr(init, 0, 1);
    fill([&](uint64_t i) { return deviation * normal(k, i); });
  } else if (init.fn == "uniform") {
    double low = argumentOr(init, 0, 0), high = argumentOr(init, 1, 1);
    fill([&](uint64_t i) { return low + (high - low) * uniform(k, i); });
  } else {
    fail("{} has the unknown initialiser {}; give its value in a file, or with --fill {}=NUMBER", arg.path, init.fn,
         arg.path);
  }
  return result;
}

} // namespace gnnrun
