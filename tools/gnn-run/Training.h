// One training run: loops over a step whose inout arguments are the state, evaluates after each, and keeps the state of
// the epoch that is wanted.
#ifndef GNN_RUN_TRAINING_H
#define GNN_RUN_TRAINING_H

#include "Binding.h"
#include "Checkpoint.h"
#include "Commands.h"
#include "Progress.h"

namespace gnnrun {

struct RunResult {
  uint64_t seed = 0;
  int64_t epoch = 0;           // of the state that is kept
  int64_t lastEpoch = 0;       // that was run
  std::vector<double> scalars; // at the kept epoch, in the order of Trainer::names
  double secondsPerEpoch = 0;  // step and evaluation, mean
  double secondsPerStep = 0;   // median
  bool stoppedEarly = false, interrupted = false;
  TensorMap state;
};

class Trainer {
public:
  /// `interrupted` is asked after every epoch; the run then ends as if this epoch were the last.
  Trainer(const TrainOptions &options, Runtime &runtime, Inputs &inputs, Progress &progress, bool (*interrupted)());

  /// The scalars that step and evaluation report: a result's path, or entry.path where both have it.
  const std::vector<std::string> &names() const { return labels; }
  size_t scalarIndex(const std::string &name) const;

  /// `runsLeft` runs follow this one; `resume` may be null.
  RunResult run(uint64_t seed, const Checkpoint *resume, int64_t runsLeft, bool saySeed);

private:
  struct Scalar {
    bool ofEval;
    size_t result;
    std::string fullName;
  };
  struct Bound;

  void collectScalars(const Entry &entry, bool ofEval);
  Bound bind(uint64_t seed, const Checkpoint *resume);
  std::vector<double> readScalars(const Bound &bound) const;
  void checkFinite(const std::vector<double> &values, int64_t epoch) const;
  std::string describe(const std::vector<double> &values) const;

  const TrainOptions &options;
  Runtime &runtime;
  Inputs &inputs;
  Progress &progress;
  bool (*interrupted)();
  const Entry &step;
  const Entry *eval;
  std::vector<Scalar> scalars;
  std::vector<std::string> labels;
  std::optional<size_t> stop;
};

} // namespace gnnrun

#endif
