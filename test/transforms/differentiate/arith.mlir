// The rules of arith, to second order, against differences; and their form.
// RUN: %first_order
// RUN: %second_order
// RUN: gnnc-opt %s -test-gnn-nest -gnn-differentiate -canonicalize -cse -gnn-choose-saved | FileCheck %s

!v = tensor<?x2xf64, #gnn.dims<s0, 2>>
!b = tensor<?x2xi1, #gnn.dims<s0, 2>>
!f = tensor<?x2xf32, #gnn.dims<s0, 2>>
!i = tensor<?x2xi32, #gnn.dims<s0, 2>>

// CHECK-LABEL: func.func @add(
// CHECK-SAME: %[[X:.*]]: tensor{{.*}}, %[[Y:.*]]: tensor{{.*}}, %[[Z_ADJ:.*]]: tensor
// CHECK: return %{{.*}}, %[[Z_ADJ]], %[[Z_ADJ]] :
func.func @add(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.addf %x, %y : !v
  return %z : !v
}

// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %[[Z_ADJ:.*]]: tensor
// CHECK: %[[SUM:.*]] = arith.addf %[[Z_ADJ]], %[[Z_ADJ]]
// CHECK: return %{{.*}}, %[[SUM]] :
func.func @twice(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.addf %x, %x : !v
  return %z : !v
}

func.func @sub(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.subf %x, %y : !v
  return %z : !v
}

// CHECK-LABEL: func.func @mul(
// CHECK-SAME: %[[X:.*]]: tensor{{.*}}, %[[Y:.*]]: tensor{{.*}}, %[[Z_ADJ:.*]]: tensor
// CHECK-DAG: %[[X_ADJ:.*]] = arith.mulf %[[Z_ADJ]], %[[Y]]
// CHECK-DAG: %[[Y_ADJ:.*]] = arith.mulf %[[Z_ADJ]], %[[X]]
// CHECK: return %{{.*}}, %[[X_ADJ]], %[[Y_ADJ]] :
func.func @mul(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.mulf %x, %y : !v
  return %z : !v
}

func.func @cube(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = arith.mulf %x, %x : !v
  %z = arith.mulf %y, %x : !v
  return %z : !v
}

func.func @div(%x: !v, %y: !v {test.range = array<f64: 0.5, 2.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.divf %x, %y : !v
  return %z : !v
}

func.func @neg(%x: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.negf %x : !v
  return %z : !v
}

func.func @rem(%x: !v {test.range = array<f64: 2.1, 2.9>}, %y: !v {test.range = array<f64: 0.9, 1.0>}) -> !v
    attributes {test.sizes = array<i64: 3>} {
  %z = arith.remf %x, %y : !v
  return %z : !v
}

// CHECK-LABEL: func.func @select(
// CHECK-SAME: %{{.*}}: tensor{{.*}}, %{{.*}}: tensor{{.*}}, %[[C:.*]]: tensor<?x2xi1{{.*}}, %[[Z_ADJ:.*]]: tensor
// CHECK-DAG: %[[X_ADJ:.*]] = arith.select %[[C]], %[[Z_ADJ]], %[[ZERO:[^ ]*]] :
// CHECK-DAG: %[[Y_ADJ:.*]] = arith.select %[[C]], %[[ZERO]], %[[Z_ADJ]] :
// CHECK: return %{{.*}}, %[[X_ADJ]], %[[Y_ADJ]] :
func.func @select(%x: !v, %y: !v, %c: !b) -> !v attributes {test.sizes = array<i64: 3>} {
  %z = arith.select %c, %x, %y : !b, !v
  return %z : !v
}

func.func @maximum(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %xx = arith.mulf %x, %x : !v
  %z = arith.maximumf %xx, %y : !v
  return %z : !v
}

func.func @minimum(%x: !v, %y: !v) -> !v attributes {test.sizes = array<i64: 3>} {
  %xx = arith.mulf %x, %x : !v
  %z = arith.minimumf %xx, %y : !v
  return %z : !v
}

// CHECK-LABEL: func.func @precision(
// CHECK: arith.extf %{{.*}} : tensor<?x2xf32{{.*}} to tensor<?x2xf64
func.func @precision(%x: !v) -> !f attributes {test.sizes = array<i64: 3>} {
  %y = arith.mulf %x, %x : !v
  %z = arith.truncf %y : !v to !f
  return %z : !f
}

func.func @wider(%x: !f) -> !v attributes {test.sizes = array<i64: 3>} {
  %y = arith.mulf %x, %x : !f
  %z = arith.extf %y : !f to !v
  return %z : !v
}

// An integer is no variable: its conversion is a factor like any other.
func.func @from_integer(%x: !v, %n: !i {test.value = array<f64: 1.0, 2.0, 3.0, 4.0, 5.0, 6.0>}) -> !v attributes {test.sizes = array<i64: 3>} {
  %r = arith.sitofp %n : !i to !v
  %z = arith.mulf %x, %r : !v
  return %z : !v
}
