//===- Context.cpp - contexts, the last error, names of statuses -------------------------------------------------===//
#include "Context.h"

#include "Boundary.h"
#include "Frame.h"
#include "Profile.h"

#include <sched.h>
#include <system_error>
#include <unistd.h>

using namespace gnnrt;

namespace {

constexpr int32_t maxThreads = 1024;

/// The processors this process may run on.
int32_t availableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1, int32_t(std::thread::hardware_concurrency()));
}

} // namespace

gnnrt_context::gnnrt_context(int32_t threads)
    : pool(std::make_unique<ThreadPool>(threads)), frame(std::make_unique<gnnrt_frame>(*this)), process(getpid()) {}

gnnrt_context::~gnnrt_context() {
  // After fork the pool's threads cannot be joined, nor its objects destroyed: what is left of it stays.
  if (inForkedChild()) [[maybe_unused]]
    ThreadPool *leftBehind = pool.release();
}

bool gnnrt_context::inForkedChild() const { return getpid() != process; }

void gnnrt_context::setError(const std::string &message) noexcept {
  try {
    errorText = message;
    shownError = errorText.c_str();
  } catch (...) {
    setError("out of memory");
  }
}

void gnnrt_context::setError(const char *literal) noexcept { shownError = literal; }

gnnrt_status gnnrt_context_create(int32_t threads, gnnrt_context **out) {
  if (!out)
    return GNNRT_ERROR_ARGUMENT;
  *out = nullptr;
  if (threads < 0 || threads > maxThreads)
    return GNNRT_ERROR_ARGUMENT;
  try {
    *out = new gnnrt_context(threads ? threads : std::min(availableProcessors(), maxThreads));
    return GNNRT_OK;
  } catch (const std::bad_alloc &) {
    return GNNRT_ERROR_MEMORY;
  } catch (const std::system_error &) { // the system offers no further thread
    return GNNRT_ERROR_MEMORY;
  } catch (...) {
    return GNNRT_ERROR_INTERNAL;
  }
}

void gnnrt_context_destroy(gnnrt_context *ctx) { delete ctx; }

const char *gnnrt_last_error(const gnnrt_context *ctx) { return ctx ? ctx->error() : ""; }

int32_t gnnrt_context_threads(const gnnrt_context *ctx) { return ctx ? ctx->pool->size() : 0; }

int32_t gnnrt_abi_version(void) { return GNNRT_ABI_VERSION; }

const char *gnnrt_status_name(gnnrt_status status) {
  switch (status) {
  case GNNRT_OK:
    return "ok";
  case GNNRT_ERROR_ARGUMENT:
    return "argument";
  case GNNRT_ERROR_DTYPE:
    return "dtype";
  case GNNRT_ERROR_SHAPE:
    return "shape";
  case GNNRT_ERROR_STRIDE:
    return "stride";
  case GNNRT_ERROR_INDEX:
    return "index";
  case GNNRT_ERROR_OVERLAP:
    return "overlap";
  case GNNRT_ERROR_READ_ONLY:
    return "read-only";
  case GNNRT_ERROR_DEVICE:
    return "device";
  case GNNRT_ERROR_MEMORY:
    return "memory";
  case GNNRT_ERROR_TOO_LARGE:
    return "too large";
  case GNNRT_ERROR_FILE:
    return "file";
  case GNNRT_ERROR_ABI:
    return "abi";
  case GNNRT_ERROR_FORK:
    return "fork";
  case GNNRT_ERROR_INTERNAL:
    return "internal";
  }
  return "unknown";
}
