"""Writes particles.safetensors: make_data.py OUTPUT [particles]. Where the particles begin, and the pairs that feel each other: all, both ways."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from write_safetensors import write_safetensors  # noqa: E402


def main(output, particles):
    pairs = [(i, j) for i in range(particles) for j in range(particles) if i != j]
    noise = random.Random(1)
    tensors = {  # see write_safetensors
        "g.src": ("I32", "i", [len(pairs)], [i for i, _ in pairs]),
        "g.dst": ("I32", "i", [len(pairs)], [j for _, j in pairs]),
        "x0": ("F32", "f", [particles, 3], [noise.gauss(0, 1) for _ in range(3 * particles)]),
    }
    write_safetensors(output, tensors, {"g.num_nodes": str(particles)})


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: make_data.py OUTPUT.safetensors [PARTICLES]")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 8)
