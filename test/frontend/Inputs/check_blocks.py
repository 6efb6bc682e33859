# Every ```gnn block of the documents given is a program that is accepted.
import pathlib
import re
import subprocess
import sys

count = 0
for document in map(pathlib.Path, sys.argv[1:]):
    for block in re.findall(r"^```gnn\n(.*?)^```$", document.read_text(), re.M | re.S):
        result = subprocess.run(["gnnc", "check", "-"], input=block, capture_output=True, text=True)
        assert result.returncode == 0, f"{document}:\n{block}{result.stderr}"
        count += 1
assert count, "no block was found"
