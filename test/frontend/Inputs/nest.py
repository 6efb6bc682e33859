# Writes programs that nest one construct twenty thousand times, and one that is only long.
import os
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
n = 20000

programs = {
    "parentheses": "let y = " + "(" * n + "x" + ")" * n + ";",
    "sum": "let y = x" + " + x" * n + ";",
    "minus": "let y = " + "-" * n + "x;",
    "not": "let y = " + "not " * n + "x;",
    "calls": "let y = f" + "(x)[0]" * n + ";",
    "fields": "let y = x" + ".a" * n + ";",
    "blocks": "if x { " * n + "}" * n,
    "else": "if x { } " + "else if x { } " * n,
    "values": "let y = " + "if x { 1 } else { " * n + "1" + "}" * n + ";",
    "lambdas": "let y = " + "|a| { f(" * n + "1" + ") }" * n + ";",
    "types": "let y: " + "fn(" * n + "real" + ") -> real" * n + " = x;",
    "patterns": "let " + "(a, " * n + "a" + ")" * n + " = x;",
    "mixed": "let y = " + "f[|a| { -(g { w: [" * n,
    "long": "let y = [" + "x, " * n + "];" + "let z = x + x;" * n,
}
for name, body in programs.items():
    with open(os.path.join(folder, name + ".gnn"), "w") as out:
        out.write("fn f(x: real) -> real {\n" + body + "\n}\n")
