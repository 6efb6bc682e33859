// Every value that the reverse sweep reads of the forward one goes through one marker; structure and constants need none.
// RUN: gnnc-opt %s -gnn-differentiate | FileCheck %s
// RUN: gnnc-opt %s -gnn-differentiate -gnn-choose-saved | FileCheck %s --check-prefix=CHOSEN

!g = !gnn.graph<s0 -> s0, s1>
!e = tensor<?xf64, #gnn.dims<s1>>
!ei = tensor<?xi32, #gnn.dims<s1>>
!n = tensor<?xf64, #gnn.dims<s0>>

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[G:.*]]: !gnn.graph{{.*}}, %[[X:.*]]: tensor{{.*}}, %[[W:.*]]: tensor{{.*}}, %[[Y_ADJ:.*]]: tensor
// CHECK: %[[SRC:.*]] = gnn.endpoint
// CHECK: %[[KEPT_W:.*]] = gnn.saved %[[W]] {readers = ["mulf"]}
// CHECK: %[[T:.*]] = math.tanh %[[X]]
// CHECK-NEXT: %[[KEPT_T:.*]] = gnn.saved %[[T]] {readers = ["mulf", "tanh"]}
// CHECK: %[[M:.*]] = gnn.gather %{{.*}}[%[[SRC]]]
// CHECK-NOT: gnn.saved
// CHECK: arith.mulf %{{.*}}, %[[KEPT_T]]
// CHECK: return

// CHOSEN-LABEL: func.func @f(
// CHOSEN-NOT: gnn.saved
// CHOSEN: math.tanh %{{.*}} {gnn.kept = "the derivatives of mulf and tanh read it"}
func.func @f(%g: !g, %x: !n, %w: !n, %y_adj: !n) -> (!n, !n) {
  %src = gnn.endpoint src %g nondiff : (!g) -> !ei
  %y, %t = gnn.vjp(%x, %w) {
  ^bb0(%X: !n, %W: !n):
    %th = math.tanh %X : !n
    %p = arith.mulf %th, %W : !n
    %m = gnn.gather %p[%src] dims [0] : (!n, !ei) -> !e
    %s = gnn.segment_reduce sum %m by [%src] at 0 dims [0] : (!e, !ei) -> !n
    gnn.yield %s : !n
  } : (!n, !n) -> (!n, !gnn.tape)
  %d:2 = gnn.back %t(%y_adj) : (!gnn.tape, !n) -> (!n, !n)
  return %d#0, %d#1 : !n, !n
}
