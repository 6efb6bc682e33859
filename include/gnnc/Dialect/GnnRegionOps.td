// Ops that hold code: control flow and differentiation, and what marks values for it.
#ifndef GNNC_DIALECT_GNNREGIONOPS_TD
#define GNNC_DIALECT_GNNREGIONOPS_TD

include "gnnc/Dialect/GnnOpBase.td"

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

class Gnn_ControlOp<string mnemonic, list<Trait> traits = []>
    : Gnn_Op<mnemonic, [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects] # traits>;

def Gnn_IfOp : Gnn_ControlOp<"if", [RecursivelySpeculatable, NoRegionArguments]> {
  let summary = "One of two computations, by a condition";
  let description = [{
    ```mlir
    %y = gnn.if %c {
      gnn.yield %a : tensor<?xf32, #gnn.dims<s0>>
    } else {
      %b = math.exp %a : tensor<?xf32, #gnn.dims<s0>>
      gnn.yield %b : tensor<?xf32, #gnn.dims<s0>>
    } : (tensor<i1, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_Condition:$condition);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $condition $thenRegion `else` $elseRegion attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &thenBlock() { return getThenRegion().front(); }
    ::mlir::Block &elseBlock() { return getElseRegion().front(); }
  }];
}

def Gnn_ForOp : Gnn_ControlOp<"for", [RecursivelySpeculatable]> {
  let summary = "A counted loop";
  let description = [{
    Runs the body for lower, lower + 1, ..., upper - 1, or in the opposite order with `reverse`. The body's first argument is the number at hand,
    the others are what the loop carries: the inits at first, then what the body yielded. The results are what is carried in the end.

    `most` says how often the body runs at most, where that is known better than upper - lower. `checkpoint` asks the
    derivative to keep about the square root of the states, and to compute the others again.

    ```mlir
    %y = gnn.for %zero to %n (%x) {
    ^bb0(%t: tensor<i32, #gnn.dims<>>, %h: tensor<?xf32, #gnn.dims<s0>>):
      %next = math.tanh %h : tensor<?xf32, #gnn.dims<s0>>
      gnn.yield %next : tensor<?xf32, #gnn.dims<s0>>
    } : (tensor<i32, #gnn.dims<>>, tensor<i32, #gnn.dims<>>, tensor<?xf32, #gnn.dims<s0>>)
        -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_Number:$lower, Gnn_Number:$upper, Variadic<AnyType>:$inits, UnitAttr:$reverse,
                       UnitAttr:$checkpoint, OptionalAttr<Gnn_SizeAttr>:$most);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $lower `to` $upper (`reverse` $reverse^)? (`checkpoint` $checkpoint^)? (`most` $most^)? `(` $inits `)` $body
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &block() { return getBody().front(); }
    ::mlir::BlockArgument counter() { return block().getArgument(0); }
    ::mlir::ArrayRef<::mlir::BlockArgument> carried() { return block().getArguments().drop_front(); }
  }];
}

def Gnn_WhileOp : Gnn_ControlOp<"while"> {
  let summary = "A loop that runs as long as a condition holds";
  let description = [{
    Both regions have what the loop carries as their arguments. The first yields the condition, the second what is carried next.

    ```mlir
    %y = gnn.while (%x) {
    ^bb0(%h: tensor<f32, #gnn.dims<>>):
      %c = arith.cmpf ogt, %h, %bound : tensor<f32, #gnn.dims<>>
      gnn.yield %c : tensor<i1, #gnn.dims<>>
    } do {
    ^bb0(%h: tensor<f32, #gnn.dims<>>):
      %next = arith.mulf %h, %half : tensor<f32, #gnn.dims<>>
      gnn.yield %next : tensor<f32, #gnn.dims<>>
    } : (tensor<f32, #gnn.dims<>>) -> tensor<f32, #gnn.dims<>>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inits, UnitAttr:$checkpoint);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`checkpoint` $checkpoint^)? `(` $inits `)` $condition `do` $body attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &conditionBlock() { return getCondition().front(); }
    ::mlir::Block &block() { return getBody().front(); }
    ::mlir::ArrayRef<::mlir::BlockArgument> carried() { return block().getArguments(); }
  }];
}

//===----------------------------------------------------------------------===//
// Differentiation
//===----------------------------------------------------------------------===//

def Gnn_VjpOp : Gnn_Op<"vjp", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A computation that will be differentiated";
  let description = [{
    The block arguments are the values differentiated with respect to; their values are the operands. Everything else
    that the body uses from outside is held constant. The last result is what `gnn.back` reverses. Neither op is left
    after `gnn-differentiate`.

    ```mlir
    %loss, %tape = gnn.vjp(%x) {
    ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
      %b = arith.mulf %a, %a : tensor<?xf32, #gnn.dims<s0>>
      %sum = gnn.reduce sum %b dims [0] : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<f32, #gnn.dims<>>
      gnn.yield %sum : tensor<f32, #gnn.dims<>>
    } : (tensor<?xf32, #gnn.dims<s0>>) -> (tensor<f32, #gnn.dims<>>, !gnn.tape)
    ```
  }];
  let arguments = (ins Variadic<Gnn_Tensor>:$wrt);
  let results = (outs Variadic<AnyType>:$values, Gnn_TapeType:$tape);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $wrt `)` $body attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_BackOp : Gnn_Op<"back"> {
  let summary = "Gradients from cotangents of a vjp's floating-point results";
  let description = [{
    One cotangent for each floating-point result of the vjp, in order; one gradient for each of its operands.

    ```mlir
    %x_adj = gnn.back %tape(%one) : (!gnn.tape, tensor<f32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_TapeType:$tape, Variadic<Gnn_Tensor>:$cotangents);
  let results = (outs Variadic<Gnn_Tensor>:$gradients);
  let assemblyFormat = "$tape `(` $cotangents `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Gnn_YieldOp : Gnn_Op<"yield", [Pure, ReturnLike, Terminator, ParentOneOf<["VjpOp", "CustomRuleOp", "IfOp", "ForOp",
                                                                                "WhileOp", "KernelOp", "GroupOp"]>]> {
  let summary = "Ends a region with its values";
  let description = [{
    ```mlir
    gnn.yield %y : tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Gnn_CustomRuleOp : Gnn_DiffOp<"custom_rule", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A computation with a derivative rule of its own";
  let description = [{
    `body` computes the results from the inputs, which are all that has a derivative; what the regions use from outside
    is constant. Without `forward`, `rule` takes the inputs and a cotangent for each floating-point result, and yields a
    gradient for each input. With it, `rule` takes the inputs and a tangent for each, and yields a tangent for each
    floating-point result; reverse mode transposes it. `gnn-differentiate` leaves the body alone in the end.

    ```mlir
    %y = gnn.custom_rule(%x) {
    ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
      %b = math.floor %a : tensor<?xf32, #gnn.dims<s0>>
      gnn.yield %b : tensor<?xf32, #gnn.dims<s0>>
    } rule {
    ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>, %b_adj: tensor<?xf32, #gnn.dims<s0>>):
      gnn.yield %b_adj : tensor<?xf32, #gnn.dims<s0>>
    } : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Variadic<Gnn_Tensor>:$inputs, UnitAttr:$forward);
  let results = (outs Variadic<Gnn_Tensor>:$values);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$rule);
  let assemblyFormat = [{
    (`forward` $forward^)? `(` $inputs `)` $body `rule` $rule attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Gnn_NondiffOp : Gnn_PureOp<"nondiff", [SameOperandsAndResultType]> {
  let summary = "The identity, held constant for differentiation";
  let description = [{
    ```mlir
    %y = gnn.nondiff %x : tensor<?xf32, #gnn.dims<s0>>
    ```
  }];
  let arguments = (ins Gnn_Tensor:$x);
  let results = (outs Gnn_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Gnn_SavedOp : Gnn_DiffOp<"saved", [SameOperandsAndResultType]> {
  let summary = "The identity: a value of the forward sweep that the reverse sweep reads";
  let description = [{
    Makes visible what is kept; `gnn-choose-saved` decides for each whether it is stored or computed again.

    ```mlir
    %kept = gnn.saved %h : tensor<?x16xf32, #gnn.dims<s0, 16>>
    ```
  }];
  let arguments = (ins AnyType:$x);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif
