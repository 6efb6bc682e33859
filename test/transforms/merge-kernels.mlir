// Reductions that read one tensor alike become one kernel.
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-inline-maps),canonicalize,cse,func.func(gnn-merge-kernels))" -mlir-print-local-scope | FileCheck %s

!x = tensor<?x4x8xf32, #gnn.dims<s0, 4, 8>>
!w = tensor<4x8xf32, #gnn.dims<4, 8>>
!h = tensor<?x4xf32, #gnn.dims<s0, 4>>
!s = tensor<f32, #gnn.dims<>>

// CHECK-LABEL: func @scores(
// CHECK: %[[ST:.*]]:2 = "gnn.kernel"(%arg0, %arg1, %arg2) {{.*}}combines = [#gnn<combine sum>, #gnn<combine sum>]
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: gnn.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-NOT: gnn.kernel
// CHECK: return %[[ST]]#0, %[[ST]]#1
func.func @scores(%x: !x, %u: !w, %v: !w) -> (!h, !h) {
  %ub = gnn.broadcast %u dims [1, 2] : (!w) -> !x
  %vb = gnn.broadcast %v dims [1, 2] : (!w) -> !x
  %xu = arith.mulf %x, %ub : !x
  %xv = arith.mulf %x, %vb : !x
  %s = gnn.reduce sum %xu dims [2] : (!x) -> !h
  %t = gnn.reduce sum %xv dims [2] : (!x) -> !h
  return %s, %t : !h, !h
}

// Not where one needs the other, where they reduce other dimensions, or where they read nothing alike.

// CHECK-LABEL: func @waiting(
// CHECK-COUNT-2: = "gnn.kernel"{{.*}}combines = [#gnn<combine sum>]
// CHECK: return
func.func @waiting(%x: !x, %u: !w) -> !h {
  %ub = gnn.broadcast %u dims [1, 2] : (!w) -> !x
  %xu = arith.mulf %x, %ub : !x
  %s = gnn.reduce sum %xu dims [2] : (!x) -> !h
  %sb = gnn.broadcast %s dims [0, 1] : (!h) -> !x
  %xs = arith.mulf %x, %sb : !x
  %t = gnn.reduce sum %xs dims [2] : (!x) -> !h
  return %t : !h
}

// CHECK-LABEL: func @other_dimensions(
// CHECK-COUNT-2: = "gnn.kernel"{{.*}}combines = [#gnn<combine sum>]
// CHECK: return
func.func @other_dimensions(%x: !x) -> (!h, !w) {
  %s = gnn.reduce sum %x dims [2] : (!x) -> !h
  %t = gnn.reduce sum %x dims [0] : (!x) -> !w
  return %s, %t : !h, !w
}

// CHECK-LABEL: func @nothing_alike(
// CHECK-COUNT-2: = "gnn.kernel"{{.*}}combines = [#gnn<combine sum>]
// CHECK: return
func.func @nothing_alike(%x: !x, %y: !x) -> (!h, !h) {
  %s = gnn.reduce sum %x dims [2] : (!x) -> !h
  %t = gnn.reduce sum %y dims [2] : (!x) -> !h
  return %s, %t : !h, !h
}
