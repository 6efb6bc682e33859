// Mathematical functions as plain arithmetic: patterns for a lowering to use.
#ifndef GNNC_CONVERSION_EXPANDMATH_H
#define GNNC_CONVERSION_EXPANDMATH_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace gnnc {

/// Adds patterns that rewrite math ops, gnn.sigmoid, gnn.softplus and gnn.pmul on f32 and f64 scalars and vectors into
/// arith ops. `useFma` says whether the target has fused multiply-adds, `rounds` whether it rounds to integers in one
/// instruction.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns, bool useFma, bool rounds = true);

} // namespace gnnc

#endif
