// The passes on the gnn dialect; see Passes.td.
#ifndef GNNC_TRANSFORMS_PASSES_H
#define GNNC_TRANSFORMS_PASSES_H

#include "gnnc/Dialect/Gnn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace gnnc::gnn {

#define GEN_PASS_DECL
#include "gnnc/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "gnnc/Transforms/Passes.h.inc"

} // namespace gnnc::gnn

#endif
