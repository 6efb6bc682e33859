// Every op of the dialect in its text form, read and printed again.
// RUN: gnnc-opt %s | gnnc-opt | FileCheck %s
// RUN: gnnc-opt %s -mlir-print-op-generic | gnnc-opt | FileCheck %s

// CHECK-LABEL: func @structure
// CHECK-SAME: !gnn.graph<s0 -> s0, s1>
func.func @structure(%g: !gnn.graph<s0 -> s0, s1>) {
  // CHECK: %[[SRC:.*]] = gnn.endpoint src %{{.*}} nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  // CHECK: gnn.degree dst %{{.*}} nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s0>>
  %degree = gnn.degree dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s0>>
  // CHECK: gnn.derive add_self_loops of %{{.*}} nondiff : (!gnn.graph<s0 -> s0, s1>) -> (!gnn.graph<s0 -> s0, s0 + s1>, tensor<?xi32, #gnn.dims<s0 + s1>>)
  %h, %old = gnn.derive add_self_loops of %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> (!gnn.graph<s0 -> s0, s0 + s1>, tensor<?xi32, #gnn.dims<s0 + s1>>)
  // CHECK: gnn.derive coalesce of %{{.*}} nondiff : (!gnn.graph<s0 -> s0, s1>) -> (!gnn.graph<s0 -> s0, s7>, tensor<?xi32, #gnn.dims<s1>>)
  %merged, %new = gnn.derive coalesce of %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> (!gnn.graph<s0 -> s0, s7>, tensor<?xi32, #gnn.dims<s1>>)
  // CHECK: gnn.derive edges with %[[SRC]], %[[SRC]] nondiff : (tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> !gnn.graph<s0 -> s0, s1>
  %made = gnn.derive edges with %src, %src nondiff : (tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> !gnn.graph<s0 -> s0, s1>
  // CHECK: gnn.search edge_ids of %{{.*}} with %[[SRC]], %[[SRC]] nondiff
  %ids = gnn.search edge_ids of %g with %src, %src nondiff : (!gnn.graph<s0 -> s0, s1>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?xi32, #gnn.dims<s1>>
  // CHECK: gnn.order dst %{{.*}} nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  %in = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  // CHECK: gnn.order_by %[[SRC]] nondiff : (tensor<?xi32, #gnn.dims<s1>>) -> !gnn.order<s0, s1>
  %by = gnn.order_by %src nondiff : (tensor<?xi32, #gnn.dims<s1>>) -> !gnn.order<s0, s1>
  return
}

// CHECK-LABEL: func @messages
func.func @messages(%x: tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>, %m: tensor<?x8xf32, #gnn.dims<s1, 8>>,
                    %i: tensor<?xi32, #gnn.dims<s1>>, %j: tensor<?xi32, #gnn.dims<s1>>, %c: tensor<f32, #gnn.dims<>>) {
  // CHECK: gnn.gather %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] fill %{{.*}} : (tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>, tensor<f32, #gnn.dims<>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
  %pair = gnn.gather %x[%i, %j] dims [0, 1] fill %c : (tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>, tensor<f32, #gnn.dims<>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
  // CHECK: gnn.gather %{{.*}}[%{{.*}}] dims [1] : (tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x?x8xf32, #gnn.dims<s0, s1, 8>>
  %one = gnn.gather %x[%i] dims [1] : (tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x?x8xf32, #gnn.dims<s0, s1, 8>>
  // CHECK: gnn.segment_reduce sum %{{.*}} by [%{{.*}}, %{{.*}}] at 0 dims [0, 1] : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>
  %sum = gnn.segment_reduce sum %m by [%i, %j] at 0 dims [0, 1] : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x?x8xf32, #gnn.dims<s0, s2, 8>>
  // CHECK: gnn.segment_reduce max %{{.*}} by [%{{.*}}] at 0 dims [0] tags %{{.*}} :
  %top, %tag = gnn.segment_reduce max %m by [%i] at 0 dims [0] tags %j : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xi32, #gnn.dims<s0, 8>>)
  // CHECK: gnn.share %{{.*}} of %{{.*}} among %{{.*}} by %{{.*}} :
  %shares = gnn.share %top of %top among %m by %i : (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
  // CHECK: %[[SENT:.*]] = gnn.share_sum %{{.*}} of %{{.*}} among %{{.*}} by %{{.*}} into %{{.*}} tagged %{{.*}} :
  %sent = gnn.share_sum %top of %top among %m by %i into %j tagged %tag : (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?x8xi32, #gnn.dims<s0, 8>>) -> tensor<?x8xf32, #gnn.dims<s2, 8>>
  // CHECK: gnn.share_sum {{.*}} plus %[[SENT]] :
  %more = gnn.share_sum %top of %top among %m by %i into %j tagged %tag plus %sent : (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?x8xi32, #gnn.dims<s0, 8>>, tensor<?x8xf32, #gnn.dims<s2, 8>>) -> tensor<?x8xf32, #gnn.dims<s2, 8>>
  // CHECK: %[[MAX:.*]], %[[WINNER:.*]] = gnn.segment_reduce max %{{.*}} by [%{{.*}}] at 0 dims [0] empty %{{.*}} : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<f32, #gnn.dims<>>) -> (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xi32, #gnn.dims<s0, 8>>)
  %max, %winner = gnn.segment_reduce max %m by [%i] at 0 dims [0] empty %c : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>, tensor<f32, #gnn.dims<>>) -> (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<?x8xi32, #gnn.dims<s0, 8>>)
  // CHECK: gnn.segment_softmax %{{.*}} by %{{.*}} into <s0> :
  %softmax = gnn.segment_softmax %m by %i into <s0> : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
  // CHECK: gnn.segment_logsumexp %{{.*}} by %{{.*}} :
  %lse = gnn.segment_logsumexp %m by %i : (tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  return
}

// CHECK-LABEL: func @reductions
func.func @reductions(%x: tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>, %w: tensor<8x3xf64, #gnn.dims<8, 3>>) {
  // CHECK: gnn.reduce prod %{{.*}} dims [0, 2] : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>) -> tensor<4xf64, #gnn.dims<4>>
  %prod = gnn.reduce prod %x dims [0, 2] : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>) -> tensor<4xf64, #gnn.dims<4>>
  // CHECK: gnn.arg_reduce min %{{.*}} dim 1 nondiff : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>) -> tensor<?x8xi32, #gnn.dims<s0, 8>>
  %min = gnn.arg_reduce min %x dim 1 nondiff : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>) -> tensor<?x8xi32, #gnn.dims<s0, 8>>
  // CHECK: gnn.softmax %{{.*}} dims [2] :
  %softmax = gnn.softmax %x dims [2] : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>) -> tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>
  // CHECK: gnn.logsumexp %{{.*}} dims [1, 2] :
  %lse = gnn.logsumexp %x dims [1, 2] : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>) -> tensor<?xf64, #gnn.dims<s0>>
  // CHECK: gnn.contract %{{.*}} [0, 1, 2], %{{.*}} [2, 3] -> [0, 1, 3] :
  %product = gnn.contract %x [0, 1, 2], %w [2, 3] -> [0, 1, 3] : (tensor<?x4x8xf64, #gnn.dims<s0, 4, 8>>, tensor<8x3xf64, #gnn.dims<8, 3>>) -> tensor<?x4x3xf64, #gnn.dims<s0, 4, 3>>
  return
}

// CHECK-LABEL: func @shapes
func.func @shapes(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %i: tensor<i32, #gnn.dims<>>) {
  // CHECK: gnn.broadcast %{{.*}} dims [0, 2] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x?x4xf32, #gnn.dims<s0, 2*s1 + 1, 4>>
  %broadcast = gnn.broadcast %x dims [0, 2] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x?x4xf32, #gnn.dims<s0, 2*s1 + 1, 4>>
  // CHECK: gnn.reshape %{{.*}} : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?xf32, #gnn.dims<4*s0>>
  %reshape = gnn.reshape %x : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?xf32, #gnn.dims<4*s0>>
  // CHECK: gnn.transpose %{{.*}} perm [1, 0] :
  %transpose = gnn.transpose %x perm [1, 0] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<4x?xf32, #gnn.dims<4, s0>>
  // CHECK: gnn.slice %{{.*}} dim 0 from <s0 - 1> step -1 :
  %slice = gnn.slice %x dim 0 from <s0 - 1> step -1 : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  // CHECK: gnn.unslice %{{.*}} dim 1 from <1> step 2 :
  %unslice = gnn.unslice %x dim 1 from <1> step 2 : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  // CHECK: gnn.select_index %{{.*}}[%{{.*}}] dim 0 :
  %row = gnn.select_index %x[%i] dim 0 : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<i32, #gnn.dims<>>) -> tensor<4xf32, #gnn.dims<4>>
  // CHECK: gnn.concat %{{.*}}, %{{.*}} dim 1 :
  %concat = gnn.concat %x, %x dim 1 : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  // CHECK: gnn.iota 0 nondiff : tensor<?x2xi32, #gnn.dims<s0, 2>>
  %iota = gnn.iota 0 nondiff : tensor<?x2xi32, #gnn.dims<s0, 2>>
  // CHECK: gnn.size <ceildiv(s0, 4)> : tensor<i64, #gnn.dims<>>
  %size = gnn.size <ceildiv(s0, 4)> : tensor<i64, #gnn.dims<>>
  return
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<?xf32, #gnn.dims<s0>>, %v: vector<8xf64>, %key: tensor<i64, #gnn.dims<>>) {
  // CHECK: gnn.sigmoid %{{.*}} : tensor<?xf32, #gnn.dims<s0>>
  %sigmoid = gnn.sigmoid %x : tensor<?xf32, #gnn.dims<s0>>
  // CHECK: gnn.softplus %{{.*}} : vector<8xf64>
  %softplus = gnn.softplus %v : vector<8xf64>
  // CHECK: gnn.pmul %{{.*}}, %{{.*}} : tensor<?xf32, #gnn.dims<s0>>
  %pmul = gnn.pmul %x, %sigmoid : tensor<?xf32, #gnn.dims<s0>>
  // CHECK: gnn.no_rule %{{.*}} : tensor<?xf32, #gnn.dims<s0>>
  %no_rule = gnn.no_rule %x : tensor<?xf32, #gnn.dims<s0>>
  // CHECK: %[[KEY:.*]] = gnn.fold_key
  %next = gnn.fold_key %key, %key : (tensor<i64, #gnn.dims<>>, tensor<i64, #gnn.dims<>>) -> tensor<i64, #gnn.dims<>>
  // CHECK: gnn.uniform %[[KEY]] nondiff : (tensor<i64, #gnn.dims<>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  %uniform = gnn.uniform %next nondiff : (tensor<i64, #gnn.dims<>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// CHECK-LABEL: func @derivatives
func.func @derivatives(%x: tensor<?xf32, #gnn.dims<s0>>, %seed: tensor<f32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>> {
  // CHECK: %[[VALUE:.*]], %[[TAPE:.*]] = gnn.vjp(%{{.*}}) {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<?xf32, #gnn.dims<s0>>):
  %y, %tape = gnn.vjp(%x) {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
    // CHECK: gnn.nondiff %[[X]] : tensor<?xf32, #gnn.dims<s0>>
    %held = gnn.nondiff %a : tensor<?xf32, #gnn.dims<s0>>
    %b = arith.mulf %a, %held : tensor<?xf32, #gnn.dims<s0>>
    %sum = gnn.reduce sum %b dims [0] : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<f32, #gnn.dims<>>
    // CHECK: gnn.yield %{{.*}} : tensor<f32, #gnn.dims<>>
    gnn.yield %sum : tensor<f32, #gnn.dims<>>
  } : (tensor<?xf32, #gnn.dims<s0>>) -> (tensor<f32, #gnn.dims<>>, !gnn.tape)
  // CHECK: gnn.back %[[TAPE]](%{{.*}}) : (!gnn.tape, tensor<f32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>>
  %x_adj = gnn.back %tape(%seed) : (!gnn.tape, tensor<f32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>>
  // CHECK: gnn.saved %{{.*}} : tensor<?xf32, #gnn.dims<s0>>
  %saved = gnn.saved %x_adj : tensor<?xf32, #gnn.dims<s0>>
  return %saved : tensor<?xf32, #gnn.dims<s0>>
}

// CHECK-LABEL: func @kernels
func.func @kernels(%order: !gnn.order<s0, s1>, %src: tensor<?xi32, #gnn.dims<s1>>, %x: tensor<?x8xf32, #gnn.dims<s0, 8>>,
                   %w: tensor<8x4xf32, #gnn.dims<8, 4>>, %t: tensor<i32, #gnn.dims<>>, %key: vector<8xi64>) {
  // CHECK: "gnn.kernel"
  %y = "gnn.kernel"(%order, %src, %x) <{
    iterators = [#gnn<iterator parallel>, #gnn<iterator segment>, #gnn<iterator parallel>], space = #gnn.dims<s0, s1, 8>,
    offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e, f) -> (e)>], maps = [affine_map<(v, e, f)[i] -> (i, f)>],
    resultMaps = [affine_map<(v, e, f) -> (v, f)>], combines = [#gnn<combine sum>], maybeNone = array<i1: false>,
    label = "sum over in-edges", operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%a: f32, %i: i32, %v: index, %e: index, %f: index):
    // CHECK: gnn.yield %{{.*}} : f32
    gnn.yield %a : f32
  }) : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>, tensor<?x8xf32, #gnn.dims<s0, 8>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  // CHECK: gnn.check_index %{{.*}} below <s0>, "x[t]" : tensor<i32, #gnn.dims<>> -> tensor<i32, #gnn.dims<>>
  %checked = gnn.check_index %t below <s0>, "x[t]" : tensor<i32, #gnn.dims<>> -> tensor<i32, #gnn.dims<>>
  // CHECK: gnn.random_bits %{{.*}}, %{{.*}} word 3 : (vector<8xi64>, vector<8xi64>) -> vector<8xi32>
  %bits = gnn.random_bits %key, %key word 3 : (vector<8xi64>, vector<8xi64>) -> vector<8xi32>
  // CHECK: gnn.empty : tensor<?x4xf32, #gnn.dims<s0, 4>>
  %empty = gnn.empty : tensor<?x4xf32, #gnn.dims<s0, 4>>
  // CHECK: gnn.gemm %{{.*}}, %{{.*}} m <s0> n <4> k <8> :
  %product = gnn.gemm %x, %w m <s0> n <4> k <8> : (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<8x4xf32, #gnn.dims<8, 4>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// CHECK-LABEL: @rules
func.func @rules(%x: tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>> {
  // CHECK: gnn.custom_rule(%{{.*}}) {
  // CHECK: } rule {
  %y = gnn.custom_rule(%x) {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
    %b = gnn.extern_call "lookup"(%a) : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
    gnn.yield %b : tensor<?xf32, #gnn.dims<s0>>
  } rule {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>, %b_adj: tensor<?xf32, #gnn.dims<s0>>):
    gnn.yield %b_adj : tensor<?xf32, #gnn.dims<s0>>
  } : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
  // CHECK: gnn.custom_rule forward(%{{.*}}) {
  %z = gnn.custom_rule forward(%y) {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
    gnn.yield %a : tensor<?xf32, #gnn.dims<s0>>
  } rule {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>, %a_tan: tensor<?xf32, #gnn.dims<s0>>):
    gnn.yield %a_tan : tensor<?xf32, #gnn.dims<s0>>
  } : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
  return %z : tensor<?xf32, #gnn.dims<s0>>
}
