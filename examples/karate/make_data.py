"""Writes karate.safetensors from ties.txt and factions.txt: make_data.py OUTPUT. Needs nothing but Python.

The graph has each tie in both directions. A member's features are its row of the identity matrix. Two members are
labelled for training, the instructor and the officer; the others are for testing.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from write_safetensors import write_safetensors  # noqa: E402

MEMBERS = 34


def lines(name):
    text = (pathlib.Path(__file__).parent / name).read_text()
    return [[int(word) for word in line.split()] for line in text.splitlines() if not line.startswith("#")]


def main(output):
    ties = [(first, other) for first, *others in lines("ties.txt") for other in others]
    assert len(ties) == 78
    instructor = {member for line in lines("factions.txt") for member in line}
    train = [member in (0, 33) for member in range(MEMBERS)]

    tensors = {  # see write_safetensors
        "g.src": ("I32", "i", [156], [a for a, b in ties] + [b for a, b in ties]),
        "g.dst": ("I32", "i", [156], [b for a, b in ties] + [a for a, b in ties]),
        "x": ("F32", "f", [MEMBERS, MEMBERS], [float(i == j) for i in range(MEMBERS) for j in range(MEMBERS)]),
        "y": ("I32", "i", [MEMBERS], [0 if member in instructor else 1 for member in range(MEMBERS)]),
        "train": ("BOOL", "?", [MEMBERS], train),
        "test": ("BOOL", "?", [MEMBERS], [not marked for marked in train]),
    }
    write_safetensors(output, tensors, {"name": "karate", "g.num_nodes": str(MEMBERS)})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py OUTPUT.safetensors")
    main(sys.argv[1])
