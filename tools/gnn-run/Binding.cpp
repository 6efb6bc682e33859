// Binding arguments by path; see Binding.h.
#include "Binding.h"
#include <algorithm>

namespace gnnrun {
namespace {

Tensor defaultValue(const Arg &arg, const std::vector<int64_t> &shape) {
  Tensor value(storageOf(arg.element), shape);
  for (int64_t k = 0; k < value.count(); ++k) {
    if (arg.defaultInteger)
      value.setInteger(k, *arg.defaultInteger);
    else
      value.setReal(k, arg.defaultReal.value_or(0));
  }
  return value;
}

} // namespace

BoundCall::BoundCall(Runtime &runtime, Inputs &inputs, const Entry &entry, const BindOptions &options)
    : runtime(runtime), description(&entry), slots(entry.args.size()) {
  if (options.sizes)
    for (auto &[set, size] : options.sizes->all())
      if (entry.hasSet(set))
        knownSizes.bind(set, size.first, size.second);
  inputs.bindSizes(entry, knownSizes);
  takeGiven(inputs, options);
  makeRest(inputs, options);
  std::set<std::string> unbound;
  for (const Arg &result : entry.results) {
    std::optional<std::vector<int64_t>> shape = knownSizes.evaluate(result.dims, &unbound);
    if (shape)
      resultTensors.push_back(std::make_shared<Tensor>(storageOf(result.element), *shape));
  }
  if (!unbound.empty())
    failUnbound(inputs, unbound);
}

/// Takes what is there, in the order state, options, data, and learns sizes from it; then graphs, whose node counts may
/// be known through tensors only.
void BoundCall::takeGiven(Inputs &inputs, const BindOptions &options) {
  for (size_t i = 0; i < slots.size(); ++i) {
    const Arg &arg = description->args[i];
    if (!arg.holdsValue())
      continue;
    std::string origin;
    if (options.state) {
      if (auto it = options.state->find(arg.path); it != options.state->end()) {
        origin = fmt::format("{} in {}", arg.path, options.stateName);
        slots[i].tensor = convertFor(arg, it->second, origin, options.verbose);
      }
    }
    bool dataMayGive = options.parametersFromData || !arg.inout || !arg.init;
    if (!slots[i].tensor && !inputs.isSet(arg) && dataMayGive) {
      if (std::optional<Found> found = inputs.tensor(arg)) {
        origin = found->origin;
        // What is updated in place must not be the shared copy of the data.
        slots[i].tensor = arg.inout ? std::make_shared<Tensor>(*found->tensor) : found->tensor;
      }
    }
    if (!slots[i].tensor)
      continue;
    if (arg.dims.empty() && slots[i].tensor->rank() > 0 && slots[i].tensor->count() == 1) {
      // A vector of one element serves for a scalar.
      auto scalar = std::make_shared<Tensor>(slots[i].tensor->dtype(), std::vector<int64_t>());
      std::copy_n(slots[i].tensor->data<std::byte>(), scalar->bytes(), scalar->data<std::byte>());
      slots[i].tensor = scalar;
    }
    knownSizes.unify(arg.dims, slots[i].tensor->shape(), origin);
  }
  std::vector<const Arg *> missing;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Arg &arg = description->args[i];
    if (arg.kind != ArgKind::Graph)
      continue;
    slots[i].graph = inputs.graph(arg, knownSizes);
    if (!slots[i].graph)
      missing.push_back(&arg);
  }
  if (!missing.empty())
    failMissing(inputs, options, missing);
}

bool BoundCall::canBeMade(const Arg &arg, const Inputs &inputs, const BindOptions &options) const {
  using Makes = BindOptions::Makes;
  return inputs.isSet(arg) || arg.defaultReal || arg.defaultInteger || options.makes == Makes::Everything ||
         (arg.init && options.makes == Makes::Parameters);
}

/// Everything that could bind a size has; makes the values that nothing gave and checks all shapes.
void BoundCall::makeRest(Inputs &inputs, const BindOptions &options) {
  std::set<std::string> unbound;
  std::vector<const Arg *> missing;
  // Numbers that are sizes first.
  for (size_t i = 0; i < slots.size(); ++i) {
    const Arg &arg = description->args[i];
    if (arg.kind != ArgKind::Scalar || arg.set.empty())
      continue;
    if (!slots[i].tensor && inputs.isSet(arg))
      slots[i].tensor = std::make_shared<Tensor>(inputs.setValue(arg, {}));
    else if (!slots[i].tensor && arg.defaultInteger)
      slots[i].tensor = std::make_shared<Tensor>(defaultValue(arg, {}));
    if (slots[i].tensor)
      knownSizes.unify({arg.set}, {slots[i].tensor->integer(0)}, arg.path);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    const Arg &arg = description->args[i];
    if (arg.kind == ArgKind::Graph)
      continue;
    if (arg.kind == ArgKind::Size) {
      if (std::optional<int64_t> size = knownSizes.evaluate(arg.set, &unbound)) {
        slots[i].tensor = std::make_shared<Tensor>(DType::I64, std::vector<int64_t>());
        slots[i].tensor->setInteger(0, *size);
      }
      continue;
    }
    std::optional<std::vector<int64_t>> shape = knownSizes.evaluate(arg.dims, &unbound);
    if (!shape) {
      if (!slots[i].tensor && !canBeMade(arg, inputs, options))
        missing.push_back(&arg);
      continue;
    }
    if (slots[i].tensor) {
      knownSizes.unify(arg.dims, slots[i].tensor->shape(), arg.path);
      continue;
    }
    std::optional<Tensor> value;
    if (inputs.isSet(arg))
      value = inputs.setValue(arg, *shape);
    else if ((arg.defaultReal || arg.defaultInteger) && !(options.makeKeys && arg.element == Element::Key))
      value = defaultValue(arg, *shape);
    else if (options.make)
      value = options.make(arg, *shape, knownSizes);
    if (value)
      slots[i].tensor = std::make_shared<Tensor>(std::move(*value));
    else
      missing.push_back(&arg);
  }
  if (!missing.empty())
    failMissing(inputs, options, missing);
  if (!unbound.empty())
    failUnbound(inputs, unbound);
}

void BoundCall::failUnbound(const Inputs &inputs, const std::set<std::string> &sets) const {
  std::vector<std::string> options;
  options.reserve(sets.size());
  for (const std::string &set : sets)
    options.push_back(fmt::format("--size {}=NUMBER", set));
  std::vector<std::string> users;
  for (const Arg &arg : description->args)
    if (std::any_of(arg.dims.begin(), arg.dims.end(), [&](const std::string &dim) {
          std::set<std::string> mentioned = setsIn(dim);
          return std::any_of(mentioned.begin(), mentioned.end(), [&](auto &set) { return sets.count(set) != 0; });
        }))
      users.push_back(arg.path);
  std::vector<std::string> names = inputs.metadataNames();
  fail("{}: nothing says how large {} {} (in {}); give {}{}", description->name, listText(sets),
       sets.size() == 1 ? "is" : "are", listText(users, "its results"), fmt::join(options, " "),
       names.empty()
           ? std::string()
           : fmt::format(", where a name of the data's metadata ({}) serves as a number too", listText(names)));
}

void BoundCall::failMissing(const Inputs &inputs, const BindOptions &options,
                            const std::vector<const Arg *> &missing) const {
  std::vector<std::string> names, ways;
  const Arg *tensor = nullptr, *scalar = nullptr, *graph = nullptr;
  for (const Arg *arg : missing) {
    names.push_back(arg->path);
    if (arg->kind == ArgKind::Graph)
      graph = arg;
    else
      (arg->dims.empty() ? scalar : tensor) = arg;
  }
  if (graph)
    ways.push_back(
        fmt::format("{}.src and {}.dst in --data, or --graph {}=FILE", graph->path, graph->path, graph->path));
  if (tensor)
    ways.push_back(fmt::format("--rename {}=NAME if the file calls it otherwise, or --fill {}=NUMBER", tensor->path,
                               tensor->path));
  if (scalar)
    ways.push_back(fmt::format("--set {}=NUMBER", scalar->path));
  std::string state;
  if (options.state) {
    std::vector<std::string> have;
    for (auto &entry : *options.state)
      have.push_back(entry.first);
    state = fmt::format("; {} has {}", options.stateName, listText(have, "nothing"));
  }
  fail("{}: there is no value for {}; give {} ({}{})", description->name, listText(names), fmt::join(ways, "; "),
       inputs.describe(), state);
}

TensorPtr BoundCall::argument(const std::string &path) const {
  for (size_t i = 0; i < slots.size(); ++i)
    if (description->args[i].path == path)
      return slots[i].tensor;
  return nullptr;
}

void BoundCall::run() {
  std::vector<DLTensor> views;
  views.reserve(slots.size() + resultTensors.size());
  std::vector<gnnrt_value> values;
  auto pass = [&](const Tensor &tensor) {
    views.push_back(tensor.view());
    gnnrt_value value{};
    value.tensor = &views.back();
    values.push_back(value);
  };
  for (size_t i = 0; i < slots.size(); ++i) {
    const Arg &arg = description->args[i];
    if (arg.kind == ArgKind::Tensor) {
      pass(*slots[i].tensor);
      continue;
    }
    gnnrt_value value{};
    if (arg.kind == ArgKind::Graph)
      value.graph = slots[i].graph;
    else if (isReal(arg.element))
      value.f = slots[i].tensor->real(0);
    else
      value.i = slots[i].tensor->integer(0);
    values.push_back(value);
  }
  for (const TensorPtr &result : resultTensors)
    pass(*result);
  runtime.call(*description, values);
}

} // namespace gnnrun
