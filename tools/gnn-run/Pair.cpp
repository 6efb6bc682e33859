// Running a derivative pair; see Pair.h.
#include "Pair.h"

namespace gnnrun {

Pair::Pair(Runtime &runtime, Inputs &inputs, const std::string &of, const BindOptions &forwardOptions,
           const Maker &makeCotangent) {
  const VjpPair &names = runtime.manifest().vjp(of);
  const Entry &forwardEntry = runtime.manifest().entry(names.forward);
  const Entry &backwardEntry = runtime.manifest().entry(names.backward);
  inputs.checkNames({&forwardEntry, &backwardEntry});
  forwardCall = std::make_unique<BoundCall>(runtime, inputs, forwardEntry, forwardOptions);
  forwardCall->run();

  for (const Arg &arg : forwardEntry.args)
    if (TensorPtr value = forwardCall->argument(arg.path))
      state[arg.path] = value;
  for (size_t i = 0; i < forwardEntry.results.size(); ++i)
    if (forwardEntry.results[i].element == Element::U8)
      state[forwardEntry.results[i].path] = forwardCall->results()[i];
  // A cotangent has its result's shape, whatever name the backward half has for it.
  for (size_t i = 0; i < forwardEntry.results.size(); ++i) {
    const Arg *arg = backwardEntry.findArg(forwardEntry.results[i].path + "_adj");
    if (!arg || !arg->holdsValue())
      continue;
    const std::vector<int64_t> &shape = forwardCall->results()[i]->shape();
    std::optional<Tensor> value;
    if (inputs.isSet(*arg))
      value = inputs.setValue(*arg, shape);
    else if (makeCotangent && !inputs.tensor(*arg))
      value = makeCotangent(*arg, shape, forwardCall->sizes());
    if (value)
      state[arg->path] = std::make_shared<Tensor>(std::move(*value));
  }
  BindOptions bind;
  bind.state = &state;
  bind.stateName = names.forward;
  bind.sizes = &forwardCall->sizes();
  bind.verbose = forwardOptions.verbose;
  backwardCall = std::make_unique<BoundCall>(runtime, inputs, backwardEntry, bind);
  backwardCall->run();
}

TensorPtr Pair::cotangent(size_t i) const {
  return backwardCall->argument(forwardCall->entry().results[i].path + "_adj");
}

} // namespace gnnrun
