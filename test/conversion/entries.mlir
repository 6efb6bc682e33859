// The body of an entry: structure, then memory, then steps; and the memory plan as a table.
// RUN: gnnc-opt %s --gnn-lower-entries=report 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=MEM < %t

// The product's input is no longer needed when the last kernel writes: the report shows lifetimes as steps. Results have no
// buffer, they are computed in place.
// MEM:      memory of 'layer': 4 steps
// MEM-NEXT: size in bytes {{ *}}value {{ *}}source {{ *}}steps {{ *}}kept
// MEM-NEXT: 64*g.nodes {{ *}}matrix product {{ *}}entries.mlir:[[#]] {{ *}}0-1
// MEM-NEXT: depends on the sizes {{ *}}workspace of a matrix product
// MEM-NEXT: 64*g.nodes {{ *}}sum {{ *}}entries.mlir:[[#]] {{ *}}1-3 {{ *}}the derivative of relu reads it
// MEM-NEXT: depends on the graph {{ *}}parts of long rows
// MEM:      in all at most 128*g.nodes bytes, and parts and workspace

// CHECK-LABEL: llvm.func internal @layer.body(
// CHECK-SAME:    %[[FRAME:.*]]: !llvm.ptr, %[[BUFFERS:.*]]: !llvm.ptr, %[[SIZES:.*]]: !llvm.ptr) -> i32
// CHECK:         %[[G:.*]] = llvm.load %[[BUFFERS]]
// CHECK-DAG:     llvm.call @gnnrt_in_order(%[[FRAME]], %[[G]])
// CHECK-DAG:     llvm.call @gnnrt_graph_src(%[[G]])
// CHECK:         llvm.call @gnnrt_frame_output
// CHECK:         llvm.call @gnnrt_reserve
// CHECK:         llvm.call @gnnrt_gemm
// CHECK:         llvm.call @gnnrt_launch_order
// CHECK:         llvm.call @gnnrt_launch_rows
// CHECK:         llvm.call @gnnrt_launch_cut
// CHECK:         llvm.return
func.func @layer(%g: !gnn.graph<s0 -> s0, s1> {gnn.path = "g"}, %x: tensor<?x8xf32, #gnn.dims<s0, 8>> {gnn.path = "x"},
                 %w: tensor<8x16xf32, #gnn.dims<8, 16>> {gnn.path = "w"})
    -> (tensor<?x16xf32, #gnn.dims<s0, 16>> {gnn.path = "out"}, tensor<f32, #gnn.dims<>> {gnn.path = "total"})
    attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges"]} {
  %src = gnn.endpoint src %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> tensor<?xi32, #gnn.dims<s1>>
  %h = gnn.gemm %x, %w m <s0> n <16> k <8> : (tensor<?x8xf32, #gnn.dims<s0, 8>>, tensor<8x16xf32, #gnn.dims<8, 16>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
  %o = gnn.order dst %g nondiff : (!gnn.graph<s0 -> s0, s1>) -> !gnn.order<s0, s1>
  %y = "gnn.kernel"(%o, %src, %h) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>,
      iterators = [#gnn<iterator parallel>, #gnn<iterator segment>, #gnn<iterator parallel>], space = #gnn.dims<s0, s1, 16>,
      offsets = #gnn.dims<>, indexMaps = [affine_map<(v, e, f) -> (e)>], maps = [affine_map<(v, e, f)[s] -> (s, f)>],
      resultMaps = [affine_map<(v, e, f) -> (v, f)>], combines = [#gnn<combine sum>], maybeNone = array<i1: false>,
      label = "sum"}> ({
  ^bb0(%a: f32, %i: i32, %v: index, %e: index, %f: index):
    gnn.yield %a : f32
  }) {gnn.kept = "the derivative of relu reads it"} : (!gnn.order<s0, s1>, tensor<?xi32, #gnn.dims<s1>>, tensor<?x16xf32, #gnn.dims<s0, 16>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
  %flat = gnn.reshape %y : (tensor<?x16xf32, #gnn.dims<s0, 16>>) -> tensor<?xf32, #gnn.dims<16*s0>>
  %z = "gnn.kernel"(%y) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>,
      iterators = [#gnn<iterator parallel>, #gnn<iterator parallel>], space = #gnn.dims<s0, 16>, offsets = #gnn.dims<>,
      indexMaps = [], maps = [affine_map<(n, f) -> (n, f)>], resultMaps = [affine_map<(n, f) -> (n, f)>],
      combines = [#gnn<combine none>], maybeNone = array<i1>, label = "relu"}> ({
  ^bb0(%a: f32, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %a, %zero : f32
    gnn.yield %r : f32
  }) : (tensor<?x16xf32, #gnn.dims<s0, 16>>) -> tensor<?x16xf32, #gnn.dims<s0, 16>>
  %t = "gnn.kernel"(%flat) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>, iterators = [#gnn<iterator reduction>],
      space = #gnn.dims<16*s0>, offsets = #gnn.dims<>, indexMaps = [], maps = [affine_map<(n) -> (n)>],
      resultMaps = [affine_map<(n) -> ()>], combines = [#gnn<combine sum>], maybeNone = array<i1>, label = "total"}> ({
  ^bb0(%a: f32, %i: index):
    gnn.yield %a : f32
  }) : (tensor<?xf32, #gnn.dims<16*s0>>) -> tensor<f32, #gnn.dims<>>
  return %z, %t : tensor<?x16xf32, #gnn.dims<s0, 16>>, tensor<f32, #gnn.dims<>>
}
