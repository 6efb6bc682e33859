// gnn-run infer and gnn-run vjp: call an entry point (or a derivative pair) once and write what comes out by path.
#include "Binding.h"
#include "Checkpoint.h"
#include "Commands.h"
#include "Files.h"
#include "Pair.h"
#include "Progress.h"
#include "Random.h"
#include <nlohmann/json.hpp>

namespace gnnrun {
namespace {

using Json = nlohmann::ordered_json;
using Outputs = std::map<std::string, const Tensor *>;

/// Adds results, and the updated values of inout arguments.
void collect(const BoundCall &call, Outputs &outputs) {
  for (size_t i = 0; i < call.results().size(); ++i)
    if (call.entry().results[i].element != Element::U8)
      outputs[call.entry().results[i].path] = call.results()[i].get();
  for (const Arg &arg : call.entry().args)
    if (arg.inout)
      outputs[arg.path] = call.argument(arg.path).get();
}

void deliver(const CommonOptions &options, const std::string &entry, const std::string &file, const Outputs &outputs) {
  if (!file.empty())
    writeSafetensors(file, outputs, {{"format", "gnn-run results"}, {"entry", entry}});
  Json json{{"model", options.model}, {"entry", entry}, {"results", Json::object()}};
  for (auto &[path, tensor] : outputs) {
    Json item{{"dtype", dtypeName(tensor->dtype())}, {"shape", tensor->shape()}};
    std::string value;
    if (tensor->rank() == 0) {
      value =
          isReal(tensor->dtype()) ? fmt::format(" = {}", tensor->real(0)) : fmt::format(" = {}", tensor->integer(0));
      item["value"] = isReal(tensor->dtype()) ? Json(tensor->real(0)) : Json(tensor->integer(0));
    }
    json["results"][path] = item;
    if (!options.quiet && options.json != "-")
      fmt::print("{}: {} {}{}\n", path, dtypeName(tensor->dtype()), shapeText(tensor->shape()), value);
  }
  if (options.json == "-")
    fmt::print("{}\n", json.dump(2));
  else if (!options.json.empty())
    writeFile(options.json, json.dump(2) + "\n");
}

void checkOutputs(const CommonOptions &options, const std::string &output) {
  if (!output.empty())
    checkWritable(output);
  if (!options.json.empty() && options.json != "-")
    checkWritable(options.json);
}

} // namespace

int infer(const InferOptions &options) {
  checkOutputs(options, options.output);
  Runtime runtime(options.model, options.threads);
  const Entry &entry = runtime.manifest().entry(options.entry);
  Inputs inputs(options.inputs, runtime);
  inputs.checkNames({&entry});
  Checkpoint checkpoint;
  BindOptions bind;
  bind.verbose = options.inputs.verbose;
  if (!options.checkpoint.empty()) {
    checkpoint = Checkpoint::read(options.checkpoint);
    bind.state = &checkpoint.tensors;
    bind.stateName = options.checkpoint;
  }
  bind.make = [&](const Arg &arg, const std::vector<int64_t> &, const Sizes &) -> std::optional<Tensor> {
    if (arg.element != Element::Key)
      return std::nullopt;
    Tensor value(DType::I64, {});
    value.setInteger(0, static_cast<int64_t>(key(options.inputs.seed)));
    return value;
  };
  BoundCall call(runtime, inputs, entry, bind);
  call.run();
  Outputs outputs;
  collect(call, outputs);
  deliver(options, entry.name, options.output, outputs);
  return 0;
}

int vjp(const VjpOptions &options) {
  checkOutputs(options, options.output);
  Runtime runtime(options.model, options.threads);
  Inputs inputs(options.inputs, runtime);
  Checkpoint checkpoint;
  BindOptions bind;
  bind.verbose = options.inputs.verbose;
  if (!options.checkpoint.empty()) {
    checkpoint = Checkpoint::read(options.checkpoint);
    bind.state = &checkpoint.tensors;
    bind.stateName = options.checkpoint;
  }
  bind.make = [&](const Arg &arg, const std::vector<int64_t> &, const Sizes &) -> std::optional<Tensor> {
    if (arg.element != Element::Key)
      return std::nullopt;
    Tensor value(DType::I64, {});
    value.setInteger(0, static_cast<int64_t>(key(options.inputs.seed)));
    return value;
  };
  Pair pair(runtime, inputs, options.entry, bind, nullptr);
  Outputs outputs;
  collect(pair.forward(), outputs);
  collect(pair.backward(), outputs);
  deliver(options, options.entry, options.output, outputs);
  return 0;
}

} // namespace gnnrun
