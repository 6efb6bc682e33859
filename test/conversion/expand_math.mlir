// Mathematical functions become arithmetic on the same scalars or vectors; what is one instruction stays.
// RUN: gnnc-opt %s -gnn-expand-math | FileCheck %s --check-prefixes=CHECK,FMA
// RUN: gnnc-opt %s -gnn-expand-math=fma=false | FileCheck %s --check-prefixes=CHECK,PLAIN

// CHECK-LABEL: func @exp
// CHECK-SAME: (%[[X:.*]]: vector<16xf32>)
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: math.exp
  // FMA: math.fma %{{.*}} : vector<16xf32>
  // PLAIN-NOT: math.fma
  // 2^n in two steps, for results that are subnormal.
  // CHECK: %[[N:.*]] = arith.shrui %[[E:.*]], %{{.*}} : vector<16xi32>
  // CHECK: %[[REST:.*]] = arith.subi %[[E]], %[[N]] : vector<16xi32>
  // CHECK: return
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func @pmul
// CHECK-SAME: (%[[C:.*]]: f64, %[[A:.*]]: f64)
func.func @pmul(%c: f64, %a: f64) -> f64 {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
  // CHECK-DAG: %[[NONE:.*]] = arith.cmpf oeq, %[[C]], %[[ZERO]] : f64
  // CHECK-DAG: %[[PRODUCT:.*]] = arith.mulf %[[C]], %[[A]] : f64
  // CHECK: %[[Y:.*]] = arith.select %[[NONE]], %[[ZERO]], %[[PRODUCT]] : f64
  // CHECK: return %[[Y]]
  %y = gnn.pmul %c, %a : f64
  return %y : f64
}

// CHECK-LABEL: func @kept
func.func @kept(%x: vector<8xf64>) -> vector<8xf64> {
  // CHECK-NEXT: math.sqrt
  // CHECK-NEXT: math.absf
  // CHECK-NEXT: math.floor
  // CHECK-NEXT: math.ceil
  // CHECK-NEXT: math.roundeven
  %0 = math.sqrt %x : vector<8xf64>
  %1 = math.absf %0 : vector<8xf64>
  %2 = math.floor %1 : vector<8xf64>
  %3 = math.ceil %2 : vector<8xf64>
  %4 = math.roundeven %3 : vector<8xf64>
  return %4 : vector<8xf64>
}

// CHECK-LABEL: func @integer_powers
// CHECK-SAME: (%[[X:.*]]: f32)
func.func @integer_powers(%x: f32) -> (f32, f32) {
  %three = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK: %[[CUBE:.*]] = arith.mulf %[[SQUARE]], %[[X]]
  %0 = math.fpowi %x, %three : f32, i32
  // CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[X]]
  %1 = math.fpowi %x, %minus : f32, i32
  // CHECK: return %[[CUBE]], %[[INVERSE]]
  return %0, %1 : f32, f32
}

// Tensors, and formats other than f32 and f64, are not this pass's.
// CHECK-LABEL: func @others
func.func @others(%x: tensor<?xf32, #gnn.dims<s0>>, %h: f16) -> (tensor<?xf32, #gnn.dims<s0>>, f16) {
  // CHECK-NEXT: math.exp %{{.*}} : tensor
  // CHECK-NEXT: math.exp %{{.*}} : f16
  %0 = math.exp %x : tensor<?xf32, #gnn.dims<s0>>
  %1 = math.exp %h : f16
  return %0, %1 : tensor<?xf32, #gnn.dims<s0>>, f16
}
