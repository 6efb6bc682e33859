// What a step asks of memory, as profiles say it: each row of an operand once for each entry and pass that reads it,
// each index once, each result once.
#ifndef GNNC_LIB_CONVERSION_TRAFFIC_H
#define GNNC_LIB_CONVERSION_TRAFFIC_H

#include "GroupPlan.h"

namespace gnnc {

/// In bytes.
struct Traffic {
  gnn::SizeAttr read, written;
};

Traffic trafficOf(gnn::KernelOp kernel);
Traffic trafficOf(gnn::GroupOp op, const GroupPlan &group);
Traffic trafficOf(gnn::GemmOp gemm);

} // namespace gnnc

#endif
