"""The grammar of docs/language.md derives every program that the parser accepts: grammar.py LANGUAGE.md FILES-OR-FOLDERS.

The grammar is read from the page. Programs of the documents and the tree that `gnnc fmt` can read are derived with it, and a few that
the parser refuses are not.
"""

import pathlib
import re
import subprocess
import sys

page = pathlib.Path(sys.argv[1]).read_text()
source = re.search(r"^## Grammar$.*?^```\n(.*?)^```$", page, re.M | re.S)[1]
source = re.sub(r"\(\*.*?\*\)", "", source)
reserved = set(re.search(r"\*Reserved words\*: `(.*?)`", page, re.S)[1].split())

# ---- The grammar: alternatives are lists of sequences; {a} and [a] become nodes of their own.
words = re.findall(r'"[^"]+"|[\w-]+|[=;|(){}\[\]]', source)
at = 0


def alternatives(end):
    global at
    found = [[]]
    while words[at] != end:
        word = words[at]
        at += 1
        if word == "|":
            found.append([])
        elif word in "([{":
            inner = alternatives({"(": ")", "[": "]", "{": "}"}[word])
            at += 1
            found[-1].append(({"(": "group", "[": "option", "{": "repeat"}[word], inner))
        elif word.startswith('"'):
            found[-1].append(("token", word[1:-1]))
        else:
            found[-1].append(("rule", word))
    return found


rules = {}
while at < len(words):
    name = words[at]
    at += 2  # and the '='
    rules[name] = alternatives(";")
    at += 1
classes = {"name", "integer", "float", "string"}
used = {item for rule in rules.values() for item in re.findall(r"\('rule', '([\w-]+)'\)", str(rule))}
assert used - classes <= rules.keys(), used - classes - rules.keys()
assert rules.keys() - used == {"program"}, rules.keys() - used

# ---- Programs: words with their class.
pattern = re.compile(r'(?P<string>"(?:\\.|[^"\\])*")|(?P<float>\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)|(?P<integer>\d+)|(?P<name>\w+)'
                     r"|(?P<sign>->|\.\.|==|!=|<=|>=|\+=|-=|\*=|/=|[-+*/@=<>.,:;|(){}\[\]])")


def tokens(text):
    found = [(m.lastgroup, m[0]) for m in pattern.finditer(re.sub(r'("[^"\n]*")|//[^\n]*', lambda m: m[1] or "", text))]
    # A list may end with a comma, and `||` is a lambda without parameters.
    return [t for t, behind in zip(found, found[1:] + [("", "")]) if not (t[1] == "," and behind[1] in ")]}")]


def derives(text):
    program = tokens(text)
    known = {}

    def item(node, start):
        """The places up to which a node can be read from a start."""
        kind, what = node
        if kind == "token":
            return {start + 1} if start < len(program) and program[start][1] == what else set()
        if kind == "rule" and what in classes:
            if start == len(program) or program[start][0] != what:
                return set()
            free = program[start][1] not in reserved or (
                program[start][1] in ("nondiff", "var") and program[start + 1][1] == "(")
            return {start + 1} if what != "name" or free else set()
        key = (id(node) if kind != "rule" else what, start)
        if key in known:
            return known[key]
        inner = rules[what] if kind == "rule" else what
        ends = {start} if kind in ("option", "repeat") else set()
        known[key] = ends
        new = sequences(inner, start)
        while new - ends:
            fresh = new - ends
            ends |= fresh
            if kind != "repeat":
                break
            new = {end for begin in fresh for end in sequences(inner, begin)}
        return ends

    def sequences(choices, start):
        ends = set()
        for sequence in choices:
            places = {start}
            for node in sequence:
                places = {end for place in places for end in item(node, place)}
            ends |= places
        return ends

    return len(program) in item(("rule", "program"), 0)


sys.setrecursionlimit(100000)
programs = []
for root in map(pathlib.Path, sys.argv[2:]):
    for path in sorted(root.rglob("*.gnn")) if root.is_dir() else [root]:
        text = path.read_text()
        blocks = re.findall(r"^```gnn\n(.*?)^```$", text, re.M | re.S) if path.suffix == ".md" else [text]
        programs += [(path, block) for block in blocks]
accepted = 0
for path, text in programs:
    read = subprocess.run(["gnnc", "fmt", "-"], input=text, capture_output=True, text=True).returncode == 0
    if read:
        accepted += 1
        assert derives(text), f"the grammar does not derive {path}:\n{text}"
assert accepted > 40, accepted

for wrong in ("fn f() { let x 1; }", "fn f( { }", "struct S { a }", "fn f() { return 1 }", "export f;", "fn f() { x = ; }",
              "fn f() { for t 0..3 { } }", "let x = 1;", "fn f() -> { }", "fn f() { return a < b < c; }"):
    assert subprocess.run(["gnnc", "fmt", "-"], input=wrong, capture_output=True, text=True).returncode == 1, wrong
    assert not derives(wrong), wrong
