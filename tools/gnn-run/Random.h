// Keys, and numbers drawn from them. A key is 64 bits; `fold` derives another. The generator is counter-based: draw i
// of key k is fold(k, i), so that what one tensor gets depends on nothing else. key and fold are the language's own
// (LANGUAGE: `key(seed)`, `fold(k, i)`), bit for bit.
#ifndef GNN_RUN_RANDOM_H
#define GNN_RUN_RANDOM_H

#include "Manifest.h"

namespace gnnrun {

/// The finaliser of splitmix64 on k + 0x9E3779B97F4A7C15 * (i + 1).
uint64_t fold(uint64_t k, uint64_t i);
inline uint64_t key(uint64_t seed) { return fold(0, seed); }
/// The key of what belongs to `path`: fold(key(seed), FNV-1a of the path).
uint64_t keyOf(uint64_t seed, const std::string &path);

/// Draw i of a key: uniform in [0, 1), with 53 bits.
double uniform(uint64_t k, uint64_t i);
/// Standard normal (Box-Muller on draws 2i and 2i + 1).
double normal(uint64_t k, uint64_t i);

/// A parameter as its initialiser makes it.
Tensor initialise(const Arg &arg, const Initialiser &init, const std::vector<int64_t> &shape, uint64_t seed);

} // namespace gnnrun

#endif
