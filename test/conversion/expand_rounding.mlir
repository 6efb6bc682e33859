// Rounding is one instruction and stays, but on processors that have none for it.
// RUN: gnnc-opt %s -gnn-expand-math | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: gnnc-opt %s -gnn-expand-math=rounds=false | FileCheck %s --check-prefixes=CHECK,NONE

// CHECK-LABEL: func @rounding
func.func @rounding(%x: vector<16xf32>) -> vector<16xf32> {
  // ONE: math.floor
  // ONE: math.ceil
  // ONE: math.trunc
  // ONE: math.roundeven
  // NONE-NOT: math.floor
  // NONE-NOT: math.ceil
  // NONE-NOT: math.trunc
  // NONE-NOT: math.round
  // CHECK: return
  %a = math.floor %x : vector<16xf32>
  %b = math.ceil %a : vector<16xf32>
  %c = math.trunc %b : vector<16xf32>
  %d = math.roundeven %c : vector<16xf32>
  %y = math.round %d : vector<16xf32>
  return %y : vector<16xf32>
}
