// Looking up what the user gives; see Inputs.h.
#include "Inputs.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace gnnrun {
namespace {

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
    if (name != partOf(graph, "weight") || (edges.first.weight.empty() && !edges.first.src.empty()))
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
  std::optional<Found> data = raw(partOf(arg.path, "values"));
  if (!data || !isReal(arg.element))
    return std::nullopt;
  std::optional<Found> indptr = integers(partOf(arg.path, "indptr")), indices = integers(partOf(arg.path, "indices"));
  std::string name = fileName(arg.path);
  if (!indptr || !indices)
    fail("{} is there, but {}.indptr or {}.indices is not: a CSR matrix has all three", data->origin, name, name);
  auto shapeGiven = metadata(partOf(arg.path, "shape"));
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
        failUsage("{}: '{}' is neither a number nor a name in the data's metadata (its sizes: {})", origin, text,
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

} // namespace gnnrun
