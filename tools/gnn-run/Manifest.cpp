// Reading the manifest; see Manifest.h.
#include "Manifest.h"
#include "Sizes.h"
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace gnnrun {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char *, Element> elementNames[] = {
    {"f32", Element::F32},   {"f64", Element::F64},     {"i32", Element::I32}, {"i64", Element::I64},
    {"bool", Element::Bool}, {"index", Element::Index}, {"u8", Element::U8},   {"key", Element::Key}};

Element parseElement(const Json &json) {
  std::string dtype = json.at("dtype").get<std::string>();
  for (auto &[name, element] : elementNames)
    if (dtype == name)
      return element;
  fail("unknown element type {}", dtype);
}

/// A number, or one that JSON lacks as "inf", "-inf", "nan".
double parseReal(const Json &json) {
  return json.is_string() ? std::strtod(json.get_ref<const std::string &>().c_str(), nullptr) : json.get<double>();
}

Initialiser parseInit(const Json &json, const Json &arg) {
  Initialiser init;
  init.fn = json.at("fn").get<std::string>();
  for (const Json &value : json.value("args", Json::array()))
    init.args.push_back(parseReal(value));
  init.blockRank = json.value("block_rank", arg.value("block_rank", int64_t(0)));
  if (init.blockRank < 0 || init.blockRank > static_cast<int64_t>(arg.at("dims").size()))
    fail("the initialiser of {} has a wrong block_rank", arg.at("path").dump());
  return init;
}

Arg parseArg(const Json &json) {
  Arg arg;
  arg.path = json.at("path").get<std::string>();
  std::string kind = json.at("kind").get<std::string>();
  if (kind == "graph") {
    arg.kind = ArgKind::Graph;
    arg.src = json.at("src").get<std::string>();
    arg.dst = json.at("dst").get<std::string>();
    arg.edges = json.at("edges").get<std::string>();
  } else if (kind == "tensor") {
    arg.kind = ArgKind::Tensor;
    arg.inout = json.value("mode", "in") == "inout";
    arg.element = parseElement(json);
    arg.dims = json.at("dims").get<std::vector<std::string>>();
    arg.into = json.value("into", "");
  } else if (kind == "scalar") {
    arg.kind = ArgKind::Scalar;
    arg.element = parseElement(json);
    arg.set = json.value("set", "");
    arg.into = json.value("into", "");
  } else if (kind == "size") {
    arg.kind = ArgKind::Size;
    arg.element = Element::I64;
    arg.set = json.at("set").get<std::string>();
  } else {
    fail("unknown kind of argument '{}'", kind);
  }
  if (auto it = json.find("init"); it != json.end() && !it->is_null())
    arg.init = parseInit(*it, json);
  if (auto it = json.find("default"); it != json.end() && !it->is_null()) {
    if (it->is_boolean())
      arg.defaultInteger = it->get<bool>();
    else if (it->is_number_integer())
      arg.defaultInteger = it->get<int64_t>();
    else
      arg.defaultReal = parseReal(*it);
  }
  return arg;
}

/// The list of sets may leave out those that have no name in the source.
void addMentionedSets(Entry &entry) {
  auto add = [&](const std::string &expression) {
    for (const std::string &set : setsIn(expression))
      if (!entry.hasSet(set))
        entry.sets.push_back(set);
  };
  for (const std::vector<Arg> *args : {&entry.args, &entry.results}) {
    for (const Arg &arg : *args) {
      for (const std::string &dim : arg.dims)
        add(dim);
      for (const std::string *set : {&arg.src, &arg.dst, &arg.edges, &arg.set})
        if (!set->empty())
          add(*set);
    }
  }
}

} // namespace

DType storageOf(Element element) {
  switch (element) {
  case Element::F32:
    return DType::F32;
  case Element::F64:
    return DType::F64;
  case Element::I32:
  case Element::Index:
    return DType::I32;
  case Element::Bool:
    return DType::Bool;
  case Element::U8:
    return DType::U8;
  case Element::I64:
  case Element::Key:
    break;
  }
  return DType::I64;
}

const char *elementName(Element element) {
  for (auto &[name, value] : elementNames)
    if (value == element)
      return name;
  return "?";
}

bool Entry::hasSet(const std::string &set) const {
  for (const std::string &name : sets)
    if (name == set)
      return true;
  return false;
}

const Arg *Entry::findArg(const std::string &path) const {
  for (const Arg &arg : args)
    if (arg.path == path)
      return &arg;
  return nullptr;
}

Manifest Manifest::parse(const std::string &model, const std::string &text) {
  Manifest manifest;
  try {
    Json json = Json::parse(text);
    manifest.gnnc = json.value("gnnc", "");
    manifest.abi = json.value("abi", int64_t(0));
    manifest.source = json.value("source", "");
    manifest.real = json.value("real", "");
    manifest.cpu = json.value("cpu", "");
    for (const Json &entryJson : json.at("entries")) {
      Entry entry;
      entry.name = entryJson.at("name").get<std::string>();
      entry.sets = entryJson.at("sets").get<std::vector<std::string>>();
      for (const Json &arg : entryJson.at("args"))
        entry.args.push_back(parseArg(arg));
      for (const Json &result : entryJson.at("results"))
        entry.results.push_back(parseArg(result));
      addMentionedSets(entry);
      manifest.entries.push_back(std::move(entry));
    }
    for (const Json &pair : json.value("vjps", Json::array())) {
      std::string bytes;
      if (auto it = pair.find("residual_bytes"); it != pair.end())
        bytes = it->is_string() ? it->get<std::string>() : it->dump();
      manifest.vjps.push_back({pair.at("of").get<std::string>(), pair.at("forward").get<std::string>(),
                               pair.at("backward").get<std::string>(), bytes});
    }
  } catch (const Json::exception &error) {
    fail("{}: the manifest is damaged ({}); build the model again", model, error.what());
  } catch (const Error &error) {
    fail("{}: the manifest has something that this gnn-run does not know: {}; use the gnn-run that came with the "
         "compiler",
         model, error.what());
  }
  return manifest;
}

const Entry &Manifest::entry(const std::string &name) const {
  std::vector<std::string> names;
  for (const Entry &entry : entries) {
    if (entry.name == name)
      return entry;
    names.push_back(entry.name);
  }
  fail("the model has no entry point '{}'; it has: {}", name, listText(names));
}

const VjpPair &Manifest::vjp(const std::string &of) const {
  std::vector<std::string> names;
  for (const VjpPair &pair : vjps) {
    if (pair.of == of)
      return pair;
    names.push_back(pair.of);
  }
  fail("the model has no derivative of '{}'; write `export vjp {};` in its source and build it again (it has those of: "
       "{})",
       of, of, listText(names));
}

} // namespace gnnrun
