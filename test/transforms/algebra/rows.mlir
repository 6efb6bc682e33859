// What depends on the row alone leaves the sum over its entries; rows without entries stay 0.
// RUN: gnnc-opt %s -test-gnn-agree="pipeline=func.func(gnn-decompose,canonicalize,cse,gnn-algebra-rows,canonicalize,cse) tolerance=1e-12" | FileCheck %s

!g = !gnn.graph<s0 -> s0, s1>
!ei = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf64, #gnn.dims<s1>>
!eh = tensor<?x2xf64, #gnn.dims<s1, 2>>
!ehd = tensor<?x2x3xf64, #gnn.dims<s1, 2, 3>>
!n = tensor<?xf64, #gnn.dims<s0>>
!nh = tensor<?x2xf64, #gnn.dims<s0, 2>>
!nhd = tensor<?x2x3xf64, #gnn.dims<s0, 2, 3>>
!i = tensor<f64, #gnn.dims<>>

// sum(a z[dst], by=dst), where z is infinite for a node without edges: that node still gets 0.
// CHECK-LABEL: func.func @guarded(
// CHECK: %[[S:.*]] = gnn.segment_reduce sum %{{.*}} by [%{{.*}}] at 0 dims [0]
// CHECK: %[[P:.*]] = arith.mulf %[[S]], %{{.*}} : tensor<?xf64, #gnn.dims<s0>>
// CHECK: %[[D:.*]] = gnn.degree dst
// CHECK: %[[Y:.*]] = arith.select %{{.*}}, %{{.*}}, %[[P]]
// CHECK: return %[[Y]]
func.func @guarded(%g: !g {test.edges = array<i64: 0, 0, 1, 0, 1, 0, 2, 1>}, %a: !e,
                   %z: !n {test.value = array<f64: 2.0, 0.5, 0x7FF0000000000000, 0x7FF8000000000000>}) -> !n attributes {test.sizes = array<i64: 4, 4>} {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %zd = gnn.gather %z[%dst] dims [0] : (!n, !ei) -> !e
  %t = arith.mulf %a, %zd : !e
  %y = gnn.segment_reduce sum %t by [%dst] at 0 dims [0] : (!e, !ei) -> !n
  return %y : !n
}

// An index that may be none, and so has no degree to ask for: nothing moves.
// CHECK-LABEL: func.func @any_index(
// CHECK: arith.divf {{.*}} : tensor<?xf64, #gnn.dims<s1>>
// CHECK: gnn.segment_reduce sum
// CHECK-NEXT: return
func.func @any_index(%i: !ei {test.value = array<f64: 0.0, -1.0, 0.0>}, %a: !e, %z: !n {test.value = array<f64: 2.0, 0.0>}) -> !n attributes {test.sizes = array<i64: 2, 3>} {
  %zd = gnn.gather %z[%i] dims [0] : (!n, !ei) -> !e
  %t = arith.divf %a, %zd : !e
  %y = gnn.segment_reduce sum %t by [%i] at 0 dims [0] : (!e, !ei) -> !n
  return %y : !n
}

// A factor of another end stays inside.
// CHECK-LABEL: func.func @other_end(
// CHECK: arith.mulf {{.*}} : tensor<?xf64, #gnn.dims<s1>>
// CHECK-NEXT: gnn.segment_reduce sum
// CHECK-NEXT: return
func.func @other_end(%g: !g, %a: !e, %z: !n) -> !n attributes {test.sizes = array<i64: 4, 6>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %zd = gnn.gather %z[%src] dims [0] : (!n, !ei) -> !e
  %t = arith.mulf %a, %zd : !e
  %y = gnn.segment_reduce sum %t by [%dst] at 0 dims [0] : (!e, !ei) -> !n
  return %y : !n
}

// Attention, forward and the row sums of its reverse sweep: the division by the total is outside of the sum, which needs no
// guard, and the row sums are dot products of nodes.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %{{.*}}: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// CHECK: %[[W:.*]] = math.exp
// CHECK: %[[T:.*]] = gnn.segment_reduce sum %[[W]]
// CHECK: arith.divf {{.*}} : tensor<?x2xf64, #gnn.dims<s0, 2>>
// CHECK-DAG: %[[WB:.*]] = gnn.broadcast %[[W]] dims [0, 1]
// CHECK: %[[M:.*]] = arith.mulf %[[WB]], %{{.*}}
// CHECK: %[[U:.*]] = gnn.segment_reduce sum %[[M]]
// CHECK-NOT: gnn.degree
// CHECK-NOT: gnn.segment_reduce
// CHECK: %[[GU:.*]] = arith.mulf %[[U]], %[[Y_ADJ]] : tensor<?x2x3xf64, #gnn.dims<s0, 2, 3>>
// CHECK: gnn.reduce sum %[[GU]] dims [2]
// CHECK-NOT: gnn.segment_reduce
// CHECK: return
func.func @attention(%g: !g {test.edges = array<i64: 0, 0, 1, 0, 1, 0, 2, 1, 4, 1>}, %s: !eh, %v: !nhd, %y_adj: !nhd) -> (!nhd, !eh) attributes {test.sizes = array<i64: 5, 5>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %a = gnn.segment_softmax %s by %dst into <s0> : (!eh, !ei) -> !eh
  %m = gnn.gather %v[%src] dims [0] : (!nhd, !ei) -> !ehd
  %ab = gnn.broadcast %a dims [0, 1] : (!eh) -> !ehd
  %am = arith.mulf %ab, %m : !ehd
  %y = gnn.segment_reduce sum %am by [%dst] at 0 dims [0] : (!ehd, !ei) -> !nhd
  %ye = gnn.gather %y_adj[%dst] dims [0] : (!nhd, !ei) -> !ehd
  %p = arith.mulf %ye, %m : !ehd
  %a_adj = gnn.reduce sum %p dims [2] : (!ehd) -> !eh
  %q = arith.mulf %a, %a_adj : !eh
  %r = gnn.segment_reduce sum %q by [%dst] at 0 dims [0] : (!eh, !ei) -> !nh
  %re = gnn.gather %r[%dst] dims [0] : (!nh, !ei) -> !eh
  %d = arith.subf %a_adj, %re : !eh
  %s_adj = arith.mulf %a, %d : !eh
  return %y, %s_adj : !nhd, !eh
}

// The gradient of the scores' other end: a sum of dot products with the row's gradient, with slopes of leaky_relu between. What is gathered is summed for
// the output anyway, so that a second sum beside that one spares the dot product of every edge; the difference is taken apart.
// CHECK-LABEL: func.func @leaky_attention(
// CHECK-SAME: %[[G:.*]]: !gnn.graph{{.*}}, %{{.*}}: tensor{{.*}}, %{{.*}}: tensor{{.*}}, %{{.*}}: tensor{{.*}}, %[[Y_ADJ:[a-z0-9]+]]: tensor
// CHECK: %[[SLOPE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x2xi1, #gnn.dims<s1, 2>>
// CHECK: %[[Z:.*]] = gnn.segment_reduce sum %{{.*}} : (tensor<?x2x3xf64, #gnn.dims<s1, 2, 3>>
// CHECK: %[[GZ:.*]] = arith.mulf %[[Z]], %[[Y_ADJ]] : tensor<?x2x3xf64, #gnn.dims<s0, 2, 3>>
// CHECK: %[[D:.*]] = gnn.reduce sum %[[GZ]] dims [2]
// CHECK: %[[AS:.*]] = arith.mulf %{{.*}}, %[[SLOPE]] : tensor<?x2xf64, #gnn.dims<s1, 2>>
// CHECK: %[[A:.*]] = gnn.segment_reduce sum %[[AS]]
// CHECK: %[[AK:.*]] = arith.mulf %[[A]],
// CHECK: arith.subf %[[D]], %[[AK]]
// CHECK: return
func.func @leaky_attention(%g: !g {test.edges = array<i64: 0, 0, 1, 0, 1, 0, 2, 1, 4, 1>}, %w: !eh, %k: !nh, %v: !nhd, %y_adj: !nhd) -> (!nhd, !nh) attributes {test.sizes = array<i64: 5, 5>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %m = gnn.gather %v[%src] dims [0] : (!nhd, !ei) -> !ehd
  %wb = gnn.broadcast %w dims [0, 1] : (!eh) -> !ehd
  %wm = arith.mulf %wb, %m : !ehd
  %y = gnn.segment_reduce sum %wm by [%dst] at 0 dims [0] : (!ehd, !ei) -> !nhd
  %ye = gnn.gather %y_adj[%dst] dims [0] : (!nhd, !ei) -> !ehd
  %p = arith.mulf %ye, %m : !ehd
  %dot = gnn.reduce sum %p dims [2] : (!ehd) -> !eh
  %ke = gnn.gather %k[%dst] dims [0] : (!nh, !ei) -> !eh
  %d = arith.subf %dot, %ke : !eh
  %u = arith.mulf %w, %d : !eh
  %zero = arith.constant dense<0.0> : tensor<f64, #gnn.dims<>>
  %fifth = arith.constant dense<0.2> : tensor<f64, #gnn.dims<>>
  %zeros = gnn.broadcast %zero dims [] : (tensor<f64, #gnn.dims<>>) -> !eh
  %slope = gnn.broadcast %fifth dims [] : (tensor<f64, #gnn.dims<>>) -> !eh
  %c = arith.cmpf ogt, %w, %zeros : !eh
  %here = arith.select %c, %u, %zeros : tensor<?x2xi1, #gnn.dims<s1, 2>>, !eh
  %there = arith.select %c, %zeros, %u : tensor<?x2xi1, #gnn.dims<s1, 2>>, !eh
  %scaled = gnn.pmul %there, %slope : !eh
  %s_adj = arith.addf %here, %scaled : !eh
  %t_adj = gnn.segment_reduce sum %s_adj by [%dst] at 0 dims [0] : (!eh, !ei) -> !nh
  return %y, %t_adj : !nhd, !nh
}

// Where nothing is summed that is gathered so, the dot products stay.
// CHECK-LABEL: func.func @lone_dot(
// CHECK: gnn.reduce sum %{{.*}} dims [2] : (tensor<?x2x3xf64, #gnn.dims<s1, 2, 3>>)
// CHECK: gnn.segment_reduce sum
// CHECK: return
func.func @lone_dot(%g: !g {test.edges = array<i64: 0, 0, 1, 0, 1, 0, 2, 1, 4, 1>}, %w: !eh, %v: !nhd, %y_adj: !nhd) -> !nh attributes {test.sizes = array<i64: 5, 5>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %m = gnn.gather %v[%src] dims [0] : (!nhd, !ei) -> !ehd
  %ye = gnn.gather %y_adj[%dst] dims [0] : (!nhd, !ei) -> !ehd
  %p = arith.mulf %ye, %m : !ehd
  %dot = gnn.reduce sum %p dims [2] : (!ehd) -> !eh
  %u = arith.mulf %w, %dot : !eh
  %t = gnn.segment_reduce sum %u by [%dst] at 0 dims [0] : (!eh, !ei) -> !nh
  return %t : !nh
}

// A factor without the entries' dimension goes too, and what is left is summed without the features.
// CHECK-LABEL: func.func @repeated(
// CHECK: gnn.segment_reduce sum %{{.*}} : (tensor<?x2xf64, #gnn.dims<s1, 2>>
func.func @repeated(%g: !g, %a: !eh, %b: tensor<2x3xf64, #gnn.dims<2, 3>>) -> !nhd attributes {test.sizes = array<i64: 4, 6>} {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %ab = gnn.broadcast %a dims [0, 1] : (!eh) -> !ehd
  %bb = gnn.broadcast %b dims [1, 2] : (tensor<2x3xf64, #gnn.dims<2, 3>>) -> !ehd
  %t = arith.mulf %ab, %bb : !ehd
  %y = gnn.segment_reduce sum %t by [%dst] at 0 dims [0] : (!ehd, !ei) -> !nhd
  return %y : !nhd
}
