// How the shares of an extremum are written: at the winners alone where they are only summed, else by comparison.
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-lower-shares),canonicalize,cse)" -split-input-file | FileCheck %s
// RUN: gnnc-opt %s -pass-pipeline="builtin.module(func.func(gnn-lower-shares{to-winners=false}),canonicalize,cse)" -split-input-file | FileCheck %s --check-prefix=COMPARED

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?x32xf32, #gnn.dims<s1, 32>>
!n = tensor<?x32xf32, #gnn.dims<s0, 32>>
!ni = tensor<?x32xi32, #gnn.dims<s0, 32>>

// A message of both ends: the sum by the sources goes to the winners' sources, which the maximum keeps as tags; the sum by
// the destinations is what was shared, where there is anyone.

// CHECK-LABEL: func @both_ends(
// CHECK-DAG: %[[SRC:.*]] = gnn.endpoint src
// CHECK-DAG: %[[DST:.*]] = gnn.endpoint dst
// CHECK: %[[M:.*]] = arith.addf
// CHECK: %[[Y:.*]], %[[TAGS:.*]] = gnn.segment_reduce max %[[M]] by [%[[DST]]] at 0 dims [0] tags %[[SRC]]
// CHECK: %[[NOBODY:.*]] = arith.cmpi eq, %[[TAGS]],
// CHECK: %[[A_ADJ:.*]] = arith.select %[[NOBODY]], %{{.*}}, %{{.*}}
// CHECK: %[[B_ADJ:.*]] = gnn.share_sum %[[A_ADJ]] of %[[Y]] among %[[M]] by %[[DST]] into %[[SRC]] tagged %[[TAGS]] :
// CHECK: return %[[B_ADJ]], %[[A_ADJ]]

// COMPARED-LABEL: func @both_ends(
// COMPARED-NOT: tags
// COMPARED: arith.cmpf oeq
// COMPARED: %[[COUNT:.*]] = gnn.segment_reduce sum
// COMPARED: arith.maximumf %[[COUNT]],
// COMPARED: arith.divf
// COMPARED: gnn.segment_reduce sum
// COMPARED: gnn.segment_reduce sum
func.func @both_ends(%g: !g, %a: !n, %b: !n, %y_adj: !n) -> (!n, !n) {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %a_dst = gnn.gather %a[%dst] dims [0] : (!n, !i) -> !e
  %b_src = gnn.gather %b[%src] dims [0] : (!n, !i) -> !e
  %m = arith.addf %a_dst, %b_src : !e
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (!e, !i) -> (!n, !ni)
  %m_adj = gnn.share %y_adj of %y among %m by %dst : (!n, !n, !e, !i) -> !e
  %b_adj = gnn.segment_reduce sum %m_adj by [%src] at 0 dims [0] : (!e, !i) -> !n
  %a_adj = gnn.segment_reduce sum %m_adj by [%dst] at 0 dims [0] : (!e, !i) -> !n
  return %b_adj, %a_adj : !n, !n
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?x32xf32, #gnn.dims<s1, 32>>
!n = tensor<?x32xf32, #gnn.dims<s0, 32>>
!ni = tensor<?x32xi32, #gnn.dims<s0, 32>>

// Of a message with several adjoints each share stands alone, and is added to what the others give.

// CHECK-LABEL: func @with_others(
// CHECK: %[[MAX:.*]], %[[MOST:.*]] = gnn.segment_reduce max {{.*}} tags
// CHECK: %[[MIN:.*]], %[[LEAST:.*]] = gnn.segment_reduce min {{.*}} tags
// CHECK: %[[REST:.*]] = gnn.segment_reduce sum %{{.*}} by
// CHECK: %[[FIRST:.*]] = gnn.share_sum %{{.*}} of %[[MIN]] {{.*}} tagged %[[LEAST]] plus %[[REST]]
// CHECK: %[[SECOND:.*]] = gnn.share_sum %{{.*}} of %[[MAX]] {{.*}} tagged %[[MOST]] plus %[[FIRST]]
// CHECK: return %[[SECOND]]
func.func @with_others(%g: !g, %x: !n, %s_adj: !n, %y_adj: !n, %z_adj: !n) -> !n {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %m = gnn.gather %x[%src] dims [0] : (!n, !i) -> !e
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (!e, !i) -> (!n, !ni)
  %z, %v = gnn.segment_reduce min %m by [%dst] at 0 dims [0] : (!e, !i) -> (!n, !ni)
  %s = gnn.gather %s_adj[%dst] dims [0] : (!n, !i) -> !e
  %of_z = gnn.share %z_adj of %z among %m by %dst : (!n, !n, !e, !i) -> !e
  %of_y = gnn.share %y_adj of %y among %m by %dst : (!n, !n, !e, !i) -> !e
  %m1 = arith.addf %s, %of_z : !e
  %m2 = arith.addf %m1, %of_y : !e
  %x_adj = gnn.segment_reduce sum %m2 by [%src] at 0 dims [0] : (!e, !i) -> !n
  return %x_adj : !n
}

// -----

!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?x32xf32, #gnn.dims<s1, 32>>
!n = tensor<?x32xf32, #gnn.dims<s0, 32>>
!ni = tensor<?x32xi32, #gnn.dims<s0, 32>>

// Comparisons stay where a share is wanted for each entry, where the message costs an exponential, where the winner is
// wanted too, and where few features leave nothing to share out.

// CHECK-LABEL: func @of_entries(
// CHECK-NOT: share_sum
// CHECK: return
func.func @of_entries(%g: !g, %m: !e, %y_adj: !n) -> !e {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (!e, !i) -> (!n, !ni)
  %m_adj = gnn.share %y_adj of %y among %m by %dst : (!n, !n, !e, !i) -> !e
  return %m_adj : !e
}

// CHECK-LABEL: func @costly(
// CHECK-NOT: share_sum
// CHECK: return
func.func @costly(%g: !g, %x: !n, %y_adj: !n) -> !n {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %x_src = gnn.gather %x[%src] dims [0] : (!n, !i) -> !e
  %m = math.exp %x_src : !e
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (!e, !i) -> (!n, !ni)
  %m_adj = gnn.share %y_adj of %y among %m by %dst : (!n, !n, !e, !i) -> !e
  %x_adj = gnn.segment_reduce sum %m_adj by [%src] at 0 dims [0] : (!e, !i) -> !n
  return %x_adj : !n
}

// CHECK-LABEL: func @winner_wanted(
// CHECK-NOT: share_sum
// CHECK: return
func.func @winner_wanted(%g: !g, %x: !n, %y_adj: !n) -> (!n, !ni) {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %m = gnn.gather %x[%src] dims [0] : (!n, !i) -> !e
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (!e, !i) -> (!n, !ni)
  %m_adj = gnn.share %y_adj of %y among %m by %dst : (!n, !n, !e, !i) -> !e
  %x_adj = gnn.segment_reduce sum %m_adj by [%src] at 0 dims [0] : (!e, !i) -> !n
  return %x_adj, %w : !n, !ni
}

// CHECK-LABEL: func @few_features(
// CHECK-NOT: share_sum
// CHECK: return
func.func @few_features(%g: !g, %x: tensor<?x16xf32, #gnn.dims<s0, 16>>, %y_adj: tensor<?x16xf32, #gnn.dims<s0, 16>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>> {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %m = gnn.gather %x[%src] dims [0] : (tensor<?x16xf32, #gnn.dims<s0, 16>>, !i) -> tensor<?x16xf32, #gnn.dims<s1, 16>>
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (tensor<?x16xf32, #gnn.dims<s1, 16>>, !i) -> (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?x16xi32, #gnn.dims<s0, 16>>)
  %m_adj = gnn.share %y_adj of %y among %m by %dst : (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?x16xf32, #gnn.dims<s1, 16>>, !i) -> tensor<?x16xf32, #gnn.dims<s1, 16>>
  %x_adj = gnn.segment_reduce sum %m_adj by [%src] at 0 dims [0] : (tensor<?x16xf32, #gnn.dims<s1, 16>>, !i) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
  return %x_adj : tensor<?x16xf32, #gnn.dims<s0, 16>>
}
