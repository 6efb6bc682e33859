# Formats programs: the result means the same, formatting it again changes nothing, and no line of code is too long
# that could be broken. Programs that don't parse are refused and left alone.
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
formatted = 0
for program in sorted(p for root in map(pathlib.Path, sys.argv[2:]) for p in root.rglob("*.gnn")):
    tree = subprocess.run(["gnnc", "build", "--emit", "ast", program, "-o", "-"], capture_output=True, text=True)
    # gnnc fmt reads one file; that its imports are missing is nothing to it.
    first = subprocess.run(["gnnc", "fmt", program], capture_output=True, text=True)
    if first.returncode != 0:
        assert "error[" in first.stderr and "internal" not in first.stderr and first.stdout == "", (program, first.stderr)
        assert tree.returncode != 0, program
        continue
    formatted += 1
    once = folder / "once.gnn"
    once.write_text(first.stdout)
    again = subprocess.run(["gnnc", "fmt", "-"], input=first.stdout, capture_output=True, text=True)
    assert again.stdout == first.stdout, (program, again.stderr)
    subprocess.run(["gnnc", "fmt", "--check", once], check=True)
    if tree.returncode == 0:
        after = subprocess.run(["gnnc", "build", "--emit", "ast", "-I", program.parent, once, "-o", "-"],
                               capture_output=True, text=True, check=True)
        assert after.stdout == tree.stdout, program
    for line in first.stdout.splitlines():
        assert len(line) <= 120 or "//" in line or '"' in line, (program, line)

    # Comments are kept, in their order.
    def comments(text):
        return [line[line.index("//"):].rstrip() for line in text.splitlines() if "//" in line and '"' not in line]

    assert comments(program.read_text()) == comments(first.stdout), program
assert formatted > 30, formatted
