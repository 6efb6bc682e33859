// What callers see of entries: the C header, the manifest, the visible symbols, and what the object asks of a processor.
// RUN: gnnc-emit %s --emit=header | FileCheck %s --check-prefix=HEADER
// RUN: gnnc-emit %s --emit=manifest | FileCheck %s --check-prefix=JSON
// RUN: gnnc-emit %s --emit=llvm --cpu=x86-64-v3 | FileCheck %s
// RUN: gnnc-emit %s --emit=obj -o %t.o
// RUN: llvm-nm --extern-only --defined-only %t.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: not gnnc-emit %s --cpu=i686 -o %t.so 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not gnnc-emit %s --cpu=pentium-12 -o %t.so 2>&1 | FileCheck %s --check-prefix=CPU

// HEADER:      #ifndef GNNC_INTERFACE_H
// HEADER:      /* step: One step of descent.
// HEADER-NEXT:  *
// HEADER-NEXT:  * g    a graph: g.nodes -> g.nodes, edges g.edges
// HEADER-NEXT:  * p_w  f32 [g.nodes, F], updated in place
// HEADER-NEXT:  * y    int32 or int64 [g.nodes], each in [0, F)
// HEADER-NEXT:  * m    bool [g.nodes]
// HEADER-NEXT:  * key  a random key
// HEADER-NEXT:  * lr   f32, usually 0.5
// HEADER-NEXT:  * out  f32 [g.nodes, F], written
// HEADER-NEXT:  */
// HEADER-NEXT: #define step_lr_default 0.5
// HEADER-NEXT: gnnrt_status step(gnnrt_context *ctx,
// HEADER-NEXT:     const gnnrt_graph *g,
// HEADER-NEXT:     const DLTensor *p_w,
// HEADER-NEXT:     const DLTensor *y,
// HEADER-NEXT:     const DLTensor *m,
// HEADER-NEXT:     uint64_t key,
// HEADER-NEXT:     double lr,
// HEADER-NEXT:     const DLTensor *out);

// JSON: "source":"interface.mlir","real":"f32"
// JSON-SAME: {"name":"step","sets":["g.nodes","g.edges","F"],"args":[{"path":"g","kind":"graph","src":"g.nodes","dst":"g.nodes","edges":"g.edges"},
// JSON-SAME: {"path":"p.w","kind":"tensor","mode":"inout","dtype":"f32","dims":["g.nodes","F"],"init":{"args":[0.1],"fn":"normal"}},
// JSON-SAME: {"path":"y","kind":"tensor","mode":"in","dtype":"index","into":"F","dims":["g.nodes"]},
// JSON-SAME: {"path":"m","kind":"tensor","mode":"in","dtype":"bool","dims":["g.nodes"]},
// JSON-SAME: {"path":"key","kind":"scalar","dtype":"key"},{"path":"lr","kind":"scalar","dtype":"f32","default":0.5}],
// JSON-SAME: "results":[{"path":"out","kind":"tensor","dtype":"f32","dims":["g.nodes","F"]}]

// CHECK-DAG: @gnnc_model = local_unnamed_addr constant
// CHECK-DAG: c"x86-64-v3\00"
// CHECK-DAG: avx2,bmi1,bmi2
// CHECK: define i32 @step(ptr {{.*}}, ptr {{.*}}, ptr {{.*}}, ptr {{.*}}, ptr {{.*}}, i64 {{.*}}, double {{.*}}, ptr {{.*}})
// CHECK: call i32 @gnnrt_call(ptr {{.*}}, ptr nonnull @step.entry, ptr nonnull {{.*}}, i32 7)

// SYMBOLS: D gnnc_model
// SYMBOLS-NEXT: T step
// SYMBOLS-NOT: {{.}}

// OLD: the processor 'i686' can't run 64-bit programs: give x86-64 or a later one
// CPU: unknown processor 'pentium-12': give native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, or LLVM's name of one
func.func @step(%g: !gnn.graph<s0 -> s0, s1> {gnn.path = "g"},
                %w: tensor<?x?xf32, #gnn.dims<s0, s2>> {gnn.path = "p.w", gnn.mode = "inout", gnn.init = {fn = "normal", args = [0.1]}},
                %y: tensor<?xi32, #gnn.dims<s0>> {gnn.path = "y", gnn.dtype = "index", gnn.into = #gnn.size<s2>},
                %m: tensor<?xi1, #gnn.dims<s0>> {gnn.path = "m"},
                %key: tensor<i64, #gnn.dims<>> {gnn.path = "key", gnn.kind = "scalar", gnn.dtype = "key"},
                %lr: tensor<f32, #gnn.dims<>> {gnn.path = "lr", gnn.kind = "scalar", gnn.default = 0.5 : f32})
    -> (tensor<?x?xf32, #gnn.dims<s0, s2>> {gnn.inout = 1 : i64}, tensor<?x?xf32, #gnn.dims<s0, s2>> {gnn.path = "out"})
    attributes {gnn.entry, gnn.set_names = ["g.nodes", "g.edges", "F"], gnn.doc = "One step of descent."} {
  %b = gnn.broadcast %lr dims [] : (tensor<f32, #gnn.dims<>>) -> tensor<?x?xf32, #gnn.dims<s0, s2>>
  %v = arith.mulf %w, %b : tensor<?x?xf32, #gnn.dims<s0, s2>>
  return %v, %w : tensor<?x?xf32, #gnn.dims<s0, s2>>, tensor<?x?xf32, #gnn.dims<s0, s2>>
}
