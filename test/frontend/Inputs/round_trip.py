# Prints each program's syntax tree, prints that of the printed text, and compares.
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
assert len(sys.argv) > 2
for program in map(pathlib.Path, sys.argv[2:]):
    once, twice = folder / program.name, folder / (program.name + ".again")
    subprocess.run(["gnnc", "build", "--emit", "ast", program, "-o", once], check=True)
    subprocess.run(["gnnc", "build", "--emit", "ast", once, "-o", twice], check=True)
    assert once.read_text() == twice.read_text(), program
