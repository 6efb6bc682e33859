"""Prints a module with one function for each mathematical function and precision: 16 values from memory to memory."""

UNARY = ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "sin", "cos", "tan", "atan", "erf", "rsqrt", "round")
GNN = ("sigmoid", "softplus")
POWERS = (-3, -2, -1, 2, 3, 4, 5, 8, 17, 32, 100)


def function(name, body):
    for real, integer in (("f32", "i32"), ("f64", "i64")):
        print(f"func.func @{name}_{real}(%a: !llvm.ptr, %b: !llvm.ptr, %out: !llvm.ptr) {{")
        print(f"  %x = llvm.load %a : !llvm.ptr -> vector<16x{real}>")
        print(f"  %y = llvm.load %b : !llvm.ptr -> vector<16x{real}>")
        print(body.replace("REAL", f"vector<16x{real}>").replace("INTEGER", f"vector<16x{integer}>"))
        print(f"  llvm.store %r, %out : vector<16x{real}>, !llvm.ptr\n  return\n}}")


for name in UNARY:
    function(name, f"  %r = math.{name} %x : REAL")
for name in GNN:
    function(name, f"  %r = gnn.{name} %x : REAL")
function("pow", "  %r = math.powf %x, %y : REAL")
function("atan2", "  %r = math.atan2 %x, %y : REAL")
function("pmul", "  %r = gnn.pmul %x, %y : REAL")
function("pow_half", "  %h = arith.constant dense<0.5> : REAL\n  %r = math.powf %x, %h : REAL")
function("powi", "  %n = arith.fptosi %y : REAL to INTEGER\n  %r = math.fpowi %x, %n : REAL, INTEGER")
for n in POWERS:
    function(f"powi_{n}".replace("-", "m"),
             f"  %n = arith.constant dense<{n}> : INTEGER\n  %r = math.fpowi %x, %n : REAL, INTEGER")
