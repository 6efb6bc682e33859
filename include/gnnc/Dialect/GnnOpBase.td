// What the definitions of ops share: traits, classes, and kinds of tensors.
#ifndef GNNC_DIALECT_GNNOPBASE_TD
#define GNNC_DIALECT_GNNOPBASE_TD

include "gnnc/Dialect/DifferentiableOpInterface.td"
include "gnnc/Dialect/GnnAttrs.td"
include "gnnc/Dialect/GnnTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Every tensor among the op's operands and results has an encoding #gnn.dims. Checked before the op's own verifier.
def NamedDims : NativeOpTrait<"NamedDims">, StructuralOpTrait {
  let cppNamespace = "::gnnc::gnn";
}
/// The op makes structure (indices, positions, random numbers) that no derivative passes through; its text says
/// `nondiff`.
def Structural : NativeOpTrait<"Structural"> {
  let cppNamespace = "::gnnc::gnn";
}

class Gnn_Op<string mnemonic, list<Trait> traits = []> : Op<Gnn_Dialect, mnemonic, [NamedDims] # traits>;
class Gnn_PureOp<string mnemonic, list<Trait> traits = []> : Gnn_Op<mnemonic, [Pure] # traits>;
/// An op with a derivative rule in lib/Dialect/Adjoints*.cpp.
class Gnn_DiffOp<string mnemonic, list<Trait> traits = []>
    : Gnn_PureOp<mnemonic, [DeclareOpInterfaceMethods<DifferentiableOpInterface>] # traits>;

def Gnn_Tensor : RankedTensorOf<[AnyType]>;
def Gnn_Scalar : 0DTensorOf<[AnyType]>;
def Gnn_IndexTensor : RankedTensorOf<[I32]>;
def Gnn_Position : 0DTensorOf<[I32]>;
def Gnn_Number : 0DTensorOf<[I32, I64]>;
def Gnn_Condition : 0DTensorOf<[I1]>;

#endif
