//===- Context.h - what a context holds --------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_CONTEXT_H
#define GNNRT_SRC_CONTEXT_H

#include "Arena.h"
#include "ThreadPool.h"

#include <gnnrt/abi.h>

#include <atomic>
#include <memory>
#include <string>
#include <sys/types.h>

namespace gnnrt {
class Profile;
} // namespace gnnrt

struct gnnrt_context {
  explicit gnnrt_context(int32_t threads);
  ~gnnrt_context();

  /// True in a process that was forked from the one that made the context: its threads do not exist there.
  bool inForkedChild() const;
  void setError(const std::string &message) noexcept;
  /// For messages that must not need memory.
  void setError(const char *literal) noexcept;
  const char *error() const { return shownError; }

  std::unique_ptr<gnnrt::ThreadPool> pool;
  gnnrt::Arena arena;   // buffers of bodies
  gnnrt::Arena staging; // converted indices and staged outputs
  gnnrt::PlanCache plans;
  std::unique_ptr<gnnrt_frame> frame;      // the state of a call, kept so that a call need not allocate
  std::atomic<bool> busy{false};           // a call is running
  std::unique_ptr<gnnrt::Profile> profile; // what was recorded, also after it was switched off
  bool profiling = false;

private:
  pid_t process;
  std::string errorText;
  const char *shownError = "";
};

#endif
