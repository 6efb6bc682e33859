// What the verifier of groups refuses.
// RUN: gnnc-opt %s -split-input-file -verify-diagnostics

!o = !gnn.order<s0, s1>
!n = tensor<?xf32, #gnn.dims<s0>>
func.func @other_type(%o: !o, %x: !n) {
  // expected-error@+1 {{'gnn.group' op yields values of other types than its results}}
  %y = gnn.group %o : !o -> tensor<?xf64, #gnn.dims<s0>> {
    %k = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
      maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
      maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
    ^bb0(%a: f32, %v: index):
      gnn.yield %a : f32
    }) : (!n) -> !n
    gnn.yield %k : !n
  }
  return
}

// -----

!o = !gnn.order<s0, s1>
!n = tensor<?xf32, #gnn.dims<s0>>
func.func @from_outside(%o: !o, %x: !n) {
  // expected-error@+1 {{'gnn.group' op yields only what its own kernels make}}
  %y = gnn.group %o : !o -> !n {
    gnn.yield %x : !n
  }
  return
}

// -----

!o = !gnn.order<s0, s1>
!n = tensor<?xf32, #gnn.dims<s0>>
func.func @other_ops(%o: !o, %x: !n) {
  // expected-error@+1 {{'gnn.group' op holds kernels only, not math.exp}}
  %y = gnn.group %o : !o -> !n {
    %k = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s0>, offsets = #gnn.dims<>, indexMaps = [],
      maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
      maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
    ^bb0(%a: f32, %v: index):
      gnn.yield %a : f32
    }) : (!n) -> !n
    %e = math.exp %x : !n
    gnn.yield %k : !n
  }
  return
}

// -----

!o = !gnn.order<s0, s1>
!e = tensor<?xf32, #gnn.dims<s1>>
func.func @other_rows(%o: !o, %x: !e) {
  %y = gnn.group %o : !o -> !e {
    // expected-error@+1 {{'gnn.kernel' op has to be over the entries or the rows of its group's order}}
    %k = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>], space = #gnn.dims<s1>, offsets = #gnn.dims<>, indexMaps = [],
      maps = [affine_map<(v) -> (v)>], resultMaps = [affine_map<(v) -> (v)>], combines = [#gnn<combine none>],
      maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
    ^bb0(%a: f32, %v: index):
      gnn.yield %a : f32
    }) : (!e) -> !e
    gnn.yield %k : !e
  }
  return
}

// -----

!o = !gnn.order<s0, s1>
!nf = tensor<?x?xf32, #gnn.dims<s0, s2>>
func.func @unknown_features(%o: !o, %x: !nf) {
  %y = gnn.group %o : !o -> !nf {
    // expected-error@+1 {{'gnn.kernel' op iterator 1 of a kernel in a group has to have a constant size}}
    %k = "gnn.kernel"(%x) <{iterators = [#gnn<iterator parallel>, #gnn<iterator parallel>], space = #gnn.dims<s0, s2>,
      offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(v, f) -> (v, f)>], resultMaps = [affine_map<(v, f) -> (v, f)>],
      combines = [#gnn<combine none>], maybeNone = array<i1>, label = "k", operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
    ^bb0(%a: f32, %v: index, %f: index):
      gnn.yield %a : f32
    }) : (!nf) -> !nf
    gnn.yield %k : !nf
  }
  return
}
