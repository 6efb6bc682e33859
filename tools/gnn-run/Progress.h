// What a long run shows: on a terminal one line that is rewritten, in a pipe a plain line now and then.
#ifndef GNN_RUN_PROGRESS_H
#define GNN_RUN_PROGRESS_H

#include "Support.h"
#include <chrono>
#include <cstdio>

namespace gnnrun {

/// A number as a person reads it: four or five digits.
std::string formatScalar(double value);
/// "2.14 ms", "1.3 s".
std::string formatSeconds(double seconds);
/// "0:07", "1:02:11".
std::string formatRemaining(double seconds);

class Progress {
public:
  Progress(std::FILE *out, bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  bool isTerminal() const { return terminal; }
  /// Rewrites the live line, ten times a second at most. Does nothing in a pipe.
  void live(const std::string &text);
  /// A line that stays; not with --quiet.
  void line(const std::string &text);
  /// A line that stays, --quiet or not: a result.
  void result(const std::string &text);
  /// Removes the live line.
  void clear();

private:
  std::FILE *out;
  bool quiet, terminal, shown = false;
  std::chrono::steady_clock::time_point last;
};

} // namespace gnnrun

#endif
