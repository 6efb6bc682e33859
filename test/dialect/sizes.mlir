// Sizes are polynomials in normal form: however they are written, equal ones are the same attribute. Coefficients stay at
// the largest number instead of overflowing.
// RUN: gnnc-opt %s | FileCheck %s

// CHECK-LABEL: func @normal_form
// CHECK-SAME: a = #gnn.size<2*s0*s1 + s0 - 3>
// CHECK-SAME: b = #gnn.size<0>
// CHECK-SAME: c = #gnn.size<s0 + 3>
// CHECK-SAME: d = #gnn.size<s0*s0 + s1>
// CHECK-SAME: e = #gnn.size<s0 + ceildiv(s1 + 1, 4) + 2>
// CHECK-SAME: f = #gnn.size<ceildiv(s0, 12) + 1>
// CHECK-SAME: g = #gnn.size<-s0 + ceildiv(3*s0 + 1, 4)>
// CHECK-SAME: h = #gnn.size<9223372036854775807*s0>
// CHECK-SAME: i = #gnn.dims<s0, 4, 2*s1>
func.func @normal_form() attributes {
  a = #gnn.size<s1*2*s0 - 3 + s0>, b = #gnn.size<s0 - s0>, c = #gnn.size<1 + s0 + 2>, d = #gnn.size<s1 + s0*s0>,
  e = #gnn.size<ceildiv(4*s0 + s1 + 8 + 1, 4)>,
  f = #gnn.size<ceildiv(ceildiv(s0, 3) + 4, 4)>, g = #gnn.size<ceildiv(1 - s0, 4)>, h = #gnn.size<4294967296*4294967296*s0>, i = #gnn.dims<s0, 2*2, s1 + s1>
} {
  return
}
