// Looking up what the user gives; see Inputs.h.
#include "Inputs.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace gnnrun {
namespace {

std::string baseName(const std::string &path) { return path.substr(path.find_last_of('/') + 1); }

/// The integers of a metadata value: "2708,1433" or "[2708, 1433]".
std::vector<int64_t> parseShape(const std::string &text, const std::string &origin) {
  std::string_view inner = trim(text);
  if (inner.starts_with('[') && inner.ends_with(']'))
    inner = inner.substr(1, inner.size() - 2);
  std::vector<int64_t> shape;
  for (const std::string &part : split(inner, ',')) {
    std::optional<int64_t> size = parseNumber<int64_t>(part);
    if (!size || *size < 0)
      fail("{} is '{}', which is no shape; two sizes as in \"2708,1433\" are expected", origin, text);
    shape.push_back(*size);
  }
  return shape;
}

/// Adds the entries of a CSR matrix to a dense one.
template <typename Real>
void densify(const Found &pointers, const Found &columnsOf, const Tensor &values, Tensor &dense) {
  const Tensor &indptr = *pointers.tensor, &indices = *columnsOf.tensor;
  int64_t rows = dense.shape()[0], columns = dense.shape()[1], entries = values.count();
  int64_t before = indptr.integer(0);
  if (before != 0)
    fail("{} begins with {}; row pointers begin with 0", pointers.origin, before);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t end = indptr.integer(r + 1);
    if (end < before || end > entries)
      fail("{}: entry {} is {}; row pointers rise from 0 to the number of values, {}", pointers.origin, r + 1, end,
           entries);
    for (int64_t k = before; k < end; ++k) {
      int64_t column = indices.integer(k);
      if (column < 0 || column >= columns)
        fail("{}: entry {} is {}, but there are {} columns", columnsOf.origin, k, column, columns);
      dense.data<Real>()[r * columns + column] += static_cast<Real>(values.real(k));
    }
    before = end;
  }
  if (before != entries)
    fail("{} ends with {}, but there are {} values", pointers.origin, before, entries);
}

const char *expectedTypes(Element element) {
  switch (element) {
  case Element::F32:
  case Element::F64:
    return "reals (F32 or F64)";
  case Element::Bool:
    return "booleans (BOOL)";
  case Element::U8:
    return "bytes (U8)";
  default:
    return "integers (I32 or I64)";
  }
}

std::string graphPart(const std::string &path, const char *part) { return path + "." + part; }

} // namespace

TensorPtr convertFor(const Arg &arg, const TensorPtr &tensor, const std::string &origin, bool verbose) {
  DType have = tensor->dtype(), want = storageOf(arg.element);
  if (have == want || (arg.element == Element::Index && have == DType::I64))
    return tensor;
  bool integersFit = !isReal(have) && have != DType::Bool && !isReal(arg.element) && arg.element != Element::Bool;
  bool bytesFit = have == DType::U8 && arg.element == Element::Bool;
  if (!(isReal(have) && isReal(arg.element)) && !integersFit && !bytesFit)
    fail("{} holds {}, but {} wants {}", origin, dtypeName(have), arg.path, expectedTypes(arg.element));
  auto result = std::make_shared<Tensor>(want, tensor->shape());
  for (int64_t i = 0; i < tensor->count(); ++i) {
    if (isReal(have)) {
      result->setReal(i, tensor->real(i));
      continue;
    }
    int64_t value = tensor->integer(i);
    result->setInteger(i, value);
    if (result->integer(i) != value)
      fail("{}: element {} is {}, which {} can't hold", origin, i, value, arg.path);
  }
  if (verbose)
    fmt::print(stderr, "gnn-run: {} is converted from {} to {}\n", origin, dtypeName(have), dtypeName(want));
  return result;
}

Inputs::Inputs(const InputOptions &given, Runtime &runtime) : options(given), runtime(runtime) {
  for (const std::string &path : options.data)
    files.push_back(std::make_unique<SafetensorsFile>(path));
  for (const std::string &list : options.rename)
    for (const std::string &item : split(list, ','))
      renames.insert(splitAssignment(item, "--rename"));
  for (auto &[items, option] : {std::pair(&options.set, "--set"), std::pair(&options.fill, "--fill")}) {
    for (const std::string &item : *items) {
      auto [path, text] = splitAssignment(item, option);
      values[path] = {text, option};
    }
  }
  for (const std::string &item : options.size)
    sizeTexts.insert(splitAssignment(item, "--size"));
  for (const std::string &item : options.draw)
    draws.insert(splitAssignment(item, "--draw"));
  for (const std::string &item : options.graph) {
    auto [path, file] = splitAssignment(item, "--graph");
    edgeFiles[path] = {readEdgeFile(file), baseName(file)};
  }
  for (const std::string &item : options.random) {
    size_t colon = item.find(':');
    std::string path = colon == std::string::npos ? "" : item.substr(0, colon);
    randomSpecs[path] = RandomGraphSpec::parse(colon == std::string::npos ? item : item.substr(colon + 1));
  }
}

/// What an argument's path (or a part of it, such as g.src) is called in the files. A rename of `g` also renames
/// `g.src`.
std::string Inputs::fileName(const std::string &path) const {
  for (size_t end = path.size(); end != std::string::npos && end != 0; end = path.rfind('.', end - 1)) {
    auto it = renames.find(path.substr(0, end));
    if (it != renames.end())
      return it->second + path.substr(end);
  }
  return path;
}

const SafetensorsFile *Inputs::fileWith(const std::string &name) const {
  for (auto &file : files)
    if (file->contains(name))
      return file.get();
  return nullptr;
}

std::optional<std::pair<std::string, std::string>> Inputs::metadata(const std::string &path) const {
  std::string name = fileName(path);
  for (auto &file : files) {
    auto it = file->metadata().find(name);
    if (it != file->metadata().end())
      return std::pair(it->second, fmt::format("metadata {} of {}", name, baseName(file->path())));
  }
  return std::nullopt;
}

std::optional<int64_t> Inputs::metadataSize(const std::string &path, std::string &origin) const {
  auto found = metadata(path);
  if (!found)
    return std::nullopt;
  origin = found->second;
  std::optional<int64_t> size = parseNumber<int64_t>(found->first);
  if (!size || *size < 0)
    fail("{} is '{}', which is no size", origin, found->first);
  return size;
}

std::optional<Found> Inputs::raw(const std::string &path) const {
  std::string name = fileName(path);
  if (const SafetensorsFile *file = fileWith(name))
    return Found{std::make_shared<Tensor>(file->read(name)), fmt::format("{} in {}", name, baseName(file->path()))};
  for (auto &[graph, edges] : edgeFiles) {
    if (name != graphPart(graph, "weight") || (edges.first.weight.empty() && !edges.first.src.empty()))
      continue;
    auto weights = std::make_shared<Tensor>(DType::F64, std::vector{static_cast<int64_t>(edges.first.weight.size())});
    std::copy(edges.first.weight.begin(), edges.first.weight.end(), weights->data<double>());
    return Found{weights, fmt::format("the weights in {}", edges.second)};
  }
  return std::nullopt;
}

std::optional<Found> Inputs::integers(const std::string &path) const {
  std::optional<Found> found = raw(path);
  if (!found)
    return found;
  if (isReal(found->tensor->dtype()) || found->tensor->dtype() == DType::Bool)
    fail("{} holds {}, but indices are integers (I32 or I64)", found->origin, dtypeName(found->tensor->dtype()));
  if (found->tensor->rank() != 1)
    fail("{} has shape {}; indices stand in a vector", found->origin, shapeText(found->tensor->shape()));
  if (found->tensor->dtype() == DType::U8) {
    Arg wide;
    wide.path = path;
    wide.element = Element::I32;
    found->tensor = convertFor(wide, found->tensor, found->origin, false);
  }
  return found;
}

/// A matrix stored as CSR, made dense.
std::optional<Found> Inputs::sparse(const Arg &arg) const {
  std::optional<Found> data = raw(graphPart(arg.path, "values"));
  if (!data || !isReal(arg.element))
    return std::nullopt;
  std::optional<Found> indptr = integers(graphPart(arg.path, "indptr")),
                       indices = integers(graphPart(arg.path, "indices"));
  std::string name = fileName(arg.path);
  if (!indptr || !indices)
    fail("{} is there, but {}.indptr or {}.indices is not: a CSR matrix has all three", data->origin, name, name);
  auto shapeGiven = metadata(graphPart(arg.path, "shape"));
  if (!shapeGiven)
    fail("{} is a CSR matrix, but the metadata has no {}.shape (such as \"2708,1433\")", data->origin, name);
  std::vector<int64_t> shape = parseShape(shapeGiven->first, shapeGiven->second);
  if (shape.size() != 2)
    fail("{} is '{}'; a CSR matrix has two sizes", shapeGiven->second, shapeGiven->first);
  if (!isReal(data->tensor->dtype()) || data->tensor->rank() != 1 || data->tensor->count() != indices->tensor->count())
    fail("{} must be a vector of reals, as long as {}.indices ({})", data->origin, name, indices->tensor->count());
  if (indptr->tensor->count() != shape[0] + 1)
    fail("{} has {} entries, but {} rows need {}", indptr->origin, indptr->tensor->count(), shape[0], shape[0] + 1);
  auto dense = std::make_shared<Tensor>(storageOf(arg.element), shape);
  if (arg.element == Element::F32)
    densify<float>(*indptr, *indices, *data->tensor, *dense);
  else
    densify<double>(*indptr, *indices, *data->tensor, *dense);
  return Found{dense, fmt::format("{}{}", name, data->origin.substr(data->origin.find(" in ")))};
}

std::optional<Found> Inputs::tensor(const Arg &arg) {
  std::string cacheKey = fmt::format("{}:{}", arg.path, elementName(arg.element));
  if (auto it = cache.find(cacheKey); it != cache.end())
    return it->second;
  std::optional<Found> found = raw(arg.path);
  if (found)
    found->tensor = convertFor(arg, found->tensor, found->origin, options.verbose);
  else
    found = sparse(arg);
  if (found)
    cache[cacheKey] = *found;
  return found;
}

bool Inputs::isSet(const Arg &arg) const { return values.count(arg.path) != 0; }

Tensor Inputs::setValue(const Arg &arg, const std::vector<int64_t> &shape) const {
  const Value &value = values.at(arg.path);
  Tensor result(storageOf(arg.element), shape);
  if (isReal(arg.element)) {
    std::optional<double> number = parseNumber<double>(value.text);
    if (!number)
      failUsage("{} {}={}: a number is expected", value.option, arg.path, value.text);
    for (int64_t i = 0; i < result.count(); ++i)
      result.setReal(i, *number);
    return result;
  }
  std::optional<int64_t> number = parseNumber<int64_t>(value.text);
  if (arg.element == Element::Bool && (value.text == "true" || value.text == "false"))
    number = value.text == "true";
  if (!number || (arg.element == Element::Bool && *number != 0 && *number != 1))
    failUsage("{} {}={}: {} is expected", value.option, arg.path, value.text,
              arg.element == Element::Bool ? "true or false" : "an integer");
  if (arg.element == Element::Key)
    number = static_cast<int64_t>(key(static_cast<uint64_t>(*number)));
  for (int64_t i = 0; i < result.count(); ++i) {
    result.setInteger(i, *number);
    if (result.integer(i) != *number)
      failUsage("{} {}={}: the number does not fit {}", value.option, arg.path, value.text, elementName(arg.element));
  }
  return result;
}

std::optional<std::pair<double, double>> Inputs::drawRange(const std::string &path) const {
  auto it = draws.find(path);
  if (it == draws.end())
    return std::nullopt;
  size_t dots = it->second.find("..");
  if (dots != std::string::npos) {
    std::optional<double> low = parseNumber<double>(std::string_view(it->second).substr(0, dots));
    std::optional<double> high = parseNumber<double>(std::string_view(it->second).substr(dots + 2));
    if (low && high && *low <= *high)
      return std::pair(*low, *high);
  }
  failUsage("--draw {}={}: an interval as in {}=0.5..1.5 is expected", path, it->second, path);
}

void Inputs::bindSizes(const Entry &entry, Sizes &sizes) const {
  for (auto &[set, text] : sizeTexts) {
    if (!entry.hasSet(set))
      continue;
    std::optional<int64_t> size = parseNumber<int64_t>(text);
    std::string origin = fmt::format("--size {}={}", set, text);
    if (!size) {
      std::string from;
      size = metadataSize(text, from);
      if (!size)
        failUsage("{}: '{}' is neither a number nor a name in the data's metadata (which has: {})", origin, text,
                  listText(metadataNames()));
      origin = from;
    }
    if (*size < 0)
      failUsage("{}: a size can't be negative", origin);
    sizes.bind(set, *size, origin);
  }
  for (const std::string &set : entry.sets) {
    std::string origin;
    if (!sizes.find(set))
      if (std::optional<int64_t> size = metadataSize(set, origin))
        sizes.bind(set, *size, origin);
  }
  for (const Arg &arg : entry.args)
    if (arg.kind == ArgKind::Graph)
      bindNodeSizes(arg, sizes);
}

void Inputs::bindNodeSizes(const Arg &arg, Sizes &sizes) const {
  std::string origin;
  if (arg.src == arg.dst)
    if (std::optional<int64_t> size = metadataSize(graphPart(arg.path, "num_nodes"), origin))
      sizes.bind(arg.src, *size, origin);
  if (std::optional<int64_t> size = metadataSize(graphPart(arg.path, "num_src"), origin))
    sizes.bind(arg.src, *size, origin);
  if (std::optional<int64_t> size = metadataSize(graphPart(arg.path, "num_dst"), origin))
    sizes.bind(arg.dst, *size, origin);
}

const gnnrt_graph *Inputs::graph(const Arg &arg, Sizes &sizes) {
  auto it = graphs.find(arg.path);
  if (it == graphs.end()) {
    Graph made = makeGraph(arg, sizes);
    if (!made)
      return nullptr;
    it = graphs.emplace(arg.path, std::move(made)).first;
  }
  const gnnrt_graph *graph = it->second.get();
  std::string origin = fmt::format("graph {}", arg.path);
  sizes.bind(arg.src, gnnrt_graph_num_src(graph), origin);
  sizes.bind(arg.dst, gnnrt_graph_num_dst(graph), origin);
  sizes.bind(arg.edges, gnnrt_graph_num_edges(graph), origin);
  return graph;
}

Graph Inputs::graphFromEdges(const Arg &arg, const EdgeList &edges, const std::string &origin, bool counted,
                             Sizes &sizes) {
  auto numNodes = [&](const std::string &set, const std::vector<int64_t> &ends, std::optional<int64_t> given) {
    if (given)
      sizes.bind(set, *given, origin);
    else if (counted && !sizes.find(set))
      sizes.bind(set, ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end()) + 1,
                 origin + " (its largest node)");
    return *sizes.find(set);
  };
  std::vector<int64_t> srcEnds = edges.src, dstEnds = edges.dst;
  if (arg.src == arg.dst) {
    srcEnds.insert(srcEnds.end(), edges.dst.begin(), edges.dst.end());
    if (edges.numSrc && edges.numDst && *edges.numSrc != *edges.numDst)
      fail("{} is a matrix of {} rows and {} columns, but {} is a graph over one set of nodes: it must be square",
           origin, *edges.numSrc, *edges.numDst, arg.path);
  }
  int64_t numSrc = numNodes(arg.src, srcEnds, edges.numSrc), numDst = numNodes(arg.dst, dstEnds, edges.numDst);
  std::vector<int64_t> shape{static_cast<int64_t>(edges.src.size())};
  Tensor src(DType::I64, shape), dst(DType::I64, shape);
  std::copy(edges.src.begin(), edges.src.end(), src.data<int64_t>());
  std::copy(edges.dst.begin(), edges.dst.end(), dst.data<int64_t>());
  return runtime.graphFromCoo(arg.path, numSrc, numDst, src, dst);
}

Graph Inputs::makeGraph(const Arg &arg, Sizes &sizes) {
  if (auto it = edgeFiles.find(arg.path); it != edgeFiles.end())
    return graphFromEdges(arg, it->second.first, it->second.second, true, sizes);

  auto nodes = [&](const std::string &set, const std::string &origin) {
    std::optional<int64_t> size = sizes.find(set);
    if (!size)
      fail("{} does not say how many nodes {} has; give --size {}=NUMBER, or {}.{} in the file's metadata", origin, set,
           set, fileName(arg.path),
           arg.src == arg.dst ? "num_nodes"
           : set == arg.src   ? "num_src"
                              : "num_dst");
    return *size;
  };
  std::optional<Found> src = integers(graphPart(arg.path, "src")), dst = integers(graphPart(arg.path, "dst"));
  if (src && dst)
    return runtime.graphFromCoo(arg.path, nodes(arg.src, src->origin), nodes(arg.dst, dst->origin), *src->tensor,
                                *dst->tensor);
  if (src || dst)
    fail("{} is there, but {} is not: a graph has both ends of its edges", src ? src->origin : dst->origin,
         fileName(graphPart(arg.path, src ? "dst" : "src")));

  std::optional<Found> indptr = integers(graphPart(arg.path, "indptr")),
                       indices = integers(graphPart(arg.path, "indices"));
  if (indptr && indices) {
    if (arg.src == arg.dst && indptr->tensor->count() > 0)
      sizes.bind(arg.src, indptr->tensor->count() - 1, indptr->origin);
    return runtime.graphFromCsr(arg.path, nodes(arg.src, indptr->origin), *indptr->tensor, *indices->tensor);
  }
  if (std::optional<Found> dense = raw(arg.path)) {
    if (!isReal(dense->tensor->dtype()) || dense->tensor->rank() != 2)
      fail("{} is no graph: a matrix of reals, or {}.src and {}.dst, are expected", dense->origin, fileName(arg.path),
           fileName(arg.path));
    return runtime.graphFromDense(arg.path, *dense->tensor);
  }

  auto spec = randomSpecs.find(arg.path);
  if (spec == randomSpecs.end())
    spec = randomSpecs.find("");
  if (spec == randomSpecs.end())
    return nullptr;
  if (spec->second.numSrc && !sizes.find(arg.src))
    sizes.bind(arg.src, *spec->second.numSrc, "--random");
  if (spec->second.numDst && !sizes.find(arg.dst))
    sizes.bind(arg.dst, *spec->second.numDst, "--random");
  if (!sizes.find(arg.src) || !sizes.find(arg.dst))
    failUsage("--random does not say how many nodes {} has: give nodes=NUMBER in it", arg.path);
  EdgeList edges = randomGraph(spec->second, *sizes.find(arg.src), *sizes.find(arg.dst), arg.src == arg.dst,
                               keyOf(options.seed, arg.path));
  return graphFromEdges(arg, edges, "--random", false, sizes);
}

void Inputs::checkNames(const std::vector<const Entry *> &entries) const {
  std::vector<std::string> entryNames, paths, sets, graphPaths;
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
  for (auto &file : files)
    parts.push_back(fmt::format("{} has {}", baseName(file->path()), listText(file->names(), "no tensors")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> Inputs::metadataNames() const {
  std::vector<std::string> names;
  for (auto &file : files)
    for (auto &entry : file->metadata())
      names.push_back(entry.first);
  return names;
}

} // namespace gnnrun
