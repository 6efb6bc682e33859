// Central differences; see Differences.h.
#include "Differences.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace gnnrun {

Differences::Differences(Pair &pair, const DifferenceOptions &options) : pair(pair), options(options) {
  for (size_t i = 0; i < pair.forward().results().size(); ++i)
    if (TensorPtr cotangent = pair.cotangent(i))
      for (int64_t k = 0; k < cotangent->count(); ++k)
        magnitude += std::fabs(cotangent->real(k) * pair.forward().results()[i]->real(k));
}

std::vector<Differences::Probe> Differences::probesFor(const Tensor &gradient, uint64_t key,
                                                       std::string &checked) const {
  std::vector<Probe> probes;
  int64_t count = gradient.count();
  if (count <= options.maxEntries) {
    for (int64_t i = 0; i < count; ++i)
      probes.push_back({i, {}});
    checked = fmt::format("all {}", count);
    return probes;
  }
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  int64_t largest = std::min<int64_t>(options.maxEntries / 8, count);
  std::partial_sort(order.begin(), order.begin() + largest, order.end(),
                    [&](int64_t a, int64_t b) { return std::fabs(gradient.real(a)) > std::fabs(gradient.real(b)); });
  std::set<int64_t> entries(order.begin(), order.begin() + largest);
  for (uint64_t i = 0; static_cast<int64_t>(entries.size()) < options.maxEntries / 4; ++i)
    entries.insert(std::min(static_cast<int64_t>(uniform(fold(key, 0), i) * static_cast<double>(count)), count - 1));
  for (int64_t entry : entries)
    probes.push_back({entry, {}});
  for (int64_t d = 0; d < options.directions; ++d) {
    Probe probe;
    probe.weights.resize(static_cast<size_t>(count));
    double squares = 0;
    for (size_t i = 0; i < probe.weights.size(); ++i) {
      probe.weights[i] = normal(fold(key, 1 + static_cast<uint64_t>(d)), i);
      squares += probe.weights[i] * probe.weights[i];
    }
    // Unit length, so that a step along it is as large as a step of one entry.
    for (double &weight : probe.weights)
      weight /= std::sqrt(squares);
    probes.push_back(std::move(probe));
  }
  checked = fmt::format("{} directions, {} of {}", options.directions, entries.size(), count);
  return probes;
}

double Differences::slope(Tensor &input, const Tensor &saved, const Probe &probe, double step) {
  BoundCall &forward = pair.forward();
  double distance = 2 * step;
  auto move = [&](double by) {
    if (probe.weights.empty()) {
      input.setReal(probe.entry, saved.real(probe.entry) + by);
      return;
    }
    for (size_t i = 0; i < probe.weights.size(); ++i)
      input.setReal(static_cast<int64_t>(i), saved.real(static_cast<int64_t>(i)) + by * probe.weights[i]);
  };
  move(step);
  double above = input.real(probe.entry);
  forward.run();
  std::vector<Tensor> results;
  for (const TensorPtr &result : forward.results())
    results.push_back(*result);
  move(-step);
  // The step that was really made, after rounding.
  if (probe.weights.empty())
    distance = above - input.real(probe.entry);
  forward.run();
  double difference = 0;
  for (size_t i = 0; i < results.size(); ++i)
    if (TensorPtr cotangent = pair.cotangent(i))
      for (int64_t k = 0; k < cotangent->count(); ++k)
        difference += cotangent->real(k) * (results[i].real(k) - forward.results()[i]->real(k));
  input = saved;
  return difference / distance;
}

double Differences::predicted(const Tensor &gradient, const Probe &probe) const {
  if (probe.weights.empty())
    return gradient.real(probe.entry);
  double sum = 0;
  for (size_t i = 0; i < probe.weights.size(); ++i)
    sum += probe.weights[i] * gradient.real(static_cast<int64_t>(i));
  return sum;
}

Comparison Differences::compare(Tensor &input, const Tensor &gradient, uint64_t key) {
  Comparison best;
  best.error = INFINITY;
  for (int64_t i = 0; i < gradient.count(); ++i)
    best.largest = std::isnan(gradient.real(i)) ? NAN : std::max(best.largest, std::fabs(gradient.real(i)));
  std::vector<Probe> probes = probesFor(gradient, key, best.checked);
  Tensor saved = input;
  for (double step : options.steps) {
    // Differences below this are rounding; 64 stands for the roundings inside the function.
    double noise = 64 * 0x1p-53 * magnitude / step;
    // Single entries and directions are of different size, so each kind is measured by its own largest.
    double error = 0;
    for (bool directions : {false, true}) {
      double worst = 0, largest = 0, largestPredicted = 0;
      for (const Probe &probe : probes) {
        if (probe.weights.empty() == directions)
          continue;
        double a = predicted(gradient, probe), b = slope(input, saved, probe, step);
        // A NaN on either side must not get lost in max.
        worst = std::isnan(a) || std::isnan(b) ? INFINITY : std::max(worst, std::fabs(a - b));
        largest = std::max(largest, std::fabs(b));
        largestPredicted = std::max(largestPredicted, std::fabs(a));
      }
      bool bothZero = worst == 0 || (largestPredicted <= noise && largest <= noise);
      error = std::max(error, bothZero && std::isfinite(worst) ? 0 : worst / largest);
    }
    if (error < best.error) {
      best.error = error;
      best.step = step;
    }
  }
  return best;
}

} // namespace gnnrun
