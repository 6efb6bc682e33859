// Derivative rules of upstream ops, attached from outside.
#ifndef GNNC_DIALECT_UPSTREAMADJOINTS_H
#define GNNC_DIALECT_UPSTREAMADJOINTS_H

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace gnnc::gnn {

/// Gives the ops of arith and math their adjoints, whenever these dialects are loaded.
void registerUpstreamAdjoints(mlir::DialectRegistry &registry);

/// The part of it that math needs.
void attachMathAdjoints(mlir::MLIRContext *ctx);

} // namespace gnnc::gnn

#endif
