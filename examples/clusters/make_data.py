"""Writes clusters of 13 atoms: make_data.py FILE CLUSTERS SEED. Each is an icosahedron around an atom, near the least energy under the Lennard-Jones
potential, blown up or pressed a little, with every atom displaced. All pairs of a cluster are edges; velocities are those of a temperature of 0.1, without a motion
of the whole."""

import itertools
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from write_safetensors import write_safetensors  # noqa: E402

ATOMS = 13
RADIUS = 1.08  # of an atom in the shell, in the unit of length of the potential


def icosahedron():
    golden = (1 + math.sqrt(5)) / 2
    corners = [(0, a, b * golden) for a, b in itertools.product((-1, 1), repeat=2)]
    shell = [corner[k:] + corner[:k] for corner in corners for k in range(3)]
    scale = RADIUS / math.hypot(1, golden)
    return [(0.0, 0.0, 0.0)] + [tuple(scale * c for c in corner) for corner in shell]


def main(output, clusters, seed):
    draw = random.Random(seed)
    positions, velocities, ends = [], [], []
    for cluster in range(clusters):
        scale = draw.uniform(0.97, 1.1)
        positions += [[scale * c + draw.gauss(0, 0.04) for c in atom] for atom in icosahedron()]
        drawn = [[draw.gauss(0, math.sqrt(0.1)) for _ in range(3)] for _ in range(ATOMS)]
        drift = [sum(v[k] for v in drawn) / ATOMS for k in range(3)]
        velocities += [[v[k] - drift[k] for k in range(3)] for v in drawn]
        ends += [(ATOMS * cluster + i, ATOMS * cluster + j) for i, j in itertools.permutations(range(ATOMS), 2)]
    atoms = ATOMS * clusters
    tensors = {  # see write_safetensors
        "g.src": ("I32", "i", [len(ends)], [i for i, _ in ends]),
        "g.dst": ("I32", "i", [len(ends)], [j for _, j in ends]),
        "cluster": ("I32", "i", [atoms], [atom // ATOMS for atom in range(atoms)]),
        "pos": ("F64", "d", [atoms, 3], sum(positions, [])),
        "velocity": ("F64", "d", [atoms, 3], sum(velocities, [])),
    }
    write_safetensors(output, tensors, {"g.num_nodes": str(atoms), "clusters": str(clusters)})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: make_data.py OUTPUT.safetensors CLUSTERS SEED")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
