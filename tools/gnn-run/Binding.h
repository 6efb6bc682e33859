// Binding an entry point's arguments: finds a value for each, computes every size, makes what is missing, and allocates
// results. A bound call can be run many times; its tensors may be changed in between.
#ifndef GNN_RUN_BINDING_H
#define GNN_RUN_BINDING_H

#include "Inputs.h"
#include <functional>

namespace gnnrun {

/// Makes a value for an argument that nothing else gives; nothing if it won't.
using Maker = std::function<std::optional<Tensor>(const Arg &, const std::vector<int64_t> &shape, const Sizes &)>;

struct BindOptions {
  /// Values by path that come before everything else: parameters, checkpoints. `stateName` says what they are.
  const TensorMap *state = nullptr;
  std::string stateName;
  /// Sizes that another entry found.
  const Sizes *sizes = nullptr;
  /// Whether an inout argument with an initialiser may take its value from the data files.
  bool parametersFromData = true;
  Maker make;
  /// What `make` can make, which decides what is reported: a value that is missing, or a size.
  enum class Makes { Keys, Parameters, Everything } makes = Makes::Keys;
  /// Whether keys are made even where the program has a default for them.
  bool makeKeys = false;
  bool verbose = false;
};

class BoundCall {
public:
  BoundCall(Runtime &runtime, Inputs &inputs, const Entry &entry, const BindOptions &options);

  const Entry &entry() const { return *description; }
  const Sizes &sizes() const { return knownSizes; }
  /// The value of a tensor or scalar argument, or null where there is none of this name.
  TensorPtr argument(const std::string &path) const;
  std::vector<TensorPtr> &results() { return resultTensors; }
  const std::vector<TensorPtr> &results() const { return resultTensors; }

  void run();

private:
  struct Slot {
    const gnnrt_graph *graph = nullptr;
    TensorPtr tensor; // tensors, scalars and sizes
  };

  bool canBeMade(const Arg &arg, const Inputs &inputs, const BindOptions &options) const;
  void takeGiven(Inputs &inputs, const BindOptions &options);
  void makeRest(Inputs &inputs, const BindOptions &options);
  void failUnbound(const Inputs &inputs, const std::set<std::string> &sets) const;
  void failMissing(const Inputs &inputs, const BindOptions &options, const std::vector<const Arg *> &missing) const;

  Runtime &runtime;
  const Entry *description;
  Sizes knownSizes;
  std::vector<Slot> slots;
  std::vector<TensorPtr> resultTensors;
};

} // namespace gnnrun

#endif
