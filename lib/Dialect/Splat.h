// Values all of whose elements are one: a scalar made larger by gnn.broadcast.
#ifndef GNNC_LIB_DIALECT_SPLAT_H
#define GNNC_LIB_DIALECT_SPLAT_H

#include "gnnc/Dialect/Gnn.h"

namespace gnnc::gnn {

/// The scalar (0-d tensor) that all elements of a value are; null if that is not visible.
mlir::Value splatScalar(mlir::Value value);

/// The floating-point number that all elements of a value are, if it is a known one.
std::optional<llvm::APFloat> splatFloat(mlir::Value value);

} // namespace gnnc::gnn

#endif
