// Which kernels run together, row by row, and what keeps others apart.
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-inline-maps),canonicalize,cse,func.func(gnn-group-kernels),cse)" -split-input-file -mlir-print-local-scope | FileCheck %s
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-inline-maps),canonicalize,cse,func.func(gnn-group-kernels),cse)" -split-input-file -mlir-print-local-scope -mlir-print-debuginfo | FileCheck %s --check-prefix=NOTE
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-group-kernels{fuse=false}),cse)" -split-input-file -mlir-print-local-scope | FileCheck %s --check-prefix=ALONE

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?x4xf32, #gnn.dims<s1, 4>>
!n = tensor<?x4xf32, #gnn.dims<s0, 4>>
!ef = tensor<?x4x16xf32, #gnn.dims<s1, 4, 16>>
!nf = tensor<?x4x16xf32, #gnn.dims<s0, 4, 16>>

// A weight of edges, its sum, the sum that it weighs, and the quotient: one group, and nothing of the size of the edges
// comes out of it.

// CHECK-LABEL: func @weighted(
// CHECK: %[[O:.*]] = gnn.order dst
// CHECK-NOT: "gnn.kernel"
// CHECK: %[[Y:.*]] = gnn.group %[[O]] : <s0, s1> -> tensor<?x4x16xf32, #gnn.dims<s0, 4, 16>> {
// CHECK:   %[[W:.*]] = "gnn.kernel"(%[[O]], %arg1) {{.*}}label = "math.exp"
// CHECK-SAME: resultMaps = [affine_map<(d0, d1, d2) -> (d1, d2)>]
// CHECK:   %[[Z:.*]] = "gnn.kernel"(%[[O]], %[[W]]) {{.*}}combines = [#gnn<combine sum>]
// CHECK:   %[[S:.*]] = "gnn.kernel"(%[[O]], %{{.*}}, %[[W]], %arg2) {{.*}}combines = [#gnn<combine sum>]
// CHECK:   %[[Q:.*]] = "gnn.kernel"(%[[S]], %[[Z]]) {{.*}}label = "arith.divf"
// CHECK:   gnn.yield %[[Q]]
// CHECK: }
// CHECK-NOT: "gnn.kernel"
// CHECK: return %[[Y]]

// Every op for itself, the reductions still in the same form.

// ALONE-LABEL: func @weighted(
// ALONE: "gnn.kernel"{{.*}}label = "math.exp"
// ALONE: gnn.group
// ALONE-NEXT: "gnn.kernel"{{.*}}combines = [#gnn<combine sum>]
// ALONE: gnn.yield
// ALONE: "gnn.kernel"{{.*}}label = "arith.mulf"
// ALONE: gnn.group
// ALONE-NEXT: "gnn.kernel"{{.*}}combines = [#gnn<combine sum>]
// ALONE: gnn.yield
// ALONE: "gnn.kernel"{{.*}}label = "arith.divf"
func.func @weighted(%g: !g, %s: !e, %x: !nf) -> !nf {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %w = math.exp %s : !e
  %z = gnn.segment_reduce sum %w by [%dst] at 0 dims [0] : (!e, !i) -> !n
  %wb = gnn.broadcast %w dims [0, 1] : (!e) -> !ef
  %xs = gnn.gather %x[%src] dims [0] : (!nf, !i) -> !ef
  %m = arith.mulf %wb, %xs : !ef
  %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  %zb = gnn.broadcast %z dims [0, 1] : (!n) -> !nf
  %q = arith.divf %y, %zb : !nf
  return %q : !nf
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>

// Both orders need the weight: each group computes it.

// CHECK-LABEL: func @both_orders(
// CHECK: %[[IN:.*]] = gnn.order dst
// CHECK: gnn.group %[[IN]]
// CHECK-NEXT: "gnn.kernel"(%[[IN]], %arg1) {{.*}}label = "math.exp"
// CHECK: gnn.yield
// CHECK: %[[OUT:.*]] = gnn.order src
// CHECK: gnn.group %[[OUT]]
// CHECK-NEXT: "gnn.kernel"(%[[OUT]], %arg1) {{.*}}label = "math.exp"
// CHECK: gnn.yield
func.func @both_orders(%g: !g, %s: !e, %x: !nf) -> (!nf, !nf) {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %w = math.exp %s : !e
  %wb = gnn.broadcast %w dims [0] : (!e) -> !ef
  %xs = gnn.gather %x[%src] dims [0] : (!nf, !i) -> !ef
  %m = arith.mulf %wb, %xs : !ef
  %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  %xd = gnn.gather %x[%dst] dims [0] : (!nf, !i) -> !ef
  %k = arith.mulf %wb, %xd : !ef
  %z = gnn.segment_reduce sum %k by [%src] at 0 dims [0] : (!ef, !i) -> !nf
  return %y, %z : !nf, !nf
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>

// The second sum gathers the first at the other end, so it needs it of all rows first: two groups. One that reads the
// first sum at its own row joins.

// CHECK-LABEL: func @two_hops(
// CHECK: %[[A:.*]] = gnn.group
// CHECK: gnn.yield
// CHECK: %[[B:.*]] = gnn.group
// CHECK: gnn.yield
// CHECK: return %[[B]]
// NOTE-LABEL: func @two_hops(
// NOTE: gnn.alone = "needs 'sum over edges'{{.*}} for other rows first"
func.func @two_hops(%g: !g, %x: !nf) -> !nf {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %xs = gnn.gather %x[%src] dims [0] : (!nf, !i) -> !ef
  %y = gnn.segment_reduce sum %xs by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  %ys = gnn.gather %y[%src] dims [0] : (!nf, !i) -> !ef
  %z = gnn.segment_reduce sum %ys by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %z : !nf
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>

// At its own row: the deviation from the mean, in the same group.

// CHECK-LABEL: func @own_row(
// CHECK-COUNT-1: gnn.group
// CHECK-NOT: gnn.group
// CHECK: return
func.func @own_row(%g: !g, %e: !ef) -> !nf {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  %yd = gnn.gather %y[%dst] dims [0] : (!nf, !i) -> !ef
  %d = arith.subf %e, %yd : !ef
  %z:2 = gnn.segment_reduce max %d by [%dst] at 0 dims [0] : (!ef, !i) -> (!nf, tensor<?x16xi32, #gnn.dims<s0, 16>>)
  return %z#0 : !nf
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>
!w = tensor<16x16xf32, #gnn.dims<16, 16>>

// A matrix product in between needs all rows.

// CHECK-LABEL: func @product_between(
// CHECK: gnn.group
// CHECK: gnn.gemm
// CHECK: gnn.group
// NOTE-LABEL: func @product_between(
// NOTE: gnn.alone = "needs a matrix product{{.*}} for all rows first"
func.func @product_between(%g: !g, %e: !ef, %w: !w) -> !nf {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  %p = gnn.contract %y [0, 1], %w [1, 2] -> [0, 2] : (!nf, !w) -> !nf
  %ps = gnn.gather %p[%src] dims [0] : (!nf, !i) -> !ef
  %z = gnn.segment_reduce sum %ps by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %z : !nf
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>
!s = tensor<f32, #gnn.dims<>>

// A sum over all edges of what the group computes is a sum for each row in the group, and the sum of these.

// CHECK-LABEL: func @total(
// CHECK: %[[R:.*]]:2 = gnn.group
// CHECK: "gnn.kernel"(%[[R]]#{{[01]}})
// CHECK-SAME: iterators = [#gnn<iterator reduction>], {{.*}} space = #gnn.dims<s0>
func.func @total(%g: !g, %s: !e) -> (!n, !s) {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %w = math.exp %s : !e
  %z = gnn.segment_reduce sum %w by [%dst] at 0 dims [0] : (!e, !i) -> !n
  %t = gnn.reduce sum %w dims [0] : (!e) -> !s
  return %z, %t : !n, !s
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!n = tensor<?xf32, #gnn.dims<s0>>

// What is returned has to be in memory, and is read from there.

// CHECK-LABEL: func @returned(
// CHECK: %[[W:.*]] = "gnn.kernel"(%arg1) {{.*}}label = "math.exp"
// CHECK: gnn.group
// CHECK-NEXT: "gnn.kernel"(%{{.*}}, %[[W]])
// NOTE-LABEL: func @returned(
// NOTE: gnn.stored = "returned"
func.func @returned(%g: !g, %s: !e) -> (!e, !n) {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %w = math.exp %s : !e
  %z = gnn.segment_reduce sum %w by [%dst] at 0 dims [0] : (!e, !i) -> !n
  return %w, %z : !e, !n
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!ef = tensor<?x?xf32, #gnn.dims<s1, s2>>
!nf = tensor<?x?xf32, #gnn.dims<s0, s2>>

// Features whose number is not known stay kernels of their own.

// CHECK-LABEL: func @unknown_features(
// CHECK-NOT: gnn.group
// CHECK: return
// NOTE-LABEL: func @unknown_features(
// NOTE: gnn.alone = "sizes of features are not known when compiling (-D makes them constants)"
func.func @unknown_features(%g: !g, %e: !ef) -> !nf {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %y : !nf
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!ef = tensor<?x600xf32, #gnn.dims<s1, 600>>
!nf = tensor<?x600xf32, #gnn.dims<s0, 600>>

// CHECK-LABEL: func @too_wide(
// CHECK-NOT: gnn.group
// CHECK: return
// NOTE-LABEL: func @too_wide(
// NOTE: gnn.alone = "more than 512 features"
func.func @too_wide(%g: !g, %e: !ef) -> !nf {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %y : !nf
}
