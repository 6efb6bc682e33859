//===- Failure.h - errors inside the runtime ---------------------------------------------------------------------===//
//
// Inside the runtime a failure is an exception that carries the status and the message; Boundary.h turns it into a
// status where the C interface begins.
//
//===-------------------------------------------------------------------------------------------------------------===//
#ifndef GNNRT_SRC_FAILURE_H
#define GNNRT_SRC_FAILURE_H

#include <gnnrt/gnnrt.h>

#include <concepts>
#include <string>
#include <string_view>

namespace gnnrt {

struct Failure {
  gnnrt_status status;
  std::string message;
};

inline void appendPart(std::string &out, std::string_view part) { out += part; }
template <std::integral T> void appendPart(std::string &out, T part) { out += std::to_string(part); }

/// The parts, one behind the other.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::string out;
  (appendPart(out, parts), ...);
  return out;
}

template <typename... Parts> [[noreturn]] void fail(gnnrt_status status, const Parts &...parts) {
  throw Failure{status, text(parts...)};
}

} // namespace gnnrt

#endif
