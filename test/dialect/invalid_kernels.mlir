// What the verifier of row kernels refuses.
// RUN: gnnc-opt %s -split-input-file -verify-diagnostics

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @space(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op space has 2 values for 1 iterator}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0, s1>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    gnn.yield %a : f32
  }) : (!vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @no_order(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op has a segment iterator, so it needs an order}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>, #gnn<iterator segment>], space = #gnn.dims<s0, s1>,
    offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(v, e) -> (v)>], resultMaps = [affine_map<(v, e) -> (v)>],
    combines = [#gnn<combine sum>], maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index, %e: index):
    gnn.yield %a : f32
  }) : (!vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @other_order(%o: !gnn.order<s2, s1>, %x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op the space begins with <s0, s1>, but the order groups s1 entries into s2 rows}}
  %y = "gnn.kernel"(%o, %x) <{iterators = [#gnn<iterator parallel>, #gnn<iterator segment>], space = #gnn.dims<s0, s1>,
    offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(v, e) -> (v)>], resultMaps = [affine_map<(v, e) -> (v)>],
    combines = [#gnn<combine sum>], maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 1, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index, %e: index):
    gnn.yield %a : f32
  }) : (!gnn.order<s2, s1>, !vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @uncombined(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op result #0 has to say how it is combined: an iterator is reduced}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator reduction>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> ()>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    gnn.yield %a : f32
  }) : (!vec) -> tensor<f32, #gnn.dims<>>
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @reduced_position(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op the map of result #0 uses iterator 0, which is reduced}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator reduction>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine sum>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    gnn.yield %a : f32
  }) : (!vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @map_rank(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op the map of input #0 gives 2 positions, but the tensor has 1 dimension}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v, v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    gnn.yield %a : f32
  }) : (!vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
!idx = tensor<?xi32, #gnn.dims<s0>>
func.func @index_of_itself(%i: !idx, %x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op the map of index operand #0 uses the value of index operand #0, which is read after it}}
  %y = "gnn.kernel"(%i, %x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>,
    indexMaps = [affine_map<(v)[i] -> (i)>], maps = [affine_map<(v)[i] -> (i)>], resultMaps = [affine_map<(v) -> (v)>],
    combines = [#gnn<combine none>], maybeNone = array<i1: false>, label = "k", operandSegmentSizes = array<i32: 0, 1, 1, 0>}> ({
  ^bb0(%a: f32, %i0: i32, %v: index):
    gnn.yield %a : f32
  }) : (!idx, !vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @arguments(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op the body has to take ('f32', 'index'): the inputs' elements, the index operands' values, the iterators}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32):
    gnn.yield %a : f32
  }) : (!vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @yielded_type(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op the body yields 'index' for result #0, whose elements are 'f32'}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    gnn.yield %v : index
  }) : (!vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @empties(%x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op what result #0 is where nothing is combined has to be a number of type 'f32', or unit for the usual one, not 0.000000e+00 : f64}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator reduction>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> ()>], combines = [#gnn<combine sum>],
    maybeNone = array<i1>, empties = [0.0 : f64], label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    gnn.yield %a : f32
  }) : (!vec) -> tensor<f32, #gnn.dims<>>
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @captured(%x: !vec) {
  %c = arith.constant 1.0 : f32
  // expected-note@+1 {{required by region isolation constraints}}
  %y = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
    maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
    maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%a: f32, %v: index):
    // expected-error@+1 {{'gnn.yield' op using value defined outside the region}}
    gnn.yield %c : f32
  }) : (!vec) -> !vec
  return
}

// -----

func.func @random_bits(%key: i64, %counter: i32) {
  // expected-error@+1 {{'gnn.random_bits' op takes a key and a counter of one type, i64 or a vector of it, not 'i64' and 'i32'}}
  %bits = gnn.random_bits %key, %counter word 0 : (i64, i32) -> i32
  return
}

// -----

func.func @check_index(%i: tensor<f32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.check_index' op a position is an integer, not 'f32'}}
  %t = gnn.check_index %i below <s0>, "x[t]" : tensor<f32, #gnn.dims<>> -> tensor<f32, #gnn.dims<>>
  return
}

// -----

func.func @yield_elsewhere(%x: tensor<f32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.yield' op expects parent op to be one of 'gnn.vjp, gnn.custom_rule, gnn.if, gnn.for, gnn.while, gnn.kernel, gnn.group'}}
  gnn.yield %x : tensor<f32, #gnn.dims<>>
}

// -----

// A tag belongs to a max or min before it.

!vec = tensor<?xf32, #gnn.dims<s0>>
!tag = tensor<?xi32, #gnn.dims<s0>>
func.func @lone_tag(%o: !gnn.order<s0, s1>, %i: tensor<?xi32, #gnn.dims<s1>>) {
  // expected-error@+1 {{'gnn.kernel' op result #0 is a tag, so a max or min has to stand before it}}
  %y = "gnn.kernel"(%o, %i) <{iterators = [#gnn<iterator parallel>, #gnn<iterator segment>], space = #gnn.dims<s0, s1>,
    offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e) -> (e)>], maps = [], resultMaps = [affine_map<(v, e) -> (v)>],
    combines = [#gnn<combine tag>], maybeNone = array<i1: false>, label = "k", operandSegmentSizes = array<i32: 1, 1, 0, 0>}> ({
  ^bb0(%t: i32, %v: index, %e: index):
    gnn.yield %t : i32
  }) : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>) -> !tag
  return
}

// -----

// What shares yields a value, a tag and a condition, and writes at an index.

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @share_yields(%o: !gnn.order<s0, s1>, %i: tensor<?xi32, #gnn.dims<s1>>, %x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op that shares yields a value of its result, an i32 for a tag and an i1}}
  %y = "gnn.kernel"(%o, %i, %x) <{iterators = [#gnn<iterator parallel>, #gnn<iterator segment>], space = #gnn.dims<s0, s1>,
    offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e) -> (e)>], maps = [affine_map<(v, e)[s] -> (v)>],
    resultMaps = [affine_map<(v, e)[s] -> (s)>], combines = [#gnn<combine share>], maybeNone = array<i1: false>, label = "k",
    operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%a: f32, %t: i32, %v: index, %e: index):
    gnn.yield %a : f32
  }) : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>, !vec) -> !vec
  return
}

// -----

!vec = tensor<?xf32, #gnn.dims<s0>>
func.func @share_place(%o: !gnn.order<s0, s1>, %i: tensor<?xi32, #gnn.dims<s1>>, %x: !vec) {
  // expected-error@+1 {{'gnn.kernel' op that shares writes at an index in the first dimension of its result}}
  %y = "gnn.kernel"(%o, %i, %x) <{iterators = [#gnn<iterator parallel>, #gnn<iterator segment>], space = #gnn.dims<s0, s1>,
    offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e) -> (e)>], maps = [affine_map<(v, e)[s] -> (v)>],
    resultMaps = [affine_map<(v, e)[s] -> (v)>], combines = [#gnn<combine share>], maybeNone = array<i1: false>, label = "k",
    operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%a: f32, %t: i32, %v: index, %e: index):
    %c = arith.constant true
    gnn.yield %a, %t, %c : f32, i32, i1
  }) : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>, !vec) -> !vec
  return
}
