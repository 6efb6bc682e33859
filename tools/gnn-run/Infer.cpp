// gnn-run infer and gnn-run vjp: call an entry point (or a derivative pair) once and write what comes out by path.
#include "Files.h"
#include "Pair.h"
#include "Session.h"
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

void deliver(const CallOptions &options, const Outputs &outputs) {
  if (!options.output.empty())
    writeSafetensors(options.output, outputs, {{"format", "gnn-run results"}, {"entry", options.entry}});
  Json json{{"model", options.model}, {"entry", options.entry}, {"results", Json::object()}};
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

} // namespace

int infer(const CallOptions &options) {
  Session session(options);
  const Entry &entry = session.runtime.manifest().entry(options.entry);
  session.inputs.checkNames({&entry});
  BoundCall call(session.runtime, session.inputs, entry, session.bind);
  call.run();
  Outputs outputs;
  collect(call, outputs);
  deliver(options, outputs);
  return 0;
}

int vjp(const CallOptions &options) {
  Session session(options);
  Pair pair(session.runtime, session.inputs, options.entry, session.bind, nullptr);
  Outputs outputs;
  collect(pair.forward(), outputs);
  collect(pair.backward(), outputs);
  deliver(options, outputs);
  return 0;
}

} // namespace gnnrun
