// What loops and accesses a kernel becomes.
// RUN: gnnc-opt %s --gnn-lower-entries --canonicalize --cse --split-input-file | FileCheck %s

// A sum over in-edges of 64 features: four accumulators in registers, the entry loop inside, rows fetched ahead.

// CHECK-LABEL: llvm.func internal @kernel0.sum(
// CHECK-SAME:    %[[ARGS:.*]]: !llvm.ptr, %[[TASK:.*]]: !llvm.ptr)
// CHECK:       %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:       scf.for %[[ROW:.*]] = {{.*}} to {{.*}} step
// CHECK:         %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = {{.*}} iter_args(%{{.*}} = %[[ZERO]], %{{.*}} = %[[ZERO]], %{{.*}} = %[[ZERO]], %{{.*}} = %[[ZERO]])
// CHECK-COUNT-4:   llvm.intr.prefetch
// CHECK:           llvm.load {{.*}} -> vector<16xf32>
// CHECK:           arith.addf {{.*}} : vector<16xf32>
// CHECK:         llvm.store %[[SUMS]]#0, {{.*}} : vector<16xf32>
// CHECK:         llvm.store %[[SUMS]]#3, {{.*}} : vector<16xf32>
func.func @sum64(%g: !gnn.graph<s0 -> s0, s1> {gnn.path = "g"}, %x: tensor<?x64xf32, #gnn.dims<s0, 64>> {gnn.path = "x"})
    -> tensor<?x64xf32, #gnn.dims<s0, 64>> attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %o = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %y = "gnn.kernel"(%o, %src, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>,
      iterators = [#gnn<iterator parallel>, #gnn<iterator segment>, #gnn<iterator parallel>], space = #gnn.dims<s0, s1, 64>,
      offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e, f) -> (e)>], maps = [affine_map<(v, e, f)[s] -> (s, f)>],
      resultMaps = [affine_map<(v, e, f) -> (v, f)>], combines = [#gnn<combine sum>], maybeNone = array<i1: false>,
      label = "sum"}> ({
  ^bb0(%a: f32, %i: i32, %v: index, %e: index, %f: index):
    gnn.yield %a : f32
  }) : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>, tensor<?x64xf32, #gnn.dims<s0, 64>>) -> tensor<?x64xf32, #gnn.dims<s0, 64>>
  return %y : tensor<?x64xf32, #gnn.dims<s0, 64>>
}

// -----

// Iterators that all accesses walk as one are one: an elementwise kernel is a flat loop with a masked end, whatever the rank.

// CHECK-LABEL: llvm.func internal @kernel0.scale(
// CHECK:       scf.for
// CHECK-NOT:     scf.for
// CHECK:         llvm.load {{.*}} -> vector<8xf64>
// CHECK:         arith.mulf {{.*}} : vector<8xf64>
// CHECK:         llvm.store
// CHECK:       scf.for
// CHECK:         llvm.intr.masked.load
// CHECK:         llvm.intr.masked.store
func.func @scale(%x: tensor<?x?x4xf64, #gnn.dims<s0, s1, 4>> {gnn.path = "x"}) -> tensor<?x?x4xf64, #gnn.dims<s0, s1, 4>>
    attributes {gnn.entry, gnn.set_names = ["n", "F"]} {
  %y = "gnn.kernel"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>,
      iterators = [#gnn<iterator parallel>, #gnn<iterator parallel>, #gnn<iterator parallel>], space = #gnn.dims<s0, s1, 4>,
      offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(a, b, c) -> (a, b, c)>],
      resultMaps = [affine_map<(a, b, c) -> (a, b, c)>], combines = [#gnn<combine none>], maybeNone = array<i1>,
      label = "scale"}> ({
  ^bb0(%a: f64, %i: index, %j: index, %k: index):
    %two = arith.constant 2.0 : f64
    %r = arith.mulf %a, %two : f64
    gnn.yield %r : f64
  }) : (tensor<?x?x4xf64, #gnn.dims<s0, s1, 4>>) -> tensor<?x?x4xf64, #gnn.dims<s0, s1, 4>>
  return %y : tensor<?x?x4xf64, #gnn.dims<s0, s1, 4>>
}

// -----

// 24 features are a vector of 16 and one of 8. A long reduction in front is cut: its loop runs over the task's entries.

// CHECK-LABEL: llvm.func internal @kernel0.bias(
// CHECK:       %[[TASK:.*]] = llvm.getelementptr %arg1[2]
// CHECK:       %[[BEGIN:.*]] = llvm.load
// CHECK:       scf.for {{.*}} = %[[BEGIN]] to {{.*}} -> (vector<16xf32>, vector<8xf32>)
// CHECK:       llvm.store {{.*}} : vector<16xf32>
// CHECK:       llvm.store {{.*}} : vector<8xf32>
func.func @bias(%x: tensor<?x24xf32, #gnn.dims<s0, 24>> {gnn.path = "x"}) -> tensor<24xf32, #gnn.dims<24>>
    attributes {gnn.entry, gnn.set_names = ["n"]} {
  %y = "gnn.kernel"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>,
      iterators = [#gnn<iterator reduction>, #gnn<iterator parallel>], space = #gnn.dims<s0, 24>,
      offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(n, f) -> (n, f)>],
      resultMaps = [affine_map<(n, f) -> (f)>], combines = [#gnn<combine sum>], maybeNone = array<i1>, label = "bias"}> ({
  ^bb0(%a: f32, %i: index, %j: index):
    gnn.yield %a : f32
  }) : (tensor<?x24xf32, #gnn.dims<s0, 24>>) -> tensor<24xf32, #gnn.dims<24>>
  return %y : tensor<24xf32, #gnn.dims<24>>
}

// -----

// An index that may be none reads from a block of zeros instead, without touching the operand.

// CHECK:       llvm.mlir.global internal constant @gnnc_zeros
// CHECK-LABEL: llvm.func internal @kernel0.gather(
// CHECK:       %[[ZEROS:.*]] = llvm.mlir.addressof @gnnc_zeros
// CHECK:       %[[INDEX:.*]] = llvm.load {{.*}} -> i32
// CHECK:       %[[THERE:.*]] = arith.cmpi sge, %[[INDEX]]
// CHECK:       %[[PLACE:.*]] = arith.select %[[THERE]], {{.*}}, %[[ZEROS]] : !llvm.ptr
// CHECK:       llvm.load %[[PLACE]] {{.*}} -> vector<8xf32>
func.func @gather(%x: tensor<?x8xf32, #gnn.dims<s0, 8>> {gnn.path = "x"}, %i: tensor<?xi32, #gnn.dims<s1>> {gnn.path = "i", gnn.dtype = "index"})
    -> tensor<?x8xf32, #gnn.dims<s1, 8>> attributes {gnn.entry, gnn.set_names = ["n", "m"]} {
  %y = "gnn.kernel"(%i, %x) <{operandSegmentSizes = array<i32: 0, 1, 1, 0>,
      iterators = [#gnn<iterator parallel>, #gnn<iterator parallel>], space = #gnn.dims<s1, 8>,
      offsets = #gnn.dims<>, indexMaps = [affine_map<(m, f) -> (m)>], maps = [affine_map<(m, f)[i] -> (i, f)>],
      resultMaps = [affine_map<(m, f) -> (m, f)>], combines = [#gnn<combine none>], maybeNone = array<i1: true>, label = "gather"}> ({
  ^bb0(%a: f32, %k: i32, %m: index, %f: index):
    gnn.yield %a : f32
  }) : (tensor<?xi32, #gnn.dims<s1>>, tensor<?x8xf32, #gnn.dims<s0, 8>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
  return %y : tensor<?x8xf32, #gnn.dims<s1, 8>>
}

// -----

// Kernels that need the same code share it, though they are over other sets.

// CHECK:     llvm.func internal @kernel0.double(
// CHECK-NOT: llvm.func internal @kernel1
func.func @shared(%x: tensor<?xf32, #gnn.dims<s0>> {gnn.path = "x"}, %y: tensor<?xf32, #gnn.dims<s1>> {gnn.path = "y"})
    -> (tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s1>>) attributes {gnn.entry, gnn.set_names = ["n", "m"]} {
  %a = "gnn.kernel"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>, iterators = [#gnn<iterator parallel>],
      space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(a) -> (a)>],
      resultMaps = [affine_map<(a) -> (a)>], combines = [#gnn<combine none>], maybeNone = array<i1>, label = "double"}> ({
  ^bb0(%v: f32, %i: index):
    %r = arith.addf %v, %v : f32
    gnn.yield %r : f32
  }) : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
  %b = "gnn.kernel"(%y) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>, iterators = [#gnn<iterator parallel>],
      space = #gnn.dims<s1>, offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(a) -> (a)>],
      resultMaps = [affine_map<(a) -> (a)>], combines = [#gnn<combine none>], maybeNone = array<i1>, label = "double"}> ({
  ^bb0(%v: f32, %i: index):
    %r = arith.addf %v, %v : f32
    gnn.yield %r : f32
  }) : (tensor<?xf32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s1>>
  return %a, %b : tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s1>>
}
