// What an op's adjoint rule may ask of the reverse sweep that is being built.
//
// Naming: x_adj is the adjoint (cotangent) of x. The builder stands in the reverse sweep; values of the forward sweep
// may be read only through `saved`, so that what is kept is visible in the IR.
#ifndef GNNC_DIALECT_REVERSESWEEP_H
#define GNNC_DIALECT_REVERSESWEEP_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace gnnc::gnn {

class ReverseSweep {
public:
  virtual ~ReverseSweep();

  /// The adjoint of a result of the op at hand; null if none arrived (then it is zero).
  virtual mlir::Value adjointOf(mlir::Value result) = 0;
  /// Whether a value depends on what is differentiated with respect to, by floating-point data flow.
  virtual bool isActive(mlir::Value value) const = 0;
  /// A value of the forward sweep, marked as kept.
  virtual mlir::Value saved(mlir::Value value) = 0;
  /// Adds to the adjoint of an operand; ignored if the operand is not active.
  virtual void add(mlir::Value operand, mlir::Value contribution) = 0;

  /// Changes the adjoint of an active operand: `f` gets the one so far, null if none arrived, and gives the new one.
  /// For contributions to a part of the operand, which are added in place.
  virtual void accumulate(mlir::Value operand, llvm::function_ref<mlir::Value(mlir::Value)> f) = 0;

  /// adjoint * partial. Downstream of a selection this is gnn.pmul, so that what was not selected contributes exactly 0
  /// though the partial be infinite; else a plain product.
  virtual mlir::Value times(mlir::Value adjoint, mlir::Value partial) = 0;
  /// Marks an adjoint that a selection made; elementwise results of `times` and sums inherit the mark.
  virtual void markSelected(mlir::Value adjoint) = 0;
  virtual bool isSelected(mlir::Value adjoint) const = 0;

  virtual mlir::OpBuilder &builder() = 0;
  virtual mlir::Location loc() const = 0;
};

} // namespace gnnc::gnn

#endif
