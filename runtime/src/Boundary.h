//===- Boundary.h - where exceptions become statuses -------------------------------------------------------------===//
//
// Every function of the C interface that can fail runs its work through `guarded`.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_BOUNDARY_H
#define GNNRT_SRC_BOUNDARY_H

#include "Context.h"
#include "Failure.h"

#include <exception>
#include <new>

namespace gnnrt {

/// Runs `work`; what it throws goes to `report(status, message)`, where message is a std::string or a literal.
template <typename Work, typename Report> gnnrt_status caught(Work &&work, Report &&report) noexcept {
  try {
    work();
    return GNNRT_OK;
  } catch (const Failure &failure) {
    report(failure.status, failure.message);
    return failure.status;
  } catch (const std::bad_alloc &) {
    report(GNNRT_ERROR_MEMORY, "out of memory");
    return GNNRT_ERROR_MEMORY;
  } catch (...) {
    report(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: an unexpected exception in the runtime");
    return GNNRT_ERROR_INTERNAL;
  }
}

template <typename Work> gnnrt_status guarded(gnnrt_context *ctx, Work &&work) noexcept {
  if (!ctx)
    return GNNRT_ERROR_ARGUMENT;
  if (ctx->inForkedChild()) {
    ctx->setError("this context was made in a parent process, whose threads do not exist after fork: make a new "
                  "context in the child");
    return GNNRT_ERROR_FORK;
  }
  return caught(work, [&](gnnrt_status, const auto &message) { ctx->setError(message); });
}

} // namespace gnnrt

#endif
