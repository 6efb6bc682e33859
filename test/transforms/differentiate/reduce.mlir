// Sums over dimensions, softmax, logsumexp and contractions, to second order, against differences.
// RUN: %first_order
// RUN: %second_order
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!n = tensor<?xf64, #gnn.dims<s0>>
!e = tensor<?xf64, #gnn.dims<s1>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!eh = tensor<?x2xf64, #gnn.dims<s1, 2>>
!nh = tensor<?x2xf64, #gnn.dims<s0, 2>>
!nfh = tensor<?x3x2xf64, #gnn.dims<s0, 3, 2>>
!nf = tensor<?x3xf64, #gnn.dims<s0, 3>>
!f = tensor<3xf64, #gnn.dims<3>>
!fh = tensor<3x2xf64, #gnn.dims<3, 2>>
!h = tensor<2xf64, #gnn.dims<2>>
!s = tensor<f64, #gnn.dims<>>

// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// CHECK: gnn.broadcast %[[Y_ADJ]] dims [1] :
func.func @sum(%x: !nfh) -> !f attributes {test.sizes = array<i64: 2>} {
  %y = gnn.reduce sum %x dims [0, 2] : (!nfh) -> !f
  return %y : !f
}

func.func @sum_of_all(%x: !nf) -> !s attributes {test.sizes = array<i64: 2>} {
  %y = gnn.reduce sum %x dims [0, 1] : (!nf) -> !s
  return %y : !s
}

func.func @softmax(%x: !nfh) -> !nfh attributes {test.sizes = array<i64: 2>} {
  %y = gnn.softmax %x dims [1] : (!nfh) -> !nfh
  return %y : !nfh
}

// CHECK-LABEL: func.func @segment_softmax(
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %[[I:.*]]: tensor{{.*}}, %[[A_ADJ:.*]]: tensor
// CHECK: %[[A:.*]] = gnn.segment_softmax
// CHECK: %[[W:.*]] = arith.mulf %[[A]], %[[A_ADJ]]
// CHECK: %[[SUM:.*]] = gnn.segment_reduce sum %[[W]] by [%[[I]]]
// CHECK: %[[MEAN:.*]] = gnn.gather %[[SUM]][%[[I]]]
// CHECK: %[[LEFT:.*]] = arith.subf %[[A_ADJ]], %[[MEAN]]
// CHECK: %[[X_ADJ:.*]] = arith.mulf %[[A]], %[[LEFT]]
// CHECK: return %[[A]], %[[X_ADJ]] :
func.func @segment_softmax(%x: !eh, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 3.0, 0.0, 3.0>}) -> !eh attributes {test.sizes = array<i64: 4, 6>} {
  %y = gnn.segment_softmax %x by %i into <s0> : (!eh, !ei) -> !eh
  return %y : !eh
}

func.func @logsumexp(%x: !nfh) -> !nh attributes {test.sizes = array<i64: 2>} {
  %y = gnn.logsumexp %x dims [1] : (!nfh) -> !nh
  return %y : !nh
}

// Every segment has an entry here: an empty one is -inf, to which differences are blind.
func.func @segment_logsumexp(%x: !eh, %i: !ei {test.value = array<f64: 1.0, -1.0, 1.0, 2.0, 0.0, 2.0>}) -> !nh attributes {test.sizes = array<i64: 3, 6>} {
  %y = gnn.segment_logsumexp %x by %i : (!eh, !ei) -> !nh
  return %y : !nh
}

// CHECK-LABEL: func.func @matrix_product(
// CHECK-SAME: %[[A:.*]]: tensor{{.*}}, %[[B:.*]]: tensor{{.*}}, %[[C_ADJ:.*]]: tensor
// CHECK-DAG: gnn.contract %[[C_ADJ]] [0, 2], %[[B]] [1, 2] -> [0, 1]
// CHECK-DAG: gnn.contract %[[A]] [0, 1], %[[C_ADJ]] [0, 2] -> [1, 2]
func.func @matrix_product(%a: !nf, %b: !fh) -> !nh attributes {test.sizes = array<i64: 2>} {
  %c = gnn.contract %a [0, 1], %b [1, 2] -> [0, 2] : (!nf, !fh) -> !nh
  return %c : !nh
}

// One label is batched, one stands on the left alone and is summed, one on the right alone and is kept.
func.func @general(%a: !nfh, %b: !nf) -> !nf attributes {test.sizes = array<i64: 2>} {
  %c = gnn.contract %a [0, 1, 2], %b [0, 3] -> [0, 3] : (!nfh, !nf) -> !nf
  return %c : !nf
}

func.func @outer(%a: !n, %b: !f) -> !nf attributes {test.sizes = array<i64: 2>} {
  %c = gnn.contract %a [0], %b [1] -> [0, 1] : (!n, !f) -> !nf
  return %c : !nf
}

func.func @inner(%a: !nf, %b: !nf) -> !s attributes {test.sizes = array<i64: 2>} {
  %c = gnn.contract %a [0, 1], %b [0, 1] -> [] : (!nf, !nf) -> !s
  return %c : !s
}

func.func @with_itself(%a: !nf) -> !n attributes {test.sizes = array<i64: 2>} {
  %c = gnn.contract %a [0, 1], %a [0, 1] -> [0] : (!nf, !nf) -> !n
  return %c : !n
}
