// RUN: gnnc-opt %s -split-input-file -verify-diagnostics

func.func @bounds(%a: tensor<i32, #gnn.dims<>>, %b: tensor<i64, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.for' op counts from 'tensor<i32, #gnn.dims<>>' to 'tensor<i64, #gnn.dims<>>': both bounds have one type}}
  "gnn.for"(%a, %b) ({
  ^bb0(%t: tensor<i32, #gnn.dims<>>):
    gnn.yield
  }) : (tensor<i32, #gnn.dims<>>, tensor<i64, #gnn.dims<>>) -> ()
  return
}

// -----

func.func @counter(%a: tensor<i32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.for' op the body's first argument is the number at hand, of type 'tensor<i32, #gnn.dims<>>'}}
  "gnn.for"(%a, %a) ({
    gnn.yield
  }) : (tensor<i32, #gnn.dims<>>, tensor<i32, #gnn.dims<>>) -> ()
  return
}

// -----

func.func @carried(%a: tensor<i32, #gnn.dims<>>, %x: tensor<?xf32, #gnn.dims<s0>>) {
  // expected-error@+1 {{'gnn.for' op yielded value #0 is 'tensor<i32, #gnn.dims<>>', but should be 'tensor<?xf32, #gnn.dims<s0>>'}}
  %y = "gnn.for"(%a, %a, %x) ({
  ^bb0(%t: tensor<i32, #gnn.dims<>>, %b: tensor<?xf32, #gnn.dims<s0>>):
    gnn.yield %t : tensor<i32, #gnn.dims<>>
  }) : (tensor<i32, #gnn.dims<>>, tensor<i32, #gnn.dims<>>, tensor<?xf32, #gnn.dims<s0>>) -> tensor<?xf32, #gnn.dims<s0>>
  return
}

// -----

func.func @condition(%x: tensor<f32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.while' op the first region yields one condition}}
  %y = gnn.while (%x) {
  ^bb0(%a: tensor<f32, #gnn.dims<>>):
    gnn.yield %a : tensor<f32, #gnn.dims<>>
  } do {
  ^bb0(%a: tensor<f32, #gnn.dims<>>):
    gnn.yield %a : tensor<f32, #gnn.dims<>>
  } : (tensor<f32, #gnn.dims<>>) -> tensor<f32, #gnn.dims<>>
  return
}

// -----

func.func @branch(%c: tensor<i1, #gnn.dims<>>, %x: tensor<f32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.if' op needs 1 yielded value, but has 0}}
  %y = gnn.if %c {
    gnn.yield %x : tensor<f32, #gnn.dims<>>
  } else {
  } : (tensor<i1, #gnn.dims<>>) -> tensor<f32, #gnn.dims<>>
  return
}

// -----

func.func @size(%n: tensor<i32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.define_size' op defines a set, not 2*s0}}
  %m = gnn.define_size <2*s0> as %n : tensor<i32, #gnn.dims<>> -> tensor<i32, #gnn.dims<>>
  return
}

// -----

func.func @update(%x: tensor<?x4xf32, #gnn.dims<s0, 4>>, %e: tensor<3xf32, #gnn.dims<3>>, %k: tensor<i32, #gnn.dims<>>) {
  // expected-error@+1 {{'gnn.update_index' op the value has sizes <3>, but should have <4>}}
  %y = gnn.update_index %x[%k] dim 0, %e : (tensor<?x4xf32, #gnn.dims<s0, 4>>, tensor<i32, #gnn.dims<>>, tensor<3xf32, #gnn.dims<3>>)
      -> tensor<?x4xf32, #gnn.dims<s0, 4>>
  return
}
