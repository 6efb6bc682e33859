// Comparing a gradient with central differences of the function it belongs to.
//
// The function is the sum of results times cotangents. Small tensors are compared entry by entry; of large ones the
// entries with the largest gradient, some random ones, and derivatives along random directions. Each tensor counts with
// the step size that serves it best: large steps have a truncation error, small ones a rounding error.
#ifndef GNN_RUN_DIFFERENCES_H
#define GNN_RUN_DIFFERENCES_H

#include "Pair.h"

namespace gnnrun {

struct DifferenceOptions {
  std::vector<double> steps;
  int64_t maxEntries = 256, directions = 8;
  uint64_t seed = 0;
};

struct Comparison {
  double error = 0; // max|a - b| / max|b|
  double step = 0;  // the best one
  double largest = 0;
  std::string checked; // "all 20 entries", "8 directions, 64 entries"
};

class Differences {
public:
  Differences(Pair &pair, const DifferenceOptions &options);

  /// Compares the gradient of an input, whose tensor is perturbed meanwhile.
  Comparison compare(Tensor &input, const Tensor &gradient, uint64_t key);

private:
  /// Entries of one input that are perturbed together; `weights` empty: one entry by 1.
  struct Probe {
    int64_t entry = 0;
    std::vector<double> weights;
  };

  std::vector<Probe> probesFor(const Tensor &gradient, uint64_t key, std::string &checked) const;
  double slope(Tensor &input, const Tensor &saved, const Probe &probe, double step);
  double predicted(const Tensor &gradient, const Probe &probe) const;

  Pair &pair;
  const DifferenceOptions &options;
  double magnitude = 0; // sum of |result * cotangent|: sets the rounding error of differences
};

} // namespace gnnrun

#endif
