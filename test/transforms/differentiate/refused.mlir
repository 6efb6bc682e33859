// What has no derivative is an error at its place, never a gradient that is silently lost; all of them in one run.
// RUN: gnnc-opt %s -gnn-differentiate -split-input-file -verify-diagnostics

!v = tensor<3xf64, #gnn.dims<3>>
!i = tensor<3xi32, #gnn.dims<3>>
func.func @no_rule(%x: !v, %y_adj: !v) -> !v {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    // expected-error @below {{no_rule has no derivative; mark it nondiff(...) if that is meant}}
    %z = gnn.no_rule %X : !v
    // expected-error @below {{maxnumf has no derivative; mark it nondiff(...) if that is meant}}
    %w = arith.maxnumf %z, %X : !v
    %u = arith.addf %z, %w : !v
    gnn.yield %u : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> !v
  return %g : !v
}

// -----

// Each back asks for the derivative; the error is the program's, and stands once.
!v = tensor<3xf64, #gnn.dims<3>>
func.func @two_backs(%x: !v, %a: !v, %b: !v) -> (!v, !v) {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    // expected-error @below {{no_rule has no derivative; mark it nondiff(...) if that is meant}}
    %z = gnn.no_rule %X : !v
    gnn.yield %z : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%a) : (!gnn.tape, !v) -> !v
  %h = gnn.back %t(%b) : (!gnn.tape, !v) -> !v
  return %g, %h : !v, !v
}

// -----

!v = tensor<3xf64, #gnn.dims<3>>
!i = tensor<3xi32, #gnn.dims<3>>
func.func @to_integer(%x: !v, %y_adj: !v) -> !v {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    // expected-error @below {{turning a value into an integer loses its derivative; write nondiff(...) around the value if that is meant}}
    %n = arith.fptosi %X : !v to !i
    %r = arith.sitofp %n : !i to !v
    %z = arith.subf %X, %r : !v
    gnn.yield %z : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> !v
  return %g : !v
}

// -----

!v = tensor<3xf64, #gnn.dims<3>>
func.func @rounded(%x: !v, %y_adj: !v) -> !v {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    // expected-error @below {{rounding loses its derivative; write nondiff(...) around the value if that is meant}}
    %z = math.floor %X : !v
    gnn.yield %z : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> !v
  return %g : !v
}

// -----

// The inner derivative is fine; the outer one meets the op.
!v = tensor<3xf64, #gnn.dims<3>>
func.func @nested(%x: !v, %k: !v, %y_adj: !v, %g_adj: !v) -> !v {
  %gg, %t = gnn.vjp(%k) {
  ^bb0(%K: !v):
    // expected-error @below {{no_rule has no derivative; mark it nondiff(...) if that is meant}}
    %s = gnn.no_rule %K : !v
    %y, %u = gnn.vjp(%x) {
    ^bb0(%X: !v):
      %z = arith.mulf %X, %s : !v
      gnn.yield %z : !v
    } : (!v) -> (!v, !gnn.tape)
    %g = gnn.back %u(%y_adj) : (!gnn.tape, !v) -> !v
    gnn.yield %g : !v
  } : (!v) -> (!v, !gnn.tape)
  %h = gnn.back %t(%g_adj) : (!gnn.tape, !v) -> !v
  return %h : !v
}

// -----

// A region that uses an active value is active.
!v = tensor<3xf64, #gnn.dims<3>>
func.func @branch(%x: !v, %c: i1, %y_adj: !v) -> !v {
  %y, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    // expected-error @below {{if has no derivative; mark it nondiff(...) if that is meant}}
    %z = scf.if %c -> !v {
      scf.yield %X : !v
    } else {
      scf.yield %x : !v
    }
    gnn.yield %z : !v
  } : (!v) -> (!v, !gnn.tape)
  %g = gnn.back %t(%y_adj) : (!gnn.tape, !v) -> !v
  return %g : !v
}

// -----

// None of these are on a path from what is differentiated to a cotangent.
!v = tensor<3xf64, #gnn.dims<3>>
!i = tensor<3xi32, #gnn.dims<3>>
!s = tensor<f64, #gnn.dims<>>
func.func @fine(%x: !v, %k: !v, %y_adj: !v) -> !v {
  %zero = arith.constant dense<0.0> : !s
  %none = gnn.broadcast %zero dims [] : (!s) -> !v
  %y:3, %t = gnn.vjp(%x) {
  ^bb0(%X: !v):
    %a = gnn.no_rule %k : !v
    %f = math.floor %k : !v
    %held = gnn.nondiff %X : !v
    %n = arith.fptosi %held : !v to !i
    %b = gnn.no_rule %held : !v
    %unused = gnn.no_rule %X : !v
    %score = gnn.no_rule %X : !v
    %s = arith.mulf %X, %a : !v
    %u = arith.mulf %s, %b : !v
    %w = arith.mulf %u, %f : !v
    gnn.yield %w, %score, %n : !v, !v, !i
  } : (!v) -> (!v, !v, !i, !gnn.tape)
  %g = gnn.back %t(%y_adj, %none) : (!gnn.tape, !v, !v) -> !v
  return %g : !v
}
