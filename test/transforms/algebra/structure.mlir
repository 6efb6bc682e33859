// What structure alone says is folded.
// RUN: gnnc-opt %s -test-gnn-agree="pipeline=func.func(gnn-algebra-structure,canonicalize,cse) tolerance=0" | FileCheck %s

!g = !gnn.graph<s0 -> s0, s1>
!g2 = !gnn.graph<s0 -> s0, s2>
!g3 = !gnn.graph<s0 -> s0, s3>
!ei = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf64, #gnn.dims<s1>>
!n = tensor<?xf64, #gnn.dims<s0>>
!s = tensor<f64, #gnn.dims<>>
!key = tensor<i64, #gnn.dims<>>

// CHECK-LABEL: func.func @degrees(
// CHECK-NOT: gnn.segment_reduce
// CHECK: gnn.degree dst
func.func @degrees(%g: !g) -> !n attributes {test.sizes = array<i64: 4, 6>} {
  %c = arith.constant dense<2.0> : !s
  %e = gnn.broadcast %c dims [] : (!s) -> !e
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!e, !ei) -> !n
  return %y : !n
}

// Times a degree of 0 this would be NaN.
// CHECK-LABEL: func.func @infinite(
// CHECK: gnn.segment_reduce sum
func.func @infinite(%g: !g) -> !n attributes {test.sizes = array<i64: 4, 2>} {
  %c = arith.constant dense<0x7FF0000000000000> : !s
  %e = gnn.broadcast %c dims [] : (!s) -> !e
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!e, !ei) -> !n
  return %y : !n
}

// The same loops are added once, and what comes of them is one.
// CHECK-LABEL: func.func @loops_twice(
// CHECK-COUNT-1: gnn.derive
// CHECK-NOT: gnn.derive
// CHECK: %[[D:.*]] = arith.sitofp
// CHECK-NEXT: arith.addf %[[D]], %[[D]]
func.func @loops_twice(%g: !g {test.edges = array<i64: 0, 0, 1, 0>}) -> !n attributes {test.sizes = array<i64: 3, 2>} {
  %a, %i = gnn.derive add_missing_self_loops of %g nondiff : (!g) -> (!g2, tensor<?xi32, #gnn.dims<s2>>)
  %b, %j = gnn.derive add_missing_self_loops of %g nondiff : (!g) -> (!g3, tensor<?xi32, #gnn.dims<s3>>)
  %da = gnn.degree dst %a nondiff : (!g2) -> tensor<?xi32, #gnn.dims<s0>>
  %db = gnn.degree dst %b nondiff : (!g3) -> tensor<?xi32, #gnn.dims<s0>>
  %x = arith.sitofp %da : tensor<?xi32, #gnn.dims<s0>> to !n
  %y = arith.sitofp %db : tensor<?xi32, #gnn.dims<s0>> to !n
  %z = arith.addf %x, %y : !n
  return %z : !n
}

// Other loops are another graph.
// CHECK-LABEL: func.func @loops_differ(
// CHECK-COUNT-2: gnn.derive
func.func @loops_differ(%g: !g {test.edges = array<i64: 0, 0, 1, 0>}) -> !n attributes {test.sizes = array<i64: 3, 2>} {
  %a, %i = gnn.derive add_missing_self_loops of %g nondiff : (!g) -> (!g2, tensor<?xi32, #gnn.dims<s2>>)
  %b, %j = gnn.derive add_self_loops of %g nondiff : (!g) -> (!g3, tensor<?xi32, #gnn.dims<s3>>)
  %da = gnn.degree dst %a nondiff : (!g2) -> tensor<?xi32, #gnn.dims<s0>>
  %db = gnn.degree dst %b nondiff : (!g3) -> tensor<?xi32, #gnn.dims<s0>>
  %d = arith.addi %da, %db : tensor<?xi32, #gnn.dims<s0>>
  %x = arith.sitofp %d : tensor<?xi32, #gnn.dims<s0>> to !n
  return %x : !n
}

// u >= 0 always, u < 1 always.
// CHECK-LABEL: func.func @no_draw(
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %[[X:.*]]: tensor
// CHECK-NOT: gnn.uniform
// CHECK: return %[[X]], %[[X]]
func.func @no_draw(%k: !key, %x: !e) -> (!e, !e) attributes {test.sizes = array<i64: 4, 6>} {
  %u = gnn.uniform %k nondiff : (!key) -> !e
  %c0 = arith.constant dense<0.0> : !s
  %c1 = arith.constant dense<1.0> : !s
  %z = gnn.broadcast %c0 dims [] : (!s) -> !e
  %o = gnn.broadcast %c1 dims [] : (!s) -> !e
  %p = arith.cmpf oge, %u, %z : !e
  %q = arith.cmpf ole, %o, %u : !e
  %y = arith.select %p, %x, %z : tensor<?xi1, #gnn.dims<s1>>, !e
  %w = arith.select %q, %z, %x : tensor<?xi1, #gnn.dims<s1>>, !e
  return %y, %w : !e, !e
}

// u > 0 is not certain.
// CHECK-LABEL: func.func @a_draw(
// CHECK: gnn.uniform
func.func @a_draw(%k: !key, %x: !e) -> !e attributes {test.sizes = array<i64: 4, 6>} {
  %u = gnn.uniform %k nondiff : (!key) -> !e
  %c0 = arith.constant dense<0.0> : !s
  %z = gnn.broadcast %c0 dims [] : (!s) -> !e
  %p = arith.cmpf ogt, %u, %z : !e
  %y = arith.select %p, %x, %z : tensor<?xi1, #gnn.dims<s1>>, !e
  return %y : !e
}
