//===- Processor.cpp - what this machine's processor offers ------------------------------------------------------===//
//
// /proc/cpuinfo lists what both the processor and the system support, under the names that the features have here;
// where it cannot be read the processor is asked about the features that code uses most.
//
//===-------------------------------------------------------------------------------------------------------------===//
#include "Processor.h"

#include <fstream>
#include <set>

using namespace gnnrt;

namespace {

std::set<std::string, std::less<>> readFeatures() {
  std::set<std::string, std::less<>> features;
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    size_t begin = line.find(':');
    while (begin != std::string::npos && (begin = line.find_first_not_of(": \t", begin)) != std::string::npos) {
      size_t end = line.find(' ', begin);
      features.insert(line.substr(begin, end - begin));
      begin = end;
    }
    break;
  }
  return features;
}

bool askProcessor(std::string_view feature) {
#if defined(__x86_64__)
  struct Known {
    std::string_view name;
    bool present;
  };
  const Known known[] = {
      {"ssse3", __builtin_cpu_supports("ssse3") != 0},       {"sse4_1", __builtin_cpu_supports("sse4.1") != 0},
      {"sse4_2", __builtin_cpu_supports("sse4.2") != 0},     {"popcnt", __builtin_cpu_supports("popcnt") != 0},
      {"avx", __builtin_cpu_supports("avx") != 0},           {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},           {"bmi1", __builtin_cpu_supports("bmi") != 0},
      {"bmi2", __builtin_cpu_supports("bmi2") != 0},         {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0}, {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0}, {"avx512cd", __builtin_cpu_supports("avx512cd") != 0},
  };
  for (const Known &entry : known)
    if (entry.name == feature)
      return entry.present;
#endif
  (void)feature;
  return true;
}

} // namespace

std::string gnnrt::missingFeatures(std::string_view features) {
  static const std::set<std::string, std::less<>> offered = readFeatures();
  std::string missing;
  while (!features.empty()) {
    size_t comma = features.find(',');
    std::string_view feature = features.substr(0, comma);
    features.remove_prefix(comma == std::string_view::npos ? features.size() : comma + 1);
    if (feature.empty() || (offered.empty() ? askProcessor(feature) : offered.count(feature) > 0))
      continue;
    missing += missing.empty() ? "" : ", ";
    missing += feature;
  }
  return missing;
}
