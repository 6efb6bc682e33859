//===- Derive.h - graphs made from graphs and from tensors -------------------------------------------------------===//
#ifndef GNNRT_SRC_DERIVE_H
#define GNNRT_SRC_DERIVE_H

#include "Graph.h"

#include <vector>

namespace gnnrt {

/// What generated code passes: the addresses of tensors, and all their sizes one behind the other.
struct DeriveInputs {
  const void *const *tensors;
  const int64_t *sizes;
  int32_t dtype, count; // of the first tensor; of tensors
};

/// A graph with the edges in `src` and `dst`, whose first map is `old` unless that is empty. Throws Failure if there
/// are too many.
std::unique_ptr<gnnrt_graph> graphOf(int64_t numSrc, int64_t numDst, const std::vector<int32_t> &src,
                                     const std::vector<int32_t> &dst, const std::vector<int32_t> &old = {});
Array<int32_t> arrayOf(const std::vector<int32_t> &values);

/// Neighbours.cpp: edges between points that are near each other, sorted by target; of GNNRT_DERIVE_NEAREST by
/// distance, of GNNRT_DERIVE_RADIUS by source and image.
std::unique_ptr<gnnrt_graph> nearestNeighbours(gnnrt_frame &frame, const DeriveInputs &inputs);
std::unique_ptr<gnnrt_graph> withinRadius(gnnrt_frame &frame, const DeriveInputs &inputs);

} // namespace gnnrt

#endif
