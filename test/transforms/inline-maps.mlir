// Where elementwise values are computed: by what reads them, or stored, and the notes that say why.
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-inline-maps),canonicalize,cse)" -split-input-file -mlir-print-local-scope | FileCheck %s
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-inline-maps),canonicalize,cse)" -split-input-file -mlir-print-local-scope -mlir-print-debuginfo | FileCheck %s --check-prefix=NOTE

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>

// A chain on nodes is one kernel.

// CHECK-LABEL: func @chain(
// CHECK-COUNT-1: "gnn.kernel"
// CHECK: math.exp
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.mulf
// CHECK-NOT: "gnn.kernel"
// CHECK: return
func.func @chain(%x: !n, %y: !n) -> !n {
  %a = math.exp %x : !n
  %b = arith.addf %a, %y : !n
  %c = arith.mulf %b, %y : !n
  return %c : !n
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>

// Into a sum over edges, with the gather at its place: the message is never stored.

// CHECK-LABEL: func @message(
// CHECK: %[[O:.*]] = gnn.order dst
// CHECK: "gnn.kernel"(%[[O]], %{{.*}}, %arg1, %arg2)
// CHECK-SAME: combines = [#gnn<combine sum>]
// CHECK-SAME: maps = [affine_map<(d0, d1)[s0] -> (d1)>, affine_map<(d0, d1)[s0] -> (s0)>]
// CHECK: arith.mulf
// CHECK-NOT: "gnn.kernel"
// CHECK: return
func.func @message(%g: !g, %w: !e, %x: !n) -> !n {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %xs = gnn.gather %x[%src] dims [0] : (!n, !i) -> !e
  %m = arith.mulf %w, %xs : !e
  %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!e, !i) -> !n
  return %y : !n
}

// -----

!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>

// Gathered at an index that may be none: the value there is 0, not what the map makes of 0.

// CHECK-LABEL: func @none(
// CHECK: %[[M:.*]]:2 = "gnn.kernel"
// CHECK: "gnn.kernel"(%[[M]]#1, %arg1)
// CHECK-SAME: maybeNone = array<i1: true>
// CHECK: ^bb0(%[[E:.*]]: f32, %[[K:.*]]: i32,
// CHECK: %[[Y:.*]] = arith.addf %[[E]],
// CHECK: %[[NONE:.*]] = arith.cmpi slt, %[[K]],
// CHECK: arith.select %[[NONE]], %{{.*}}, %[[Y]]
func.func @none(%g: !gnn.graph<s0 -> s0, s1>, %e: !e) -> !n {
  %dst = gnn.endpoint dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !i
  %one = arith.constant dense<1.0> : tensor<f32, #gnn.dims<>>
  %ones = gnn.broadcast %one dims [] : (tensor<f32, #gnn.dims<>>) -> !e
  %y = arith.addf %e, %ones : !e
  %m:2 = gnn.segment_reduce max %e by [%dst] at 0 dims [0] : (!e, !i) -> (!n, tensor<?xi32, #gnn.dims<s0>>)
  %z = gnn.gather %y[%m#1] dims [0] : (!e, tensor<?xi32, #gnn.dims<s0>>) -> !n
  return %z : !n
}

// -----

!n = tensor<?xf32, #gnn.dims<s0>>
!k = tensor<?xi32, #gnn.dims<s0>>

// The number of an element is an iterator of the map, and of the kernel that it moves into.

// CHECK-LABEL: func @numbered(
// CHECK-COUNT-1: "gnn.kernel"
// CHECK: ^bb0(%{{.*}}: i32, %[[V:.*]]: index):
// CHECK: arith.index_cast %[[V]] : index to i32
// CHECK-NOT: "gnn.kernel"
// CHECK: return
func.func @numbered(%x: !k) -> !k {
  %i = gnn.iota 0 nondiff : !k
  %y = arith.addi %x, %i : !k
  return %y : !k
}

// -----

!n = tensor<?xf32, #gnn.dims<s0>>
!f = tensor<?x16xf32, #gnn.dims<s0, 16>>
!w = tensor<16x16xf32, #gnn.dims<16, 16>>

// A matrix product reads memory.

// CHECK-LABEL: func @stored_for_a_product(
// CHECK: "gnn.kernel"
// CHECK: gnn.gemm
// CHECK: "gnn.kernel"
// NOTE: "gnn.kernel"{{.*}}label = "arith.mulf"
// NOTE: loc(fused<{gnn.stored = "read by a matrix product"}>
func.func @stored_for_a_product(%x: !f, %w: !w) -> !f {
  %a = arith.mulf %x, %x : !f
  %p = gnn.contract %a [0, 1], %w [1, 2] -> [0, 2] : (!f, !w) -> !f
  %b = arith.addf %p, %a : !f
  return %b : !f
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>

// A weight of an edge costs an exponential: not once for each of 16 features.

// CHECK-LABEL: func @wider(
// CHECK: "gnn.kernel"{{.*}}label = "math.exp"
// CHECK: "gnn.kernel"{{.*}}combines = [#gnn<combine sum>]
// NOTE: loc(fused<{gnn.stored = "would be computed for each feature of what reads it"}>
func.func @wider(%g: !g, %s: !e, %x: !nf) -> !nf {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %w = math.exp %s : !e
  %wb = gnn.broadcast %w dims [0] : (!e) -> !ef
  %xs = gnn.gather %x[%src] dims [0] : (!nf, !i) -> !ef
  %m = arith.mulf %wb, %xs : !ef
  %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %y : !nf
}

// -----

!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>

// Nor once for each edge that gathers it.

// CHECK-LABEL: func @gathered(
// CHECK-COUNT-2: "gnn.kernel"
// NOTE: loc(fused<{gnn.stored = "would be computed again wherever it is gathered"}>
func.func @gathered(%x: !n, %g: !gnn.graph<s0 -> s0, s1>) -> !e {
  %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !i
  %a = math.exp %x : !n
  %y = gnn.gather %a[%src] dims [0] : (!n, !i) -> !e
  return %y : !e
}

// -----

!n = tensor<?xf32, #gnn.dims<s0>>
!s = tensor<f32, #gnn.dims<>>

// A scalar is computed for every element; what is inlined is noted.

// CHECK-LABEL: func @scalar(
// CHECK-COUNT-1: "gnn.kernel"
// CHECK: arith.divf
// CHECK: arith.mulf
// CHECK-NOT: "gnn.kernel"
// CHECK: return
// NOTE-LABEL: func @scalar(
// NOTE: loc(fused<{gnn.inlined = [loc("division"(
func.func @scalar(%x: !n, %a: !s, %b: !s) -> !n {
  %r = arith.divf %a, %b : !s
  %rb = gnn.broadcast %r dims [] : (!s) -> !n
  %y = arith.mulf %x, %rb : !n
  return %y : !n
}
