// Values, gradients and second derivatives at kinks and poles: chosen, never NaN where a choice was made.
// With all cotangents 1, the gradient of second order is that of first order and the sum of a row of the Hessian.
// RUN: %print_first_order | FileCheck %s
// RUN: %print_second_order | FileCheck %s --check-prefix=SECOND

!v3 = tensor<3xf64, #gnn.dims<3>>
!v4 = tensor<4xf64, #gnn.dims<4>>
!v32 = tensor<3x2xf64, #gnn.dims<3, 2>>
!i4 = tensor<4xi32, #gnn.dims<4>>
!s = tensor<f64, #gnn.dims<>>

// CHECK: sqrt #1: [0, 0.25, 0.5]
// SECOND: sqrt #2: [0,
func.func @sqrt(%x: !v3 {test.value = array<f64: 0.0, 4.0, 1.0>}) -> !v3 {
  %y = math.sqrt %x : !v3
  return %y : !v3
}

// The norm of a row of zeros.
// CHECK: norm #1: [0, 0, 0.6, 0.8, 0, 1]
// SECOND: norm #2: [0, 0,
func.func @norm(%x: !v32 {test.value = array<f64: 0.0, 0.0, 3.0, 4.0, 0.0, 2.0>}) -> !v3 {
  %xx = arith.mulf %x, %x : !v32
  %n = gnn.reduce sum %xx dims [1] : (!v32) -> !v3
  %y = math.sqrt %n : !v3
  return %y : !v3
}

// CHECK: abs #1: [-1, 0, 1]
// SECOND: abs #2: [-1, 0, 1]
func.func @abs(%x: !v3 {test.value = array<f64: -2.0, 0.0, 3.0>}) -> !v3 {
  %y = math.absf %x : !v3
  return %y : !v3
}

// Exponents 0.5, 1, 2, 0 at a base of 0: the derivative by the base, then by the exponent.
// CHECK: pow #1: [0, 1, 0, 0]
// CHECK: pow #2: [0, 0, 0, 0]
// SECOND: pow #3: [0, 1, 2, 0]
// SECOND: pow #4: [0, 1, 0, 0]
func.func @pow(%a: !v4 {test.value = array<f64: 0.0>}, %b: !v4 {test.value = array<f64: 0.5, 1.0, 2.0, 0.0>}) -> !v4 {
  %y = math.powf %a, %b : !v4
  return %y : !v4
}

// x^0, x^1, x^2, x^3 at 0, with the exponent a value and, below, constants.
// CHECK: integer_pow #1: [0, 1, 0, 0]
// SECOND: integer_pow #2: [0, 1, 2, 0]
func.func @integer_pow(%x: !v4 {test.value = array<f64: 0.0>}, %n: !i4 {test.value = array<f64: 0.0, 1.0, 2.0, 3.0>}) -> !v4 {
  %y = math.fpowi %x, %n : !v4, !i4
  return %y : !v4
}

// CHECK: square #1: [0, 0, 0, 0]
// SECOND: square #2: [2, 2, 2, 2]
func.func @square(%x: !v4 {test.value = array<f64: 0.0>}) -> !v4 {
  %n = arith.constant dense<2> : !i4
  %y = math.fpowi %x, %n : !v4, !i4
  return %y : !v4
}

// CHECK: atan2 #1: [0, 1, 0]
// CHECK: atan2 #2: [0, 0, -1]
// SECOND: atan2 #3: [0, 0, 1]
// SECOND: atan2 #4: [0, -1, 0]
func.func @atan2(%a: !v3 {test.value = array<f64: 0.0, 0.0, 1.0>}, %b: !v3 {test.value = array<f64: 0.0, 1.0, 0.0>}) -> !v3 {
  %y = math.atan2 %a, %b : !v3
  return %y : !v3
}

// What has no choice follows IEEE.
// CHECK: log #1: [inf, 1, nan]
func.func @log(%x: !v3 {test.value = array<f64: 0.0, 1.0, 0x7FF8000000000000>}) -> !v3 {
  %y = math.log %x : !v3
  return %y : !v3
}

// A tie gives half to each, +0 and -0 tie, and a NaN takes all.
// CHECK: maximum #1: [0.5, 0.5, 0, 1]
// CHECK: maximum #2: [0.5, 0.5, 1, 0]
func.func @maximum(%a: !v4 {test.value = array<f64: 2.0, 0.0, 1.0, 0x7FF8000000000000>}, %b: !v4 {test.value = array<f64: 2.0, -0.0, 3.0, 5.0>}) -> !v4 {
  %y = arith.maximumf %a, %b : !v4
  return %y : !v4
}

// CHECK: minimum #1: [0.5, 0.5, 1, 0.5]
// CHECK: minimum #2: [0.5, 0.5, 0, 0.5]
func.func @minimum(%a: !v4 {test.value = array<f64: 2.0, 0.0, 1.0, 0x7FF8000000000000>}, %b: !v4 {test.value = array<f64: 2.0, -0.0, 3.0, 0x7FF8000000000000>}) -> !v4 {
  %y = arith.minimumf %a, %b : !v4
  return %y : !v4
}

// A clamp passes the gradient on its closed interval.
// CHECK: clamp #1: [0, 1, 1, 0]
func.func @clamp(%x: !v4 {test.value = array<f64: -2.0, -1.0, 1.0, 3.0>}) -> !v4 {
  %l = arith.constant dense<-1.0> : !v4
  %h = arith.constant dense<1.0> : !v4
  %y = math.clampf %x to [%l, %h] : !v4
  return %y : !v4
}
