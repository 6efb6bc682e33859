// gnn-run train: one run or several seeds, their statistics, checkpoints and the JSON result.
#include "Files.h"
#include "Training.h"
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

namespace gnnrun {
namespace {

using Json = nlohmann::ordered_json;

volatile std::sig_atomic_t interruptSeen = 0;

/// The first interrupt ends the run after the current epoch, so that its result is written; the next one kills.
void handleInterrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { interruptSeen = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

std::vector<uint64_t> parseSeeds(const std::string &text) {
  std::vector<uint64_t> seeds;
  for (const std::string &part : split(text, ',')) {
    size_t dots = part.find("..");
    std::optional<uint64_t> first = parseNumber<uint64_t>(part.substr(0, dots));
    std::optional<uint64_t> last = dots == std::string::npos ? first : parseNumber<uint64_t>(part.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= 100000)
      failUsage("--seeds {}: seeds are given as in 0..9 (both included) or 1,5,7", text);
    for (uint64_t seed = *first; seed <= *last; ++seed)
      seeds.push_back(seed);
  }
  return seeds;
}

/// With several seeds each has its own file: best.safetensors becomes best.seed3.safetensors, or {seed} is replaced.
std::string checkpointName(const std::string &pattern, uint64_t seed, bool several) {
  size_t place = pattern.find("{seed}");
  if (place != std::string::npos)
    return pattern.substr(0, place) + std::to_string(seed) + pattern.substr(place + 6);
  if (!several)
    return pattern;
  size_t dot = pattern.rfind('.');
  if (dot == std::string::npos || dot < pattern.find_last_of('/') + 1)
    dot = pattern.size();
  return fmt::format("{}.seed{}{}", pattern.substr(0, dot), seed, pattern.substr(dot));
}

struct Statistics {
  double mean = 0, deviation = NAN;
};

Statistics statistics(const std::vector<double> &values) {
  Statistics result;
  auto n = static_cast<double>(values.size());
  for (double value : values)
    result.mean += value / n;
  if (values.size() < 2)
    return result;
  double squares = 0;
  for (double value : values)
    squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  return result;
}

void writeCheckpoint(const std::string &path, const TrainOptions &options, const Manifest &manifest,
                     const RunResult &run, const std::vector<std::string> &names) {
  Checkpoint checkpoint;
  checkpoint.tensors = run.state;
  checkpoint.metadata = {{"format", "gnn-run checkpoint"},
                         {"entry", options.step},
                         {"source", manifest.source},
                         {"seed", std::to_string(run.seed)},
                         {"epoch", std::to_string(run.epoch)}};
  for (size_t i = 0; i < names.size(); ++i)
    checkpoint.metadata["scalar." + names[i]] = fmt::format("{}", run.scalars[i]);
  checkpoint.write(path);
}

/// The command, split into what happens before, in and after the runs.
class Command {
public:
  explicit Command(const TrainOptions &options)
      : options(options), progress(options.json == "-" ? stderr : stdout, options.quiet),
        runtime(options.model, options.threads), inputs(options.inputs, runtime),
        trainer(options, runtime, inputs, progress, [] { return interruptSeen != 0; }) {}

  int run() {
    prepare();
    for (size_t i = 0; i < seeds.size() && !interruptSeen; ++i)
      runSeed(seeds[i], static_cast<int64_t>(seeds.size() - i) - 1);
    summarise();
    if (!options.json.empty()) {
      std::string text = result().dump(2) + "\n";
      if (options.json == "-")
        fmt::print("{}", text);
      else
        writeFile(options.json, text);
    }
    // The status that shells know for an interrupt.
    return interruptSeen ? 130 : 0;
  }

private:
  void prepare() {
    if (!options.resume.empty())
      resume.emplace(Checkpoint::read(options.resume));
    uint64_t seed = options.seed.value_or(resume ? resume->number("seed").value_or(0) : 0);
    seeds = options.seeds.empty() ? std::vector{seed} : parseSeeds(options.seeds);
    for (const std::string &list : options.report)
      for (const std::string &name : split(list, ','))
        reported.push_back(trainer.scalarIndex(name));
    if (reported.empty())
      for (size_t i = 0; i < trainer.names().size(); ++i)
        reported.push_back(i);
    if (!options.checkpoint.empty())
      for (uint64_t each : seeds)
        checkWritable(checkpointName(options.checkpoint, each, several()));
    if (!options.json.empty() && options.json != "-")
      checkWritable(options.json);
    handleInterrupts();
  }

  bool several() const { return seeds.size() > 1; }

  void runSeed(uint64_t seed, int64_t runsLeft) {
    RunResult run = trainer.run(seed, resume ? &*resume : nullptr, runsLeft, several());
    std::string file;
    if (!options.checkpoint.empty()) {
      file = checkpointName(options.checkpoint, seed, several());
      writeCheckpoint(file, options, runtime.manifest(), run, trainer.names());
    }
    std::string text = fmt::format("seed {}: {} {} epochs, kept epoch {}:", seed,
                                   run.interrupted    ? "interrupted after"
                                   : run.stoppedEarly ? "stopped early after"
                                                      : "trained",
                                   run.lastEpoch, run.epoch);
    for (size_t i : reported)
      text += fmt::format(" {} {}", trainer.names()[i], formatScalar(run.scalars[i]));
    text += fmt::format(" ({} per epoch, {} per step)", formatSeconds(run.secondsPerEpoch),
                        formatSeconds(run.secondsPerStep));
    if (!file.empty())
      text += fmt::format("; wrote {}", file);
    several() ? progress.line(text) : progress.result(text);
    run.state.clear();
    runs.push_back(std::move(run));
    files.push_back(file);
  }

  Statistics scalarStatistics(size_t scalar) const {
    std::vector<double> values;
    values.reserve(runs.size());
    for (const RunResult &run : runs)
      values.push_back(run.scalars[scalar]);
    return statistics(values);
  }

  void summarise() {
    if (!several())
      return;
    std::string text = fmt::format("{} runs:", runs.size());
    for (size_t i : reported) {
      Statistics numbers = scalarStatistics(i);
      text += fmt::format(" {} {} +- {}", trainer.names()[i], formatScalar(numbers.mean),
                          std::isnan(numbers.deviation) ? "?" : formatScalar(numbers.deviation));
    }
    text += fmt::format(" (mean +- standard deviation; {} per epoch)", formatSeconds(secondsPerEpoch()));
    progress.result(text);
  }

  double secondsPerEpoch() const {
    double sum = 0;
    for (const RunResult &run : runs)
      sum += run.secondsPerEpoch;
    return sum / static_cast<double>(runs.size());
  }

  Json result() const {
    const Manifest &manifest = runtime.manifest();
    Json json;
    json["versions"] = {{"gnn_run", GNN_RUN_VERSION}, {"gnnc", manifest.gnnc}, {"abi", gnnrt_abi_version()}};
    json["model"] = {
        {"file", options.model}, {"source", manifest.source}, {"real", manifest.real}, {"cpu", manifest.cpu}};
    json["step"] = options.step;
    if (!options.eval.empty())
      json["eval"] = options.eval;
    json["epochs"] = options.epochs;
    json["threads"] = runtime.threads();
    json["interrupted"] = interruptSeen != 0;
    json["runs"] = Json::array();
    for (size_t k = 0; k < runs.size(); ++k) {
      const RunResult &run = runs[k];
      Json item{{"seed", run.seed},
                {"epoch", run.epoch},
                {"last_epoch", run.lastEpoch},
                {"stopped_early", run.stoppedEarly},
                {"scalars", Json::object()},
                {"seconds_per_epoch", run.secondsPerEpoch},
                {"seconds_per_step", run.secondsPerStep}};
      for (size_t i = 0; i < trainer.names().size(); ++i)
        item["scalars"][trainer.names()[i]] = run.scalars[i];
      if (!files[k].empty())
        item["checkpoint"] = files[k];
      json["runs"].push_back(std::move(item));
    }
    json["mean"] = Json::object();
    json["std"] = Json::object();
    for (size_t i = 0; i < trainer.names().size(); ++i) {
      Statistics numbers = scalarStatistics(i);
      json["mean"][trainer.names()[i]] = numbers.mean;
      json["std"][trainer.names()[i]] = numbers.deviation;
    }
    json["seconds_per_epoch"] = secondsPerEpoch();
    return json;
  }

  const TrainOptions &options;
  Progress progress;
  Runtime runtime;
  Inputs inputs;
  Trainer trainer;
  std::optional<Checkpoint> resume;
  std::vector<uint64_t> seeds;
  std::vector<size_t> reported;
  std::vector<RunResult> runs;
  std::vector<std::string> files;
};

} // namespace

int train(const TrainOptions &options) {
  if (options.patience > 0 && options.stop.empty())
    failUsage("--patience needs --stop SCALAR: the scalar whose improvement is waited for");
  if (!options.seeds.empty() && (options.seed || !options.resume.empty()))
    failUsage("--seeds starts several runs, so it goes with neither --seed nor --resume");
  return Command(options).run();
}

} // namespace gnnrun
