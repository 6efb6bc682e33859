// RUN: gnnc-opt %s -gnn-form-kernels -split-input-file -mlir-print-local-scope | FileCheck %s

// A message is gathered, weighted and summed: the gather and the broadcast are maps of the product's kernel, and the
// sum is a kernel over the edges into each node.

// CHECK-LABEL: func @propagate
// CHECK-SAME: %[[G:[a-z0-9]+]]: !gnn.graph<s0 -> s0, s1>, %[[X:[a-z0-9]+]]: tensor<?x16xf32, #gnn.dims<s0, 16>>, %[[W:[a-z0-9]+]]: tensor<?xf32, #gnn.dims<s1>>
// CHECK: %[[SRC:.*]] = gnn.endpoint src %[[G]]
// CHECK-NOT: gnn.gather
// CHECK-NOT: gnn.broadcast
// CHECK: %[[M:.*]] = "gnn.kernel"(%[[SRC]], %[[W]], %[[X]])
// CHECK-SAME: indexMaps = [affine_map<(d0, d1)[s0] -> (d0)>]
// CHECK-SAME: maps = [affine_map<(d0, d1)[s0] -> (d0)>, affine_map<(d0, d1)[s0] -> (s0, d1)>]
// CHECK: arith.mulf
// CHECK: %[[O:.*]] = gnn.order dst %[[G]]
// CHECK: "gnn.kernel"(%[[O]], %[[M]])
// CHECK-SAME: combines = [#gnn<combine sum>]
// CHECK-SAME: iterators = [#gnn<iterator parallel>, #gnn<iterator segment>, #gnn<iterator parallel>]
// CHECK-SAME: maps = [affine_map<(d0, d1, d2) -> (d1, d2)>]
// CHECK-SAME: resultMaps = [affine_map<(d0, d1, d2) -> (d0, d2)>]
func.func @propagate(%g: !gnn.graph<s0 -> s0, s1>, %x: tensor<?x16xf32, #gnn.dims<s0, 16>>, %w: tensor<?xf32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>> {
  %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %dst = gnn.endpoint dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %xs = gnn.gather %x[%src] dims [0] : (tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s1, 16>>
  %wb = gnn.broadcast %w dims [0] : (tensor<?xf32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s1, 16>>
  %m = arith.mulf %wb, %xs : tensor<?x16xf32, #gnn.dims<s1, 16>>
  %y = gnn.segment_reduce sum %m by [%dst] at 0 dims [0] : (tensor<?x16xf32, #gnn.dims<s1, 16>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
  return %y : tensor<?x16xf32, #gnn.dims<s0, 16>>
}

// -----

// The weights' gradient reads both operands as they are; the features' reads the weights transposed.

// CHECK-LABEL: func @products
// CHECK: gnn.gemm %{{.*}} transposed, %{{.*}} m <4> n <16> k <s0>
// CHECK: gnn.gemm %{{.*}}, %{{.*}} transposed m <s0> n <4> k <16>
func.func @products(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %w: tensor<4x2x8xf32, #gnn.dims<4, 2, 8>>, %g: tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>)
    -> (tensor<4x2x8xf32, #gnn.dims<4, 2, 8>>, tensor<?x4xf32, #gnn.dims<s0, 4>>) {
  %dw = gnn.contract %x [0, 1], %g [0, 2, 3] -> [1, 2, 3] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>) -> tensor<4x2x8xf32, #gnn.dims<4, 2, 8>>
  %dx = gnn.contract %g [0, 2, 3], %w [1, 2, 3] -> [0, 1] : (tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>, tensor<4x2x8xf32, #gnn.dims<4, 2, 8>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return %dw, %dx : tensor<4x2x8xf32, #gnn.dims<4, 2, 8>>, tensor<?x4xf32, #gnn.dims<s0, 4>>
}

// -----

// An operand whose dimensions stand in another order is brought into shape first; the sizes are those of the labels.

// CHECK-LABEL: func @bases
// CHECK: gnn.gemm %{{.*}}, %{{.*}} m <s0> n <16> k <4>
// CHECK-SAME: -> tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>
func.func @bases(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %w: tensor<2x4x8xf32, #gnn.dims<2, 4, 8>>) -> tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>> {
  %y = gnn.contract %x [0, 1], %w [2, 1, 3] -> [0, 2, 3] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<2x4x8xf32, #gnn.dims<2, 4, 8>>) -> tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>
  return %y : tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>
}

// -----

// A product with a label in all three (heads) is no plain product: a kernel.

// CHECK-LABEL: func @per_head
// CHECK-NOT: gnn.gemm
// CHECK: combines = [#gnn<combine sum>]
// CHECK-SAME: iterators = [#gnn<iterator parallel>, #gnn<iterator parallel>, #gnn<iterator reduction>]
func.func @per_head(%h: tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>, %a: tensor<2x8xf32, #gnn.dims<2, 8>>) -> tensor<?x2xf32, #gnn.dims<s0, 2>> {
  %s = gnn.contract %h [0, 1, 2], %a [1, 2] -> [0, 1] : (tensor<?x2x8xf32, #gnn.dims<s0, 2, 8>>, tensor<2x8xf32, #gnn.dims<2, 8>>) -> tensor<?x2xf32, #gnn.dims<s0, 2>>
  return %s : tensor<?x2xf32, #gnn.dims<s0, 2>>
}

// -----

// Parts are written into one tensor, each behind the one before.

// CHECK-LABEL: func @joined
// CHECK: %[[E:.*]] = gnn.empty
// CHECK: %[[A:.*]] = "gnn.kernel"(%{{.*}}, %[[E]])
// CHECK-SAME: resultMaps = [affine_map<(d0) -> (d0)>]
// CHECK: "gnn.kernel"(%{{.*}}, %[[A]])
// CHECK-SAME: offsets = #gnn.dims<s0>
// CHECK-SAME: resultMaps = [affine_map<(d0)[s0] -> (d0 + s0)>]
func.func @joined(%a: tensor<?xf32, #gnn.dims<s0>>, %b: tensor<?xf32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s0 + s1>> {
  %c = gnn.concat %a, %b dim 0 : (tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s0 + s1>>
  return %c : tensor<?xf32, #gnn.dims<s0 + s1>>
}

// -----

// A winner that nobody reads is not computed; one that is, together with the value.

// CHECK-LABEL: func @extremes
// CHECK: combines = [#gnn<combine max>, #gnn<combine argmax>]
// CHECK: combines = [#gnn<combine min>]
func.func @extremes(%g: !gnn.graph<s0 -> s0, s1>, %m: tensor<?xf32, #gnn.dims<s1>>) -> (tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s0>>) {
  %dst = gnn.endpoint dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %y, %w = gnn.segment_reduce max %m by [%dst] at 0 dims [0] : (tensor<?xf32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> (tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>)
  %z, %u = gnn.segment_reduce min %m by [%dst] at 0 dims [0] : (tensor<?xf32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> (tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>)
  return %y, %w, %z : tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s0>>
}

// -----

// What is returned twice, or is an argument, is copied: every result has memory of its own.

// CHECK-LABEL: func @returned
// CHECK: %[[N:.*]] = "gnn.kernel"
// CHECK: %[[C:.*]] = "gnn.kernel"(%[[N]])
// CHECK: %[[X:.*]] = "gnn.kernel"(%arg0)
// CHECK: return %[[N]], %[[C]], %[[X]]
func.func @returned(%x: tensor<?xf32, #gnn.dims<s0>>) -> (tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s0>>) {
  %n = arith.negf %x : tensor<?xf32, #gnn.dims<s0>>
  return %n, %n, %x : tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s0>>, tensor<?xf32, #gnn.dims<s0>>
}
