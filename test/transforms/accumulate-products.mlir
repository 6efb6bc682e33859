// Sums of matrix products become one product that adds to the other.
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels,gnn-accumulate-products))" | FileCheck %s

!x = tensor<?x8xf32, #gnn.dims<s0, 8>>
!w = tensor<8x8xf32, #gnn.dims<8, 8>>

// CHECK-LABEL: func @three(
// CHECK: %[[A:.*]] = gnn.gemm %arg0, %arg{{[12]}} m
// CHECK: %[[B:.*]] = gnn.gemm %arg0, %arg{{[12]}} plus %[[A]] m
// CHECK: %[[C:.*]] = gnn.gemm %arg0, %arg3 plus %[[B]] m
// CHECK-NOT: gnn.kernel
// CHECK: return %[[C]]
func.func @three(%x: !x, %u: !w, %v: !w, %w: !w) -> !x {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!x, !w) -> !x
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!x, !w) -> !x
  %c = gnn.contract %x [0, 1], %w [1, 2] -> [0, 2] : (!x, !w) -> !x
  %ab = arith.addf %a, %b : !x
  %abc = arith.addf %c, %ab : !x
  return %abc : !x
}

// A product that somebody else reads stays what it is.

// CHECK-LABEL: func @read_twice(
// CHECK-NOT: plus
// CHECK: "gnn.kernel"{{.*}}label = "arith.addf"
// CHECK: return
func.func @read_twice(%x: !x, %u: !w, %v: !w) -> (!x, !x, !x) {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!x, !w) -> !x
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!x, !w) -> !x
  %ab = arith.addf %a, %b : !x
  return %a, %b, %ab : !x, !x, !x
}

// CHECK-LABEL: func @difference(
// CHECK-NOT: plus
// CHECK: return
func.func @difference(%x: !x, %u: !w, %v: !w) -> !x {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!x, !w) -> !x
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!x, !w) -> !x
  %d = arith.subf %a, %b : !x
  return %d : !x
}

// Nor where elementwise code follows.

// CHECK-LABEL: func @followed(
// CHECK-NOT: plus
// CHECK: return
func.func @followed(%x: !x, %u: !w, %v: !w) -> !x {
  %a = gnn.contract %x [0, 1], %u [1, 2] -> [0, 2] : (!x, !w) -> !x
  %b = gnn.contract %x [0, 1], %v [1, 2] -> [0, 2] : (!x, !w) -> !x
  %ab = arith.addf %a, %b : !x
  %y = math.tanh %ab : !x
  return %y : !x
}
