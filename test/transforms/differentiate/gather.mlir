// Gather and segment sum are each other's adjoint: with repeated and missing entries, several index arrays, any position.
// RUN: %first_order
// RUN: %second_order
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!g = !gnn.graph<s0 -> s0, s1>
!n = tensor<?xf64, #gnn.dims<s0>>
!nf = tensor<?x2xf64, #gnn.dims<s0, 2>>
!fn = tensor<2x?xf64, #gnn.dims<2, s0>>
!e = tensor<?xf64, #gnn.dims<s1>>
!ef = tensor<?x2xf64, #gnn.dims<s1, 2>>
!fe = tensor<2x?xf64, #gnn.dims<2, s1>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!nn = tensor<?x?xf64, #gnn.dims<s0, s0>>
!nfn = tensor<?x2x?xf64, #gnn.dims<s0, 2, s0>>
!e2 = tensor<?x2xi32, #gnn.dims<s1, 2>>
!e22 = tensor<?x2x2xf64, #gnn.dims<s1, 2, 2>>
!s = tensor<f64, #gnn.dims<>>

// CHECK-LABEL: func.func @at_sources(
// CHECK-SAME: %[[G:.*]]: !gnn.graph{{.*}}, %{{.*}}: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// CHECK: %[[SRC:.*]] = gnn.endpoint src %[[G]] nondiff
// CHECK: %[[X_ADJ:.*]] = gnn.segment_reduce sum %[[Y_ADJ]] by [%[[SRC]]] at 0 dims [0]
// CHECK: return %{{.*}}, %[[X_ADJ]] :
func.func @at_sources(%g: !g {test.edges = array<i64: 0,1, 2,0, 0,0, 2,1, 2,1>}, %x: !nf) -> !ef attributes {test.sizes = array<i64: 4, 5>} {
  %i = gnn.endpoint src %g nondiff : (!g) -> !ei
  %y = gnn.gather %x[%i] dims [0] : (!nf, !ei) -> !ef
  return %y : !ef
}

// CHECK-LABEL: func.func @sum_in(
// CHECK: %[[DST:.*]] = gnn.endpoint dst
// CHECK: gnn.gather %{{.*}}[%[[DST]]] dims [0] :
func.func @sum_in(%g: !g {test.edges = array<i64: 0,1, 2,0, 0,0, 2,1, 2,1>}, %m: !ef) -> !nf attributes {test.sizes = array<i64: 4, 5>} {
  %i = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %y = gnn.segment_reduce sum %m by [%i] at 0 dims [0] : (!ef, !ei) -> !nf
  return %y : !nf
}

func.func @no_edges(%g: !g {test.edges = array<i64>}, %x: !nf) -> !nf attributes {test.sizes = array<i64: 3, 0>} {
  %i = gnn.endpoint src %g nondiff : (!g) -> !ei
  %m = gnn.gather %x[%i] dims [0] : (!nf, !ei) -> !ef
  %y = gnn.segment_reduce sum %m by [%i] at 0 dims [0] : (!ef, !ei) -> !nf
  return %y : !nf
}

// Entries that are none give 0 and take nothing.
func.func @none(%x: !nf, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0>}) -> !ef attributes {test.sizes = array<i64: 4, 5>} {
  %y = gnn.gather %x[%i] dims [0] : (!nf, !ei) -> !ef
  return %y : !ef
}

// CHECK-LABEL: func.func @fill(
// CHECK: %[[FILLED:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: gnn.reduce sum %[[FILLED]] dims [0, 1]
func.func @fill(%x: !nf, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, -1.0, 0.0>}, %f: !s) -> !ef attributes {test.sizes = array<i64: 4, 5>} {
  %y = gnn.gather %x[%i] dims [0] fill %f : (!nf, !ei, !s) -> !ef
  return %y : !ef
}

func.func @along_last(%x: !fn, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0>}) -> !fe attributes {test.sizes = array<i64: 4, 5>} {
  %y = gnn.gather %x[%i] dims [1] : (!fn, !ei) -> !fe
  return %y : !fe
}

func.func @sum_along_last(%x: !fe, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0>}) -> !fn attributes {test.sizes = array<i64: 4, 5>} {
  %y = gnn.segment_reduce sum %x by [%i] at 1 dims [1] : (!fe, !ei) -> !fn
  return %y : !fn
}

// The consumed dimension stands elsewhere than the one that comes for it: the gather is turned round.
// CHECK-LABEL: func.func @sum_moved(
// CHECK: %[[GATHERED:.*]] = gnn.gather
// CHECK: gnn.transpose %[[GATHERED]] perm [1, 0]
func.func @sum_moved(%x: !fe, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0>}) -> !nf attributes {test.sizes = array<i64: 4, 5>} {
  %y = gnn.segment_reduce sum %x by [%i] at 1 dims [0] : (!fe, !ei) -> !nf
  return %y : !nf
}

// A dense adjacency at the edges.
func.func @pairs(%g: !g {test.edges = array<i64: 0,1, 2,0, 0,0, 2,1, 2,1>}, %a: !nn) -> !e attributes {test.sizes = array<i64: 3, 5>} {
  %i = gnn.endpoint src %g nondiff : (!g) -> !ei
  %j = gnn.endpoint dst %g nondiff : (!g) -> !ei
  %y = gnn.gather %a[%i, %j] dims [0, 1] : (!nn, !ei, !ei) -> !e
  return %y : !e
}

// Targets that stand apart are summed side by side and turned round.
// CHECK-LABEL: func.func @pairs_apart(
// CHECK: %[[SUM:.*]] = gnn.segment_reduce sum %{{.*}} at 0 dims [0, 1]
// CHECK: gnn.transpose %[[SUM]] perm [0, 2, 1]
func.func @pairs_apart(%a: !nfn, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 2.0, 0.0>}, %j: !ei {test.value = array<f64: 1.0, 1.0, -1.0, 0.0, 0.0>}, %f: !s) -> !ef
    attributes {test.sizes = array<i64: 3, 5>} {
  %y = gnn.gather %a[%i, %j] dims [0, 2] fill %f : (!nfn, !ei, !ei, !s) -> !ef
  return %y : !ef
}

func.func @sum_pairs(%x: !ef, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 2.0, 0.0>}, %j: !ei {test.value = array<f64: 1.0, 1.0, -1.0, 0.0, 0.0>}, %f: !s) -> !nfn
    attributes {test.sizes = array<i64: 3, 5>} {
  %y = gnn.segment_reduce sum %x by [%i, %j] at 0 dims [0, 2] empty %f : (!ef, !ei, !ei, !s) -> !nfn
  return %y : !nfn
}

func.func @matrix_of_indices(%x: !nf, %i: !e2 {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0, 0.0>}) -> !e22 attributes {test.sizes = array<i64: 4, 3>} {
  %y = gnn.gather %x[%i] dims [0] : (!nf, !e2) -> !e22
  return %y : !e22
}

// What an empty segment gives has a gradient.
func.func @empty(%x: !ef, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 3.0>}, %f: !s) -> !nf attributes {test.sizes = array<i64: 4, 5>} {
  %y = gnn.segment_reduce sum %x by [%i] at 0 dims [0] empty %f : (!ef, !ei, !s) -> !nf
  return %y : !nf
}
