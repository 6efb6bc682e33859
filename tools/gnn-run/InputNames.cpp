// Names that the user gives against the names that there are, and what there is, for messages; see Inputs.h.
#include "Inputs.h"
#include <algorithm>

namespace gnnrun {

void Inputs::checkNames(const std::vector<const Entry *> &entries) const {
  std::vector<std::string> entryNames, paths, sets, graphPaths;
  entryNames.reserve(entries.size());
  std::map<std::string, const Arg *> args;
  for (const Entry *entry : entries) {
    entryNames.push_back(entry->name);
    for (const std::string &set : entry->sets)
      if (std::find(sets.begin(), sets.end(), set) == sets.end())
        sets.push_back(set);
    for (const Arg &arg : entry->args)
      if (args.emplace(arg.path, &arg).second)
        (arg.kind == ArgKind::Graph ? graphPaths : paths).push_back(arg.path);
  }
  std::string where = listText(entryNames);
  auto check = [&](const std::string &option, const std::string &name, bool known,
                   const std::vector<std::string> &have) {
    if (!known)
      failUsage("{} {}: {} has nothing of this name; it has: {}", option, name, where, listText(have));
  };
  for (auto &[path, value] : values) {
    auto it = args.find(path);
    if (it != args.end() && it->second->kind == ArgKind::Size)
      failUsage("{} {}: this is a size; give it with --size {}={}", value.option, path, it->second->set, value.text);
    check(value.option, path, it != args.end() && it->second->holdsValue(), paths);
    const Arg &arg = *it->second;
    if (value.option == "--set" && arg.kind == ArgKind::Tensor && !arg.isScalarTensor())
      failUsage("--set {}: this is a tensor; --fill {}={} gives all its elements this value", path, path, value.text);
  }
  for (auto &[path, text] : draws)
    check("--draw", path, args.count(path) != 0, paths);
  for (auto &[set, text] : sizeTexts)
    check("--size", set, std::find(sets.begin(), sets.end(), set) != sets.end(), sets);
  for (auto &[path, edges] : edgeFiles)
    check("--graph", path, std::find(graphPaths.begin(), graphPaths.end(), path) != graphPaths.end(), graphPaths);
  for (auto &[path, spec] : randomSpecs)
    if (!path.empty())
      check("--random", path, std::find(graphPaths.begin(), graphPaths.end(), path) != graphPaths.end(), graphPaths);
  for (auto &[path, target] : renames) {
    bool known = false;
    for (auto &[name, arg] : args)
      known |= name == path || name.starts_with(path + ".") || path.starts_with(name + ".") || path == name + "_adj";
    for (const Entry *entry : entries)
      for (const Arg &result : entry->results)
        known |= path == result.path + "_adj";
    std::vector<std::string> all = paths;
    all.insert(all.end(), graphPaths.begin(), graphPaths.end());
    check("--rename", path, known, all);
  }
}

std::string Inputs::describe() const {
  if (files.empty())
    return "no --data file was given";
  std::vector<std::string> parts;
  parts.reserve(files.size());
  for (auto &file : files)
    parts.push_back(fmt::format("{} has {}", baseName(file->path()), listText(file->names(), "no tensors")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> Inputs::metadataNames() const {
  std::vector<std::string> names;
  for (auto &file : files)
    for (auto &[entry, text] : file->metadata())
      if (std::optional<int64_t> size = parseNumber<int64_t>(text); size && *size >= 0)
        names.push_back(entry);
  return names;
}

} // namespace gnnrun
