// What the passes that fuse kernels share: kinds of kernels and what they cost.
#ifndef GNNC_TRANSFORMS_FUSION_H
#define GNNC_TRANSFORMS_FUSION_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace gnnc::gnn {

/// A kernel without reductions that writes one whole new tensor, each element from its own place in the iteration
/// space: its result map is a permutation of its iterators.
bool isMap(KernelOp kernel);

/// About how many simple instructions a kernel's body is for one point.
unsigned bodyCost(KernelOp kernel);

/// The sizes that count entries of some order of the function: what has such a dimension has a value for each edge.
llvm::DenseSet<SizeAttr> entrySizes(mlir::func::FuncOp func);
bool hasEntries(KernelOp kernel, const llvm::DenseSet<SizeAttr> &entries);

/// `kernel` with those of its inputs computed in place that are results of maps in `inlined`. The old kernel is still
/// there.
KernelOp inlineMaps(KernelOp kernel, llvm::function_ref<bool(unsigned input)> inlined);
/// Whether a map's body can be computed at the place where `kernel` reads it with `input`.
bool canInline(KernelOp map, KernelOp kernel, unsigned input);
/// `kernel`, whose iterator `entry` counts the entries of `order`, as one over the rows and entries of that order.
KernelOp ofEntries(KernelOp kernel, mlir::Value order, unsigned entry);
/// The same of a sum over all entries, whose result is the sum of each row.
KernelOp sumByRow(KernelOp kernel, mlir::Value order, unsigned entry);

} // namespace gnnc::gnn

#endif
