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
      {"ssse3", bool(__builtin_cpu_supports("ssse3"))},       {"sse4_1", bool(__builtin_cpu_supports("sse4.1"))},
      {"sse4_2", bool(__builtin_cpu_supports("sse4.2"))},     {"popcnt", bool(__builtin_cpu_supports("popcnt"))},
      {"avx", bool(__builtin_cpu_supports("avx"))},           {"avx2", bool(__builtin_cpu_supports("avx2"))},
      {"fma", bool(__builtin_cpu_supports("fma"))},           {"bmi1", bool(__builtin_cpu_supports("bmi"))},
      {"bmi2", bool(__builtin_cpu_supports("bmi2"))},         {"avx512f", bool(__builtin_cpu_supports("avx512f"))},
      {"avx512dq", bool(__builtin_cpu_supports("avx512dq"))}, {"avx512bw", bool(__builtin_cpu_supports("avx512bw"))},
      {"avx512vl", bool(__builtin_cpu_supports("avx512vl"))}, {"avx512cd", bool(__builtin_cpu_supports("avx512cd"))},
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
