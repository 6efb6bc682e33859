// The training loop; see Training.h.
#include "Training.h"
#include "Random.h"
#include <algorithm>
#include <cmath>

namespace gnnrun {
namespace {

using Clock = std::chrono::steady_clock;

double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

/// A run's calls, their common state, and the keys that change with the epoch.
struct Trainer::Bound {
  std::unique_ptr<BoundCall> step, eval;
  TensorMap state;
  std::vector<TensorPtr> keys;
};

Trainer::Trainer(const TrainOptions &options, Runtime &runtime, Inputs &inputs, Progress &progress,
                 bool (*interrupted)())
    : options(options), runtime(runtime), inputs(inputs), progress(progress), interrupted(interrupted),
      step(runtime.manifest().entry(options.step)),
      eval(options.eval.empty() ? nullptr : &runtime.manifest().entry(options.eval)) {
  collectScalars(step, false);
  if (eval)
    collectScalars(*eval, true);
  for (const Scalar &scalar : scalars) {
    const std::string &path = (scalar.ofEval ? *eval : step).results[scalar.result].path;
    int64_t uses = std::count_if(scalars.begin(), scalars.end(), [&](const Scalar &other) {
      return (other.ofEval ? *eval : step).results[other.result].path == path;
    });
    labels.push_back(uses > 1 ? scalar.fullName : path);
  }
  if (!options.stop.empty())
    stop = scalarIndex(options.stop);
  bool hasState = std::any_of(step.args.begin(), step.args.end(), [](const Arg &arg) { return arg.inout; });
  if (!hasState)
    fail("{} has no inout argument, so there is nothing that it could train; the step is an `export fn` with `inout` "
         "parameters",
         step.name);
  std::vector<const Entry *> entries{&step};
  if (eval)
    entries.push_back(eval);
  inputs.checkNames(entries);
}

void Trainer::collectScalars(const Entry &entry, bool ofEval) {
  for (size_t i = 0; i < entry.results.size(); ++i)
    if (entry.results[i].dims.empty())
      scalars.push_back({ofEval, i, entry.name + "." + entry.results[i].path});
}

size_t Trainer::scalarIndex(const std::string &name) const {
  for (size_t i = 0; i < scalars.size(); ++i)
    if (labels[i] == name || scalars[i].fullName == name)
      return i;
  failUsage("no scalar result is called '{}'; there are: {}{}", name, listText(labels),
            eval ? "" : " (--eval ENTRY adds those of an evaluation)");
}

Trainer::Bound Trainer::bind(uint64_t seed, const Checkpoint *resume) {
  Bound bound;
  std::vector<std::string> keyPaths, drawn;
  BindOptions bindStep;
  bindStep.parametersFromData = false;
  bindStep.verbose = options.inputs.verbose;
  if (resume) {
    bindStep.state = &resume->tensors;
    bindStep.stateName = options.resume;
    for (const Arg &arg : step.args)
      if (arg.inout && resume->tensors.count(arg.path) == 0 && !inputs.isSet(arg))
        fail("{} has no {}, which {} updates; it has: {}. Is it the checkpoint of another model?", options.resume,
             arg.path, step.name, listText([&] {
               std::vector<std::string> names;
               for (auto &entry : resume->tensors)
                 names.push_back(entry.first);
               return names;
             }()));
  }
  bindStep.makeKeys = true;
  bindStep.makes = BindOptions::Makes::Parameters;
  bindStep.make = [&](const Arg &arg, const std::vector<int64_t> &shape, const Sizes &) -> std::optional<Tensor> {
    if (arg.element == Element::Key && arg.kind == ArgKind::Scalar) {
      keyPaths.push_back(arg.path);
      return Tensor(DType::I64, {});
    }
    if (!arg.init)
      return std::nullopt;
    drawn.push_back(arg.path);
    return initialise(arg, *arg.init, shape, seed);
  };
  bound.step = std::make_unique<BoundCall>(runtime, inputs, step, bindStep);
  for (const std::string &path : keyPaths)
    bound.keys.push_back(bound.step->argument(path));
  for (const Arg &arg : step.args)
    if (arg.inout || std::find(drawn.begin(), drawn.end(), arg.path) != drawn.end())
      bound.state[arg.path] = bound.step->argument(arg.path);
  if (!eval)
    return bound;

  keyPaths.clear();
  BindOptions bindEval;
  bindEval.state = &bound.state;
  bindEval.stateName = step.name;
  bindEval.sizes = &bound.step->sizes();
  bindEval.verbose = options.inputs.verbose;
  bindEval.make = [&](const Arg &arg, const std::vector<int64_t> &, const Sizes &) -> std::optional<Tensor> {
    if (arg.element != Element::Key || arg.kind != ArgKind::Scalar)
      return std::nullopt;
    keyPaths.push_back(arg.path);
    return Tensor(DType::I64, {});
  };
  bound.eval = std::make_unique<BoundCall>(runtime, inputs, *eval, bindEval);
  for (const std::string &path : keyPaths)
    bound.keys.push_back(bound.eval->argument(path));
  return bound;
}

std::vector<double> Trainer::readScalars(const Bound &bound) const {
  std::vector<double> values;
  values.reserve(scalars.size());
  for (const Scalar &scalar : scalars)
    values.push_back((scalar.ofEval ? *bound.eval : *bound.step).results()[scalar.result]->real(0));
  return values;
}

void Trainer::checkFinite(const std::vector<double> &values, int64_t epoch) const {
  for (size_t i = 0; i < values.size(); ++i)
    if (!scalars[i].ofEval && !std::isfinite(values[i]))
      fail("{} is {} at epoch {}: training has diverged, and nothing was written; a smaller step (--set lr=...) or a "
           "look at the data for NaN may help",
           labels[i], values[i], epoch);
}

std::string Trainer::describe(const std::vector<double> &values) const {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += fmt::format("  {} {}", labels[i], formatScalar(values[i]));
  return text;
}

RunResult Trainer::run(uint64_t seed, const Checkpoint *resume, int64_t runsLeft, bool saySeed) {
  Bound bound = bind(seed, resume);
  RunResult result;
  result.seed = seed;
  auto first = static_cast<int64_t>(resume ? resume->number("epoch").value_or(0) : 0);
  if (first >= options.epochs)
    failUsage("{} is at epoch {} already; --epochs counts from the very first one, so give a larger number",
              options.resume, first);
  bool maximise = options.mode == "max";
  double best = maximise ? -INFINITY : INFINITY;
  bool kept = false;
  std::vector<double> stepSeconds;
  double seconds = 0;
  std::string prefix = saySeed ? fmt::format("seed {}  ", seed) : "";
  int64_t every = options.logEvery;
  if (every == 0 && !progress.isTerminal())
    every = std::max<int64_t>(options.epochs / 10, 1);

  for (int64_t epoch = first + 1; epoch <= options.epochs; ++epoch) {
    for (const TensorPtr &key : bound.keys)
      key->setInteger(0, static_cast<int64_t>(fold(gnnrun::key(seed), static_cast<uint64_t>(epoch))));
    Clock::time_point start = Clock::now();
    bound.step->run();
    Clock::time_point stepped = Clock::now();
    if (bound.eval)
      bound.eval->run();
    seconds += secondsBetween(start, Clock::now());
    stepSeconds.push_back(secondsBetween(start, stepped));
    std::vector<double> values = readScalars(bound);
    checkFinite(values, epoch);
    result.lastEpoch = epoch;
    result.interrupted = interrupted();

    bool last = epoch == options.epochs || result.interrupted;
    if (stop) {
      double value = values[*stop];
      // A NaN is no improvement.
      if (maximise ? value > best : value < best) {
        best = value;
        kept = true;
        result.epoch = epoch;
        result.scalars = values;
        result.state = copyOf(bound.state);
      } else if (options.patience > 0 && epoch - std::max(result.epoch, first) >= options.patience &&
                 epoch < options.epochs) {
        result.stoppedEarly = true;
        last = true;
      }
    } else if (last) {
      kept = true;
      result.epoch = epoch;
      result.scalars = values;
      result.state = bound.state;
    }

    double perEpoch = seconds / static_cast<double>(epoch - first);
    std::string text = fmt::format("{}epoch {}/{}{}  {}/epoch", prefix, epoch, options.epochs, describe(values),
                                   formatSeconds(perEpoch));
    if (every > 0 && (epoch % every == 0 || epoch == first + 1 || last))
      progress.line(text);
    if (progress.isTerminal()) {
      double left = perEpoch * static_cast<double>(options.epochs - epoch + runsLeft * options.epochs);
      progress.live(fmt::format("{}  ETA {}", text, formatRemaining(left)));
    }
    if (last)
      break;
  }
  if (!kept)
    fail("{} was never a number in {} epochs, so no epoch could be kept", labels[*stop], result.lastEpoch - first);
  result.secondsPerEpoch = seconds / static_cast<double>(result.lastEpoch - first);
  result.secondsPerStep = median(std::move(stepSeconds));
  return result;
}

} // namespace gnnrun
