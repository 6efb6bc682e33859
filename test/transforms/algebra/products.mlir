// Products with weights move from edges to nodes, and to the narrower side of a sum; the numbers stay.
// RUN: gnnc-opt %s -test-gnn-agree="pipeline=func.func(gnn-algebra-products,canonicalize,cse) tolerance=1e-12" | FileCheck %s

!g = !gnn.graph<s0 -> s0, s1>
!ei = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf64, #gnn.dims<s1>>
!e2 = tensor<?x2xf64, #gnn.dims<s1, 2>>
!e3 = tensor<?x3xf64, #gnn.dims<s1, 3>>
!e5 = tensor<?x5xf64, #gnn.dims<s1, 5>>
!n = tensor<?xf64, #gnn.dims<s0>>
!n2 = tensor<?x2xf64, #gnn.dims<s0, 2>>
!n3 = tensor<?x3xf64, #gnn.dims<s0, 3>>
!w32 = tensor<3x2xf64, #gnn.dims<3, 2>>
!w23 = tensor<2x3xf64, #gnn.dims<2, 3>>
!w52 = tensor<5x2xf64, #gnn.dims<5, 2>>
!w62 = tensor<6x2xf64, #gnn.dims<6, 2>>
!b2 = tensor<2xf64, #gnn.dims<2>>

// x[src] @ w
// CHECK-LABEL: func.func @gathered(
// CHECK-SAME: %[[G:.*]]: !gnn.graph{{.*}}, %[[X:.*]]: tensor{{.*}}, %[[W:.*]]: tensor
// CHECK: %[[H:.*]] = gnn.contract %[[X]] [0, 1], %[[W]] [1, 2] -> [0, 2] : (tensor<?x3xf64, #gnn.dims<s0, 3>>
// CHECK: %[[Y:.*]] = gnn.gather %[[H]]
// CHECK: return %[[Y]]
func.func @gathered(%g: !g, %x: !n3, %w: !w32) -> !e2 attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %m = gnn.gather %x[%src] dims [0] : (!n3, !ei) -> !e3
  %y = gnn.contract %m [0, 1], %w [1, 2] -> [0, 2] : (!e3, !w32) -> !e2
  return %y : !e2
}

// An index may be none, and such an entry is filled: nothing moves.
// CHECK-LABEL: func.func @filled(
// CHECK: gnn.gather
// CHECK: gnn.contract {{.*}} -> tensor<?x2xf64, #gnn.dims<s1, 2>>
func.func @filled(%i: !ei {test.value = array<f64: 0.0, -1.0, 3.0>}, %x: !n3, %w: !w32, %f: tensor<f64, #gnn.dims<>>) -> !e2 attributes {test.sizes = array<i64: 4, 3>} {
  %m = gnn.gather %x[%i] dims [0] fill %f : (!n3, !ei, tensor<f64, #gnn.dims<>>) -> !e3
  %y = gnn.contract %m [0, 1], %w [1, 2] -> [0, 2] : (!e3, !w32) -> !e2
  return %y : !e2
}

// What belongs to edges stays on them: a difference with a value of edges gains nothing.
// CHECK-LABEL: func.func @of_edges(
// CHECK: arith.subf
// CHECK: gnn.contract {{.*}} -> tensor<?x2xf64, #gnn.dims<s1, 2>>
func.func @of_edges(%g: !g, %x: !n3, %e: !e3, %w: !w32) -> !e2 attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %m = gnn.gather %x[%src] dims [0] : (!n3, !ei) -> !e3
  %d = arith.subf %m, %e : !e3
  %y = gnn.contract %d [0, 1], %w [1, 2] -> [0, 2] : (!e3, !w32) -> !e2
  return %y : !e2
}

// concat(x[dst], x[src] - x[dst]) @ w + b: two products of nodes, and the target's terms are one.
// CHECK-LABEL: func.func @edge_conv(
// CHECK: gnn.contract {{.*}} -> tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK-NOT: gnn.concat
// CHECK: gnn.gather {{.*}} -> tensor<?x2xf64, #gnn.dims<s1, 2>>
// CHECK: gnn.contract {{.*}} -> tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK-NOT: gnn.contract
// CHECK: gnn.gather {{.*}} -> tensor<?x2xf64, #gnn.dims<s1, 2>>
// CHECK-NEXT: arith.addf {{.*}} : tensor<?x2xf64, #gnn.dims<s1, 2>>
// CHECK-NEXT: return
func.func @edge_conv(%g: !g {test.edges = array<i64: 0, 0, 1, 0, 1, 0, 2, 0, 0, 2, 3, 3>}, %x: !n3, %w: !w62, %b: !b2) -> !e2 attributes {test.sizes = array<i64: 5, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %u = gnn.gather %x[%src] dims [0] : (!n3, !ei) -> !e3
  %v = gnn.gather %x[%dst] dims [0] : (!n3, !ei) -> !e3
  %d = arith.subf %u, %v : !e3
  %c = gnn.concat %v, %d dim 1 : (!e3, !e3) -> tensor<?x6xf64, #gnn.dims<s1, 6>>
  %h = gnn.contract %c [0, 1], %w [1, 2] -> [0, 2] : (tensor<?x6xf64, #gnn.dims<s1, 6>>, !w62) -> !e2
  %bb = gnn.broadcast %b dims [1] : (!b2) -> !e2
  %y = arith.addf %h, %bb : !e2
  return %y : !e2
}

// Of x[src] ‖ e only e is multiplied on edges.
// CHECK-LABEL: func.func @with_edges(
// CHECK-DAG: gnn.contract {{.*}} -> tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK-DAG: gnn.contract {{.*}} : (tensor<?x2xf64, #gnn.dims<s1, 2>>, {{.*}} -> tensor<?x2xf64, #gnn.dims<s1, 2>>
func.func @with_edges(%g: !g, %x: !n3, %e: !e2, %w: !w52) -> !e2 attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %m = gnn.gather %x[%src] dims [0] : (!n3, !ei) -> !e3
  %c = gnn.concat %m, %e dim 1 : (!e3, !e2) -> !e5
  %y = gnn.contract %c [0, 1], %w [1, 2] -> [0, 2] : (!e5, !w52) -> !e2
  return %y : !e2
}

// The gradient of a weight that meets gathered rows is a product of nodes.
// CHECK-LABEL: func.func @weight_gradient(
// CHECK: gnn.segment_reduce sum
// CHECK: gnn.contract {{.*}} : (tensor<?x3xf64, #gnn.dims<s0, 3>>, tensor<?x2xf64, #gnn.dims<s0, 2>>)
func.func @weight_gradient(%g: !g, %x: !n3, %d: !e2) -> !w32 attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %m = gnn.gather %x[%src] dims [0] : (!n3, !ei) -> !e3
  %y = gnn.contract %m [0, 1], %d [0, 2] -> [1, 2] : (!e3, !e2) -> !w32
  return %y : !w32
}

// sum(a x[src], by=dst) / d @ w from 3 features to 2: the product comes first.
// CHECK-LABEL: func.func @narrowing(
// CHECK: gnn.contract
// CHECK: gnn.segment_reduce sum {{.*}} -> tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK: arith.mulf {{.*}} : tensor<?x2xf64, #gnn.dims<s0, 2>>
func.func @narrowing(%g: !g, %a: !e, %x: !n3, %d: !n, %w: !w32) -> !n2 attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %m = gnn.gather %x[%src] dims [0] : (!n3, !ei) -> !e3
  %aa = gnn.broadcast %a dims [0] : (!e) -> !e3
  %am = arith.mulf %aa, %m : !e3
  %s = gnn.segment_reduce sum %am by [%dst] at 0 dims [0] : (!e3, !ei) -> !n3
  %dd = gnn.broadcast %d dims [0] : (!n) -> !n3
  %t = arith.mulf %s, %dd : !n3
  %y = gnn.contract %t [0, 1], %w [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  return %y : !n2
}

// sum(a (x @ w)[src], by=dst) from 2 features to 3: the sum comes first.
// CHECK-LABEL: func.func @widening(
// CHECK: gnn.segment_reduce sum {{.*}} -> tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK: gnn.contract
// CHECK-NEXT: return
func.func @widening(%g: !g, %a: !e, %x: !n2, %w: !w23) -> !n3 attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %h = gnn.contract %x [0, 1], %w [1, 2] -> [0, 2] : (!n2, !w23) -> !n3
  %m = gnn.gather %h[%src] dims [0] : (!n3, !ei) -> !e3
  %aa = gnn.broadcast %a dims [0] : (!e) -> !e3
  %am = arith.mulf %aa, %m : !e3
  %y = gnn.segment_reduce sum %am by [%dst] at 0 dims [0] : (!e3, !ei) -> !n3
  return %y : !n3
}

// A product of edges is taken after their sum.
// CHECK-LABEL: func.func @summed(
// CHECK: gnn.segment_reduce sum
// CHECK: gnn.contract {{.*}} -> tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK-NEXT: return
func.func @summed(%g: !g, %e: !e3, %w: !w32) -> !n2 attributes {test.sizes = array<i64: 4, 0>} {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %h = gnn.contract %e [0, 1], %w [1, 2] -> [0, 2] : (!e3, !w32) -> !e2
  %y = gnn.segment_reduce sum %h by [%dst] at 0 dims [0] : (!e2, !ei) -> !n2
  return %y : !n2
}

// Gradients of the parts of a weight are its gradient's parts.
// CHECK-LABEL: func.func @parts(
// CHECK-NOT: gnn.unslice
// CHECK: gnn.concat %{{.*}}, %{{.*}} dim 0
// CHECK-NEXT: return
func.func @parts(%a: !w32, %b: !w23) -> !w52 {
  %bt = gnn.reshape %b : (!w23) -> !w32
  %u = gnn.slice %bt dim 0 from <0> step 1 : (!w32) -> tensor<2x2xf64, #gnn.dims<2, 2>>
  %x = gnn.unslice %u dim 0 from <3> step 1 : (tensor<2x2xf64, #gnn.dims<2, 2>>) -> !w52
  %y = gnn.unslice %a dim 0 from <0> step 1 : (!w32) -> !w52
  %z = arith.addf %x, %y : !w52
  return %z : !w52
}

// x @ u - x @ v: the difference is taken of the weights.
// CHECK-LABEL: func.func @same_operand(
// CHECK-SAME: %[[X:[^:]*]]: tensor{{[^%]*}}, %[[U:[^:]*]]: tensor{{[^%]*}}, %[[V:[^:]*]]: tensor
// CHECK: %[[D:.*]] = arith.subf %[[U]], %[[V]]
// CHECK: %[[Y:.*]] = gnn.contract %[[X]] [0, 1], %[[D]]
// CHECK-NOT: gnn.contract
// CHECK: return %[[Y]]
func.func @same_operand(%x: !n3, %u: !w32, %v: !w32) -> !n2 attributes {test.sizes = array<i64: 4>} {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  %y = arith.subf %a, %b : !n2
  return %y : !n2
}

// Where one of the products is needed anyway, the other one takes the difference; a third term stays.
// CHECK-LABEL: func.func @needed_once(
// CHECK-COUNT-2: gnn.contract
// CHECK-NOT: gnn.contract
// CHECK: arith.addf
func.func @needed_once(%x: !n3, %z: !n2, %u: !w32, %v: !w32) -> (!n2, !n2) attributes {test.sizes = array<i64: 4>} {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  %az = arith.addf %a, %z : !n2
  %y = arith.addf %az, %b : !n2
  return %y, %b : !n2, !n2
}

// Both products are needed anyway: a third one would spare nothing.
// CHECK-LABEL: func.func @needed_both(
// CHECK-COUNT-2: gnn.contract
// CHECK-NOT: gnn.contract
// CHECK: %[[Y:.*]] = arith.subf
// CHECK: return %[[Y]]
func.func @needed_both(%x: !n3, %u: !w32, %v: !w32) -> (!n2, !n2, !n2) attributes {test.sizes = array<i64: 4>} {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!n3, !w32) -> !n2
  %y = arith.subf %a, %b : !n2
  return %y, %a, %b : !n2, !n2, !n2
}

// Gradients of weights: what differs is larger than the results.
// CHECK-LABEL: func.func @larger(
// CHECK-COUNT-2: gnn.contract
// CHECK: arith.addf {{.*}} : tensor<3x2xf64
func.func @larger(%x: !n3, %u: !n2, %v: !n2) -> !w32 attributes {test.sizes = array<i64: 4>} {
  %a = gnn.contract %x [0, 1], %u [0, 2] -> [1, 2] : (!n3, !n2) -> !w32
  %b = gnn.contract %x [0, 1], %v [0, 2] -> [1, 2] : (!n3, !n2) -> !w32
  %y = arith.addf %a, %b : !w32
  return %y : !w32
}
