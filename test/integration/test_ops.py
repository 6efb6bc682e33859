"""Operations on dimensions, index arrays and structure, in f64: values against numpy, gradients against differences of numpy's; then what the
semantics promise at ties, empty segments, NaN, and for random draws.
"""

import zlib

import numpy as np

import harness
import oracle


def grouped(ids, count, rows, how, empty=0.0):
    """how(rows of each group), `empty` where there is none."""
    rows = np.asarray(rows)
    out = np.full((count, *rows.shape[1:]), empty)
    for group in range(count):
        members = rows[np.asarray(ids, int) == group]
        if len(members):
            out[group] = how(members)
    return out


def logsumexp(x, axis=0):
    top = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.sum(np.exp(x - top), axis=axis))


def by_dst(how, empty=0.0):
    return lambda g, a: grouped(g[2], g[0], a["e"], how, empty)


def segment_logsumexp(g, a):
    return grouped(g[2], g[0], a["e"], logsumexp)[np.array(g[2], int)].reshape(a["e"].shape)


def segment_pairs(g, a):
    kinds = 3
    ids = np.array(g[2], int) * kinds + a["rel"]
    return grouped(ids, g[0] * kinds, a["e"], lambda m: m.sum(0)).reshape(g[0], kinds, -1)


def over_last(g, a):
    x = a["x"]
    return x.sum(1) + x.max(1) + logsumexp(x, 1)


def log_softmax(x):
    return x - logsumexp(x, 1)[:, None]


def gates(g, a):
    r, z, c = np.split(a["x"], 3, axis=1)
    return z / (1 + np.exp(-r)) + (1 - z) * np.tanh(c)


def of_strongest(g, a):
    """What the source of a node's heaviest incoming edge has; 0 where there are no edges."""
    n, src, dst = g
    into = [[k for k in range(len(dst)) if dst[k] == v] for v in range(n)]
    return np.array([a["x"][src[max(edges, key=lambda k: a["w"][k])]] if edges else 0.0 for edges in into])


def looped(existing):
    def reference(g, a):
        n, src, dst = g
        edges = list(zip(src, dst, a["w"]))
        if existing == "replace":
            edges = [(s, d, w) for s, d, w in edges if s != d]
        missing = [v for v in range(n) if existing != "skip" or not any(s == d == v for s, d, _ in edges)]
        out = np.zeros_like(a["x"])

        def fill(node):
            carried = [w for _, d, w in edges if d == node]
            return a["fill"] if "fill" in a else sum(carried) / max(len(carried), 1)

        for s, d, w in edges + [(v, v, fill(v)) for v in missing]:
            out[d] += w * w * a["x"][s]
        return out

    return reference


def degrees(g, a):
    count = lambda ends: np.bincount(np.array(ends, int), minlength=g[0])[:, None]
    return a["x"] * count(g[2]) - a["x"] ** 2 * count(g[1])


# Function of ops.gnn → (reference of graph and arguments, shapes of its arguments; n and e are the numbers of nodes and edges).
CASES = {
    "segment_sum": (by_dst(lambda m: m.sum(0)), {"e": "e3"}),
    "segment_mean": (by_dst(lambda m: m.mean(0)), {"e": "e3"}),
    "segment_max": (by_dst(lambda m: m.max(0)), {"e": "e3"}),
    "segment_min": (lambda g, a: grouped(g[1], g[0], a["e"], lambda m: m.min(0)), {"e": "e3"}),
    "segment_max_empty": (by_dst(lambda m: m.max(0), -7.0), {"e": "e3"}),
    "segment_softmax": (lambda g, a: np.exp(a["e"] - segment_logsumexp(g, a)), {"e": "e3"}),
    "segment_log_softmax": (lambda g, a: a["e"] - segment_logsumexp(g, a), {"e": "e3"}),
    "segment_logsumexp": (segment_logsumexp, {"e": "e3"}),
    "segment_pairs": (segment_pairs, {"e": "e2"}),
    "gather_ends": (
        lambda g, a: a["x"][np.array(g[1], int)] * (a["x"][np.array(g[2], int)] - 1),
        {"x": "n3"},
    ),
    "gather_matrix": (lambda g, a: a["a"][np.array(g[1], int), np.array(g[2], int)], {"a": "nn"}),
    "gather_columns": (lambda g, a: a["a"][:, np.array(g[1], int)], {"a": "4n"}),
    "over_last": (over_last, {"x": "n5"}),
    "over_first": (lambda g, a: a["x"].mean(0) + a["x"].min(0), {"x": "n5"}),
    "over_all": (lambda g, a: a["x"].sum() * a["x"].mean(), {"x": "n5"}),
    "softmax_last": (lambda g, a: np.exp(log_softmax(a["x"])) + log_softmax(a["x"]), {"x": "n5"}),
    "picked": (lambda g, a: a["x"][np.arange(len(a["x"])), a["k"]], {"x": "n5"}),
    "products": (lambda g, a: np.einsum("ni,ihd,d->nh", a["x"], a["w"], a["v"]), {"x": "n4", "w": "423", "v": "3"}),
    "vectors": (lambda g, a: a["x"] @ a["w"] @ a["y"], {"x": "4", "w": "43", "y": "3"}),
    "transposed": (lambda g, a: a["a"] @ a["a"].T + a["a"] + a["a"].T, {"a": "nn"}),
    "slices": (
        lambda g, a: a["x"][:, 0:3] * a["x"][:, 2:5] + a["x"][:, 1:6:2] + a["x"][:, 5:2:-1],
        {"x": "n6"},
    ),
    "rows": (lambda g, a: a["x"][0] * a["x"][-1], {"x": "n3"}),
    "gates": (gates, {"x": "n9"}),
    "twice": (lambda g, a: np.concatenate([a["x"], a["y"], a["x"]], 1), {"x": "n2", "y": "n2"}),
    "reshaped": (lambda g, a: 2 * a["x"].transpose(0, 2, 1).reshape(-1, 2), {"x": "n23"}),
    "scaled": (lambda g, a: a["x"] * a["s"][:, None] + a["b"] ** 2, {"x": "n3", "s": "n", "b": "3"}),
    "outer": (lambda g, a: a["a"][:, None] * a["b"], {"a": "n", "b": "3"}),
    "every_second": (lambda g, a: np.concatenate([a["x"], a["x"][::2] ** 2]), {"x": "n"}),
    "of_strongest": (of_strongest, {"w": "e", "x": "n"}),
    "loops_keep": (looped("keep"), {"w": "e", "x": "n3", "fill": ""}),
    "loops_skip": (looped("skip"), {"w": "e", "x": "n3", "fill": ""}),
    "loops_replace": (looped("replace"), {"w": "e", "x": "n3", "fill": ""}),
    "loops_mean": (looped("keep"), {"w": "e", "x": "n3"}),
    "loops_replace_mean": (looped("replace"), {"w": "e", "x": "n3"}),
    "degrees": (degrees, {"x": "n3"}),
    "unused": (lambda g, a: 2 * a["x"], {"x": "n", "y": "n"}),
    "itself": (lambda g, a: a["x"], {"x": "n"}),
}


class Ops(harness.TestCase):
    def setUp(self):
        self.context = harness.runtime().context()
        self.addCleanup(self.context.__exit__)
        self.model = self.context.model(harness.compiled(harness.PROGRAMS / "ops.gnn", "--real=f64"))

    def value_and_vjp(self, name, graph, values, cotangent):
        """Calls a function's pair; its graph is passed where it has one. Returns its result and the gradients."""
        entry = self.model.entries[self.model.vjps[name]["forward"]]
        arguments = dict(values) | {spec["path"]: 3 for spec in entry["args"] if spec["kind"] == "size"}
        if any(spec["kind"] == "graph" for spec in entry["args"]):
            n, src, dst = graph
            arguments["g"] = self.context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))
        results, gradients = self.model.value_and_vjp(self.context, name, arguments, {"out": cotangent})
        return results["out"], gradients

    def check(self, name, graph_name):
        rng = np.random.default_rng(zlib.crc32(f"{name}/{graph_name}".encode()))
        graph = oracle.graphs(rng)[graph_name]
        reference, shapes = CASES[name]
        sizes = {"n": graph[0], "e": len(graph[1])}
        values = {
            path: rng.standard_normal([sizes.get(letter) if letter in sizes else int(letter) for letter in shape])
            if shape
            else np.asarray(rng.standard_normal())
            for path, shape in shapes.items()
        }
        if name == "picked":
            values["k"] = rng.integers(0, 5, graph[0]).astype(np.int32)
        if name == "segment_pairs":
            values["rel"] = rng.integers(0, 3, len(graph[1])).astype(np.int32)
        expected = np.asarray(reference(graph, values))
        cotangent = rng.standard_normal(expected.shape)
        value, gradients = self.value_and_vjp(name, graph, values, cotangent)
        self.assert_close(value, expected, 1e-13, "value")
        self.assert_gradients(lambda changed: reference(graph, changed), values, gradients, cotangent, rng)

    # ---- Semantics ----

    def test_ties_share_the_gradient(self):
        graph = (2, [0, 0, 1, 1], [0, 0, 0, 1])
        e = np.array([[2.0], [2.0], [1.0], [5.0]])
        for name, expected in (("segment_max", [0.5, 0.5, 0, 1]),):
            _, gradients = self.value_and_vjp(name, graph, {"e": e}, np.ones((2, 1)))
            np.testing.assert_array_equal(gradients["e"][:, 0], expected)

    def test_zeros_of_both_signs_tie(self):
        graph = (1, [0, 0], [0, 0])
        _, gradients = self.value_and_vjp("segment_max", graph, {"e": np.array([[0.0], [-0.0]])}, np.ones((1, 1)))
        np.testing.assert_array_equal(gradients["e"][:, 0], [0.5, 0.5])

    def test_nan_wins_in_its_segment_only(self):
        graph = (2, [0, 0, 0, 0], [0, 0, 0, 1])
        for place in range(3):
            e = np.array([[1.0], [2.0], [3.0], [4.0]])
            e[place] = np.nan
            value, gradients = self.value_and_vjp("segment_max", graph, {"e": e}, np.ones((2, 1)))
            np.testing.assert_array_equal(value[:, 0], [np.nan, 4])
            np.testing.assert_array_equal(gradients["e"][:, 0], [float(k == place) for k in range(3)] + [1])

    def test_softmax_where_everything_is_masked(self):
        graph = (2, [0, 0, 0, 0], [0, 0, 1, 1])
        e = np.array([[-np.inf], [-np.inf], [0.0], [0.0]])
        value, gradients = self.value_and_vjp("segment_softmax", graph, {"e": e}, np.array([[1.0], [2.0], [3.0], [5.0]]))
        np.testing.assert_array_equal(value[:, 0], [0, 0, 0.5, 0.5])
        np.testing.assert_array_equal(gradients["e"][:, 0], [0, 0, -0.5, 0.5])

    def test_softmax_of_huge_scores(self):
        graph = (2, [0, 0, 0], [0, 0, 1])
        value, _ = self.value_and_vjp("segment_softmax", graph, {"e": np.array([[1000.0], [1000.0], [-1000.0]])}, np.ones((3, 1)))
        np.testing.assert_array_equal(value[:, 0], [0.5, 0.5, 1])

    def test_nan_of_a_removed_loop_is_gone(self):
        graph = (2, [0, 1], [0, 0])
        values = {"w": np.array([np.nan, 3.0]), "x": np.array([[1.0], [2.0]]), "fill": np.asarray(1.0)}
        value, gradients = self.value_and_vjp("loops_replace", graph, values, np.ones((2, 1)))
        np.testing.assert_array_equal(value[:, 0], [1 + 9 * 2, 2])
        np.testing.assert_array_equal(gradients["w"], [0, 2 * 3 * 2])

    def test_nan_of_a_removed_loop_is_not_in_the_mean(self):
        graph = (2, [0, 1], [0, 0])
        values = {"w": np.array([np.nan, 3.0]), "x": np.array([[1.0], [2.0]])}
        value, gradients = self.value_and_vjp("loops_replace_mean", graph, values, np.ones((2, 1)))
        np.testing.assert_array_equal(value[:, 0], [9 + 9 * 2, 0])
        np.testing.assert_array_equal(gradients["w"], [0, 2 * 3 * 1 + 2 * 3 * 2])

    def test_held_constant(self):
        x = np.array([1.0, -2.0, 3.0])
        value, gradients = self.value_and_vjp("held", None, {"x": x}, np.ones(3))
        np.testing.assert_array_equal(value, x * x + np.sum(x * x))
        np.testing.assert_array_equal(gradients["x"], x)

    def test_dropout(self):
        x = np.random.default_rng(0).uniform(1, 2, (500, 40))
        masks = []
        for key in (1, 1, 2):
            values = {"x": x, "rate": 0.25, "key": key}
            value, gradients = self.value_and_vjp("dropped", None, values, np.ones_like(x))
            np.testing.assert_allclose(value, x * gradients["x"], rtol=1e-14)  # the same draw, forwards and backwards
            self.assertEqual(set(np.round(np.unique(gradients["x"]), 12)), {0.0, round(1 / 0.75, 12)})
            self.assertAlmostEqual(np.mean(gradients["x"] == 0), 0.25, delta=0.01)
            masks.append(gradients["x"] == 0)
        np.testing.assert_array_equal(masks[0], masks[1])
        self.assertAlmostEqual(np.mean(masks[0] == masks[2]), 0.25**2 + 0.75**2, delta=0.02)

    def test_sizes_beyond_64_bits(self):
        # Fused, the product is never stored, and takes its time.
        model = self.context.model(harness.compiled(harness.PROGRAMS / "ops.gnn", "--real=f64", "--no-fuse"))
        self.assertEqual(model.call(self.context, "area", {"x": np.ones(2), "m": 3})["out"], 2)
        for m in (2**31, 2**32, 2**62):
            self.assert_refused("too_large", "memory", lambda m=m: model.call(self.context, "area", {"x": np.ones(2), "m": m}))

    def test_dropout_keeps_no_product_with_zero(self):
        x = np.full((50, 2), np.inf)
        value, _ = self.value_and_vjp("dropped", None, {"x": x, "rate": 0.5, "key": 3}, np.ones_like(x))
        self.assertEqual(set(np.unique(value)), {0.0, np.inf})

    def test_same_tensor_twice(self):
        x = np.arange(6.0).reshape(3, 2)
        value, gradients = self.value_and_vjp("twice", None, {"x": x, "y": x}, np.arange(18.0).reshape(3, 6))
        np.testing.assert_array_equal(value, np.concatenate([x, x, x], 1))
        np.testing.assert_array_equal(gradients["y"], np.arange(18.0).reshape(3, 6)[:, 2:4])

    def test_long_sum_in_single_precision(self):
        model = self.context.model(harness.compiled(harness.PROGRAMS / "ops.gnn", "--real=f32"))
        count = 20_000_000
        results = model.call(self.context, model.vjps["total"]["forward"], {"x": np.ones(count, np.float32)})
        self.assertEqual(results["out"], count)


harness.add_cases(
    Ops,
    [
        (f"{name} on {graph}", (name, graph))
        for name in CASES
        for graph in ("awkward", "no edges", "one node")
    ],
    Ops.check,
)
