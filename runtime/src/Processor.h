//===- Processor.h - what this machine's processor offers --------------------------------------------------------===//
#ifndef GNNRT_SRC_PROCESSOR_H
#define GNNRT_SRC_PROCESSOR_H

#include <string>
#include <string_view>

namespace gnnrt {

/// Those of the comma-separated features that this processor, or the system, does not offer; "" if it offers all.
std::string missingFeatures(std::string_view features);

} // namespace gnnrt

#endif
