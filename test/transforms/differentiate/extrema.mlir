// max, min and prod, over segments and over dimensions, to second order, against differences away from ties.
// RUN: %first_order
// RUN: %second_order
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!n = tensor<?xf64, #gnn.dims<s0>>
!nf = tensor<?x2xf64, #gnn.dims<s0, 2>>
!fn = tensor<2x?xf64, #gnn.dims<2, s0>>
!ni = tensor<?x2xi32, #gnn.dims<s0, 2>>
!nn = tensor<?x?xf64, #gnn.dims<s0, s0>>
!nni = tensor<?x?xi32, #gnn.dims<s0, s0>>
!e = tensor<?xf64, #gnn.dims<s1>>
!ef = tensor<?x2xf64, #gnn.dims<s1, 2>>
!fe = tensor<2x?xf64, #gnn.dims<2, s1>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!f = tensor<2xf64, #gnn.dims<2>>
!s = tensor<f64, #gnn.dims<>>

// The gradient is shared by the entries equal to the maximum.
// CHECK-LABEL: func.func @segment_max(
// CHECK-SAME: %[[X:.*]]: tensor{{.*}}, %[[I:.*]]: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// CHECK: %[[TOP:.*]], %{{.*}} = gnn.segment_reduce max %[[X]] by [%[[I]]]
// CHECK: %[[X_ADJ:.*]] = gnn.share %[[Y_ADJ]] of %[[TOP]] among %[[X]] by %[[I]]
// CHECK: return %{{.*}}, %{{.*}}, %[[X_ADJ]]
func.func @segment_max(%x: !ef, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0, 3.0>}) -> (!nf, !ni) attributes {test.sizes = array<i64: 4, 6>} {
  %y, %w = gnn.segment_reduce max %x by [%i] at 0 dims [0] : (!ef, !ei) -> (!nf, !ni)
  return %y, %w : !nf, !ni
}

func.func @segment_min(%x: !ef, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0, 3.0>}, %f: !s) -> !nf attributes {test.sizes = array<i64: 4, 6>} {
  %y, %w = gnn.segment_reduce min %x by [%i] at 0 dims [0] empty %f : (!ef, !ei, !s) -> (!nf, !ni)
  return %y : !nf
}

func.func @segment_max_moved(%x: !fe, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0, 3.0>}) -> !nf attributes {test.sizes = array<i64: 4, 6>} {
  %y, %w = gnn.segment_reduce max %x by [%i] at 1 dims [0] : (!fe, !ei) -> (!nf, !ni)
  return %y : !nf
}

func.func @segment_max_pairs(%x: !e, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 1.0, 0.0, 0.0>}, %j: !ei {test.value = array<f64: 1.0, 1.0, 1.0, 0.0, -1.0, 0.0>}, %f: !s) -> !nn
    attributes {test.sizes = array<i64: 2, 6>} {
  %y, %w = gnn.segment_reduce max %x by [%i, %j] at 0 dims [1, 0] empty %f : (!e, !ei, !ei, !s) -> (!nn, !nni)
  return %y : !nn
}

func.func @max(%x: !nf) -> !f attributes {test.sizes = array<i64: 4>} {
  %y = gnn.reduce max %x dims [0] : (!nf) -> !f
  return %y : !f
}

func.func @min_of_all(%x: !nf) -> !s attributes {test.sizes = array<i64: 4>} {
  %y = gnn.reduce min %x dims [0, 1] : (!nf) -> !s
  return %y : !s
}

func.func @prod(%x: !nf) -> !f attributes {test.sizes = array<i64: 4>} {
  %y = gnn.reduce prod %x dims [0] : (!nf) -> !f
  return %y : !f
}

// Products with no, one, two and three zeros.
func.func @prod_of_zeros(%x: !fn {test.value = array<f64: 0.5, 0.0, 2.0, -0.7>}) -> !f attributes {test.sizes = array<i64: 2>} {
  %y = gnn.reduce prod %x dims [1] : (!fn) -> !f
  return %y : !f
}

func.func @segment_prod(%x: !e {test.value = array<f64: 0.3, 0.5, 1.2, 0.0, 3.0, 0.5, 0.0, 0.7, 0.0, 0.0, 0.0, 0.0, 2.0>},
                        %i: !ei {test.value = array<f64: 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, -1.0>}, %f: !s) -> !n
    attributes {test.sizes = array<i64: 5, 13>} {
  %y = gnn.segment_reduce prod %x by [%i] at 0 dims [0] empty %f : (!e, !ei, !s) -> !n
  return %y : !n
}
