// The manifest: what a tool needs to call the model, as JSON (docs/manifest.md).
#include "CodeGen.h"

#include <gnnrt/gnnrt.h>
#include <nlohmann/json.hpp>

using namespace gnnc;
using Json = nlohmann::ordered_json;

static Json numberOf(mlir::Attribute attr) {
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(attr)) {
    // JSON has no such numbers.
    if (real.getValue().isNaN())
      return "nan";
    if (real.getValue().isInfinity())
      return real.getValue().isNegative() ? "-inf" : "inf";
    return std::strtod(shortestText(real).c_str(), nullptr);
  }
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attr))
    return integer.getType().isInteger(1) ? Json(integer.getValue().getBoolValue()) : Json(integer.getInt());
  if (auto text = mlir::dyn_cast<mlir::StringAttr>(attr))
    return text.getValue().str();
  return nullptr;
}

static Json initialiser(mlir::DictionaryAttr init) {
  Json json = Json::object();
  for (mlir::NamedAttribute entry : init) {
    if (auto list = mlir::dyn_cast<mlir::ArrayAttr>(entry.getValue())) {
      Json values = Json::array();
      for (mlir::Attribute value : list)
        values.push_back(numberOf(value));
      json[entry.getName().str()] = values;
    } else {
      json[entry.getName().str()] = numberOf(entry.getValue());
    }
  }
  return json;
}

static Json dimensions(const EntryInfo &entry, const ArgInfo &arg) {
  Json dims = Json::array();
  for (gnn::SizeAttr dim : arg.dims)
    dims.push_back(entry.sizeText(dim));
  return dims;
}

static Json argument(const EntryInfo &entry, const ArgInfo &arg) {
  Json json = {{"path", arg.path}};
  switch (arg.kind) {
  case ArgKind::Graph:
    json["kind"] = "graph";
    json["src"] = entry.setName(arg.sets[0]);
    json["dst"] = entry.setName(arg.sets[1]);
    json["edges"] = entry.setName(arg.sets[2]);
    return json;
  case ArgKind::Size:
    json["kind"] = "size";
    json["set"] = entry.setName(arg.sets[0]);
    return json;
  case ArgKind::Scalar:
    json["kind"] = "scalar";
    json["dtype"] = dtypeName(arg.dtype).str();
    if (arg.sets[0] >= 0)
      json["set"] = entry.setName(arg.sets[0]);
    break;
  case ArgKind::Tensor:
    json["kind"] = "tensor";
    if (arg.mode != ArgMode::Out)
      json["mode"] = arg.mode == ArgMode::InOut ? "inout" : "in";
    json["dtype"] = dtypeName(arg.dtype).str();
    if (arg.into)
      json["into"] = entry.sizeText(arg.into);
    json["dims"] = dimensions(entry, arg);
    break;
  }
  if (arg.defaultValue)
    json["default"] = numberOf(arg.defaultValue);
  if (arg.init)
    json["init"] = initialiser(arg.init);
  return json;
}

std::string gnnc::makeManifest(llvm::ArrayRef<EntryInfo> entries, const ModelInfo &model) {
  Json json = {{"gnnc", versionText},  {"abi", GNNRT_ABI_VERSION},    {"source", model.source},
               {"real", model.real},   {"cpu", model.processor.name}, {"entries", Json::array()},
               {"vjps", Json::array()}};
  for (const EntryInfo &entry : entries) {
    Json args = Json::array(), results = Json::array();
    for (auto [i, arg] : llvm::enumerate(entry.args))
      (i < entry.inputs ? args : results).push_back(argument(entry, arg));
    json["entries"].push_back({{"name", entry.name}, {"sets", entry.setNames}, {"args", args}, {"results", results}});
    if (!entry.vjp)
      continue;
    json["vjps"].push_back({{"of", entry.vjp->of},
                            {"forward", entry.vjp->forward},
                            {"backward", entry.vjp->backward},
                            {"wrt", entry.vjp->wrt},
                            {"residual_bytes", entry.sizeText(entry.residuals->bytes)}});
  }
  return json.dump();
}
