"""Rewrites by algebra, in f64: values against their formulas, gradients against those of the program without rewrites."""

import zlib

import numpy as np

import harness
import oracle

PROGRAM = harness.PROGRAMS / "algebra.gnn"


def gather_sum(n, dst, rows):
    out = np.zeros((n, *rows.shape[1:]))
    for edge, node in enumerate(dst):
        out[node] += rows[edge]
    return out


def message(g, a):
    n, src, dst = g
    rows = np.concatenate([a["x"][src], a["x"][dst] - a["x"][src], a["e"]], 1)
    return gather_sum(n, dst, rows @ a["p.w"] + a["p.b"])


def narrow(g, a):
    n, src, dst = g
    degree = np.bincount(dst, minlength=n)
    return gather_sum(n, dst, a["a"][:, None] * a["x"][src]) / np.maximum(degree, 1)[:, None] @ a["w"]


def widen(g, a):
    n, src, dst = g
    return gather_sum(n, dst, a["a"][:, None] * (a["x"] @ a["w"])[src])


def two_layers(g, a):
    ones = {"w": np.ones(len(g[1]))}
    hidden = np.maximum(oracle.gcn(g, {**ones, "p.w": a["p.w"], "p.b": a["p.b"], "x": a["x"]}), 0)
    return oracle.gcn(g, {**ones, "p.w": a["q.w"], "p.b": a["q.b"], "x": hidden})


# Function → (its formula, shapes of its arguments; n and m stand for the numbers of nodes and edges).
CASES = {
    "message": (message, {"p.w": (12, 3), "p.b": (3,), "x": ("n", 5), "e": ("m", 2)}),
    "narrow": (narrow, {"w": (6, 2), "a": ("m",), "x": ("n", 6)}),
    "widen": (widen, {"w": (2, 6), "a": ("m",), "x": ("n", 2)}),
    "two_layers": (two_layers, {"p.w": (4, 4), "p.b": (4,), "q.w": (4, 4), "q.b": (4,), "x": ("n", 4)}),
}
GRAPHS = ("awkward", "no edges")


class Algebra(harness.TestCase):
    def call(self, entry, graph, values, *flags):
        n, src, dst = graph
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(PROGRAM, "--real=f64", *flags))
            arguments = {"g": context.graph(n, np.array(src, np.int64), np.array(dst, np.int64)), **values}
            return model.call(context, entry, arguments)

    def check(self, name, graph_name):
        rng = np.random.default_rng(zlib.crc32(f"{name}/{graph_name}".encode()))
        n, src, dst = oracle.graphs(rng)[graph_name]
        graph = n, np.array(src, int), np.array(dst, int)
        formula, shapes = CASES[name]
        sizes = {"n": n, "m": len(src)}
        values = {path: rng.standard_normal([sizes.get(size, size) for size in shape]) for path, shape in shapes.items()}
        self.assert_close(self.call(name, graph, values)["out"], formula(graph, values), 1e-12, "value")
        if name == "two_layers":
            return
        rewritten, plain = (self.call(f"{name}_grad", graph, values, *flags) for flags in ((), ("--no-fuse",)))
        for path in plain:
            self.assert_close(rewritten[path], plain[path], 1e-12, path)

    def test_nodes_without_edges_stay_0(self):
        """a / d[dst] with d = 0 where no edge ends: moved out of the sum this would be 0 / 0."""
        graph = 4, [0, 1, 2, 0], [0, 0, 2, 2]
        values = {"a": np.array([1.0, 2.0, 3.0, 4.0]), "d": np.array([2.0, 0.0, 0.5, np.nan])}
        np.testing.assert_array_equal(self.call("scaled", graph, values)["out"], [1.5, 0, 14, 0])


harness.add_cases(
    Algebra, [(f"{name} on {graph}", (name, graph)) for name in CASES for graph in GRAPHS], Algebra.check
)
