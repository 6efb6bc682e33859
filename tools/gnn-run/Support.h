// Errors and small text helpers. Everything that goes wrong in gnn-run is an Error that says what was wrong and what to
// do next; main prints it and chooses the exit status (1, or 2 for a UsageError).
#ifndef GNN_RUN_SUPPORT_H
#define GNN_RUN_SUPPORT_H

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gnnrun {

class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The command line itself makes no sense.
class UsageError : public Error {
public:
  using Error::Error;
};

template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args> [[noreturn]] void failUsage(fmt::format_string<Args...> format, Args &&...args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

inline std::string_view trim(std::string_view text) {
  const char *blanks = " \t\r\n";
  size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.emplace_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename Number> std::optional<Number> parseNumber(std::string_view text) {
  text = trim(text);
  if (!text.empty() && text.front() == '+')
    text.remove_prefix(1);
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

/// Splits "name=value" as it stands after `option`.
inline std::pair<std::string, std::string> splitAssignment(std::string_view text, std::string_view option) {
  size_t at = text.find('=');
  std::string name(trim(text.substr(0, at)));
  std::string value(at == std::string_view::npos ? std::string_view() : trim(text.substr(at + 1)));
  if (name.empty() || value.empty())
    failUsage("{} wants NAME=VALUE, not '{}'", option, text);
  return {name, value};
}

inline std::string shapeText(const std::vector<int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// "a, b and c", or `none` where there is nothing to list. Long lists are cut.
template <typename Range> std::string listText(const Range &names, std::string_view none = "none") {
  std::vector<std::string> all(names.begin(), names.end());
  if (all.empty())
    return std::string(none);
  constexpr size_t most = 24;
  if (all.size() > most) {
    size_t more = all.size() - most;
    all.resize(most);
    return fmt::format("{} and {} more", fmt::join(all, ", "), more);
  }
  std::string last = all.back();
  all.pop_back();
  return all.empty() ? last : fmt::format("{} and {}", fmt::join(all, ", "), last);
}

} // namespace gnnrun

#endif
