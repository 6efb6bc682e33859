//===- Frame.h - the state of one call ---------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_FRAME_H
#define GNNRT_SRC_FRAME_H

#include "Boundary.h"
#include "Graph.h"

#include <gnnrt/abi.h>

#include <memory>
#include <string>
#include <vector>

namespace gnnrt {

/// One argument of a call, bound to its description.
struct BoundArg {
  char *memory = nullptr; // the caller's, behind its byte offset
  int64_t elements = 0;
  int64_t bytes = 0;                           // in the caller's memory
  int64_t stagedInput = -1, stagedOutput = -1; // where in the staging memory its copies lie, -1 for none
  int32_t callerDtype = 0;                     // GNNRT_I32 or GNNRT_I64 for index arrays, otherwise as described
  void *output = nullptr;                      // where the body writes, for INOUT and OUTPUT
  bool written = false;                        // the body asked for `output`
  union {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
    uint8_t boolean;
  } scalar{};
};

} // namespace gnnrt

struct gnnrt_frame {
  explicit gnnrt_frame(gnnrt_context &context) : context(context) {}

  gnnrt_context &context;
  const gnnrt_entry_desc *entry = nullptr;
  const gnnrt_value *values = nullptr;
  std::vector<gnnrt::BoundArg> args;
  std::vector<int64_t> sizes;
  std::vector<void *> buffers;
  std::vector<std::unique_ptr<gnnrt_order>> orders; // made for this call
  std::vector<std::unique_ptr<gnnrt_graph>> graphs; // made for this call
  bool sizesPending = false; // outputs whose shape depends on sets that the body makes are still to be checked

  gnnrt_status status = GNNRT_OK; // the first failure
  std::string message;
  const char *literal = nullptr;

  /// Records a failure unless one is recorded already.
  void record(gnnrt_status failure, const std::string &text) noexcept {
    if (status != GNNRT_OK)
      return;
    status = failure;
    try {
      message = text;
    } catch (...) {
      literal = "out of memory";
    }
  }
  void record(gnnrt_status failure, const char *text) noexcept {
    if (status != GNNRT_OK)
      return;
    status = failure;
    literal = text;
  }

  /// Runs `work`, recording what it throws. Returns the status.
  template <typename Work> gnnrt_status guarded(Work &&work) noexcept {
    return gnnrt::caught(work, [&](gnnrt_status failure, const auto &text) { record(failure, text); });
  }
};

#endif
