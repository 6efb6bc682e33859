// Ties, NaNs, empty and masked segments: who gets the gradient.
// RUN: %print_first_order | FileCheck %s

!e = tensor<?xf64, #gnn.dims<s1>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!n = tensor<?xf64, #gnn.dims<s0>>
!ni = tensor<?xi32, #gnn.dims<s0>>
!v22 = tensor<2x2xf64, #gnn.dims<2, 2>>
!v2 = tensor<2xf64, #gnn.dims<2>>
!s = tensor<f64, #gnn.dims<>>

// Two of three tie in segment 0; segment 1 is empty; the NaN of segment 2 takes all; +0 and -0 tie in segment 3; the last entry is
// in no segment, although it equals what such an entry reads.
// CHECK: max #0: [2, -5, nan, 0]
// CHECK: max #1: [0.5, 0.5, 0, 0, 1, 0.5, 0.5, 0]
// CHECK: max #2: [1]
func.func @max(%x: !e {test.value = array<f64: 2.0, 2.0, 1.0, 7.0, 0x7FF8000000000000, 0.0, -0.0, 0.0>},
               %i: !ei {test.value = array<f64: 0.0, 0.0, 0.0, 2.0, 2.0, 3.0, 3.0, -1.0>}, %f: !s {test.value = array<f64: -5.0>}) -> !n
    attributes {test.sizes = array<i64: 4, 8>} {
  %y, %w = gnn.segment_reduce max %x by [%i] at 0 dims [0] empty %f : (!e, !ei, !s) -> (!n, !ni)
  return %y : !n
}

// CHECK: min #0: [1, 0, nan, 0]
// CHECK: min #1: [0, 0, 1, 0, 1, 0.5, 0.5, 0]
func.func @min(%x: !e {test.value = array<f64: 2.0, 2.0, 1.0, 7.0, 0x7FF8000000000000, 0.0, -0.0, 0.0>},
               %i: !ei {test.value = array<f64: 0.0, 0.0, 0.0, 2.0, 2.0, 3.0, 3.0, -1.0>}) -> !n
    attributes {test.sizes = array<i64: 4, 8>} {
  %y, %w = gnn.segment_reduce min %x by [%i] at 0 dims [0] : (!e, !ei) -> (!n, !ni)
  return %y : !n
}

// CHECK: max_along #1: [0.5, 0.5, 0, 1]
func.func @max_along(%x: !v22 {test.value = array<f64: 3.0, 3.0, 1.0, 2.0>}) -> !v2 {
  %y = gnn.reduce max %x dims [1] : (!v22) -> !v2
  return %y : !v2
}

// A segment of -inf only has weights 0; a NaN spoils its own segment.
// CHECK: softmax #0: [0.5, 0.5, 0, 0, nan, nan, 0]
// CHECK: softmax #1: [0, 0, 0, 0, nan, nan, 0]
func.func @softmax(%x: !e {test.value = array<f64: 1.0, 1.0, 0xFFF0000000000000, 0xFFF0000000000000, 1.0, 0x7FF8000000000000, 0.0>},
                   %i: !ei {test.value = array<f64: 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, -1.0>}) -> !e
    attributes {test.sizes = array<i64: 4, 7>} {
  %y = gnn.segment_softmax %x by %i into <s0> : (!e, !ei) -> !e
  return %y : !e
}

// CHECK: logsumexp #0: [1.69315, -inf, nan, -inf]
// CHECK: logsumexp #1: [0.5, 0.5, 0, 0, nan, nan, 0]
func.func @logsumexp(%x: !e {test.value = array<f64: 1.0, 1.0, 0xFFF0000000000000, 0xFFF0000000000000, 1.0, 0x7FF8000000000000, 0.0>},
                     %i: !ei {test.value = array<f64: 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, -1.0>}) -> !n
    attributes {test.sizes = array<i64: 4, 7>} {
  %y = gnn.segment_logsumexp %x by %i : (!e, !ei) -> !n
  return %y : !n
}

// With two zeros nothing has a gradient, with one the zero has.
// CHECK: prod #1: [0, 0, 6, 0]
func.func @prod(%x: !v22 {test.value = array<f64: 0.0, 0.0, 0.0, 6.0>}) -> !v2 {
  %y = gnn.reduce prod %x dims [1] : (!v22) -> !v2
  return %y : !v2
}
