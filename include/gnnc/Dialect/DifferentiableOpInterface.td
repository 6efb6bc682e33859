// The interface through which an op states its adjoint.
#ifndef GNNC_DIALECT_DIFFERENTIABLEOPINTERFACE_TD
#define GNNC_DIALECT_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::gnnc::gnn";
  let description = [{
    An op on the active path states how cotangents of its results become cotangents of its operands. Ops without
    this interface that are active are refused by the differentiate pass, at their location. There is no default rule.
  }];
  let methods = [
    InterfaceMethod<[{
      Adds to the adjoints of the active operands, given the adjoints of the results. `sweep` offers the adjoints
      (`adjointOf(result)`, null if none arrived; `add(operand, value)`; `isActive(operand)`), the values of the forward
      sweep (`saved(value)`, which marks them as kept), and a builder placed in the reverse sweep.
      Fails after emitting an error if this use of the op has no derivative.
    }], "::mlir::LogicalResult", "buildAdjoint", (ins "::gnnc::gnn::ReverseSweep &":$sweep)>
  ];
}

#endif
