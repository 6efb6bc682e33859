//===- Order.cpp - orders, made by counting ----------------------------------------------------------------------===//
#include "Order.h"

#include "Failure.h"
#include "Frame.h"
#include "Graph.h"

#include <cstddef>

using namespace gnnrt;

static_assert(offsetof(gnnrt_order, view) == 0);

std::unique_ptr<gnnrt_order> gnnrt::makeOrder(const int32_t *index, int64_t count, int64_t rows, const int32_t *other) {
  auto order = std::make_unique<gnnrt_order>();
  // Row r is counted at ptr[r + 2] and summed up there, so that placing its entries, which counts ptr[r + 1] up from
  // the row's begin to its end, leaves the finished pointers behind.
  order->ptr = Array<int64_t>(rows + 2);
  int64_t *ptr = order->ptr.data();
  std::fill_n(ptr, rows + 2, 0);
  for (int64_t i = 0; i < count; ++i) {
    if (index[i] < -1 || index[i] >= rows)
      fail(GNNRT_ERROR_INTERNAL, "a fault of gnnc itself: an index array has ", index[i], " where ", rows,
           " is the limit");
    if (index[i] >= 0)
      ++ptr[index[i] + 2];
  }
  for (int64_t row = 2; row < rows + 2; ++row)
    ptr[row] += ptr[row - 1];
  int64_t entries = ptr[rows + 1];
  order->perm = arrayWithReadAhead<int32_t>(entries);
  int32_t *perm = order->perm.data();
  if (other) {
    order->other = arrayWithReadAhead<int32_t>(entries);
    int32_t *ends = order->other.data();
    for (int64_t i = 0; i < count; ++i)
      if (index[i] >= 0) {
        int64_t place = ptr[index[i] + 1]++;
        perm[place] = int32_t(i);
        ends[place] = other[i];
      }
    padAhead(order->other);
  } else {
    for (int64_t i = 0; i < count; ++i)
      if (index[i] >= 0)
        perm[ptr[index[i] + 1]++] = int32_t(i);
  }
  padAhead(order->perm);
  order->schedule = scheduleRows(ptr, rows);
  order->view = {ptr, perm, rows, entries, order->schedule.slots, order->other.data()};
  return order;
}

const gnnrt_order *gnnrt_in_order(gnnrt_frame *frame, const gnnrt_graph *graph) {
  const gnnrt_order *order = nullptr;
  frame->guarded([&] {
    order = graph->inOrder.get(
        graph->mutex, [&] { return makeOrder(graph->dst.data(), graph->numEdges, graph->numDst, graph->src.data()); });
  });
  return order;
}

const gnnrt_order *gnnrt_out_order(gnnrt_frame *frame, const gnnrt_graph *graph) {
  const gnnrt_order *order = nullptr;
  frame->guarded([&] {
    order = graph->outOrder.get(
        graph->mutex, [&] { return makeOrder(graph->src.data(), graph->numEdges, graph->numSrc, graph->dst.data()); });
  });
  return order;
}

const gnnrt_order *gnnrt_order_by(gnnrt_frame *frame, const int32_t *index, int64_t count, int64_t rows) {
  const gnnrt_order *order = nullptr;
  frame->guarded([&] {
    if (count > maxGraphSize)
      fail(GNNRT_ERROR_TOO_LARGE, "a reduction by an index array of ", count, " entries; at most ", maxGraphSize,
           " are supported");
    order = frame->orders.emplace_back(makeOrder(index, count, rows)).get();
  });
  return order;
}
