// What the verifiers refuse, with the whole message.
// RUN: gnnc-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{the tensor has 2 dimensions, but #gnn.dims names 1}}
func.func private @rank(tensor<?x4xf32, #gnn.dims<s0>>)

// -----

// expected-error@+1 {{dimension 1 has the constant size 8, so the shape has to say 8 too}}
func.func private @constant_is_static(tensor<?x4xf32, #gnn.dims<s0, 8>>)

// -----

// expected-error@+1 {{dimension 0 has the size s0, which is not a constant, so the shape has to say '?'}}
func.func private @set_is_dynamic(tensor<3xf32, #gnn.dims<s0>>)

// -----

// expected-error@+1 {{dimension 0 has the negative size -1}}
func.func private @negative(tensor<?xf32, #gnn.dims<s0 - s0 - 1>>)

// -----

// expected-error@+1 {{expected a set id such as s0}}
func.func private @unknown_set(tensor<?xf32, #gnn.dims<n>>)

// -----

// expected-error@+1 {{a ceildiv needs a positive divisor}}
func.func private @division_by_zero(tensor<?xf32, #gnn.dims<ceildiv(s0, 0)>>)

// -----

func.func @unnamed(%x: tensor<?xf32>) {
  // expected-error@+1 {{'gnn.reshape' op operand #0 is 'tensor<?xf32>', whose dimensions have no names: add #gnn.dims<...>}}
  %0 = gnn.reshape %x : (tensor<?xf32>) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @endpoint(%g: !gnn.graph<s0 -> s1, s2>) {
  // expected-error@+1 {{'gnn.endpoint' op the result has sizes <s0>, but should have <s2>}}
  %0 = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s1, s2>) -> tensor<?xi32, #gnn.dims<s0>>
  return
}

// -----

func.func @degree(%g: !gnn.graph<s0 -> s1, s2>) {
  // expected-error@+1 {{'gnn.degree' op the result has sizes <s0>, but should have <s1>}}
  %0 = gnn.degree dst %g nondiff : (!gnn.graph<s0 -> s1, s2>) -> tensor<?xi32, #gnn.dims<s0>>
  return
}

// -----

func.func @bipartite_loops(%g: !gnn.graph<s0 -> s1, s2>) {
  // expected-error@+1 {{'gnn.derive' op a graph from s0 to s1 has no self loops or paths: both ends of its edges have to be the same set}}
  %0, %old = gnn.derive add_self_loops of %g nondiff : (!gnn.graph<s0 -> s1, s2>) -> (!gnn.graph<s0 -> s1, s3>, tensor<?xi32, #gnn.dims<s3>>)
  return
}

// -----

func.func @derived_of_nothing() {
  // expected-error@+1 {{'gnn.derive' op needs a graph that it is made of}}
  %0, %old = gnn.derive symmetrize nondiff : () -> (!gnn.graph<s0 -> s0, s3>, tensor<?xi32, #gnn.dims<s3>>)
  return
}

// -----

func.func @derived_without_mask(%g: !gnn.graph<s0 -> s0, s2>) {
  // expected-error@+1 {{'gnn.derive' op has 0 operands beside the graph, but needs 1}}
  %0, %old = gnn.derive filter of %g nondiff : (!gnn.graph<s0 -> s0, s2>) -> (!gnn.graph<s0 -> s0, s3>, tensor<?xi32, #gnn.dims<s3>>)
  return
}

// -----

func.func @derived_without_map(%g: !gnn.graph<s0 -> s0, s2>) {
  // expected-error@+1 {{'gnn.derive' op has 0 maps, but should have 1}}
  %0 = gnn.derive symmetrize of %g nondiff : (!gnn.graph<s0 -> s0, s2>) -> !gnn.graph<s0 -> s0, s3>
  return
}

// -----

func.func @derived_with_old_map(%g: !gnn.graph<s0 -> s0, s2>) {
  // expected-error@+1 {{'gnn.derive' op map 0 is over s2, but should be over s3}}
  %0, %old = gnn.derive symmetrize of %g nondiff : (!gnn.graph<s0 -> s0, s2>) -> (!gnn.graph<s0 -> s0, s3>, tensor<?xi32, #gnn.dims<s2>>)
  return
}

// -----

func.func @derived_with_other_nodes(%g: !gnn.graph<s0 -> s0, s2>) {
  // expected-error@+1 {{'gnn.derive' op the nodes stay the same: the result should be a graph from s0 to s0}}
  %0, %old = gnn.derive symmetrize of %g nondiff : (!gnn.graph<s0 -> s0, s2>) -> (!gnn.graph<s1 -> s1, s3>, tensor<?xi32, #gnn.dims<s3>>)
  return
}

// -----

func.func @search_without_graph(%u: tensor<?xi32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.search' op needs a graph}}
  %0 = gnn.search edge_ids with %u, %u nondiff : (tensor<?xi32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>) -> tensor<?xi32, #gnn.dims<s0>>
  return
}

// -----

func.func @old_edges(%g: !gnn.graph<s0 -> s0, s2>) {
  // expected-error@+1 {{'gnn.derive' op map 0 is over s2, but should be over s3}}
  %0, %old = gnn.derive add_self_loops of %g nondiff : (!gnn.graph<s0 -> s0, s2>) -> (!gnn.graph<s0 -> s0, s3>, tensor<?xi32, #gnn.dims<s2>>)
  return
}

// -----

func.func @order(%g: !gnn.graph<s0 -> s1, s2>) {
  // expected-error@+1 {{'gnn.order' op the result is '!gnn.order<s0, s2>', but should be '!gnn.order<s1, s2>'}}
  %0 = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s1, s2>) -> !gnn.order<s0, s2>
  return
}

// -----

func.func @structure_is_nondiff(%g: !gnn.graph<s0 -> s1, s2>) {
  // expected-error@+1 {{expected 'nondiff'}}
  %0 = gnn.endpoint src %g : (!gnn.graph<s0 -> s1, s2>) -> tensor<?xi32, #gnn.dims<s2>>
  return
}

// -----

func.func @gather_dims(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.gather' op names dimension 2, but the source has 2 dimensions}}
  %0 = gnn.gather %x[%i] dims [2] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x4xf32, #gnn.dims<s1, 4>>
  return
}

// -----

func.func @gather_twice(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.gather' op names dimension 0 of the source twice}}
  %0 = gnn.gather %x[%i, %i] dims [0, 0] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x4xf32, #gnn.dims<s1, 4>>
  return
}

// -----

func.func @gather_index_types(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>, %j: tensor<?xi32, #gnn.dims<s2>>) {
  // expected-error@+1 {{'gnn.gather' op index arrays have to be of one type, but there are 'tensor<?xi32, #gnn.dims<s1>>' and 'tensor<?xi32, #gnn.dims<s2>>'}}
  %0 = gnn.gather %x[%i, %j] dims [0, 1] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s2>>) -> tensor<?xf32, #gnn.dims<s1>>
  return
}

// -----

func.func @gather_result(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.gather' op the result has sizes <s0, 4>, but should have <s1, 4>}}
  %0 = gnn.gather %x[%i] dims [0] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// -----

func.func @gather_fill(%x: tensor<?xf32, #gnn.dims<s0>>, %i: tensor<?xi32, #gnn.dims<s1>>, %f: tensor<f64, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.gather' op the fill has elements of type 'f64', but the source has 'f32'}}
  %0 = gnn.gather %x[%i] dims [0] fill %f : (tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s1>>, tensor<f64, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s1>>
  return
}

// -----

func.func @segment_entries(%m: tensor<?x4xf32, #gnn.dims<s1, 4>>, %i: tensor<?xi32, #gnn.dims<s2>>) {
  // expected-error@+1 {{'gnn.segment_reduce' op the source has sizes <s1, 4>, but should have those of the index array, <s2>, from dimension 0 on}}
  %0 = gnn.segment_reduce sum %m by [%i] at 0 dims [0] : (tensor<?x4xf32, #gnn.dims<s1, 4>>, tensor<?xi32, #gnn.dims<s2>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// -----

func.func @segment_rest(%m: tensor<?x4xf32, #gnn.dims<s1, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.segment_reduce' op the result has sizes <s0, 8>, but apart from the dimensions it names should have <4>}}
  %0 = gnn.segment_reduce sum %m by [%i] at 0 dims [0] : (tensor<?x4xf32, #gnn.dims<s1, 4>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  return
}

// -----

func.func @sum_has_no_winner(%m: tensor<?xf32, #gnn.dims<s1>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.segment_reduce' op a sum has no winner: only max and min have a second result}}
  %0, %w = gnn.segment_reduce sum %m by [%i] at 0 dims [0] : (tensor<?xf32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> (tensor<?xf32, #gnn.dims<s0>>, tensor<?xi32, #gnn.dims<s0>>)
  return
}

// -----

func.func @segment_softmax(%m: tensor<?xf32, #gnn.dims<s1>>, %i: tensor<?x2xi32, #gnn.dims<s1, 2>>) {
  // expected-error@+1 {{'gnn.segment_softmax' op the index array has to have one dimension, but has 2}}
  %0 = gnn.segment_softmax %m by %i into <s0> : (tensor<?xf32, #gnn.dims<s1>>, tensor<?x2xi32, #gnn.dims<s1, 2>>) -> tensor<?xf32, #gnn.dims<s1>>
  return
}

// -----

func.func @reduce(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>) {
  // expected-error@+1 {{'gnn.reduce' op the result has sizes <s0>, but should have <4>}}
  %0 = gnn.reduce sum %x dims [0] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @arg_sum(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>) {
  // expected-error@+1 {{'gnn.arg_reduce' op finds a max or min, not a sum}}
  %0 = gnn.arg_reduce sum %x dim 1 nondiff : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?xi32, #gnn.dims<s0>>
  return
}

// -----

func.func @softmax_of_integers(%x: tensor<?xi32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.softmax' op the source has elements of type 'i32', but should have floating-point ones}}
  %0 = gnn.softmax %x dims [0] : (tensor<?xi32, #gnn.dims<s0>>) -> tensor<?xi32, #gnn.dims<s0>>
  return
}

// -----

func.func @contract_sizes(%a: tensor<?x4xf32, #gnn.dims<s0, 4>>, %b: tensor<8x?xf32, #gnn.dims<8, s1>>) {
  // expected-error@+1 {{'gnn.contract' op the label 1 has the sizes 4 and 8}}
  %0 = gnn.contract %a [0, 1], %b [1, 2] -> [0, 2] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<8x?xf32, #gnn.dims<8, s1>>) -> tensor<?x?xf32, #gnn.dims<s0, s1>>
  return
}

// -----

func.func @contract_new_label(%a: tensor<?x4xf32, #gnn.dims<s0, 4>>, %b: tensor<4xf32, #gnn.dims<4>>) {
  // expected-error@+1 {{'gnn.contract' op the label 5 of the result occurs in no operand}}
  %0 = gnn.contract %a [0, 1], %b [1] -> [0, 5] : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<4xf32, #gnn.dims<4>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// -----

func.func @contract_twice(%a: tensor<4x4xf32, #gnn.dims<4, 4>>, %b: tensor<4xf32, #gnn.dims<4>>) {
  // expected-error@+1 {{'gnn.contract' op the left operand has the label 0 twice}}
  %0 = gnn.contract %a [0, 0], %b [0] -> [0] : (tensor<4x4xf32, #gnn.dims<4, 4>>, tensor<4xf32, #gnn.dims<4>>) -> tensor<4xf32, #gnn.dims<4>>
  return
}

// -----

func.func @broadcast_order(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>) {
  // expected-error@+1 {{'gnn.broadcast' op keeps dimensions in their order, but dims is not increasing: transpose first}}
  %0 = gnn.broadcast %x dims [1, 0] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<4x?xf32, #gnn.dims<4, s0>>
  return
}

// -----

func.func @broadcast_size(%x: tensor<?xf32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.broadcast' op dimension 0 of the source has the size s0, but stands where the result has s1}}
  %0 = gnn.broadcast %x dims [0] : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s1>>
  return
}

// -----

func.func @reshape(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>) {
  // expected-error@+1 {{'gnn.reshape' op the source has 4*s0 elements, but the result has 2*s0}}
  %0 = gnn.reshape %x : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?xf32, #gnn.dims<2*s0>>
  return
}

// -----

func.func @transpose(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>) {
  // expected-error@+1 {{'gnn.transpose' op names dimension 1 of the source twice}}
  %0 = gnn.transpose %x perm [1, 1] : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<4x4xf32, #gnn.dims<4, 4>>
  return
}

// -----

func.func @slice_beyond(%x: tensor<?xf32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.slice' op position s0 lies outside of dimension 0 of the source, which has the size s0}}
  %0 = gnn.slice %x dim 0 from <1> step 1 : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @slice_before(%x: tensor<8xf32, #gnn.dims<8>>) {
  // expected-error@+1 {{'gnn.slice' op position -1 lies outside of dimension 0 of the source, which has the size 8}}
  %0 = gnn.slice %x dim 0 from <3> step -2 : (tensor<8xf32, #gnn.dims<8>>) -> tensor<3xf32, #gnn.dims<3>>
  return
}

// -----

func.func @slice_step(%x: tensor<8xf32, #gnn.dims<8>>) {
  // expected-error@+1 {{'gnn.slice' op needs a step other than 0}}
  %0 = gnn.slice %x dim 0 from <3> step 0 : (tensor<8xf32, #gnn.dims<8>>) -> tensor<3xf32, #gnn.dims<3>>
  return
}

// -----

func.func @concat(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %y: tensor<?x4xf32, #gnn.dims<s1, 4>>) {
  // expected-error@+1 {{'gnn.concat' op source #1 has sizes <s1, 4>, but should have <s0, 4>}}
  %0 = gnn.concat %x, %y dim 1 : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x4xf32, #gnn.dims<s1, 4>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  return
}

// -----

func.func @iota() {
  // expected-error@+1 {{'gnn.iota' op counts in integers, but the result has elements of type 'f32'}}
  %0 = gnn.iota 0 nondiff : tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @key(%key: tensor<i32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.uniform' op a key is an i64, not 'i32'}}
  %0 = gnn.uniform %key nondiff : (tensor<i32, #gnn.dims<>>) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @vjp_of_integers(%i: tensor<?xi32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.vjp' op operand #0 has elements of type 'i32': only floating-point values have derivatives}}
  %tape = gnn.vjp(%i) {
  ^bb0(%a: tensor<?xi32, #gnn.dims<s0>>):
    gnn.yield
  } : (tensor<?xi32, #gnn.dims<s0>>) -> !gnn.tape
  return
}

// -----

func.func @yielded(%x: tensor<?xf32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.vjp' op needs 1 yielded value, but has 0}}
  %y, %tape = gnn.vjp(%x) {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
    gnn.yield
  } : (tensor<?xf32, #gnn.dims<s0>>) -> (tensor<?xf32, #gnn.dims<s0>>, !gnn.tape)
  return
}

// -----

func.func @lost_tape(%tape: !gnn.tape) {
  // expected-error@+1 {{'gnn.back' op the tape has to come from a gnn.vjp directly}}
  %x_adj = gnn.back %tape() : (!gnn.tape) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @cotangents(%x: tensor<?xf32, #gnn.dims<s0>>) {
  %y, %tape = gnn.vjp(%x) {
  ^bb0(%a: tensor<?xf32, #gnn.dims<s0>>):
    gnn.yield %a : tensor<?xf32, #gnn.dims<s0>>
  } : (tensor<?xf32, #gnn.dims<s0>>) -> (tensor<?xf32, #gnn.dims<s0>>, !gnn.tape)
  // expected-error@+1 {{'gnn.back' op needs 1 cotangent, but has 0}}
  %x_adj = gnn.back %tape() : (!gnn.tape) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @gemm(%a: tensor<?x8xf32, #gnn.dims<s0, 8>>, %b: tensor<8x4xf32, #gnn.dims<8, 4>>) {
  // expected-error@+1 {{'gnn.gemm' op the right operand has 32 elements, but is read as a matrix of 64}}
  %0 = gnn.gemm %a, %b m <s0> n <8> k <8> : (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<8x4xf32, #gnn.dims<8, 4>>) -> tensor<?x8xf32, #gnn.dims<s0, 8>>
  return
}

// -----

func.func @tags_without_winner(%m: tensor<?x4xf32, #gnn.dims<s1, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.segment_reduce' op has tags, so it needs a second result, and index arrays of one dimension}}
  %0 = gnn.segment_reduce max %m by [%i] at 0 dims [0] tags %i : (tensor<?x4xf32, #gnn.dims<s1, 4>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// -----

func.func @share_of_others(%y: tensor<?x4xf32, #gnn.dims<s0, 4>>, %m: tensor<?x8xf32, #gnn.dims<s1, 8>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.share' op the extremum has sizes <s0, 4>, but after the first should have the source's, <8>}}
  %0 = gnn.share %y of %y among %m by %i : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x8xf32, #gnn.dims<s1, 8>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x8xf32, #gnn.dims<s1, 8>>
  return
}

// -----

func.func @share_sum_tags(%y: tensor<?x4xf32, #gnn.dims<s0, 4>>, %m: tensor<?x4xf32, #gnn.dims<s1, 4>>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.share_sum' op the tags has sizes <s1>, but should have <s0, 4>}}
  %0 = gnn.share_sum %y of %y among %m by %i into %i tagged %i : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<?x4xf32, #gnn.dims<s1, 4>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>, tensor<?xi32, #gnn.dims<s1>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}

// -----

func.func @gemm_init(%a: tensor<2x3xf32, #gnn.dims<2, 3>>, %b: tensor<3x4xf32, #gnn.dims<3, 4>>, %c: tensor<4x2xf32, #gnn.dims<4, 2>>) {
  // expected-error@+1 {{'gnn.gemm' op the init has to have the type of the result}}
  %0 = gnn.gemm %a, %b plus %c m <2> n <4> k <3> : (tensor<2x3xf32, #gnn.dims<2, 3>>, tensor<3x4xf32, #gnn.dims<3, 4>>, tensor<4x2xf32, #gnn.dims<4, 2>>) -> tensor<2x4xf32, #gnn.dims<2, 4>>
  return
}
