// What is the same in all iterations leaves the loop; what can fail, or has a size that the loop defines, stays.
// RUN: gnnc-opt %s -gnn-hoist | FileCheck %s

!i = tensor<i32, #gnn.dims<>>
!v = tensor<?xf64, #gnn.dims<s0>>
!w = tensor<?xf64, #gnn.dims<s1>>
!t = tensor<?x?xf64, #gnn.dims<s1, s0>>

// CHECK-LABEL: func.func @through_both_loops(
// CHECK: math.exp
// CHECK: gnn.for
// CHECK: arith.addf
// CHECK: gnn.for
// CHECK: arith.mulf
func.func @through_both_loops(%x: !v, %n: !i) -> !v {
  %zero = arith.constant dense<0> : !i
  %y = gnn.for %zero to %n (%x) {
  ^bb0(%s: !i, %a: !v):
    %z = gnn.for %zero to %s (%a) {
    ^bb0(%t: !i, %b: !v):
      %e = math.exp %x : !v
      %p = arith.addf %a, %e : !v
      %q = arith.mulf %b, %p : !v
      gnn.yield %q : !v
    } : (!i, !i, !v) -> !v
    gnn.yield %z : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}

// A position is checked where it stands: the loop may not run.
// CHECK-LABEL: func.func @may_fail(
// CHECK: gnn.for
// CHECK: gnn.check_index
// CHECK: gnn.select_index
func.func @may_fail(%x: !v, %xs: !t, %k: !i, %n: !i) -> !v {
  %zero = arith.constant dense<0> : !i
  %y = gnn.for %zero to %n (%x) {
  ^bb0(%t: !i, %a: !v):
    %p = gnn.check_index %k below <s1>, "xs[k]" : !i -> !i
    %e = gnn.select_index %xs[%p] dim 0 : (!t, !i) -> !v
    %q = arith.mulf %a, %e : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}

// Zeros of a size that each iteration defines anew stay, though they have no operand from inside.
// CHECK-LABEL: func.func @sizes(
// CHECK: gnn.for
// CHECK: gnn.define_size <s1>
// CHECK: gnn.broadcast
func.func @sizes(%x: !v, %n: !i) -> !v {
  %zero = arith.constant dense<0> : !i
  %none = arith.constant dense<0.0> : tensor<f64, #gnn.dims<>>
  %y = gnn.for %zero to %n (%x) {
  ^bb0(%t: !i, %a: !v):
    %m = gnn.define_size <s1> as %t : !i -> !i
    %z = gnn.broadcast %none dims [] : (tensor<f64, #gnn.dims<>>) -> !w
    %s = gnn.reduce sum %z dims [0] : (!w) -> tensor<f64, #gnn.dims<>>
    %b = gnn.broadcast %s dims [] : (tensor<f64, #gnn.dims<>>) -> !v
    %q = arith.mulf %a, %b : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}
// A size that is the same in all iterations is defined before, and what has it follows.
// CHECK-LABEL: func.func @one_size(
// CHECK: gnn.define_size <s1>
// CHECK: gnn.broadcast
// CHECK: gnn.reduce
// CHECK: gnn.for
func.func @one_size(%x: !v, %n: !i) -> !v {
  %zero = arith.constant dense<0> : !i
  %one = arith.constant dense<1.0> : tensor<f64, #gnn.dims<>>
  %y = gnn.for %zero to %n (%x) {
  ^bb0(%t: !i, %a: !v):
    %m = gnn.define_size <s1> as %n : !i -> !i
    %z = gnn.broadcast %one dims [] : (tensor<f64, #gnn.dims<>>) -> !w
    %s = gnn.reduce sum %z dims [0] : (!w) -> tensor<f64, #gnn.dims<>>
    %b = gnn.broadcast %s dims [] : (tensor<f64, #gnn.dims<>>) -> !v
    %q = arith.mulf %a, %b : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}
