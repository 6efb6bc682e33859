"""Sums of products, variances, copies and forward mode, in f64, with kernels in groups and without: values against numpy, gradients against
differences of numpy's, second derivatives against differences of first ones.
"""

import zlib

import numpy as np

import harness
import oracle
from test_ops import grouped, logsumexp

RELATIONS = 3


def by_pair(how, empty=0.0):
    def reference(g, a):
        ids = np.array(g[2], int) * RELATIONS + a["rel"]
        return grouped(ids, g[0] * RELATIONS, a["e"], how, empty).reshape(g[0], RELATIONS, -1)

    return reference


def softmax_pairs(g, a):
    ids = np.array(g[2], int) * RELATIONS + a["rel"]
    total = grouped(ids, g[0] * RELATIONS, a["e"], logsumexp)[ids].reshape(a["e"].shape)
    return np.exp(a["e"] - total) + a["e"] - total


def per_edge(g, a):
    messages = np.array([a["x"][s] @ t for s, t in zip(g[1], a["theta"])]).reshape(len(g[1]), a["theta"].shape[2])
    return grouped(g[2], g[0], messages, lambda m: m.mean(0))


def grid(g, a):
    n = len(a["x"])
    ids, rows = a["i"].reshape(-1), a["x"].reshape(-1, 2)
    return grouped(ids, n, rows, lambda m: np.sum(np.exp(m - logsumexp(m)) * m, axis=0))


def einsum(spec, *names):
    return lambda g, a: np.einsum(spec, *(a[name] for name in names))


def by_dst(how, empty=0.0):
    return lambda g, a: grouped(g[2], g[0], a["e"], how, empty)


# Function of tensors.gnn → (reference of graph and arguments, shapes of its arguments; n and e are the numbers of nodes and edges).
CASES = {
    "matrix_product": (einsum("nf,fo->no", "x", "w"), {"x": "n5", "w": "53"}),
    "per_edge": (per_edge, {"x": "n3", "theta": "e34"}),
    "per_head": (einsum("nhd,hde->nhe", "x", "w"), {"x": "n34", "w": "345"}),
    "bases": (einsum("ni,bio->nbo", "x", "basis"), {"x": "n4", "basis": "243"}),
    "bilinear": (einsum("ni,ioj,nj->no", "x", "w", "y"), {"x": "n4", "w": "434", "y": "n4"}),
    "chain": (einsum("nf,fk,km,m->n", "a", "b", "c", "d"), {"a": "n3", "b": "32", "c": "2n", "d": "n"}),
    "trace": (einsum("ii->", "a"), {"a": "nn"}),
    "diagonals": (einsum("ifi->fi", "a"), {"a": "n3n"}),
    "cubic_diagonal": (einsum("iii,i->i", "a", "x"), {"a": "nnn", "x": "n"}),
    "lone_letters": (einsum("nf,no->o", "x", "y"), {"x": "n3", "y": "n2"}),
    "outer_product": (einsum("n,f->fn", "a", "b"), {"a": "n", "b": "3"}),
    "inner_product": (einsum("n,n->", "a", "b"), {"a": "n", "b": "n"}),
    "swapped": (einsum("nfk->kn", "x"), {"x": "n32"}),
    "packs": (lambda g, a: (a["x"] @ a["w"]) * (a["y"] @ a["w"]), {"x": "n23", "y": "3", "w": "34"}),
    "own_square": (lambda g, a: a["x"].T @ a["x"], {"x": "n4"}),
    "segment_var": (by_dst(lambda m: m.var(0)), {"e": "e3"}),
    "segment_std": (by_dst(lambda m: m.std(0), 2.0), {"e": "e3"}),
    "var_over": (lambda g, a: a["x"].var(1) + a["x"].std(1), {"x": "n5"}),
    "var_all": (lambda g, a: a["x"].var() * a["x"].std(), {"x": "n5"}),
    "var_pairs": (by_pair(lambda m: m.var(0)), {"e": "e2"}),
    "max_pairs": (by_pair(lambda m: m.max(0), -3.0), {"e": "e2"}),
    "softmax_pairs": (softmax_pairs, {"e": "e2"}),
    "grid": (grid, {"x": "n32"}),
    "repeated": (lambda g, a: np.tile(a["x"] * a["s"], (2, 3)), {"x": "n2", "s": "2"}),
    "guarded": (lambda g, a: a["c"][:, None] * a["a"], {"c": "n", "a": "n3"}),
}
# A segment of one entry, or of equal ones, has the standard deviation 0, where differences see a kink.
KINKED = {"segment_std"}


def tangent(function, step=1e-6):
    """The derivative of function(x, ...) along tangents, by differences."""

    def along(values, tangents):
        ahead = function(*(v + step * t for v, t in zip(values, tangents)))
        return (ahead - function(*(v - step * t for v, t in zip(values, tangents)))) / (2 * step)

    return along


def softmax(x, axis=0):
    return np.exp(x - logsumexp(x, axis))


def selected(x):
    return np.where(x > 0, np.sqrt(np.abs(x)), 0) + np.maximum(x, 0.5 * x) + softmax(x)


def aggregated(graph):
    n, src, dst = graph
    src, dst = np.array(src, int), np.array(dst, int)

    def function(x):
        weighed = lambda rows: np.sum(softmax(rows[:, 0]) * rows[:, 1], axis=0)
        both = np.stack([x[src], x[dst]], axis=1)
        return (
            grouped(dst, n, x[src] * x[dst], lambda m: m.max(0)).reshape(n, 3)
            + grouped(dst, n, both, weighed).reshape(n, -1, 3)[:, 0]
            + grouped(dst, n, x[src], lambda m: m.std(0)).reshape(n, 3)
        )

    return function


class Tensors(harness.TestCase):
    def setUp(self):
        self.context = harness.runtime().context()
        self.addCleanup(self.context.__exit__)

    def model(self, *flags):
        return self.context.model(harness.compiled(harness.PROGRAMS / "tensors.gnn", "--real=f64", *flags))

    def arguments(self, model, name, graph, values):
        arguments = dict(values)
        if "rel" in values:
            arguments["Rel"] = RELATIONS
        if any(spec["kind"] == "graph" for spec in model.entries[model.vjps[name]["forward"]]["args"]):
            arguments["g"] = self.context.graph(graph[0], np.array(graph[1], np.int64), np.array(graph[2], np.int64))
        return arguments

    def value_and_vjp(self, model, name, graph, values, cotangents):
        return model.value_and_vjp(self.context, name, self.arguments(model, name, graph, values), cotangents)

    def value_of(self, model, name, graph, values):
        return model.call(self.context, model.vjps[name]["forward"], self.arguments(model, name, graph, values))["out"]

    def values(self, shapes, graph, rng):
        sizes = {"n": graph[0], "e": len(graph[1])}
        return {path: rng.standard_normal([sizes.get(c) if c in sizes else int(c) for c in shape]) for path, shape in shapes.items()}

    def check(self, name, graph_name, flags):
        rng = np.random.default_rng(zlib.crc32(f"{name}/{graph_name}".encode()))
        graph = oracle.graphs(rng)[graph_name]
        reference, shapes = CASES[name]
        values = self.values(shapes, graph, rng)
        if name.endswith("_pairs"):
            values["rel"] = rng.integers(0, RELATIONS, len(graph[1])).astype(np.int32)
        if name == "grid":
            values["i"] = rng.integers(0, graph[0], (graph[0], 3)).astype(np.int32)
        expected = np.asarray(reference(graph, values))
        cotangent = rng.standard_normal(expected.shape)
        model = self.model(*flags)
        results, gradients = self.value_and_vjp(model, name, graph, values, {"out": cotangent})
        self.assert_close(results["out"], expected, 1e-7 if name in KINKED else 1e-12, "value")
        if name not in KINKED:
            self.assert_gradients(lambda changed: reference(graph, changed), values, gradients, cotangent, rng)

    def check_second(self, name, shapes, graph_name, flags):
        """The gradient of what is itself a derivative, against differences of that."""
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        graph = oracle.graphs(rng)[graph_name]
        values = self.values(shapes, graph, rng)
        model = self.model(*flags)
        value = self.value_of(model, name, graph, values)
        cotangent = rng.standard_normal(value.shape)
        _, gradients = self.value_and_vjp(model, name, graph, values, {"out": cotangent})
        self.assert_gradients(lambda changed: self.value_of(model, name, graph, changed), values, gradients, cotangent, rng)

    # ---- Forward mode ----

    def check_forward(self, flags):
        rng = np.random.default_rng(1)
        values = {"x": rng.standard_normal((7, 3)), "w": rng.standard_normal((3, 3))}
        tangents = {f"d{name}": rng.standard_normal(value.shape) for name, value in values.items()}
        model = self.model(*flags)
        smooth = lambda x, w: np.tanh(x @ w) * x
        results = model.call(self.context, model.vjps["forwards"]["forward"], {**values, **tangents})
        self.assert_close(results["out.0"], smooth(**values), 1e-13, "value")
        self.assert_close(results["out.1"], tangent(smooth)(values.values(), tangents.values()), 1e-8, "tangent")

        x, dx = rng.uniform(0.1, 1, 9) * rng.choice([-1, 1], 9), rng.standard_normal(9)
        self.assert_close(
            self.value_of(model, "selected", None, {"x": x, "dx": dx}), tangent(selected)([x], [dx]), 1e-8, "through selections"
        )
        # A branch that is not taken contributes exactly 0, though its derivative be infinite.
        value = self.value_of(model, "selected", None, {"x": np.array([0.0, -1.0]), "dx": np.ones(2)})
        self.assertTrue(np.all(np.isfinite(value)))

        graph = oracle.graphs(rng)["awkward"]
        x, dx = rng.standard_normal((graph[0], 3)), rng.standard_normal((graph[0], 3))
        # Segments of one message have deviation 0: the gradient there is 0 by choice.
        expected = tangent(aggregated(graph))([x], [dx])
        value = self.value_of(model, "aggregated", graph, {"x": x, "dx": dx})
        messages = [len({graph[1][k] for k in edges}) for edges in oracle.in_edges(graph[0], graph[2])]
        smooth_rows = [v for v, count in enumerate(messages) if count != 1]
        self.assert_close(value[smooth_rows], expected[smooth_rows], 1e-7, "through reductions")

    def test_forward_mode(self):
        self.check_forward(())

    def test_forward_mode_without_fusion(self):
        self.check_forward(("--no-fuse",))

    def test_hessian_both_ways(self):
        rng = np.random.default_rng(5)
        x, v = rng.standard_normal(6), rng.standard_normal(6)
        model = self.model()
        forward_over_reverse = self.value_of(model, "hessian_times", None, {"x": x, "v": v})
        reverse_over_forward = self.value_of(model, "curvature", None, {"x": x, "v": v})
        _, gradients = self.value_and_vjp(model, "force", None, {"x": x}, {"out": v})
        self.assert_close(forward_over_reverse, gradients["x"], 1e-12, "forward over reverse")
        self.assert_close(reverse_over_forward, gradients["x"], 1e-12, "reverse over forward")

    def test_auxiliary_result(self):
        x = np.array([1.0, -2.0])
        results = self.model().call(self.context, "with_extra", {"x": x})
        self.assertEqual(results["out.0"], -7)
        np.testing.assert_array_equal(results["out.1"], x + 1)
        np.testing.assert_array_equal(results["out.2"], 3 * x * x)

    # ---- Semantics ----

    def test_equal_terms_have_no_variance(self):
        graph = (2, [0] * 7, [0] * 7)
        e = np.full((7, 1), 0.1)  # whose mean is not 0.1 in floating point
        for flags in ((), ("--no-fuse",)):
            model = self.model(*flags)
            for name, empty in (("segment_var", 0), ("segment_std", 2)):
                results, gradients = self.value_and_vjp(model, name, graph, {"e": e}, {"out": np.ones((2, 1))})
                np.testing.assert_array_equal(results["out"][:, 0], [0, empty])
                np.testing.assert_array_equal(gradients["e"], 0)
        results, gradients = self.value_and_vjp(model, "var_over", None, {"x": np.full((2, 7), 0.1)}, {"out": np.ones(2)})
        np.testing.assert_array_equal(results["out"], 0)
        np.testing.assert_array_equal(gradients["x"], 0)

    def test_variance_far_from_zero(self):
        graph = (1, [0] * 1000, [0] * 1000)
        rng = np.random.default_rng(0)
        e = 1e6 + rng.standard_normal((1000, 1))
        value = self.value_of(self.model(), "segment_var", graph, {"e": e})
        self.assert_close(value, e.var(0, keepdims=True), 1e-9, "variance")

    def test_pmul_of_zero_and_infinity(self):
        values = {"c": np.array([0.0, 2.0]), "a": np.array([[np.inf], [3.0]])}
        results, gradients = self.value_and_vjp(self.model(), "guarded", None, values, {"out": np.ones((2, 1))})
        np.testing.assert_array_equal(results["out"][:, 0], [0, 6])
        np.testing.assert_array_equal(gradients["a"][:, 0], [0, 2])

    def test_normal_draws(self):
        model = self.model()
        draw = lambda key: model.call(self.context, "normals", {"n": 200_000, "k": key})["out"]
        x = draw(7)
        np.testing.assert_array_equal(x, draw(7))
        self.assertLess(abs(np.mean(x * draw(8))), 0.01)
        for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
            self.assertAlmostEqual(np.mean(x**power), moment, delta=0.05)
        self.assertTrue(np.all(np.isfinite(x)))


FLAGS = {"": (), " without fusion": ("--no-fuse",)}
harness.add_cases(
    Tensors,
    [
        (f"{name} on {graph}{how}", (name, graph, flags))
        for name in CASES
        for graph in ("awkward", "no edges", "one node")
        for how, flags in FLAGS.items()
    ],
    Tensors.check,
)
SECOND = {
    "force": {"x": "6"},
    "third": {"x": "4"},
    "hessian_times": {"x": "5", "v": "5"},
    "curvature": {"x": "5", "v": "5"},
}
harness.add_cases(
    Tensors,
    [
        (f"second order {name}{how}", (name, shapes, "awkward", flags))
        for name, shapes in SECOND.items()
        for how, flags in FLAGS.items()
    ],
    Tensors.check_second,
)
