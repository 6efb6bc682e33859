// What loops and vectors groups of kernels become.
// RUN: gnnc-opt %s -split-input-file -pass-pipeline="builtin.module(func.func(gnn-form-kernels),cse,func.func(gnn-inline-maps),canonicalize,cse,func.func(gnn-group-kernels),cse,gnn-lower-entries,canonicalize,cse)" | FileCheck %s

// One sweep over a row's entries, in chunks of 64. Four entries of four heads fill a vector: their exponentials are
// computed together into the buffer beside the loop, and summed from there; then the features run over the chunk one
// entry at a time, in four accumulators, with rows fetched ahead. The four sums in a vector become one behind the loop.

// CHECK-LABEL: llvm.func internal @kernel0
// CHECK:       %[[BUFFER:.*]] = llvm.alloca %c272_i64 x f32
// CHECK:       scf.for %{{.*}} step %c1_i64
// CHECK:         %[[SUMS:.*]]:5 = scf.for %{{.*}} step %c64_i64 iter_args
// CHECK:           scf.for %{{.*}} step %c4_i64
// CHECK:             math.exp %{{.*}} : vector<16xf32>
// CHECK:           scf.for %{{.*}} step %c4_i64 iter_args({{.*}}) -> (vector<16xf32>)
// CHECK:             arith.addf {{.*}} : vector<16xf32>
// CHECK:           scf.for %{{.*}} step %c1_i64 iter_args
// CHECK-COUNT-4:     llvm.intr.prefetch
// CHECK-COUNT-4:     vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-COUNT-4:     arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:         vector.shuffle %[[SUMS]]#0, %[[SUMS]]#0 [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK:         vector.shuffle {{.*}} [0, 1, 2, 3] : vector<8xf32>
// CHECK:         llvm.store %{{.*}} : vector<4xf32>
!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?x4xf32, #gnn.dims<s1, 4>>
!n = tensor<?x4xf32, #gnn.dims<s0, 4>>
!ef = tensor<?x4x16xf32, #gnn.dims<s1, 4, 16>>
!nf = tensor<?x4x16xf32, #gnn.dims<s0, 4, 16>>
func.func @weighted(%g: !g {gnn.path = "g"}, %s: !e {gnn.path = "s"}, %x: !nf {gnn.path = "x"}) -> (!nf, !n) attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %w = math.exp %s : !e
  %z = gnn.segment_reduce sum %w by [%dst] at 0 dims [0] : (!e, !i) -> !n
  %wb = gnn.broadcast %w dims [0, 1] : (!e) -> !ef
  %xs = gnn.gather %x[%src] dims [0] : (!nf, !i) -> !ef
  %m = arith.mulf %wb, %xs : !ef
  %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %y, %z : !nf, !n
}

// -----

// Dot products of 16 entries are summed together: each step adds halves of two vectors, and the last one has a sum in
// each lane. The maximum of a row then takes 16 entries at once.

// CHECK-LABEL: llvm.func internal @kernel0
// CHECK:           scf.for %{{.*}} step %c16_i64
// CHECK-COUNT-16:    llvm.intr.prefetch
// CHECK:             vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK:             vector.shuffle {{.*}} [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
// CHECK:             vector.shuffle {{.*}} [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29]
// CHECK:             vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK-NOT:         vector.shuffle
// CHECK:             vector.shuffle {{.*}} [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-NOT:         vector.shuffle
// CHECK:           scf.for %{{.*}} step %c16_i64 iter_args
// CHECK:             arith.cmpf ugt
!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>
!n = tensor<?xf32, #gnn.dims<s0>>
func.func @dot(%g: !g {gnn.path = "g"}, %x: !nf {gnn.path = "x"}) -> (!n) attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %xs = gnn.gather %x[%src] dims [0] : (!nf, !i) -> !ef
  %xd = gnn.gather %x[%dst] dims [0] : (!nf, !i) -> !ef
  %m = arith.mulf %xd, %xs : !ef
  %w = gnn.reduce sum %m dims [1] : (!ef) -> !e
  %z:2 = gnn.segment_reduce max %w by [%dst] at 0 dims [0] : (!e, !i) -> (!n, tensor<?xi32, #gnn.dims<s0>>)
  return %z#0 : !n
}

// -----

// Ten features are a vector with a mask. The winner is the entry's number; it is replaced where the value is.

// CHECK-LABEL: llvm.func internal @kernel0
// CHECK:         scf.for {{.*}} -> (vector<16xf32>, vector<16xi32>)
// CHECK:           %[[X:.*]] = llvm.intr.masked.load
// CHECK:           %[[E:.*]] = vector.broadcast %{{.*}} : i32 to vector<16xi32>
// CHECK:           %[[MORE:.*]] = arith.andi %{{.*}} : vector<16xi1>
// CHECK:           arith.select %[[MORE]], %[[X]]
// CHECK:           arith.select %[[MORE]], %[[E]]
// CHECK:         llvm.intr.masked.store {{.*}} : vector<16xf32>
// CHECK:         llvm.intr.masked.store {{.*}} : vector<16xi32>
!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!e = tensor<?xf32, #gnn.dims<s1>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>
!n = tensor<?xf32, #gnn.dims<s0>>
func.func @winner(%g: !g {gnn.path = "g"}, %x: tensor<?x10xf32, #gnn.dims<s0, 10>> {gnn.path = "x"}) -> (tensor<?x10xf32, #gnn.dims<s0, 10>>, tensor<?x10xi32, #gnn.dims<s0, 10>>) attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %src = gnn.endpoint src %g nondiff : (!g) -> !i
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %xs = gnn.gather %x[%src] dims [0] : (tensor<?x10xf32, #gnn.dims<s0, 10>>, !i) -> tensor<?x10xf32, #gnn.dims<s1, 10>>
  %z:2 = gnn.segment_reduce max %xs by [%dst] at 0 dims [0] : (tensor<?x10xf32, #gnn.dims<s1, 10>>, !i) -> (tensor<?x10xf32, #gnn.dims<s0, 10>>, tensor<?x10xi32, #gnn.dims<s0, 10>>)
  return %z#0, %z#1 : tensor<?x10xf32, #gnn.dims<s0, 10>>, tensor<?x10xi32, #gnn.dims<s0, 10>>
}

// -----

// A second sweep that needs the first one's sum. All stages run at once (phase -1), or one by one where the row is cut:
// then a sweep stores into its slot, and the next phase reads what was combined in the row's first slot. Nobody else reads
// the sum, so that it has no memory but for those slots: of a whole row it lies beside the loop.

// CHECK-LABEL: llvm.func internal @kernel0
// CHECK-DAG:   %[[CUT:.*]] = arith.cmpi sge, %{{.*}}, %c0_i64
// CHECK-DAG:   %[[ALL:.*]] = arith.cmpi slt, %[[PHASE:.*]], %c0_i64
// CHECK:       %[[BESIDE:.*]] = llvm.alloca %c32_i64 x f32
// CHECK:       %[[SUM:.*]] = arith.select %[[ALL]], %[[BESIDE]], %{{.*}} : !llvm.ptr
// CHECK:       scf.for
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[PHASE]], %c0_i64
// CHECK:         %[[NOW:.*]] = arith.ori %[[ALL]], %[[FIRST]]
// CHECK:         scf.if %[[NOW]] {
// CHECK:           scf.for
// CHECK:           %[[TO:.*]] = arith.select %[[CUT]], %{{.*}}, %[[SUM]] : !llvm.ptr
// CHECK:           llvm.store {{.*}} : vector<16xf32>
// CHECK:         arith.cmpi eq, %[[PHASE]], %c1_i64
// CHECK:         scf.if
// CHECK:           llvm.load %[[SUM]] {{.*}} -> vector<16xf32>
// CHECK:           scf.for
// CHECK:             arith.subf
// CHECK:           llvm.store {{.*}} : vector<16xf32>
!g = !gnn.graph<s0 -> s0, s1>
!i = tensor<?xi32, #gnn.dims<s1>>
!ef = tensor<?x16xf32, #gnn.dims<s1, 16>>
!nf = tensor<?x16xf32, #gnn.dims<s0, 16>>
func.func @deviation(%g: !g {gnn.path = "g"}, %e: !ef {gnn.path = "e"}) -> !nf attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %dst = gnn.endpoint dst %g nondiff : (!g) -> !i
  %y = gnn.segment_reduce sum %e by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  %yd = gnn.gather %y[%dst] dims [0] : (!nf, !i) -> !ef
  %d = arith.subf %e, %yd : !ef
  %q = arith.mulf %d, %d : !ef
  %z = gnn.segment_reduce sum %q by [%dst] at 0 dims [0] : (!ef, !i) -> !nf
  return %z : !nf
}
