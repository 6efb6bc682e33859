//===- Order.h - entries grouped into rows -----------------------------------------------------------------------===//
#ifndef GNNRT_SRC_ORDER_H
#define GNNRT_SRC_ORDER_H

#include "Array.h"
#include "Schedule.h"

#include <gnnrt/abi.h>

#include <memory>

struct gnnrt_order {
  gnnrt_order_view view; // first: kernels read the order through a pointer to it
  gnnrt::Array<int64_t> ptr;
  gnnrt::Array<int32_t> perm, other;
  gnnrt::Schedule schedule;
};

namespace gnnrt {

/// Groups entries 0 .. count-1 by index[entry], which lies in [0, rows), or is -1 for an entry that belongs nowhere.
/// Within a row entries keep their order. Where `other` is given, the order's own `other` is taken from it. Throws
/// Failure (internal) for other indices.
std::unique_ptr<gnnrt_order> makeOrder(const int32_t *index, int64_t count, int64_t rows,
                                       const int32_t *other = nullptr);

} // namespace gnnrt

#endif
