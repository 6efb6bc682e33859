// Ops that move elements, to second order, against differences. A square in front makes second derivatives.
// RUN: %first_order
// RUN: %second_order
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!n = tensor<?xf64, #gnn.dims<s0>>
!n1 = tensor<?x1xf64, #gnn.dims<s0, 1>>
!nf = tensor<?x3xf64, #gnn.dims<s0, 3>>
!fn = tensor<3x?xf64, #gnn.dims<3, s0>>
!n2 = tensor<?x2xf64, #gnn.dims<s0, 2>>
!n5 = tensor<?x5xf64, #gnn.dims<s0, 5>>
!n6 = tensor<?x6xf64, #gnn.dims<s0, 6>>
!m = tensor<?xf64, #gnn.dims<3*s0>>
!anf = tensor<2x?x3xf64, #gnn.dims<2, s0, 3>>
!f = tensor<3xf64, #gnn.dims<3>>
!s = tensor<f64, #gnn.dims<>>
!k = tensor<i32, #gnn.dims<>>

// CHECK-LABEL: func.func @broadcast(
// CHECK: gnn.reduce sum %{{.*}} dims [0, 2] :
func.func @broadcast(%x: !n) -> !anf attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !n
  %y = gnn.broadcast %xx dims [1] : (!n) -> !anf
  return %y : !anf
}

// A dimension of size 1 that is repeated is summed and comes back.
// CHECK-LABEL: func.func @broadcast_one(
// CHECK: %[[SUM:.*]] = gnn.reduce sum %{{.*}} dims [0, 2] :
// CHECK: gnn.reshape %[[SUM]] :
func.func @broadcast_one(%x: !n1) -> !anf attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !n1
  %y = gnn.broadcast %xx dims [1, 2] : (!n1) -> !anf
  return %y : !anf
}

func.func @broadcast_scalar(%x: !s) -> !nf attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !s
  %y = gnn.broadcast %xx dims [] : (!s) -> !nf
  return %y : !nf
}

func.func @reshape(%x: !nf) -> !m attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !nf
  %y = gnn.reshape %xx : (!nf) -> !m
  return %y : !m
}

// A matrix and its transpose, added.
func.func @transpose(%x: !nf, %z: !fn) -> !fn attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !nf
  %y = gnn.transpose %xx perm [1, 0] : (!nf) -> !fn
  %w = arith.addf %y, %z : !fn
  return %w : !fn
}

func.func @rotate(%x: !anf) -> tensor<?x3x2xf64, #gnn.dims<s0, 3, 2>> attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !anf
  %y = gnn.transpose %xx perm [1, 2, 0] : (!anf) -> tensor<?x3x2xf64, #gnn.dims<s0, 3, 2>>
  return %y : tensor<?x3x2xf64, #gnn.dims<s0, 3, 2>>
}

// CHECK-LABEL: func.func @slice(
// CHECK: gnn.unslice %{{.*}} dim 1 from <5> step -2 :
func.func @slice(%x: !n6) -> !nf attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !n6
  %y = gnn.slice %xx dim 1 from <5> step -2 : (!n6) -> !nf
  return %y : !nf
}

func.func @unslice(%x: !nf) -> !n6 attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !nf
  %y = gnn.unslice %xx dim 1 from <5> step -2 : (!nf) -> !n6
  return %y : !n6
}

// Overlapping slices of one value.
func.func @overlapping(%x: !n5) -> !nf attributes {test.sizes = array<i64: 2>} {
  %a = gnn.slice %x dim 1 from <0> step 1 : (!n5) -> !nf
  %b = gnn.slice %x dim 1 from <2> step 1 : (!n5) -> !nf
  %y = arith.mulf %a, %b : !nf
  return %y : !nf
}

func.func @select_index(%x: !nf, %k: !k {test.value = array<f64: 2.0>}) -> !n attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !nf
  %y = gnn.select_index %xx[%k] dim 1 : (!nf, !k) -> !n
  return %y : !n
}

// A value that is joined to itself, and another.
// CHECK-LABEL: func.func @concat(
// CHECK-DAG: gnn.slice %{{.*}} dim 1 from <0> step 1
// CHECK-DAG: gnn.slice %{{.*}} dim 1 from <2> step 1
// CHECK-DAG: gnn.slice %{{.*}} dim 1 from <4> step 1
func.func @concat(%x: !n2, %z: !n1) -> !n5 attributes {test.sizes = array<i64: 2>} {
  %xx = arith.mulf %x, %x : !n2
  %y = gnn.concat %xx, %xx, %z dim 1 : (!n2, !n2, !n1) -> !n5
  return %y : !n5
}
