// What folds, and what must not: every rule is exact for NaN, infinities and empty dimensions.
// RUN: gnnc-opt %s -canonicalize -cse | FileCheck %s

!scalar = tensor<f32, #gnn.dims<>>
!vec = tensor<?xf32, #gnn.dims<s0>>
!mat = tensor<?x4xf32, #gnn.dims<s0, 4>>
!cube = tensor<?x?x4xf32, #gnn.dims<s0, s1, 4>>

// The encoding survives the folders of arith and math.
// CHECK-LABEL: func @constants
func.func @constants() -> !scalar {
  // CHECK-NEXT: %[[C:.*]] = arith.constant dense<9.000000e+00> : tensor<f32, #gnn.dims<>>
  // CHECK-NEXT: return %[[C]]
  %two = arith.constant dense<2.0> : !scalar
  %four = gnn.size <4> : !scalar
  %eight = arith.mulf %two, %four : !scalar
  %zero = arith.constant dense<0.0> : !scalar
  %one = math.exp %zero : !scalar
  %nine = arith.addf %eight, %one : !scalar
  return %nine : !scalar
}

// CHECK-LABEL: func @size_of_a_set
func.func @size_of_a_set() -> !scalar {
  // CHECK-NEXT: gnn.size <s0>
  %n = gnn.size <s0> : !scalar
  return %n : !scalar
}

// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, #gnn.dims<s0, 4>>)
func.func @identities(%x: !mat) -> !mat {
  // CHECK-NEXT: return %[[X]]
  %0 = gnn.broadcast %x dims [0, 1] : (!mat) -> !mat
  %1 = gnn.reshape %0 : (!mat) -> !mat
  %2 = gnn.transpose %1 perm [0, 1] : (!mat) -> !mat
  %3 = gnn.reduce sum %2 dims [] : (!mat) -> !mat
  %4 = gnn.slice %3 dim 0 from <0> step 1 : (!mat) -> !mat
  %5 = gnn.unslice %4 dim 1 from <0> step 1 : (!mat) -> !mat
  %6 = gnn.concat %5 dim 1 : (!mat) -> !mat
  %7 = gnn.logsumexp %6 dims [] : (!mat) -> !mat
  return %7 : !mat
}

// CHECK-LABEL: func @reversed
func.func @reversed(%x: !mat) -> !mat {
  // CHECK-NEXT: gnn.slice
  %0 = gnn.slice %x dim 0 from <s0 - 1> step -1 : (!mat) -> !mat
  return %0 : !mat
}

// CHECK-LABEL: func @composed
// CHECK-SAME: (%[[X:[^:]*]]: {{[^%]*}}, %[[C:[^:]*]]: {{[^%]*}})
func.func @composed(%x: !mat, %c: !cube) -> (!cube, tensor<4x?xf32, #gnn.dims<4, s0>>, !cube) {
  // CHECK-NEXT: %[[A:.*]] = gnn.broadcast %[[X]] dims [0, 2] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x?x4xf32, #gnn.dims<s0, s1, 4>>
  %0 = gnn.broadcast %x dims [0, 2] : (!mat) -> tensor<?x1x4xf32, #gnn.dims<s0, 1, 4>>
  %1 = gnn.broadcast %0 dims [0, 1, 2] : (tensor<?x1x4xf32, #gnn.dims<s0, 1, 4>>) -> !cube
  // CHECK-NEXT: %[[B:.*]] = gnn.reshape %[[X]] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<4x?xf32, #gnn.dims<4, s0>>
  %2 = gnn.reshape %x : (!mat) -> tensor<?xf32, #gnn.dims<4*s0>>
  %3 = gnn.reshape %2 : (tensor<?xf32, #gnn.dims<4*s0>>) -> tensor<4x?xf32, #gnn.dims<4, s0>>
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
  %4 = gnn.transpose %c perm [1, 2, 0] : (!cube) -> tensor<?x4x?xf32, #gnn.dims<s1, 4, s0>>
  %5 = gnn.transpose %4 perm [2, 0, 1] : (tensor<?x4x?xf32, #gnn.dims<s1, 4, s0>>) -> !cube
  return %1, %3, %5 : !cube, tensor<4x?xf32, #gnn.dims<4, s0>>, !cube
}

// CHECK-LABEL: func @selected_products
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, #gnn.dims<s0, 4>>)
func.func @selected_products(%x: !mat) -> (!mat, !mat, !mat, !mat) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
  // CHECK-DAG: %[[ZEROS:.*]] = gnn.broadcast %[[ZERO]] dims []
  %zero = arith.constant dense<0.0> : !scalar
  %one = arith.constant dense<1.0> : !scalar
  %zeros = gnn.broadcast %zero dims [] : (!scalar) -> !mat
  %ones = gnn.broadcast %one dims [] : (!scalar) -> !mat
  %0 = gnn.pmul %zeros, %x : !mat
  %1 = gnn.pmul %ones, %x : !mat
  %2 = gnn.pmul %x, %ones : !mat
  // x may be infinite: the product is then NaN.
  // CHECK: %[[P:.*]] = gnn.pmul %[[X]], %[[ZEROS]]
  %3 = gnn.pmul %x, %zeros : !mat
  // CHECK: return %[[ZEROS]], %[[X]], %[[X]], %[[P]]
  return %0, %1, %2, %3 : !mat, !mat, !mat, !mat
}

// CHECK-LABEL: func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, #gnn.dims<s0, 4>>)
func.func @neutral(%x: !mat) -> (!mat, !mat) {
  %one = arith.constant dense<1.0> : !scalar
  %zero = arith.constant dense<0.0> : !scalar
  %ones = gnn.broadcast %one dims [] : (!scalar) -> !mat
  %zeros = gnn.broadcast %zero dims [] : (!scalar) -> !mat
  %0 = arith.mulf %ones, %x : !mat
  %1 = arith.divf %0, %ones : !mat
  %2 = arith.subf %1, %zeros : !mat
  // -0 + 0 is 0, and 0 * inf is NaN: these stay.
  // CHECK: %[[SUM:.*]] = arith.addf %[[X]],
  %3 = arith.addf %x, %zeros : !mat
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %[[SUM]],
  %4 = arith.mulf %3, %zeros : !mat
  // CHECK: return %[[X]], %[[PRODUCT]]
  return %2, %4 : !mat, !mat
}

// CHECK-LABEL: func @elementwise_before_broadcast
// CHECK-SAME: (%[[X:[^:]*]]: {{[^%]*}}, %[[C:[^:]*]]: {{[^%]*}}, %[[F:.*]]: tensor<4xf32
func.func @elementwise_before_broadcast(%x: !vec, %c: !scalar, %f: tensor<4xf32, #gnn.dims<4>>) -> (!mat, !mat) {
  // CHECK: %[[CS:.*]] = gnn.broadcast %[[C]] dims [] : (tensor<f32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>>
  // CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[CS]] : tensor<?xf32, #gnn.dims<s0>>
  // CHECK: %[[S:.*]] = gnn.sigmoid %[[P]] : tensor<?xf32, #gnn.dims<s0>>
  // CHECK: %[[R:.*]] = gnn.broadcast %[[S]] dims [0] : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  %xs = gnn.broadcast %x dims [0] : (!vec) -> !mat
  %cs = gnn.broadcast %c dims [] : (!scalar) -> !mat
  %0 = arith.mulf %xs, %cs : !mat
  %1 = gnn.sigmoid %0 : !mat
  // Different dimensions: nothing is smaller than the result.
  // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<?x4xf32, #gnn.dims<s0, 4>>
  %fs = gnn.broadcast %f dims [1] : (tensor<4xf32, #gnn.dims<4>>) -> !mat
  %2 = arith.addf %xs, %fs : !mat
  return %1, %2 : !mat, !mat
}

// CHECK-LABEL: func @split_and_join
// CHECK-SAME: (%[[A:[^:]*]]: {{[^%]*}}, %[[B:[^:]*]]: {{[^%]*}}, %[[X:.*]]: tensor<?x?xf32
func.func @split_and_join(%a: !vec, %b: tensor<?xf32, #gnn.dims<s1>>, %x: tensor<?x?xf32, #gnn.dims<s0, s1 + 4>>)
    -> (tensor<?xf32, #gnn.dims<s1>>, tensor<?x?xf32, #gnn.dims<s0, s1 + 4>>) {
  // CHECK-NEXT: return %[[B]], %[[X]]
  %joined = gnn.concat %a, %b dim 0 : (!vec, tensor<?xf32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s0 + s1>>
  %second = gnn.slice %joined dim 0 from <s0> step 1 : (tensor<?xf32, #gnn.dims<s0 + s1>>) -> tensor<?xf32, #gnn.dims<s1>>
  %left = gnn.slice %x dim 1 from <0> step 1 : (tensor<?x?xf32, #gnn.dims<s0, s1 + 4>>) -> !mat
  %right = gnn.slice %x dim 1 from <4> step 1 : (tensor<?x?xf32, #gnn.dims<s0, s1 + 4>>) -> tensor<?x?xf32, #gnn.dims<s0, s1>>
  %whole = gnn.concat %left, %right dim 1 : (!mat, tensor<?x?xf32, #gnn.dims<s0, s1>>) -> tensor<?x?xf32, #gnn.dims<s0, s1 + 4>>
  return %second, %whole : tensor<?xf32, #gnn.dims<s1>>, tensor<?x?xf32, #gnn.dims<s0, s1 + 4>>
}

// CHECK-LABEL: func @gathered_splat
func.func @gathered_splat(%c: !scalar, %g: !gnn.graph<s0 -> s0, s1>, %i: tensor<?xi32, #gnn.dims<s1>>)
    -> (tensor<?xf32, #gnn.dims<s1>>, tensor<?xf32, #gnn.dims<s1>>) {
  // CHECK-DAG: %[[ALL:.*]] = gnn.broadcast %{{.*}} dims [] : (tensor<f32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s1>>
  // An index that may be none gives 0, not c.
  // CHECK-DAG: %[[SOME:.*]] = gnn.gather
  // CHECK: return %[[ALL]], %[[SOME]]
  %cs = gnn.broadcast %c dims [] : (!scalar) -> !vec
  %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %0 = gnn.gather %cs[%src] dims [0] : (!vec, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s1>>
  %1 = gnn.gather %cs[%i] dims [0] : (!vec, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?xf32, #gnn.dims<s1>>
  return %0, %1 : tensor<?xf32, #gnn.dims<s1>>, tensor<?xf32, #gnn.dims<s1>>
}

// CHECK-LABEL: func @reduced_broadcast
func.func @reduced_broadcast(%x: !vec) -> !vec {
  // A sum of copies rounds differently from a product, and the dimension may be empty.
  // CHECK: gnn.reduce sum
  %0 = gnn.broadcast %x dims [0] : (!vec) -> tensor<?x?xf32, #gnn.dims<s0, s1>>
  %1 = gnn.reduce sum %0 dims [1] : (tensor<?x?xf32, #gnn.dims<s0, s1>>) -> !vec
  return %1 : !vec
}

// Constants stay inside of a kernel.
// CHECK-LABEL: func @kernel_constants
func.func @kernel_constants(%x: !vec) -> !vec {
  // CHECK-NEXT: "gnn.kernel"
  // CHECK: %[[SIX:.*]] = arith.constant 6.000000e+00 : f32
  // CHECK: arith.mulf %{{.*}}, %[[SIX]]
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "scale", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %six = arith.mulf %two, %three : f32
    %b = arith.mulf %a, %six : f32
    gnn.yield %b : f32
  }) : (!vec) -> !vec
  return %y : !vec
}

// Two buffers of one type stay two.
// CHECK-LABEL: func @buffers
func.func @buffers() -> (!vec, !vec) {
  // CHECK: %[[A:.*]] = gnn.empty
  // CHECK: %[[B:.*]] = gnn.empty
  // CHECK: return %[[A]], %[[B]]
  %a = gnn.empty : !vec
  %b = gnn.empty : !vec
  %unused = gnn.empty : !vec
  return %a, %b : !vec, !vec
}
