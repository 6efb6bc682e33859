"""Writes particles.safetensors: make_data.py OUTPUT [particles]. Where the particles begin, and the pairs that feel each other: all, both ways."""

import json
import random
import struct
import sys


def main(output, particles):
    pairs = [(i, j) for i in range(particles) for j in range(particles) if i != j]
    noise = random.Random(1)
    tensors = {  # name: (safetensors type, struct code, shape, values)
        "g.src": ("I32", "i", [len(pairs)], [i for i, _ in pairs]),
        "g.dst": ("I32", "i", [len(pairs)], [j for _, j in pairs]),
        "x0": ("F32", "f", [particles, 3], [noise.gauss(0, 1) for _ in range(3 * particles)]),
    }
    header, data = {"__metadata__": {"g.num_nodes": str(particles)}}, b""
    for name, (dtype, code, shape, values) in tensors.items():
        blob = struct.pack(f"<{len(values)}{code}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(output, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: make_data.py OUTPUT.safetensors [PARTICLES]")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 8)
