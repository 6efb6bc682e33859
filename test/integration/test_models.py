"""The models of the benchmark, in f64: what each computes is what its first line says, and a step gives the gradients of mean(y²)."""

import re
import zlib

import numpy as np

import harness
import oracle

MODELS = harness.SOURCE / "bench" / "models"


def headed(reference):
    """Results with heads apart; the oracle has them in one dimension."""
    return lambda g, a: reference(g, a).reshape(g[0], *HEADS)


def transformer(g, a):
    p = {"p.root.w": np.zeros_like(a["p.q"]), "p.root.b": a["p.b"]}
    for name in "qkv":
        p |= {f"p.{name}.w": a["p." + name], f"p.{name}.b": np.zeros(HEADS)}
    return oracle.transformer(g, {"x": a["x"], **p})


def gin(g, a):
    def perceptron(z):
        return np.maximum(z @ a["p.hidden.w"] + a["p.hidden.b"], 0) @ a["p.out.w"] + a["p.out.b"]

    return perceptron(a["x"] + oracle.spmm(g, {"w": np.ones(len(g[1])), "x": a["x"]}))


def edgeconv(g, a):
    x, w, b = a["x"], a["p.w"], a["p.b"]
    return oracle.maximum_of(g, len(b), lambda i, j: np.concatenate([x[i], x[j] - x[i]]) @ w + b)


def pna_conv(g, a):
    degree = np.bincount(np.array(g[2], int), minlength=g[0])
    return oracle.pna(g, {**a, "delta": np.mean(np.log(degree + 1))})


HEADS = (2, 3)
SPLIT = {f"p.{name}": (5, *HEADS) for name in "qkv"} | {"p.b": HEADS}
PERCEPTRON = {"p.hidden.w": (5, 4), "p.hidden.b": (4,), "p.out.w": (4, 3), "p.out.b": (3,)}
# Model → (its reference, the oracle's layer whose arguments it takes, or the shapes of its parameters).
CASES = {
    "gcn": (lambda g, a: oracle.gcn(g, {**a, "w": np.ones(len(g[1]))}), "gcn"),
    "sage": (oracle.sage_mean, "sage_mean"),
    "gin": (gin, PERCEPTRON),
    "gat": (headed(oracle.gat_no_loops), "gat"),
    "gatv2": (headed(oracle.gatv2_no_loops), "gatv2"),
    "transformer": (headed(transformer), SPLIT),
    "transformer_conv": (headed(oracle.transformer), "transformer"),
    "edgeconv": (edgeconv, {"p.w": (10, 3), "p.b": (3,)}),
    "edgeconv_linear": (oracle.edge_conv_linear, "edge_conv_linear"),
    "pna": (oracle.pna_aggregate, "pna_aggregate"),
    "pna_conv": (pna_conv, "pna"),
    "spmm": (oracle.spmm, "spmm"),
    "u_dot_v": (lambda g, a: oracle.u_dot_v(g, {"u": a["x"], "v": a["v"]}), {"v": None}),
}
HELD = {"w"}  # what a step holds constant: weights of edges


class Models(harness.TestCase):
    def check(self, name, graph_name):
        rng = np.random.default_rng(zlib.crc32(f"{name}/{graph_name}".encode()))
        n, src, dst = graph = oracle.graphs(rng)[graph_name]
        reference, parameters = CASES[name]
        if isinstance(parameters, str):
            parameters = oracle.shapes(parameters, n, len(src))
        values = {path: rng.standard_normal(shape or (n, 5)) for path, shape in {"x": (n, 5), **parameters}.items()}

        with harness.runtime().context() as context:
            model = context.model(harness.compiled(MODELS / f"{name}.gnn", "--real=f64"))
            paths = {spec["path"] for spec in model.entries["step"]["args"]}
            values = {path: value for path, value in values.items() if path in paths}
            arguments = {"g": context.graph(n, np.array(src, np.int64), np.array(dst, np.int64)), **values}
            result = model.call(context, "forward", arguments)["out"]
            step = model.call(context, "step", arguments)
        expected = reference(graph, values)
        self.assert_close(result, expected, 1e-12, "value")
        mean_square = lambda changed: np.sum(reference(graph, changed) ** 2) / max(expected.size, 1)
        self.assert_close(step.pop("loss"), mean_square(values), 1e-12, "loss")
        gradients = {path.removeprefix("d"): value for path, value in step.items()}
        held = {path: values[path] for path in HELD & set(values)}
        active = {path: value for path, value in values.items() if path not in HELD}
        self.assert_gradients(lambda changed: mean_square({**changed, **held}), active, gradients, 1.0, rng)

    def test_every_model_is_here(self):
        self.assertEqual({path.stem for path in MODELS.glob("*.gnn")}, set(CASES))


ATTENTION = {"x": (4, 5), "p.src": (5, *HEADS), "p.dst": (5, *HEADS), "p.a": HEADS, "p.b": HEADS}
LINEAR = {"x": (4, 5), "p.w": (10, 3), "p.b": (3,)}
PNA = {"x": (4, 5), "p.message.w": (10, 5), "p.message.b": (5,), "p.update.w": (65, 3), "p.update.b": (3,)}
# Model, shapes of its arguments on a graph of 4 nodes and 3 edges, the one that is wrong, the message.
WRONG = [
    ("gatv2", ATTENTION, {"x": (4, 6)}, "`x` has 6 columns, but `p.src` has 5 rows (In)"),
    ("gatv2", ATTENTION, {"p.dst": (5, 3, 3)}, "`p.dst` has size 3 in dimension 1 (counted from 0), but `p.src` has size 2"),
    ("gatv2", ATTENTION, {"p.a": (3, 2)}, "`p.a` has 3 rows, but `p.src` has size 2 in dimension 1"),
    ("gatv2", ATTENTION, {"p.b": (6,)}, "`p.b` has 1 dimension, but must have 2: [H, D]"),
    ("edgeconv", LINEAR, {"p.w": (5, 3)}, "`p.w` has 5 rows, but 2*In is 10, since `x` has 5 columns (In)"),
    ("edgeconv", LINEAR, {"p.b": (4,)}, "`p.b` has 4 entries, but `p.w` has 3 columns (Out)"),
    ("pna_conv", PNA, {"p.update.w": (60, 3)}, "`p.update.w` has 60 rows, but 13*In is 65, since `p.message.w` has 5 columns (In)"),
    ("spmm", {"x": (4, 5), "w": (3,)}, {"w": (4,)}, "`w` has 4 entries, but `g` has 3 edges (g.edges)"),
    ("u_dot_v", {"x": (4, 5), "v": (4, 5)}, {"v": (4, 6)}, "`v` has 6 columns, but `x` has 5 columns (F)"),
    ("u_dot_v", {"x": (4, 5), "v": (4, 5)}, {"v": (5, 5)}, "`v` has 5 rows, but `g` has 4 nodes (g.nodes)"),
]


class WrongSizes(harness.TestCase):
    """A step with a tensor of another shape is refused, and the message says which two disagree."""

    def check(self, name, shapes, wrong, message):
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(MODELS / f"{name}.gnn", "--real=f64"))
            arguments = {path: np.ones(shape) for path, shape in {**shapes, **wrong}.items()}
            arguments["g"] = context.graph(4, np.array([0, 1, 2], np.int32), np.array([1, 2, 0], np.int32))
            self.assert_refused("shape", re.escape(message), lambda: model.call(context, "step", arguments))


harness.add_cases(WrongSizes, [(f"{case[0]} {' '.join(case[2])}", case) for case in WRONG], WrongSizes.check)
harness.add_cases(
    Models,
    [(f"{name} on {graph}", (name, graph)) for name in CASES for graph in ("awkward", "no edges")],
    Models.check,
)
