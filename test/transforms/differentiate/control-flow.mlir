// Branches and loops, to second order, against differences.
// RUN: %first_order
// RUN: %second_order
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!i = tensor<i32, #gnn.dims<>>
!b = tensor<i1, #gnn.dims<>>
!s = tensor<f64, #gnn.dims<>>
!v = tensor<?xf64, #gnn.dims<s0>>
!w = tensor<?x?xf64, #gnn.dims<s0, s0>>
!vs = tensor<?x?xf64, #gnn.dims<s1, s0>>

// The condition steers the reverse as it steered the branch, which is run again.
// CHECK-LABEL: func.func @branch(
// CHECK: gnn.if
// CHECK: gnn.if
// CHECK-NOT: gnn.if
// CHECK: return
func.func @branch(%x: !v, %c: !b {test.value = array<f64: 1.>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = gnn.if %c {
    %a = math.exp %x : !v
    %b = arith.mulf %a, %x : !v
    gnn.yield %b : !v
  } else {
    %a = math.sin %x : !v
    gnn.yield %a : !v
  } : (!b) -> !v
  %z = arith.mulf %y, %x : !v
  return %z : !v
}
func.func @other_branch(%x: !v, %c: !b {test.value = array<f64: 0.>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = gnn.if %c {
    %a = math.exp %x : !v
    gnn.yield %a : !v
  } else {
    %a = math.sin %x : !v
    %b = arith.mulf %a, %a : !v
    gnn.yield %b : !v
  } : (!b) -> !v
  return %y : !v
}

// The state of every iteration is an entry of a stack, and the reverse runs down.
// CHECK-LABEL: func.func @recurrence(
// CHECK: %[[STACK:.*]] = gnn.empty : tensor<?x?xf64, #gnn.dims<s1, s0>>
// CHECK: gnn.for %{{.*}} to %{{.*}}(%{{.*}}, %[[STACK]])
// CHECK: gnn.update_index
// CHECK: gnn.for %{{.*}} to %{{.*}} reverse(
// CHECK: gnn.select_index
// CHECK: return
func.func @recurrence(%h: !v, %w: !w) -> !v attributes {test.sizes = array<i64: 3, 4>} {
  %zero = arith.constant dense<0> : !i
  %n = gnn.size <s1> : !i
  %y = gnn.for %zero to %n (%h) {
  ^bb0(%t: !i, %a: !v):
    %p = gnn.contract %a [0], %w [0, 1] -> [1] : (!v, !w) -> !v
    %q = math.tanh %p : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}

// Run-time bounds, backwards; the counter's value is used.
func.func @counted(%h: !v {test.range = array<f64: 0.2, 0.6>}, %from: !i {test.value = array<f64: 2.>}, %to: !i {test.value = array<f64: 5.>}) -> !v
    attributes {test.sizes = array<i64: 3>} {
  %y = gnn.for %from to %to reverse (%h) {
  ^bb0(%t: !i, %a: !v):
    %r = arith.sitofp %t : !i to !s
    %b = gnn.broadcast %r dims [] : (!s) -> !v
    %p = arith.mulf %b, %a : !v
    %q = math.sin %p : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}
func.func @never(%h: !v, %n: !i {test.value = array<f64: 0.>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %zero = arith.constant dense<0> : !i
  %y = gnn.for %zero to %n (%h) {
  ^bb0(%t: !i, %a: !v):
    %q = arith.mulf %a, %h : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  %z = arith.mulf %y, %y : !v
  return %z : !v
}

// Entries of an array are read, one in each iteration; their adjoints go into one buffer.
// CHECK-LABEL: func.func @inputs(
// CHECK: gnn.for {{.*}} reverse(
// CHECK: ^bb0(%[[T:.*]]: tensor<i32, #gnn.dims<>>, %{{.*}}: tensor<?xf64, #gnn.dims<s0>>, %[[ADJ:.*]]: tensor<?x?x
// CHECK: %[[OLD:.*]] = gnn.select_index %[[ADJ]]{{\[}}%[[T]]{{\]}} dim 0
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]],
// CHECK: gnn.update_index %[[ADJ]]{{\[}}%[[T]]{{\]}} dim 0, %[[NEW]]
// CHECK-NOT: gnn.unslice
// CHECK: return
func.func @inputs(%h: !v, %xs: !vs) -> !v attributes {test.sizes = array<i64: 2, 3>} {
  %zero = arith.constant dense<0> : !i
  %n = gnn.size <s1> : !i
  %y = gnn.for %zero to %n (%h) {
  ^bb0(%t: !i, %a: !v):
    %x = gnn.select_index %xs[%t] dim 0 : (!vs, !i) -> !v
    %p = arith.mulf %x, %a : !v
    %q = math.sin %p : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}

// An array is filled from its own entries: what was replaced is kept, not all its states.
// CHECK-LABEL: func.func @outputs(
// CHECK-NOT: tensor<?x?x?xf64
// CHECK: return
func.func @outputs(%h: !v, %ys: !vs) -> !vs attributes {test.sizes = array<i64: 2, 4>} {
  %one = arith.constant dense<1> : !i
  %n = gnn.size <s1> : !i
  %y = gnn.for %one to %n (%ys) {
  ^bb0(%t: !i, %a: !vs):
    %before = arith.subi %t, %one : !i
    %x = gnn.select_index %a[%before] dim 0 : (!vs, !i) -> !v
    %p = arith.mulf %x, %h : !v
    %q = math.sin %p : !v
    %z = gnn.update_index %a[%t] dim 0, %q : (!vs, !i, !v) -> !vs
    gnn.yield %z : !vs
  } : (!i, !i, !vs) -> !vs
  return %y : !vs
}
func.func @update_slice(%x: !v, %v: tensor<2xf64, #gnn.dims<2>>) -> !v attributes {test.sizes = array<i64: 4>} {
  %p = arith.mulf %x, %x : !v
  %q = arith.mulf %v, %v : tensor<2xf64, #gnn.dims<2>>
  %y = gnn.update_slice %p dim 0 from <1> step 2, %q : (!v, tensor<2xf64, #gnn.dims<2>>) -> !v
  %z = arith.mulf %y, %x : !v
  return %z : !v
}

// A loop in a loop, whose length depends on the outer one; a branch in a loop.
func.func @nested(%h: !v {test.range = array<f64: 0.2, 0.6>}) -> !v attributes {test.sizes = array<i64: 2>} {
  %zero = arith.constant dense<0> : !i
  %three = arith.constant dense<3> : !i
  %y = gnn.for %zero to %three (%h) {
  ^bb0(%t: !i, %a: !v):
    %z = gnn.for %zero to %t (%a) {
    ^bb0(%k: !i, %b: !v):
      %p = arith.mulf %b, %a : !v
      %q = math.sin %p : !v
      gnn.yield %q : !v
    } : (!i, !i, !v) -> !v
    %even = arith.cmpi eq, %t, %zero : !i
    %r = gnn.if %even {
      %s = math.exp %z : !v
      gnn.yield %s : !v
    } else {
      %s = arith.mulf %z, %h : !v
      gnn.yield %s : !v
    } : (!b) -> !v
    gnn.yield %r : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}

// Counted, then run as a counted loop.
// CHECK-LABEL: func.func @until(
// CHECK: gnn.while
// CHECK: gnn.for
// CHECK: gnn.for {{.*}} reverse
// CHECK: return
func.func @until(%x: !s {test.value = array<f64: 7.3>}) -> !s {
  %one = arith.constant dense<1.0> : !s
  %y = gnn.while (%x) {
  ^bb0(%a: !s):
    %c = arith.cmpf ogt, %a, %one : !s
    gnn.yield %c : !b
  } do {
  ^bb0(%a: !s):
    %p = arith.mulf %a, %a : !s
    %q = arith.addf %one, %a : !s
    %r = arith.divf %p, %q : !s
    gnn.yield %r : !s
  } : (!s) -> !s
  return %y : !s
}

// Segments of steps: two stacks of about the square root of the number of steps.
// CHECK-LABEL: func.func @checkpointed(
// CHECK: gnn.empty : tensor<3x?xf64, #gnn.dims<3, s0>>
// CHECK: gnn.empty : tensor<3x?xf64, #gnn.dims<3, s0>>
// CHECK-NOT: gnn.empty
// CHECK: return
func.func @checkpointed(%h: !v, %w: !w) -> !v attributes {test.sizes = array<i64: 2>} {
  %zero = arith.constant dense<0> : !i
  %n = arith.constant dense<7> : !i
  %y = gnn.for %zero to %n checkpoint (%h) {
  ^bb0(%t: !i, %a: !v):
    %p = gnn.contract %a [0], %w [0, 1] -> [1] : (!v, !w) -> !v
    %q = math.tanh %p : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}
func.func @checkpointed_unknown(%h: !v, %w: !w, %n: !i {test.value = array<f64: 8.>}) -> !v
    attributes {test.sizes = array<i64: 2>} {
  %zero = arith.constant dense<0> : !i
  %y = gnn.for %zero to %n reverse checkpoint (%h) {
  ^bb0(%t: !i, %a: !v):
    %r = arith.sitofp %t : !i to !s
    %b = gnn.broadcast %r dims [] : (!s) -> !v
    %p = gnn.contract %a [0], %w [0, 1] -> [1] : (!v, !w) -> !v
    %m = arith.mulf %p, %b : !v
    %q = math.tanh %m : !v
    gnn.yield %q : !v
  } : (!i, !i, !v) -> !v
  return %y : !v
}
