// What the verifier of gnn.custom_rule refuses.
// RUN: gnnc-opt %s -split-input-file -verify-diagnostics

func.func @rule_of_integers(%x: tensor<i32, #gnn.dims<>>) -> tensor<i32, #gnn.dims<>> {
  // expected-error@+1 {{only floating-point values have derivatives}}
  %y = gnn.custom_rule(%x) {
  ^bb0(%a: tensor<i32, #gnn.dims<>>):
    gnn.yield %a : tensor<i32, #gnn.dims<>>
  } rule {
  ^bb0(%a: tensor<i32, #gnn.dims<>>):
    gnn.yield %a : tensor<i32, #gnn.dims<>>
  } : (tensor<i32, #gnn.dims<>>) -> tensor<i32, #gnn.dims<>>
  return %y : tensor<i32, #gnn.dims<>>
}

// -----

func.func @rule_without_cotangent(%x: tensor<f32, #gnn.dims<>>) -> tensor<f32, #gnn.dims<>> {
  // expected-error-re@+1 {{needs 2 {{.*}}, but has 1}}
  %y = gnn.custom_rule(%x) {
  ^bb0(%a: tensor<f32, #gnn.dims<>>):
    gnn.yield %a : tensor<f32, #gnn.dims<>>
  } rule {
  ^bb0(%a: tensor<f32, #gnn.dims<>>):
    gnn.yield %a : tensor<f32, #gnn.dims<>>
  } : (tensor<f32, #gnn.dims<>>) -> tensor<f32, #gnn.dims<>>
  return %y : tensor<f32, #gnn.dims<>>
}
