// gnn-run bench: calls an entry point again and again and says how long that takes, and where the time goes.
#include "Files.h"
#include "Progress.h"
#include "Random.h"
#include "Session.h"
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

namespace gnnrun {
namespace {

using Json = nlohmann::ordered_json;

struct Timing {
  std::vector<double> seconds; // of each call
  double total = 0, median = 0, least = 0;

  explicit Timing(std::vector<double> measured) : seconds(std::move(measured)) {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    size_t half = sorted.size() / 2;
    total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    median = sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    least = sorted.front();
  }
};

Timing measure(BoundCall &call, const BenchOptions &options, Runtime &runtime) {
  for (int64_t i = 0; i < options.warmup; ++i)
    call.run();
  if (options.profile)
    runtime.startProfile();
  std::vector<double> seconds;
  for (int64_t i = 0; i < options.repeat; ++i) {
    auto begin = std::chrono::steady_clock::now();
    call.run();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return Timing(std::move(seconds));
}

/// The steps of the entry, those that take longest first.
std::vector<ProfileRecord> slowestFirst(std::vector<ProfileRecord> records) {
  std::sort(records.begin(), records.end(), [](const ProfileRecord &a, const ProfileRecord &b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
  });
  return records;
}

/// What a call does beside its steps: checking arguments, sorting edges, copying.
double outside(const Timing &timing, const std::vector<ProfileRecord> &records) {
  double inside = 0;
  for (const ProfileRecord &record : records)
    inside += record.seconds;
  return std::max(0.0, timing.total - inside);
}

/// Bytes asked of memory in a second.
double rate(const ProfileRecord &record) {
  double bytes = static_cast<double>(record.bytesRead) + static_cast<double>(record.bytesWritten);
  return record.seconds > 0 ? bytes / record.seconds : 0;
}

std::string formatBytes(double bytes) {
  const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 999.95 && unit < 4; ++unit)
    bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

void printProfile(const Timing &timing, const std::vector<ProfileRecord> &records, int64_t repeat) {
  auto row = [&](const std::string &calls, double seconds, const std::string &read, const std::string &written,
                 const std::string &rate, const std::string &name) {
    fmt::print("{:>7}  {:>11}  {:>11}  {:>6.1f}%  {:>9}  {:>9}  {:>7}  {}\n", calls, formatSeconds(seconds),
               formatSeconds(seconds / static_cast<double>(repeat)), 100 * seconds / timing.total, read, written, rate,
               name);
  };
  auto each = [&](int64_t bytes) { return formatBytes(static_cast<double>(bytes) / static_cast<double>(repeat)); };
  fmt::print("{:>7}  {:>11}  {:>11}  {:>7}  {:>9}  {:>9}  {:>7}  {}\n", "calls", "total", "each run", "share", "reads",
             "writes", "GB/s", "step");
  for (const ProfileRecord &record : records)
    row(std::to_string(record.calls), record.seconds, each(record.bytesRead), each(record.bytesWritten),
        fmt::format("{:.1f}", rate(record) * 1e-9), record.name);
  row("", outside(timing, records), "", "", "", "the call itself");
}

Json describe(const BenchOptions &options, const Runtime &runtime, const Timing &timing,
              const std::vector<ProfileRecord> &records) {
  Json json{{"model", options.model},      {"entry", options.entry},   {"threads", runtime.threads()},
            {"warmup", options.warmup},    {"repeat", options.repeat}, {"median_seconds", timing.median},
            {"min_seconds", timing.least}, {"seconds", timing.seconds}};
  if (!options.profile)
    return json;
  json["profile"] = Json::array();
  for (const ProfileRecord &record : records)
    json["profile"].push_back({{"name", record.name},
                               {"calls", record.calls},
                               {"seconds", record.seconds},
                               {"share", record.seconds / timing.total},
                               {"bytes_read", record.bytesRead},
                               {"bytes_written", record.bytesWritten},
                               {"bytes_per_second", rate(record)}});
  json["outside_seconds"] = outside(timing, records);
  return json;
}

} // namespace

int bench(const BenchOptions &options) {
  Session session(options);
  const Entry &entry = session.runtime.manifest().entry(options.entry);
  session.inputs.checkNames({&entry});
  session.bind.makes = BindOptions::Makes::Parameters;
  session.bind.make = [makeKey = session.bind.make, seed = options.inputs.seed](
                          const Arg &arg, const std::vector<int64_t> &shape, const Sizes &sizes) {
    return arg.init ? initialise(arg, *arg.init, shape, seed) : makeKey(arg, shape, sizes);
  };
  BoundCall call(session.runtime, session.inputs, entry, session.bind);
  Timing timing = measure(call, options, session.runtime);
  std::vector<ProfileRecord> records;
  if (options.profile)
    records = slowestFirst(session.runtime.profile());
  if (options.json != "-") {
    fmt::print("{}: median {}, least {} of {} call{} on {} thread{}\n", entry.name, formatSeconds(timing.median),
               formatSeconds(timing.least), options.repeat, options.repeat == 1 ? "" : "s", session.runtime.threads(),
               session.runtime.threads() == 1 ? "" : "s");
    if (options.profile)
      printProfile(timing, records, options.repeat);
  }
  if (options.json.empty())
    return 0;
  std::string text = describe(options, session.runtime, timing, records).dump(2) + "\n";
  if (options.json == "-")
    fmt::print("{}", text);
  else
    writeFile(options.json, text);
  return 0;
}

} // namespace gnnrun
