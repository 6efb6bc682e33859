// The live line and plain logs; see Progress.h.
#include "Progress.h"
#include <cmath>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gnnrun {

std::string formatScalar(double value) {
  double size = std::fabs(value);
  if (value == std::floor(value) && size < 1e6)
    return fmt::format("{:.0f}", value);
  return size >= 1e-3 && size < 1e5 ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

std::string formatSeconds(double seconds) {
  if (seconds < 1e-3)
    return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string formatRemaining(double seconds) {
  auto total = static_cast<int64_t>(std::ceil(seconds));
  int64_t hours = total / 3600, minutes = total / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60)
                   : fmt::format("{}:{:02}", minutes, total % 60);
}

Progress::Progress(std::FILE *out, bool quiet) : out(out), quiet(quiet), terminal(isatty(fileno(out)) != 0) {}

void Progress::live(const std::string &text) {
  auto now = std::chrono::steady_clock::now();
  if (quiet || !terminal || (shown && now - last < std::chrono::milliseconds(100)))
    return;
  winsize window{};
  size_t width = ioctl(fileno(out), TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1 : 79;
  fmt::print(out, "\r{}\x1b[K", text.substr(0, width));
  std::fflush(out);
  shown = true;
  last = now;
}

void Progress::clear() {
  if (!shown)
    return;
  fmt::print(out, "\r\x1b[K");
  std::fflush(out);
  shown = false;
}

void Progress::line(const std::string &text) {
  if (!quiet)
    result(text);
}

void Progress::result(const std::string &text) {
  clear();
  fmt::print(out, "{}\n", text);
  std::fflush(out);
}

} // namespace gnnrun
