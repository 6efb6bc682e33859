// What the lowering refuses: all of it can only be a fault of the stages before.
// RUN: gnnc-opt %s --gnn-lower-entries --split-input-file --verify-diagnostics

func.func @left_over(%x: tensor<?xf32, #gnn.dims<s0>> {gnn.path = "x"}) -> tensor<?xf32, #gnn.dims<s0>>
    attributes {gnn.entry, gnn.set_names = ["n"]} {
  // expected-error @below {{this is a fault of gnnc: 'gnn.sigmoid' is left after kernels were formed}}
  %y = gnn.sigmoid %x : tensor<?xf32, #gnn.dims<s0>>
  return %y : tensor<?xf32, #gnn.dims<s0>>
}

// -----

func.func @not_linear(%x: tensor<?xf32, #gnn.dims<s0>> {gnn.path = "x"}) -> tensor<?xf32, #gnn.dims<s0>>
    attributes {gnn.entry, gnn.set_names = ["n"]} {
  // expected-error @below {{this is a fault of gnnc: an access map is not linear}}
  %y = "gnn.kernel"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>, iterators = [#gnn<iterator parallel>],
      space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(a) -> (a mod 3)>],
      resultMaps = [affine_map<(a) -> (a)>], combines = [#gnn<combine none>], maybeNone = array<i1>, label = ""}> ({
  ^bb0(%v: f32, %i: index):
    gnn.yield %v : f32
  }) : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
  return %y : tensor<?xf32, #gnn.dims<s0>>
}

// -----

// Parts of cut rows have the layout of rows.
func.func @rows_apart(%g: !gnn.graph<s0 -> s0, s1> {gnn.path = "g"}, %x: tensor<8x?xf32, #gnn.dims<8, s1>> {gnn.path = "x"})
    -> tensor<8x?xf32, #gnn.dims<8, s0>> attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %o = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  // expected-error @below {{this is a fault of gnnc: the rows of a reduced result are not contiguous}}
  %y = "gnn.kernel"(%o, %x) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>,
      iterators = [#gnn<iterator parallel>, #gnn<iterator segment>, #gnn<iterator parallel>], space = #gnn.dims<s0, s1, 8>,
      offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(v, e, f) -> (f, e)>],
      resultMaps = [affine_map<(v, e, f) -> (f, v)>], combines = [#gnn<combine sum>], maybeNone = array<i1>, label = "sum"}> ({
  ^bb0(%a: f32, %v: index, %e: index, %f: index):
    gnn.yield %a : f32
  }) : (!gnn.order<s0, s1>, tensor<8x?xf32, #gnn.dims<8, s1>>) -> tensor<8x?xf32, #gnn.dims<8, s0>>
  return %y : tensor<8x?xf32, #gnn.dims<8, s0>>
}

// -----

// expected-error @below {{this is a fault of gnnc: result 0 of entry 'wrong_target' is the new value of argument 0, which is not inout}}
func.func @wrong_target(%x: tensor<?xf32, #gnn.dims<s0>> {gnn.path = "x"}) -> (tensor<?xf32, #gnn.dims<s0>> {gnn.inout = 0 : i64})
    attributes {gnn.entry, gnn.set_names = ["n"]} {
  return %x : tensor<?xf32, #gnn.dims<s0>>
}

// -----

// expected-error @below {{this is a fault of gnnc: argument 0 of entry 'element' has an element type that cannot cross the boundary: 'f16'}}
func.func @element(%x: tensor<?xf16, #gnn.dims<s0>> {gnn.path = "x"}) attributes {gnn.entry, gnn.set_names = ["n"]} {
  return
}

// -----

// expected-error @below {{this is a fault of gnnc: argument 0 of entry 'anonymous' does not say which set it is the size of}}
func.func @anonymous(%n: tensor<i64, #gnn.dims<>> {gnn.path = "n", gnn.kind = "size"}) attributes {gnn.entry, gnn.set_names = ["n"]} {
  return
}

// -----

// In a group, where places are strides and offsets, too.
func.func @not_linear_in_a_group(%g: !gnn.graph<s0 -> s0, s1> {gnn.path = "g"}, %x: tensor<?x4xf32, #gnn.dims<s0, 4>> {gnn.path = "x"})
    -> tensor<?x4xf32, #gnn.dims<s0, 4>> attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %o = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  // expected-error @below {{this is a fault of gnnc: an access map is not linear}}
  %y = gnn.group %o : !gnn.order<s0, s1> -> tensor<?x4xf32, #gnn.dims<s0, 4>> {
    %k = "gnn.kernel"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>, iterators = [#gnn<iterator parallel>, #gnn<iterator parallel>],
        space = #gnn.dims<s0, 4>, offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(v, f) -> (v, f mod 2)>],
        resultMaps = [affine_map<(v, f) -> (v, f)>], combines = [#gnn<combine none>], maybeNone = array<i1>, label = "k"}> ({
    ^bb0(%a: f32, %v: index, %f: index):
      gnn.yield %a : f32
    }) : (tensor<?x4xf32, #gnn.dims<s0, 4>>) -> tensor<?x4xf32, #gnn.dims<s0, 4>>
    gnn.yield %k : tensor<?x4xf32, #gnn.dims<s0, 4>>
  }
  return %y : tensor<?x4xf32, #gnn.dims<s0, 4>>
}

// -----

func.func @branches_in_a_group(%g: !gnn.graph<s0 -> s0, s1> {gnn.path = "g"}, %x: tensor<?xf32, #gnn.dims<s0>> {gnn.path = "x"})
    -> tensor<?xf32, #gnn.dims<s0>> attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %o = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  %y = gnn.group %o : !gnn.order<s0, s1> -> tensor<?xf32, #gnn.dims<s0>> {
    // expected-error @below {{this is a fault of gnnc: the body of a kernel has control flow}}
    %k = "gnn.kernel"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>, iterators = [#gnn<iterator parallel>],
        space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(v) -> (v)>],
        resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>], maybeNone = array<i1>, label = "k"}> ({
    ^bb0(%a: f32, %v: index):
      %zero = arith.constant 0.0 : f32
      %c = arith.cmpf olt, %a, %zero : f32
      %b = scf.if %c -> f32 {
        scf.yield %zero : f32
      } else {
        scf.yield %a : f32
      }
      gnn.yield %b : f32
    }) : (tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
    gnn.yield %k : tensor<?xf32, #gnn.dims<s0>>
  }
  return %y : tensor<?xf32, #gnn.dims<s0>>
}
