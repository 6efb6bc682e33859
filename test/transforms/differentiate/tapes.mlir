// What a tape is: what is held constant, several backs, backs elsewhere, derivatives of derivatives.
// RUN: gnnc-opt %s -test-gnn-agree="pipeline=func.func(gnn-differentiate) tolerance=1e-8" -o /dev/null
// RUN: gnnc-opt %s -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!v = tensor<3xf64, #gnn.dims<3>>
!s = tensor<f64, #gnn.dims<>>

// The body's own use of %x is a constant: the derivative of X x is x, not 2 x.
// CHECK-LABEL: func.func @captured(
// CHECK-SAME: %[[X:.*]]: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// CHECK: %[[G:.*]] = arith.mulf %[[Y_ADJ]], %[[X]]
// CHECK: return %{{.*}}, %[[G]] :
func.func @captured(%x: !v, %y_adj: !v) -> (!v, !v) {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    %z = arith.mulf %X, %x : !v
    gnn.yield %z : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> !v
  return %y, %g : !v, !v
}

// One tensor for two arguments: a gradient for each.
func.func @twice(%x: !v, %y_adj: !v) -> (!v, !v) {
  %y, %t = gnn.vjp(%x, %x) {
  ^bb0(%A: !v, %B: !v):
    %a = math.sin %A : !v
    %z = arith.mulf %a, %B : !v
    gnn.yield %z : !v
  } : (!v, !v) -> (!v, !gnn.tape)
  %g:2 = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> (!v, !v)
  return %g#0, %g#1 : !v, !v
}

// A result that is an argument, one that is a constant, and an argument that is not used.
// CHECK-LABEL: func.func @trivial(
// CHECK-SAME: %{{[^:]*}}: tensor{{[^%]*}}, %{{[^:]*}}: tensor{{[^%]*}}, %[[A_ADJ:[^:]*]]: tensor
// CHECK: %[[CONSTANT:.*]] = arith.constant dense<0.000000e+00>
// CHECK: %[[ZERO:.*]] = gnn.broadcast %[[CONSTANT]]
// CHECK: return %[[A_ADJ]], %[[ZERO]] :
func.func @trivial(%x: !v, %k: !v, %a_adj: !v, %b_adj: !v) -> (!v, !v) {
  %y:2, %t = gnn.vjp(%x, %k) {
  ^bb0(%X: !v, %K: !v):
    gnn.yield %X, %k : !v, !v
  } : (!v, !v) -> (!v, !v, !gnn.tape)
  %g:2 = gnn.back %t(%a_adj, %b_adj) : (!gnn.tape, !v, !v) -> (!v, !v)
  return %g#0, %g#1 : !v, !v
}

// A value on an active and on a constant path: sin(X) nondiff(sin(X)).
func.func @held(%x: !v, %y_adj: !v) -> (!v, !v) {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    %a = math.sin %X : !v
    %h = gnn.nondiff %a : !v
    %z = arith.mulf %a, %h : !v
    gnn.yield %z : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> !v
  return %y, %g : !v, !v
}

// The same tape read twice, and a value that two results share.
func.func @two_backs(%x: !v, %a: !v, %b: !v) -> (!v, !v) {
  %y:2, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    %e = math.exp %X : !v
    %z = arith.mulf %e, %X : !v
    gnn.yield %z, %e : !v, !v
  } : (!v) -> (!v, !v, !gnn.tape)
  %g = gnn.back %t(%a, %b) : (!gnn.tape, !v, !v) -> !v
  %h = gnn.back %t(%b, %g) : (!gnn.tape, !v, !v) -> !v
  return %g, %h : !v, !v
}

// A back inside another vjp: its cotangent depends on what that one differentiates.
func.func @back_inside(%x: !v, %k: !v, %h_adj: !v) -> (!v, !v) {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    %e = math.exp %X : !v
    gnn.yield %e : !v
  } : (!v) -> (!v, !gnn.tape)
  %g, %u = gnn.vjp(%k) {
  ^bb0(%K: !v):
    %s = math.sin %K : !v
    %p = gnn.back %t(%s) : (!gnn.tape, !v) -> !v
    gnn.yield %p : !v
  } : (!v) -> (!v, !gnn.tape)
  %h = gnn.back %u(%h_adj) : (!gnn.tape, !v) -> !v
  return %g, %h : !v, !v
}

// Forces in a loss: the gradient of a function of a gradient, by another variable.
func.func @force_loss(%x: !v, %p: !v) -> (!s, !v) {
  %one = arith.constant dense<1.0> : !s
  %l, %t = gnn.vjp(%p) {
  ^bb0(%P: !v):
    %e, %u = gnn.vjp(%x) {
    ^bb0(%X: !v):
      %px = arith.mulf %P, %X : !v
      %th = math.tanh %px : !v
      %sq = arith.mulf %th, %X : !v
      %e = gnn.reduce sum %sq dims [0] : (!v) -> !s
      gnn.yield %e : !s
    } : (!v) -> (!s, !gnn.tape)
    %f = gnn.back %u(%one) : (!gnn.tape, !s) -> !v
    %ff = arith.mulf %f, %f : !v
    %l = gnn.reduce sum %ff dims [0] : (!v) -> !s
    gnn.yield %l : !s
  } : (!v) -> (!s, !gnn.tape)
  %g = gnn.back %t(%one) : (!gnn.tape, !s) -> !v
  return %l, %g : !s, !v
}

// Without a back the body is just computed.
// CHECK-LABEL: func.func @no_back(
// CHECK-NOT: gnn.saved
// CHECK: math.exp
func.func @no_back(%x: !v) -> !v {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    %e = math.exp %X : !v
    gnn.yield %e : !v
  } : (!v) -> (!v, !gnn.tape)
  return %y : !v
}
