// Graphs that are made alike are made once.
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-algebra-structure,canonicalize,cse))" | FileCheck %s

!g = !gnn.graph<s0 -> s0, s1>
!g2 = !gnn.graph<s0 -> s0, s2>
!g3 = !gnn.graph<s0 -> s0, s3>
!n = tensor<?xi32, #gnn.dims<s0>>

// CHECK-LABEL: func.func @filtered_twice(
// CHECK-COUNT-1: gnn.derive filter
// CHECK-NOT: gnn.derive
// CHECK: %[[D:.*]] = gnn.degree
// CHECK-NEXT: arith.addi %[[D]], %[[D]]
func.func @filtered_twice(%g: !g, %keep: tensor<?xi1, #gnn.dims<s1>>) -> !n {
  %a, %i = gnn.derive filter of %g with %keep nondiff : (!g, tensor<?xi1, #gnn.dims<s1>>) -> (!g2, tensor<?xi32, #gnn.dims<s2>>)
  %b, %j = gnn.derive filter of %g with %keep nondiff : (!g, tensor<?xi1, #gnn.dims<s1>>) -> (!g3, tensor<?xi32, #gnn.dims<s3>>)
  %da = gnn.degree dst %a nondiff : (!g2) -> !n
  %db = gnn.degree dst %b nondiff : (!g3) -> !n
  %z = arith.addi %da, %db : !n
  return %z : !n
}

// Both of the nodes' sets become one.
// CHECK-LABEL: func.func @induced_twice(
// CHECK-COUNT-1: gnn.derive induced
// CHECK-NOT: gnn.derive
func.func @induced_twice(%g: !g, %keep: tensor<?xi1, #gnn.dims<s0>>) -> (!n, !n) {
  %a, %i:2 = gnn.derive induced of %g with %keep nondiff : (!g, tensor<?xi1, #gnn.dims<s0>>) -> (!gnn.graph<s2 -> s2, s3>, tensor<?xi32, #gnn.dims<s3>>, tensor<?xi32, #gnn.dims<s2>>)
  %b, %j:2 = gnn.derive induced of %g with %keep nondiff : (!g, tensor<?xi1, #gnn.dims<s0>>) -> (!gnn.graph<s4 -> s4, s5>, tensor<?xi32, #gnn.dims<s5>>, tensor<?xi32, #gnn.dims<s4>>)
  %one = arith.constant dense<1> : tensor<i32, #gnn.dims<>>
  %ones = gnn.broadcast %one dims [] : (tensor<i32, #gnn.dims<>>) -> tensor<?xi32, #gnn.dims<s2>>
  %more = gnn.broadcast %one dims [] : (tensor<i32, #gnn.dims<>>) -> tensor<?xi32, #gnn.dims<s4>>
  %x = gnn.segment_reduce sum %ones by [%i#1] at 0 dims [0] : (tensor<?xi32, #gnn.dims<s2>>, tensor<?xi32, #gnn.dims<s2>>) -> !n
  %y = gnn.segment_reduce sum %more by [%j#1] at 0 dims [0] : (tensor<?xi32, #gnn.dims<s4>>, tensor<?xi32, #gnn.dims<s4>>) -> !n
  return %x, %y : !n, !n
}

// Other ways, or of another mask, are other graphs.
// CHECK-LABEL: func.func @different(
// CHECK-COUNT-2: gnn.derive
func.func @different(%g: !g, %keep: tensor<?xi1, #gnn.dims<s1>>, %other: tensor<?xi1, #gnn.dims<s1>>) -> !n {
  %a, %i = gnn.derive filter of %g with %keep nondiff : (!g, tensor<?xi1, #gnn.dims<s1>>) -> (!g2, tensor<?xi32, #gnn.dims<s2>>)
  %b, %j = gnn.derive filter of %g with %other nondiff : (!g, tensor<?xi1, #gnn.dims<s1>>) -> (!g3, tensor<?xi32, #gnn.dims<s3>>)
  %da = gnn.degree dst %a nondiff : (!g2) -> !n
  %db = gnn.degree dst %b nondiff : (!g3) -> !n
  %z = arith.addi %da, %db : !n
  return %z : !n
}
