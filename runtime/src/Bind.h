//===- Bind.h - from the caller's arguments to the body's --------------------------------------------------------===//
#ifndef GNNRT_SRC_BIND_H
#define GNNRT_SRC_BIND_H

#include <gnnrt/abi.h>

namespace gnnrt {

/// Checks the arguments of frame.entry against its description and gives the body its buffers: the caller's memory,
/// or a staged copy where the caller's cannot be used as it is. Throws Failure.
void bindArguments(gnnrt_frame &frame);

/// Copies what was staged to the caller's memory. Cannot fail.
void commit(gnnrt_frame &frame) noexcept;

} // namespace gnnrt

#endif
