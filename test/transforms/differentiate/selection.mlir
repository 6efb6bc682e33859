// A branch not taken contributes exactly 0 though its own derivative be infinite or NaN, up to the first gather, reduction
// or contraction behind it.
// RUN: %print_first_order | FileCheck %s
// RUN: %print_second_order | FileCheck %s --check-prefix=SECOND --implicit-check-not=nan
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s --check-prefix=FORM

!v = tensor<3xf64, #gnn.dims<3>>
!b = tensor<3xi1, #gnn.dims<3>>
!v2 = tensor<3x2xf64, #gnn.dims<3, 2>>
!b2 = tensor<3x2xi1, #gnn.dims<3, 2>>
!r = tensor<6xf64, #gnn.dims<6>>

// where(d > 0, rsqrt(d), 0) at d = 0, as normalised degrees have it.
// CHECK: rsqrt #1: [0, -0.0625, 0]
// SECOND: rsqrt #2: [0,
// FORM-LABEL: func.func @rsqrt(
// FORM-SAME: %{{.*}}: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// FORM: %[[SELECTED:.*]] = arith.select %{{.*}}, %[[Y_ADJ]], %{{.*}}
// FORM: gnn.pmul %[[SELECTED]],
func.func @rsqrt(%x: !v {test.value = array<f64: 0.0, 4.0, -1.0>}) -> !v {
  %zero = arith.constant dense<0.0> : !v
  %c = arith.cmpf ogt, %x, %zero : !v
  %r = math.rsqrt %x : !v
  %y = arith.select %c, %r, %zero : !b, !v
  return %y : !v
}

// The mark passes sums, negations, shapes and repetition: log(-x) + 1 is reshaped and repeated.
// CHECK: moved #1: [0, 0, -0.5]
// SECOND: moved #2: [0, 0,
func.func @moved(%x: !v {test.value = array<f64: 0.0, 1.0, -4.0>}) -> !v2 {
  %zero = arith.constant dense<0.0> : !v2
  %one = arith.constant dense<1.0> : !v
  %n = arith.negf %x : !v
  %l = math.log %n : !v
  %p = arith.addf %l, %one : !v
  %l2 = gnn.broadcast %p dims [0] : (!v) -> !v2
  %x2 = gnn.broadcast %x dims [0] : (!v) -> !v2
  %flat = gnn.reshape %l2 : (!v2) -> !r
  %back = gnn.reshape %flat : (!r) -> !v2
  %c = arith.cmpf olt, %x2, %zero : !v2
  %y = arith.select %c, %back, %zero : !b2, !v2
  return %y : !v2
}

// A quotient: where(x > 0, 1 / x, 0).
// CHECK: quotient #1: [0, -1, 0]
// SECOND: quotient #2: [0, 1, 0]
func.func @quotient(%x: !v {test.value = array<f64: 0.0, 1.0, -3.0>}) -> !v {
  %zero = arith.constant dense<0.0> : !v
  %one = arith.constant dense<1.0> : !v
  %c = arith.cmpf ogt, %x, %zero : !v
  %q = arith.divf %one, %x : !v
  %y = arith.select %c, %q, %zero : !b, !v
  return %y : !v
}

// Both operands of a quotient that was not taken.
// CHECK: both #1: [0, 0.5, 0]
// CHECK: both #2: [0, -0.75, 0]
func.func @both(%a: !v {test.value = array<f64: 0.0, 3.0, 1.0>}, %x: !v {test.value = array<f64: 0.0, 2.0, 0.0>}) -> !v {
  %zero = arith.constant dense<0.0> : !v
  %c = arith.cmpf ogt, %x, %zero : !v
  %q = arith.divf %a, %x : !v
  %y = arith.select %c, %q, %zero : !b, !v
  return %y : !v
}

// maximum(log x, -1) where log is -inf.
// CHECK: maximum #1: [0, 0.5, 0]
func.func @maximum(%x: !v {test.value = array<f64: 0.0, 2.0, 0.1>}) -> !v {
  %floor = arith.constant dense<-1.0> : !v
  %l = math.log %x : !v
  %y = arith.maximumf %l, %floor : !v
  return %y : !v
}

// A dropped element is selected away, not multiplied by 0.
// CHECK: dropped #0: [0, 2, 0]
// CHECK: dropped #1: [0, 2, 0]
func.func @dropped(%x: !v {test.value = array<f64: 0x7FF0000000000000, 1.0, 0x7FF8000000000000>}, %keep: !b {test.value = array<f64: 0.0, 1.0, 0.0>}) -> !v {
  %zero = arith.constant dense<0.0> : !v
  %two = arith.constant dense<2.0> : !v
  %s = arith.mulf %x, %two : !v
  %y = arith.select %keep, %s, %zero : !b, !v
  return %y : !v
}

// Elsewhere a product is a plain one.
// FORM-LABEL: func.func @plain(
// FORM-NOT: gnn.pmul
// FORM: return
func.func @plain(%x: !v {test.value = array<f64: 1.0>}) -> !v {
  %y = math.exp %x : !v
  return %y : !v
}
