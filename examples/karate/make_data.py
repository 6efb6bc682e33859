"""Writes karate.safetensors from ties.txt and factions.txt: make_data.py OUTPUT. Needs nothing but Python.

The graph has each tie in both directions. A member's features are its row of the identity matrix. Two members are
labelled for training, the instructor and the officer; the others are for testing.
"""

import json
import pathlib
import struct
import sys

MEMBERS = 34


def lines(name):
    text = (pathlib.Path(__file__).parent / name).read_text()
    return [[int(word) for word in line.split()] for line in text.splitlines() if not line.startswith("#")]


def main(output):
    ties = [(first, other) for first, *others in lines("ties.txt") for other in others]
    assert len(ties) == 78
    instructor = {member for line in lines("factions.txt") for member in line}
    train = [member in (0, 33) for member in range(MEMBERS)]

    tensors = {  # name: (safetensors type, struct code, shape, values)
        "g.src": ("I32", "i", [156], [a for a, b in ties] + [b for a, b in ties]),
        "g.dst": ("I32", "i", [156], [b for a, b in ties] + [a for a, b in ties]),
        "x": ("F32", "f", [MEMBERS, MEMBERS], [float(i == j) for i in range(MEMBERS) for j in range(MEMBERS)]),
        "y": ("I32", "i", [MEMBERS], [0 if member in instructor else 1 for member in range(MEMBERS)]),
        "train": ("BOOL", "?", [MEMBERS], train),
        "test": ("BOOL", "?", [MEMBERS], [not marked for marked in train]),
    }
    header = {"__metadata__": {"name": "karate", "g.num_nodes": str(MEMBERS)}}
    data = b""
    for name, (dtype, code, shape, values) in tensors.items():
        blob = struct.pack(f"<{len(values)}{code}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(output).write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py OUTPUT.safetensors")
    main(sys.argv[1])
