// Opening what a call needs; see Session.h.
#include "Session.h"
#include "Files.h"
#include "Random.h"

namespace gnnrun {

Session::Session(const CallOptions &options)
    : runtime(options.model, options.threads), inputs(options.inputs, runtime) {
  for (const std::string &file : {options.output, options.json})
    if (!file.empty() && file != "-")
      checkWritable(file);
  bind.verbose = options.inputs.verbose;
  if (!options.checkpoint.empty()) {
    checkpoint = Checkpoint::read(options.checkpoint);
    bind.state = &checkpoint.tensors;
    bind.stateName = options.checkpoint;
  }
  bind.make = [seed = options.inputs.seed](const Arg &arg, const std::vector<int64_t> &,
                                           const Sizes &) -> std::optional<Tensor> {
    if (arg.element != Element::Key || arg.kind != ArgKind::Scalar)
      return std::nullopt;
    Tensor value(DType::I64, {});
    value.setInteger(0, static_cast<int64_t>(key(seed)));
    return value;
  };
}

} // namespace gnnrun
