"""The pages that strangers read first are true: pages.py SOURCE FOLDER.

README.md: the model and the layer are accepted, the model is the one of the example, and the wrong program is refused with the
message shown. CONTRIBUTING.md: each snippet stands in the sources as it is quoted.
"""

import pathlib
import re
import subprocess
import sys
import textwrap

source, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)


def blocks(page, languages):
    return re.findall(rf"^```(?:{languages})\n(.*?)^```$\n*(?=((?:^    [^\n]*\n|^\n)*))", (source / page).read_text(), re.M | re.S)


def check(program):
    (folder / "refused.gnn").write_text(program)
    return subprocess.run(["gnnc", "check", "refused.gnn"], cwd=folder, capture_output=True, text=True)


(model, _), (layer, _), (wrong, message) = blocks("README.md", "gnn")
for program in model, layer:
    result = check(program)
    assert result.returncode == 0, program + result.stderr
example = re.sub(r"^//.*\n", "", (source / "examples/karate/karate.gnn").read_text(), flags=re.M)
for part in model.strip().split("\n\n"):
    assert part in example, f"not in the example:\n{part}"
result = check(wrong)
assert result.returncode == 1 and result.stderr.strip() == textwrap.dedent(message).strip(), result.stderr

files = [path for part in ("include", "lib", "test") for path in (source / part).rglob("*.*") if path.is_file()]
texts = [path.read_text() for path in files if path.suffix in (".td", ".cpp", ".mlir", ".py")]
snippets = blocks("CONTRIBUTING.md", "tablegen|cpp|mlir|python")
assert snippets
for snippet, _ in snippets:
    assert any(snippet in text for text in texts), f"not in the sources:\n{snippet}"
