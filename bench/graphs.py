"""Graphs with the sizes and the skew of well-known ones, made from a seed: the same everywhere.

    graphs.py NAME OUT.safetensors

Names: arxiv, reddit16, products16 (citations, posts and products, the last two at a sixteenth of their nodes), knn (each node and 20
near it), molecules (2048 trees of 9 to 34 atoms, both directions), star (all point to one), star_t (one points to all), even (as many
nodes and edges as star, one edge each). The file has `src` and `dst`, int32 [edges], and `num_nodes` in its metadata.
"""

import pathlib
import sys

import numpy as np

SKEWED = {  # nodes, edges, largest expected in-degree and out-degree
    "arxiv": (169_343, 1_166_243, 13_150, 440),
    "reddit16": (14_560, 7_163_493, 1_354, 1_354),
    "products16": (153_064, 7_732_392, 1_092, 1_092),
}
NAMES = [*SKEWED, "knn", "molecules", "star", "star_t", "even"]


def power_law(nodes, mean, largest, random):
    """Probabilities of nodes whose expected degrees fall as a power of their rank, with this mean and this largest one."""
    ranks = np.arange(1, nodes + 1)
    low, high = 0.0, 2.0
    for _ in range(60):
        exponent = (low + high) / 2
        low, high = (exponent, high) if (largest * ranks**-exponent).mean() > mean else (low, exponent)
    weights = random.permutation(ranks**-exponent)
    return weights / weights.sum()


def skewed(nodes, edges, most_in, most_out, random):
    """Chung and Lu: both ends of an edge are drawn independently."""
    ends = []
    for most in (most_out, most_in):
        steps = np.cumsum(power_law(nodes, edges / nodes, most, random))
        ends.append(np.minimum(np.searchsorted(steps, random.random(edges)), nodes - 1))
    return nodes, *ends


def molecules(random, count=2048):
    sizes = random.integers(9, 35, count)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    child = np.concatenate([begin + np.arange(1, size) for begin, size in zip(first, sizes)])
    begin = np.repeat(first, sizes - 1)
    parent = begin + (random.random(len(child)) * (child - begin)).astype(np.int64)
    return int(sizes.sum()), np.concatenate([child, parent]), np.concatenate([parent, child])


def make(name, seed=0):
    """(number of nodes, src, dst) of a graph."""
    random = np.random.default_rng(seed)
    if name in SKEWED:
        nodes, src, dst = skewed(*SKEWED[name], random)
    elif name == "knn":
        nodes, near = 65_536, 20
        dst = np.repeat(np.arange(nodes), near)
        src = (dst + random.integers(-200, 200, len(dst))) % nodes
    elif name == "molecules":
        nodes, src, dst = molecules(random)
    elif name in ("star", "star_t", "even"):
        nodes = 200_000
        leaves, centre = np.arange(1, nodes), np.zeros(nodes - 1, np.int64)
        src, dst = {"star": (leaves, centre), "star_t": (centre, leaves), "even": (leaves, random.permutation(leaves))}[name]
    else:
        raise SystemExit(f"unknown graph '{name}': it is one of {', '.join(NAMES)}")
    return nodes, src.astype(np.int32), dst.astype(np.int32)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "integration"))
    import safetensors_io

    nodes, src, dst = make(sys.argv[1])
    safetensors_io.write(sys.argv[2], {"src": src, "dst": dst}, {"num_nodes": nodes})
    degrees = np.bincount(dst, minlength=nodes)
    print(f"{sys.argv[1]}: {nodes} nodes, {len(src)} edges, largest in-degree {degrees.max()}, {int((degrees == 0).sum())} without")
