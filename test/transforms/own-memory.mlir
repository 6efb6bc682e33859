// Where a write happens in place, and where a copy is made first.
// RUN: gnnc-opt %s -gnn-form-kernels -cse -gnn-own-memory | FileCheck %s

!i = tensor<i32, #gnn.dims<>>
!v = tensor<?xf64, #gnn.dims<s0>>
!t = tensor<?x?xf64, #gnn.dims<s1, s0>>
!b = tensor<i1, #gnn.dims<>>

// An argument is the caller's.
// CHECK-LABEL: func.func @argument(
// CHECK: label = "copy"
// CHECK: label = "gnn.update_index"
// CHECK-NOT: label =
// CHECK: return
func.func @argument(%x: !t, %e: !v, %k: !i) -> !t {
  %y = gnn.update_index %x[%k] dim 0, %e : (!t, !i, !v) -> !t
  return %y : !t
}

// What was computed here and is read no more is written into.
// CHECK-LABEL: func.func @own(
// CHECK: label = "math.exp"
// CHECK: label = "gnn.update_index"
// CHECK-NOT: label =
// CHECK: return
func.func @own(%x: !t, %e: !v, %k: !i) -> !t {
  %a = math.exp %x : !t
  %y = gnn.update_index %a[%k] dim 0, %e : (!t, !i, !v) -> !t
  return %y : !t
}

// A write waits for the last reader of the old value.
// CHECK-LABEL: func.func @waits(
// CHECK: label = "math.exp"
// CHECK: label = "math.sin"
// CHECK: label = "gnn.update_index"
// CHECK-NOT: label =
// CHECK: return
func.func @waits(%x: !t, %e: !v, %k: !i) -> (!t, !t) {
  %a = math.exp %x : !t
  %y = gnn.update_index %a[%k] dim 0, %e : (!t, !i, !v) -> !t
  %z = math.sin %a : !t
  return %y, %z : !t, !t
}

// Both are wanted.
// CHECK-LABEL: func.func @both(
// CHECK: label = "math.exp"
// CHECK: label = "copy"
// CHECK: label = "gnn.update_index"
// CHECK: return
func.func @both(%x: !t, %e: !v, %k: !i) -> (!t, !t) {
  %a = math.exp %x : !t
  %y = gnn.update_index %a[%k] dim 0, %e : (!t, !i, !v) -> !t
  return %y, %a : !t, !t
}

// A loop that fills an array: one copy of nothing. An entry is read before the next is written.
// CHECK-LABEL: func.func @filled(
// CHECK: gnn.for
// CHECK: gnn.select_index
// CHECK-NOT: label = "copy"
// CHECK: label = "gnn.update_index"
// CHECK-NOT: label = "copy"
// CHECK: return
func.func @filled(%x: !t, %n: !i) -> !t {
  %one = arith.constant dense<1> : !i
  %a = math.exp %x : !t
  %y = gnn.for %one to %n (%a) {
  ^bb0(%t: !i, %s: !t):
    %before = arith.subi %t, %one : !i
    %e = gnn.select_index %s[%before] dim 0 : (!t, !i) -> !v
    %q = math.sin %e : !v
    %z = gnn.update_index %s[%t] dim 0, %q : (!t, !i, !v) -> !t
    gnn.yield %z : !t
  } : (!i, !i, !t) -> !t
  return %y : !t
}

// A loop in a loop comes back to where the outer one began: a copy in each iteration.
// CHECK-LABEL: func.func @again(
// CHECK: label = "math.exp"
// CHECK: gnn.for
// CHECK: label = "copy"
// CHECK: gnn.for
func.func @again(%x: !t, %h: !t, %e: !v, %n: !i) -> !t {
  %zero = arith.constant dense<0> : !i
  %a = math.exp %x : !t
  %b = math.sin %h : !t
  %y = gnn.for %zero to %n (%b) {
  ^bb0(%s: !i, %c: !t):
    %r = gnn.for %zero to %s (%a) {
    ^bb0(%t: !i, %d: !t):
      %z = gnn.update_index %d[%t] dim 0, %e : (!t, !i, !v) -> !t
      gnn.yield %z : !t
    } : (!i, !i, !t) -> !t
    %q = arith.addf %c, %r : !t
    gnn.yield %q : !t
  } : (!i, !i, !t) -> !t
  return %y : !t
}

// What is exchanged has memory of its own; two carried values that change places are copied.
// CHECK-LABEL: func.func @exchanged(
// CHECK: gnn.for
// CHECK: label = "copy"
// CHECK: label = "copy"
// CHECK: gnn.yield
func.func @exchanged(%x: !v, %n: !i) -> !v {
  %zero = arith.constant dense<0> : !i
  %a = math.exp %x : !v
  %b = math.sin %x : !v
  %y:2 = gnn.for %zero to %n (%a, %b) {
  ^bb0(%t: !i, %c: !v, %d: !v):
    gnn.yield %d, %c : !v, !v
  } : (!i, !i, !v, !v) -> (!v, !v)
  return %y#0 : !v
}

// One branch changes a part, the other nothing: both leave the value where it was.
// CHECK-LABEL: func.func @branch(
// CHECK: label = "math.exp"
// CHECK-NOT: label = "copy"
// CHECK: label = "gnn.update_index"
// CHECK-NOT: label = "copy"
// CHECK: return
func.func @branch(%x: !t, %e: !v, %k: !i, %c: !b) -> !t {
  %a = math.exp %x : !t
  %y = gnn.if %c {
    %z = gnn.update_index %a[%k] dim 0, %e : (!t, !i, !v) -> !t
    gnn.yield %z : !t
  } else {
    gnn.yield %a : !t
  } : (!b) -> !t
  return %y : !t
}
