// Branches and loops: what is carried or yielded for nothing goes.
// RUN: gnnc-opt %s -canonicalize | gnnc-opt | FileCheck %s

!i = tensor<i32, #gnn.dims<>>
!b = tensor<i1, #gnn.dims<>>
!s = tensor<f64, #gnn.dims<>>
!v = tensor<?xf64, #gnn.dims<s0>>
!t = tensor<?x?xf64, #gnn.dims<s1, s0>>

// Handed on as it was: not carried.
// CHECK-LABEL: func.func @unchanged(
// CHECK: gnn.for %{{.*}} to %arg2(%arg0) {
// CHECK: arith.mulf %{{.*}}, %arg1
func.func @unchanged(%x: !v, %y: !v, %n: !i) -> (!v, !v) {
  %zero = arith.constant dense<0> : !i
  %r:2 = gnn.for %zero to %n (%x, %y) {
  ^bb0(%t: !i, %a: !v, %b: !v):
    %p = arith.mulf %a, %b : !v
    gnn.yield %p, %b : !v, !v
  } : (!i, !i, !v, !v) -> (!v, !v)
  return %r#0, %r#1 : !v, !v
}

// Carried to compute itself only: gone, with what computed it.
// CHECK-LABEL: func.func @unused(
// CHECK: gnn.while(%arg0) {
// CHECK-NOT: math.exp
// CHECK: return
func.func @unused(%x: !s, %y: !v) -> !s {
  %one = arith.constant dense<1.0> : !s
  %r:2 = gnn.while (%x, %y) {
  ^bb0(%a: !s, %b: !v):
    %c = arith.cmpf ogt, %a, %one : !s
    gnn.yield %c : !b
  } do {
  ^bb0(%a: !s, %b: !v):
    %p = math.sqrt %a : !s
    %q = math.exp %b : !v
    gnn.yield %p, %q : !s, !v
  } : (!s, !v) -> (!s, !v)
  return %r#0 : !s
}

// CHECK-LABEL: func.func @never(
// CHECK-NEXT: return %arg0
func.func @never(%x: !v) -> !v {
  %five = arith.constant dense<5> : !i
  %r = gnn.for %five to %five (%x) {
  ^bb0(%t: !i, %a: !v):
    %p = arith.mulf %a, %a : !v
    gnn.yield %p : !v
  } : (!i, !i, !v) -> !v
  return %r : !v
}

// One iteration is a loop all the same.
// CHECK-LABEL: func.func @once(
// CHECK: gnn.for
func.func @once(%x: !v) -> !v {
  %zero = arith.constant dense<0> : !i
  %one = arith.constant dense<1> : !i
  %r = gnn.for %zero to %one reverse checkpoint most <1> (%x) {
  ^bb0(%t: !i, %a: !v):
    %p = arith.mulf %a, %a : !v
    gnn.yield %p : !v
  } : (!i, !i, !v) -> !v
  return %r : !v
}

// A branch that is known is taken; one that is not stays, whatever it holds.
// CHECK-LABEL: func.func @branches(
// CHECK-NEXT: %[[A:.*]] = math.exp %arg0
// CHECK-NEXT: %[[B:.*]] = gnn.if %arg1 {
// CHECK: return %[[A]], %[[B]], %arg0
func.func @branches(%x: !v, %c: !b) -> (!v, !v, !v) {
  %true = arith.constant dense<true> : !b
  %a = gnn.if %true {
    %e = math.exp %x : !v
    gnn.yield %e : !v
  } else {
    gnn.yield %x : !v
  } : (!b) -> !v
  %b:3 = gnn.if %c {
    %e = arith.negf %x : !v
    gnn.yield %e, %x, %e : !v, !v, !v
  } else {
    gnn.yield %x, %x, %a : !v, !v, !v
  } : (!b) -> (!v, !v, !v)
  return %a, %b#0, %b#1 : !v, !v, !v
}

// CHECK-LABEL: func.func @entries(
// CHECK-NEXT: %[[Y:.*]] = gnn.update_index %arg0[%arg3] dim 0, %arg2
// CHECK-NEXT: return %arg2, %[[Y]]
func.func @entries(%x: !t, %a: !v, %e: !v, %k: !i) -> (!v, !t) {
  %y = gnn.update_index %x[%k] dim 0, %a : (!t, !i, !v) -> !t
  %z = gnn.update_index %y[%k] dim 0, %e : (!t, !i, !v) -> !t
  %r = gnn.select_index %z[%k] dim 0 : (!t, !i) -> !v
  return %r, %z : !v, !t
}

// A size that is defined stays, though nobody reads its number.
// CHECK-LABEL: func.func @defined(
// CHECK: gnn.define_size <s1> as %arg0
func.func @defined(%n: !i) -> tensor<?xf64, #gnn.dims<s1>> {
  %m = gnn.define_size <s1> as %n : !i -> !i
  %zero = arith.constant dense<0.0> : !s
  %z = gnn.broadcast %zero dims [] : (!s) -> tensor<?xf64, #gnn.dims<s1>>
  return %z : tensor<?xf64, #gnn.dims<s1>>
}
