// gnn-run gradcheck: the gradients of a derivative pair against central differences, with a table and an exit status.
#include "Differences.h"
#include "Files.h"
#include "Progress.h"
#include "Random.h"
#include "Session.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gnnrun {
namespace {

using Json = nlohmann::ordered_json;

/// Inputs that nothing gives are drawn. Parameters follow their initialiser, but none is constant: at zero too many
/// mistakes would not show.
std::optional<Tensor> drawInput(const Inputs &inputs, uint64_t seed, const Arg &arg, const std::vector<int64_t> &shape,
                                const Sizes &sizes) {
  Tensor value(storageOf(arg.element), shape);
  uint64_t k = keyOf(seed, arg.path);
  auto each = [&](auto &&draw) {
    for (int64_t i = 0; i < value.count(); ++i)
      draw(i, static_cast<uint64_t>(i));
  };
  switch (arg.element) {
  case Element::F32:
  case Element::F64: {
    if (auto range = inputs.drawRange(arg.path)) {
      each([&](int64_t i, uint64_t n) {
        value.setReal(i, range->first + (range->second - range->first) * uniform(k, n));
      });
      return value;
    }
    if (!arg.init) {
      each([&](int64_t i, uint64_t n) { value.setReal(i, normal(k, n)); });
      return value;
    }
    value = initialise(arg, *arg.init, shape, seed);
    if (arg.init->fn == "zeros" || arg.init->fn == "ones" || arg.init->fn == "constant")
      each([&](int64_t i, uint64_t n) { value.setReal(i, value.real(i) + 0.3 * normal(k, n)); });
    return value;
  }
  case Element::Index: {
    std::optional<int64_t> below = sizes.evaluate(arg.into);
    if (!below || (*below == 0 && value.count() > 0))
      fail("{} can't be drawn at random: an index below {} is needed, and {}", arg.path, arg.into,
           below ? "that is 0" : "its size is not known");
    each([&](int64_t i, uint64_t n) {
      value.setInteger(i, std::min(static_cast<int64_t>(uniform(k, n) * static_cast<double>(*below)), *below - 1));
    });
    return value;
  }
  case Element::Bool:
    each([&](int64_t i, uint64_t n) { value.setInteger(i, uniform(k, n) < 0.5); });
    return value;
  case Element::Key:
    value.setInteger(0, static_cast<int64_t>(key(seed)));
    return value;
  default:
    return std::nullopt;
  }
}

struct Row {
  std::string path;
  std::vector<int64_t> shape;
  Comparison comparison;
  bool ok = false;
};

void print(const std::vector<Row> &rows, double tolerance) {
  size_t pathWidth = 8, shapeWidth = 5, checkedWidth = 7;
  for (const Row &row : rows) {
    pathWidth = std::max(pathWidth, row.path.size());
    shapeWidth = std::max(shapeWidth, shapeText(row.shape).size());
    checkedWidth = std::max(checkedWidth, row.comparison.checked.size());
  }
  fmt::print("{:<{}}  {:<{}}  {:<{}}  {:>10}  {:>10}  {:>7}\n", "gradient", pathWidth, "shape", shapeWidth, "entries",
             checkedWidth, "largest", "rel. error", "step");
  for (const Row &row : rows)
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {:>10.3e}  {:>10.2e}  {:>7.0e}  {}\n", row.path, pathWidth,
               shapeText(row.shape), shapeWidth, row.comparison.checked, checkedWidth, row.comparison.largest,
               row.comparison.error, row.comparison.step, row.ok ? "ok" : "WRONG");
  auto wrong = std::count_if(rows.begin(), rows.end(), [](const Row &row) { return !row.ok; });
  if (wrong == 0)
    fmt::print("all {} gradients agree with central differences to {:g}\n", rows.size(), tolerance);
  else
    fmt::print("{} of {} gradients differ from central differences by more than {:g}\n", wrong, rows.size(), tolerance);
}

Json toJson(const GradcheckOptions &options, const std::vector<Row> &rows, double tolerance) {
  Json json{{"model", options.model},
            {"entry", options.entry},
            {"seed", options.inputs.seed},
            {"tolerance", tolerance},
            {"gradients", Json::array()}};
  bool allOk = true;
  for (const Row &row : rows) {
    allOk &= row.ok;
    json["gradients"].push_back({{"path", row.path},
                                 {"shape", row.shape},
                                 {"checked", row.comparison.checked},
                                 {"largest", row.comparison.largest},
                                 {"error", row.comparison.error},
                                 {"step", row.comparison.step},
                                 {"ok", row.ok}});
  }
  json["ok"] = allOk;
  return json;
}

} // namespace

int gradcheck(const GradcheckOptions &options) {
  for (double step : options.steps)
    if (!(step > 0) || !std::isfinite(step))
      failUsage("--eps takes positive step sizes, as in 1e-3,1e-4,1e-5");
  Session session(options);
  const Manifest &manifest = session.runtime.manifest();
  if (manifest.real != "f64" && !options.tolerance)
    fail("{} was built with --real {}: differences in f32 are too coarse for a tolerance of 1e-6. Build it with --real "
         "f64, "
         "or give a --tolerance, such as 1e-2, and --eps 1e-2",
         options.model, manifest.real);
  double tolerance = options.tolerance.value_or(1e-6);
  uint64_t seed = options.inputs.seed;
  session.bind.makes = BindOptions::Makes::Everything;
  session.bind.make = [&](const Arg &arg, const std::vector<int64_t> &shape, const Sizes &sizes) {
    return drawInput(session.inputs, seed, arg, shape, sizes);
  };
  Pair pair(session.runtime, session.inputs, options.entry, session.bind, session.bind.make);

  DifferenceOptions differenceOptions{options.steps, options.maxEntries, options.directions, seed};
  if (differenceOptions.steps.empty())
    differenceOptions.steps = {1e-3, 1e-4, 1e-5, 1e-6};
  Differences differences(pair, differenceOptions);
  std::vector<Row> rows;
  Progress progress(stderr, options.quiet);
  const std::vector<Arg> &gradients = pair.backward().entry().results;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!isReal(gradients[i].element) || !gradients[i].path.ends_with("_adj"))
      continue;
    Row row;
    row.path = gradients[i].path.substr(0, gradients[i].path.size() - 4);
    progress.live(fmt::format("{} of {}: {}", i + 1, gradients.size(), row.path));
    TensorPtr input = pair.forward().argument(row.path);
    if (!input)
      fail("{} gives a gradient {}, but {} has no argument {}: the model's manifest is damaged",
           pair.backward().entry().name, gradients[i].path, pair.forward().entry().name, row.path);
    const Tensor &gradient = *pair.backward().results()[i];
    row.shape = gradient.shape();
    row.comparison = differences.compare(*input, gradient, keyOf(seed, gradients[i].path));
    row.ok = row.comparison.error <= tolerance;
    rows.push_back(std::move(row));
  }
  progress.clear();
  bool ok = std::all_of(rows.begin(), rows.end(), [](const Row &row) { return row.ok; });
  if (!options.quiet && options.json != "-")
    print(rows, tolerance);
  std::string json = toJson(options, rows, tolerance).dump(2) + "\n";
  if (options.json == "-")
    fmt::print("{}", json);
  else if (!options.json.empty())
    writeFile(options.json, json);
  return ok ? 0 : 1;
}

} // namespace gnnrun
