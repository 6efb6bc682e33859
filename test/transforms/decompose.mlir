// Softmax and logsumexp, written out: the numbers stay, those of masked, empty and spoilt groups included.
// RUN: gnnc-opt %s -test-gnn-agree="pipeline=func.func(gnn-decompose) tolerance=1e-12" | FileCheck %s

!e = tensor<?xf64, #gnn.dims<s1>>
!eh = tensor<?x2xf64, #gnn.dims<s1, 2>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!n = tensor<?xf64, #gnn.dims<s0>>
!nh = tensor<?x2xf64, #gnn.dims<s0, 2>>
!v = tensor<3x4xf64, #gnn.dims<3, 4>>
!r = tensor<3xf64, #gnn.dims<3>>

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: gnn.softmax
// CHECK: gnn.reduce max
// CHECK: math.exp
// CHECK: gnn.reduce sum
func.func @softmax(%x: !v {test.value = array<f64: 1.0, 2.0, 3.0, -1.0, 0xFFF0000000000000, 0xFFF0000000000000, 0xFFF0000000000000, 0xFFF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 1.0, 2.0>}) -> !v {
  %y = gnn.softmax %x dims [1] : (!v) -> !v
  return %y : !v
}

func.func @infinite(%x: !v {test.value = array<f64: 1.0, 2.0, 3.0, -1.0, 1.0, 0x7FF0000000000000, 0xFFF0000000000000, 0.0, 0xFFF0000000000000, 1.0, 1.0, 2.0>}) -> !r {
  %y = gnn.logsumexp %x dims [1] : (!v) -> !r
  return %y : !r
}

// CHECK-LABEL: func.func @segments(
// CHECK-NOT: gnn.segment_softmax
// CHECK: gnn.segment_reduce max
// CHECK: gnn.segment_reduce sum
func.func @segments(%x: !eh, %i: !ei {test.value = array<f64: 2.0, -1.0, 0.0, 0.0, 2.0, 2.0>}) -> !eh attributes {test.sizes = array<i64: 4, 6>} {
  %y = gnn.segment_softmax %x by %i into <s0> : (!eh, !ei) -> !eh
  return %y : !eh
}

func.func @spoilt_segments(%x: !e {test.value = array<f64: 1.0, 1.0, 0xFFF0000000000000, 0xFFF0000000000000, 1.0, 0x7FF8000000000000, 0.0, 900.0, 901.0>},
                           %i: !ei {test.value = array<f64: 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, -1.0, 4.0, 4.0>}) -> (!e, !n) attributes {test.sizes = array<i64: 5, 9>} {
  %y = gnn.segment_softmax %x by %i into <s0> : (!e, !ei) -> !e
  %z = gnn.segment_logsumexp %x by %i : (!e, !ei) -> !n
  return %y, %z : !e, !n
}

// No entry at all.
func.func @none(%x: !eh, %i: !ei) -> (!eh, !nh) attributes {test.sizes = array<i64: 2, 0>} {
  %y = gnn.segment_softmax %x by %i into <s0> : (!eh, !ei) -> !eh
  %z = gnn.segment_logsumexp %x by %i : (!eh, !ei) -> !nh
  return %y, %z : !eh, !nh
}
