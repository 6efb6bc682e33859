// A derivative pair, bound and run: forward from the inputs, backward from its residuals and cotangents.
#ifndef GNN_RUN_PAIR_H
#define GNN_RUN_PAIR_H

#include "Binding.h"

namespace gnnrun {

class Pair {
public:
  /// Binds and runs both halves. `forwardOptions` says how the inputs are found; cotangents come from the data under
  /// `<result>_adj`, or from `makeCotangent`.
  Pair(Runtime &runtime, Inputs &inputs, const std::string &of, const BindOptions &forwardOptions,
       const Maker &makeCotangent);

  BoundCall &forward() { return *forwardCall; }
  BoundCall &backward() { return *backwardCall; }
  /// The cotangent of result i of the forward half; null where it has none.
  TensorPtr cotangent(size_t i) const;

private:
  TensorMap state; // what the backward half takes from the forward half
  std::unique_ptr<BoundCall> forwardCall, backwardCall;
};

} // namespace gnnrun

#endif
