// Parts put into zeros, twice: each in a buffer of its own, also after equal kernels became one.
// RUN: gnnc-opt %s -gnn-form-kernels -cse | FileCheck %s

!x = tensor<?x2xf32, #gnn.dims<s0, 2>>
!y = tensor<?x6xf32, #gnn.dims<s0, 6>>

// CHECK-LABEL: func @two
// CHECK: %[[A:.*]] = gnn.empty
// CHECK: %[[ZEROS_A:.*]] = "gnn.kernel"(%[[A]])
// CHECK: "gnn.kernel"(%{{.*}}, %[[ZEROS_A]])
// CHECK: %[[B:.*]] = gnn.empty
// CHECK: %[[ZEROS_B:.*]] = "gnn.kernel"(%[[B]])
// CHECK: "gnn.kernel"(%{{.*}}, %[[ZEROS_B]])
func.func @two(%x: !x) -> !y {
  %a = gnn.unslice %x dim 1 from <0> step 1 : (!x) -> !y
  %b = gnn.unslice %x dim 1 from <2> step 1 : (!x) -> !y
  %sum = arith.addf %a, %b : !y
  return %sum : !y
}
