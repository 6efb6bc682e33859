// The rules of math, and of the elementwise ops of gnn, to second order, against differences.
// RUN: %first_order
// RUN: %second_order

!v = tensor<?x2xf64, #gnn.dims<s0, 2>>
!i = tensor<?x2xi32, #gnn.dims<s0, 2>>
!si = tensor<i32, #gnn.dims<>>

func.func @exp(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.exp %x : !v
  return %y : !v
}

func.func @exp2(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.exp2 %x : !v
  return %y : !v
}

func.func @expm1(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.expm1 %x : !v
  return %y : !v
}

func.func @log(%x: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.log %x : !v
  return %y : !v
}

func.func @log2(%x: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.log2 %x : !v
  return %y : !v
}

func.func @log10(%x: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.log10 %x : !v
  return %y : !v
}

func.func @log1p(%x: !v {test.range = array<f64: -0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.log1p %x : !v
  return %y : !v
}

func.func @sqrt(%x: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.sqrt %x : !v
  return %y : !v
}

func.func @rsqrt(%x: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.rsqrt %x : !v
  return %y : !v
}

func.func @absf(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.absf %x : !v
  return %y : !v
}

func.func @sin(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.sin %x : !v
  return %y : !v
}

func.func @cos(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.cos %x : !v
  return %y : !v
}

func.func @tan(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.tan %x : !v
  return %y : !v
}

func.func @asin(%x: !v {test.range = array<f64: -0.9, 0.9>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.asin %x : !v
  return %y : !v
}

func.func @acos(%x: !v {test.range = array<f64: -0.9, 0.9>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.acos %x : !v
  return %y : !v
}

func.func @atan(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.atan %x : !v
  return %y : !v
}

func.func @sinh(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.sinh %x : !v
  return %y : !v
}

func.func @cosh(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.cosh %x : !v
  return %y : !v
}

func.func @tanh(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.tanh %x : !v
  return %y : !v
}

func.func @asinh(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.asinh %x : !v
  return %y : !v
}

func.func @acosh(%x: !v {test.range = array<f64: 1.5, 3.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.acosh %x : !v
  return %y : !v
}

func.func @atanh(%x: !v {test.range = array<f64: -0.9, 0.9>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.atanh %x : !v
  return %y : !v
}

func.func @erf(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.erf %x : !v
  return %y : !v
}

func.func @erfc(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.erfc %x : !v
  return %y : !v
}

func.func @sigmoid(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = gnn.sigmoid %x : !v
  return %y : !v
}

func.func @softplus(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = gnn.softplus %x : !v
  return %y : !v
}

func.func @powf(%x: !v {test.range = array<f64: 0.5, 2.0>}, %y: !v {test.range = array<f64: -2.0, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = math.powf %x, %y : !v
  return %z : !v
}

func.func @atan2(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = math.atan2 %x, %y : !v
  return %z : !v
}

func.func @copysign(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = math.copysign %x, %y : !v
  return %z : !v
}

func.func @pmul(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = gnn.pmul %x, %y : !v
  return %z : !v
}

func.func @fma(%x: !v, %y: !v, %z: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %w = math.fma %x, %y, %z : !v
  return %w : !v
}

func.func @clampf(%x: !v, %lo: !v {test.range = array<f64: -0.5, -0.2>}, %hi: !v {test.range = array<f64: 0.2, 0.5>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %w = math.clampf %x to [%lo, %hi] : !v
  return %w : !v
}

// Integer powers, of a constant and of a computed exponent.
func.func @fpowi(%x: !v {test.range = array<f64: 0.5, 2.0>}, %n: !i {test.value = array<f64: -2.0, -1.0, 0.0, 1.0, 2.0, 5.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = math.fpowi %x, %n : !v, !i
  return %y : !v
}

func.func @power_minus_2(%x: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %c = arith.constant dense<-2> : !si
  %n = gnn.broadcast %c dims [] : (!si) -> !i
  %y = math.fpowi %x, %n : !v, !i
  return %y : !v
}

func.func @power_0(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %c = arith.constant dense<0> : !si
  %n = gnn.broadcast %c dims [] : (!si) -> !i
  %y = math.fpowi %x, %n : !v, !i
  return %y : !v
}

func.func @power_1(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %c = arith.constant dense<1> : !si
  %n = gnn.broadcast %c dims [] : (!si) -> !i
  %y = math.fpowi %x, %n : !v, !i
  return %y : !v
}

func.func @power_2(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %c = arith.constant dense<2> : !si
  %n = gnn.broadcast %c dims [] : (!si) -> !i
  %y = math.fpowi %x, %n : !v, !i
  return %y : !v
}

func.func @power_3(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %c = arith.constant dense<3> : !si
  %n = gnn.broadcast %c dims [] : (!si) -> !i
  %y = math.fpowi %x, %n : !v, !i
  return %y : !v
}
