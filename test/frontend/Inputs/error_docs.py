# Holds docs/errors.md to what the compiler does: each code of ErrorCodes.def has an entry with its title, and no other; the
# first example of an entry gives that code and no other, the examples after it are accepted.
import pathlib
import re
import subprocess
import sys

definitions, document, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
titles = {
    code: title.encode().decode("unicode_escape")
    for code, title in re.findall(r'^GNNC_DIAG\((G\d+), \w+,\s*"((?:[^"\\]|\\.)*)"\)', definitions.read_text(), re.M)
}
assert titles, definitions
faults = []

sections = re.split(r"^### (?=G\d)", document.read_text(), flags=re.M)[1:]
entries = {}
for section in sections:
    heading, body = section.split("\n", 1)
    code, _, title = heading.partition(": ")
    if code in entries:
        faults.append(f"{code}: two entries")
    entries[code] = body
    if titles.get(code) != title:
        faults.append(f"{code}: the entry is called '{title}', ErrorCodes.def says '{titles.get(code)}'")
faults += [f"{code}: no entry" for code in titles if code not in entries]
if list(entries) != sorted(entries):
    faults.append("the entries are not in the order of their codes")

for code, body in entries.items():
    blocks = re.findall(r"^```(gnn|sh)\n(.*?)^```$", body, re.M | re.S)
    if not blocks:
        faults.append(f"{code}: no example")
    for number, (language, text) in enumerate(blocks):
        if language == "gnn":
            (folder / f"{code}.gnn").write_text(text)
            command = ["gnnc", "check", f"{code}.gnn"]
        else:
            command = ["sh", "-c", text]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        found = set(re.findall(r"(?:error|warning)\[(G\d+)\]", result.stderr))
        expected = {code} if number == 0 else set()
        if found != expected:
            faults.append(f"{code}: example {number + 1} gives {sorted(found)}:\n{text}{result.stderr}")

print("\n".join(faults))
sys.exit(bool(faults))
