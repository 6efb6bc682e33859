// What a command that calls an entry point once works with: the model, the inputs, the parameters of a checkpoint.
#ifndef GNN_RUN_SESSION_H
#define GNN_RUN_SESSION_H

#include "Binding.h"
#include "Checkpoint.h"
#include "Commands.h"

namespace gnnrun {

class Session {
public:
  explicit Session(const CallOptions &options);

  Runtime runtime;
  Inputs inputs;
  /// Parameters come from the checkpoint; keys that nobody gives are made from the seed.
  BindOptions bind;

private:
  Checkpoint checkpoint;
};

} // namespace gnnrun

#endif
