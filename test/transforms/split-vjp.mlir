// The pair of an exported vjp: what the forward function keeps, and what the backward one computes again.
// RUN: gnnc-opt %s -test-gnn-agree="pipeline=func.func(gnn-differentiate,canonicalize,cse),gnn-split-vjp,func.func(gnn-choose-saved)" | FileCheck %s

!g = !gnn.graph<s0 -> s0, s1>
!h = !gnn.graph<s0 -> s0, s2>
!n = tensor<?xf64, #gnn.dims<s0>>
!nf = tensor<?x2xf64, #gnn.dims<s0, 2>>
!e = tensor<?xf64, #gnn.dims<s1>>
!ef = tensor<?x2xf64, #gnn.dims<s1, 2>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!l = tensor<?xf64, #gnn.dims<s2>>
!li = tensor<?xi32, #gnn.dims<s2>>
!w = tensor<2x2xf64, #gnn.dims<2, 2>>
!s = tensor<f64, #gnn.dims<>>
!k = tensor<i64, #gnn.dims<>>
!b = tensor<?x2xi1, #gnn.dims<s0, 2>>

// A product and messages: the dense operands are kept, not what is gathered from them.
// CHECK-LABEL: func.func @layer_fwd(
// CHECK-SAME: %[[G:.*]]: !gnn.graph{{.*}}, %[[X:.*]]: tensor<?x2xf64{{.*}} {{.*}}, %[[W:.*]]: tensor<2x2xf64{{.*}}, %[[A:.*]]: tensor<?xf64
// CHECK-SAME: -> (tensor<?x2xf64, #gnn.dims<s0, 2>> {gnn.path = "out"}
// CHECK-SAME: gnn.residual = 0 : i64
// CHECK-SAME: gnn.residual = 3 : i64
// CHECK-NOT: gnn.residual = 4
// CHECK-SAME: gnn.vjp = {backward = "layer_bwd", forward = "layer_fwd", of = "layer", wrt = ["x", "w", "a"]}
// CHECK: %[[H:.*]] = gnn.contract %[[X]] {{.*}} %[[W]]
// CHECK: return %{{.*}}, %[[A]], %[[W]], %[[X]], %[[H]] :
// CHECK-LABEL: func.func @layer_bwd(
// CHECK-SAME: %{{.*}}: !gnn.graph<s0 -> s0, s1> {{{.*}}}, %{{.*}}: tensor<?xf64, #gnn.dims<s1>> {gnn.residual = 0 : i64}
// CHECK-SAME: %{{.*}}: tensor<?x2xf64, #gnn.dims<s0, 2>> {gnn.path = "out_adj"})
// CHECK-SAME: -> (tensor<?x2xf64, #gnn.dims<s0, 2>> {gnn.path = "x_adj"}
// CHECK-DAG: gnn.endpoint src
// CHECK-DAG: gnn.endpoint dst
func.func @layer_both(%g: !g {test.edges = array<i64: 0,1, 1,2, 2,2, 0,2>}, %x: !nf {gnn.path = "x"}, %w: !w {gnn.path = "w"},
                      %a: !e {gnn.path = "a"}, %y_adj: !nf {gnn.path = "out_adj"})
    -> (!nf {gnn.path = "out"}, !nf {gnn.path = "x_adj"}, !w {gnn.path = "w_adj"}, !e {gnn.path = "a_adj"})
    attributes {gnn.entry, gnn.export_vjp = {of = "layer", args = 4, results = 1}, test.sizes = array<i64: 4, 4>} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %y, %t = gnn.vjp(%x, %w, %a) {
  ^bb0(%X: !nf, %W: !w, %A: !e):
    %h = gnn.contract %X [0, 1], %W [1, 2] -> [0, 2] : (!nf, !w) -> !nf
    %hs = gnn.gather %h[%src] dims [0] : (!nf, !ei) -> !ef
    %ab = gnn.broadcast %A dims [0] : (!e) -> !ef
    %m = arith.mulf %hs, %ab : !ef
    %o = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!ef, !ei) -> !nf
    gnn.yield %o : !nf
  } : (!nf, !w, !e) -> (!nf, !gnn.tape)
  %d:3 = gnn.back %t(%y_adj) : (!gnn.tape, !nf) -> (!nf, !w, !e)
  return %y, %d#0, %d#1, %d#2 : !nf, !nf, !w, !e
}

// A mask is drawn again from its key, which is kept with the rate; a graph with loops is made again.
// CHECK-LABEL: func.func @drop_fwd(
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-LABEL: func.func @drop_bwd(
// CHECK-SAME: %{{.*}}: !gnn.graph{{.*}}, %{{.*}}: tensor<i64, #gnn.dims<>> {gnn.residual = 0 : i64}, %{{.*}}: tensor<f64, #gnn.dims<>> {gnn.residual = 1 : i64}, %{{.*}}: tensor
// CHECK-DAG: gnn.uniform
// CHECK-DAG: gnn.derive
func.func @drop_both(%g: !g {test.edges = array<i64: 0,1, 1,2, 2,2, 0,2>}, %x: !nf, %key: !k {test.value = array<f64: 7.0>}, %rate: !s {test.value = array<f64: 0.4>}, %y_adj: !n) -> (!n, !nf)
    attributes {gnn.export_vjp = {of = "drop", args = 4, results = 1}, test.sizes = array<i64: 4, 4>} {
  %h, %old = gnn.derive add_missing_self_loops of %g nondiff : (!g) -> (!h, !li)
  %src = gnn.endpoint src %h nondiff : (!h) -> !li
  %dst = gnn.endpoint dst %h nondiff : (!h) -> !li
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !nf):
    %u = gnn.uniform %key nondiff : (!k) -> !nf
    %r = gnn.broadcast %rate dims [] : (!s) -> !nf
    %keep = arith.cmpf oge, %u, %r : !nf
    %zero = arith.constant dense<0.0> : !s
    %z = gnn.broadcast %zero dims [] : (!s) -> !nf
    %d = arith.select %keep, %X, %z : !b, !nf
    %s = gnn.reduce sum %d dims [1] : (!nf) -> !n
    %m = gnn.gather %s[%src] dims [0] : (!n, !li) -> !l
    %o = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!l, !li) -> !n
    gnn.yield %o : !n
  } : (!nf) -> (!n, !gnn.tape)
  %x_adj = gnn.back %t(%y_adj) : (!gnn.tape, !n) -> !nf
  return %y, %x_adj : !n, !nf
}
