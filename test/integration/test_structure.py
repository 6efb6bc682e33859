"""Graphs made from graphs and from tensors, batches, and searches, in f64: values against numpy, gradients of payloads against
differences of numpy's; then what is refused, and what the semantics promise."""

import itertools
import zlib

import numpy as np

import harness
import oracle

PROGRAM = harness.PROGRAMS / "structure.gnn"


def summed(n, dst, rows):
    out = np.zeros((n, *np.shape(rows)[1:]))
    np.add.at(out, np.array(dst, int), rows)
    return out


def propagate(n, edges, w, x):
    """Sums of w x[src] into the targets of (src, dst) pairs."""
    src, dst = (np.array([e[k] for e in edges], int) for k in (0, 1))
    return summed(n, dst, np.asarray(w)[:, None] * x[src]) if len(edges) else np.zeros((n, x.shape[1]))


def no_loops(g, a):
    n, src, dst = g
    keep = [k for k in range(len(src)) if src[k] != dst[k]]
    return propagate(n, [(src[k], dst[k]) for k in keep], a["w"][keep], a["x"])


def merged(g, a):
    n, src, dst = g
    total = {}
    for k, pair in enumerate(zip(src, dst)):
        w, e = total.get(pair, (0, 0))
        total[pair] = w + a["w"][k], e + a["e"][k]
    out = np.zeros_like(a["x"])
    for (u, v), (w, e) in total.items():
        out[v] += w * w * e * a["x"][u]
    return out


def both_ways(g, a):
    n, src, dst = g
    back = [k for k in range(len(src)) if src[k] != dst[k]]
    edges = [*zip(src, dst), *((dst[k], src[k]) for k in back)]
    return propagate(n, edges, np.concatenate([a["w"], a["w"][back]]), a["x"])


def backwards(g, a):
    return propagate(g[0], list(zip(g[2], g[1])), a["w"], a["x"])


def heavy(g, a):
    keep = np.flatnonzero(a["w"] > 0.1)
    return propagate(g[0], [(g[1][k], g[2][k]) for k in keep], a["w"][keep], a["x"])


def heavy_symmetric(g, a):
    n, src, dst = g
    keep = np.flatnonzero(a["w"] > 0.1)
    edges = [(src[k], dst[k], a["w"][k]) for k in keep] + [(v, v, 1) for v in range(n)]
    out = np.zeros_like(a["x"])
    for u, v, w in edges + [(v, u, w) for u, v, w in edges if u != v]:
        out[v] += np.tanh(w * a["x"][u])
    return out


def within(g, a):
    n, src, dst = g
    keep = [k for k in range(len(src)) if a["keep"][src[k]] and a["keep"][dst[k]]]
    y = np.tanh(a["x"])
    return np.sum(y * propagate(n, [(src[k], dst[k]) for k in keep], a["w"][keep], y), 0)


def of_matrix(_, a):
    return (a["a"] ** 2).T @ a["x"]


def of_mask(_, a):
    return (np.where(a["m"], a["a"], 0) ** 2).T @ a["x"]


def matrix(g, a):
    n, src, dst = g
    out = np.zeros((n, n))
    np.add.at(out, (np.array(src, int), np.array(dst, int)), a["w"])
    return out


def wedges(g, a):
    _, src, dst = g
    out = np.zeros(len(src))
    for e, f in itertools.product(range(len(src)), repeat=2):
        if dst[e] == src[f]:
            out[f] += a["w"][e] * a["w"][f]
    return out


def attention(g, a):
    out = np.zeros_like(a["x"])
    for v in range(g[0]):
        mates = np.flatnonzero(a["g.batch"] == a["g.batch"][v])
        scores = np.exp(a["x"][mates] @ a["q"][v])
        out[v] = scores / scores.sum() @ a["x"][mates]
    return out


def pooled(g, a):
    y = np.array([np.sin(a["x"][a["g.batch"] == a["g.batch"][v]]).sum(0) for v in range(g[0])]).reshape(a["x"].shape)
    out = np.zeros((4, a["x"].shape[1]))
    for k in set(a["g.batch"]):
        out[k] = y[a["g.batch"] == k].max(0)
    return out


def distances(x):
    return np.sqrt(np.sum((x[:, None] - x[None]) ** 2, -1))


def nearest(_, a):
    d, out = distances(a["x"]), np.zeros(len(a["x"]))
    for v in range(len(out)):
        mates = [u for u in range(len(out)) if u != v and a["group"][u] == a["group"][v]]
        out[v] = sum(np.exp(-d[u, v]) for u in sorted(mates, key=lambda u: (d[u, v], u))[:2])
    return out


def nearby(_, a):
    d = distances(a["x"])
    return np.sum(np.where((d <= a["r"]) & ~np.eye(len(d), dtype=bool), np.exp(-d), 0), 0)


def crystal(_, a):
    out = np.zeros(len(a["x"]))
    for image in itertools.product(range(-4, 5), repeat=a["x"].shape[1]):
        for u, v in itertools.product(range(len(out)), repeat=2):
            d = np.sqrt(np.sum((a["x"][u] + np.array(image) * a["period"] - a["x"][v]) ** 2))
            if d <= a["r"] and (u != v or any(image)) and all(p > 0 or i == 0 for p, i in zip(a["period"], image)):
                out[v] += np.exp(-d)
    return out


def strongest(g, a):
    out = np.zeros((4, 3, a["x"].shape[1]))
    for k in range(4):
        members = sorted(np.flatnonzero(a["g.batch"] == k), key=lambda v: (-a["score"][v], v))[:3]
        for place, v in enumerate(members):
            out[k, place] = a["score"][v] * a["x"][v]
    return out


def ascending(_, a):
    y = np.sort(a["x"])
    return y * y + y


def side_by_side(g, a):
    def one(x, w):
        return np.sum(propagate(g[0], list(zip(g[1], g[2])), w, x) * x, 0)

    return np.stack([one(a["x"], a["w"]), one(a["y"], a["v"])])


def repeated(_, a):
    y = a["x"]
    for _ in range(3):
        d = distances(y)
        means = np.zeros_like(y)
        for v in range(len(y)):
            near = sorted((u for u in range(len(y)) if u != v), key=lambda u: (d[u, v], u))[:2]
            means[v] = y[near].mean(0) if near else 0
        y = 0.5 * y + 0.5 * np.tanh(means)
    return y


# Function → (its reference, shapes of its real arguments; n and m: numbers of nodes and edges)
CASES = {
    "no_loops": (no_loops, {"w": "m", "x": "n3"}),
    "merged": (merged, {"w": "m", "e": "m2", "x": "n2"}),
    "merged_by_map": (merged, {"w": "m", "e": "m2", "x": "n2"}),
    "both_ways": (both_ways, {"w": "m", "x": "n3"}),
    "backwards": (backwards, {"w": "m", "x": "n3"}),
    "heavy": (heavy, {"w": "m", "x": "n3"}),
    "heavy_symmetric": (heavy_symmetric, {"w": "m", "x": "n3"}),
    "within": (within, {"w": "m", "x": "n3"}),
    "of_matrix": (of_matrix, {"a": "nn", "x": "n3"}),
    "of_mask": (of_mask, {"a": "n5", "x": "n3"}),
    "matrix": (matrix, {"w": "m"}),
    "wedges": (wedges, {"w": "m"}),
    "attention": (attention, {"q": "n3", "x": "n3"}),
    "pooled": (pooled, {"x": "n3"}),
    "nearest": (nearest, {"x": "n3"}),
    "nearby": (nearby, {"x": "n3", "r": ""}),
    "crystal": (crystal, {"x": "n2", "r": "", "period": "2"}),
    "strongest": (strongest, {"score": "n", "x": "n2"}),
    "ascending": (ascending, {"x": "n"}),
    "side_by_side": (side_by_side, {"w": "m", "v": "m", "x": "n3", "y": "n3"}),
    "repeated": (repeated, {"x": "n2"}),
}
CONSTANT = {"r"}


class Structure(harness.TestCase):
    def setUp(self):
        self.context = self.enterContext(harness.runtime().context())
        self.model = self.context.model(harness.compiled(PROGRAM, "--real=f64"))

    def arguments(self, name, graph, rng):
        n, src, dst = graph
        sizes = {"n": n, "m": len(src)}
        values = {path: rng.uniform(-1, 1, [sizes[d] if d in sizes else int(d) for d in shape]) for path, shape in CASES[name][1].items()}
        if "a" in values:  # some entries are no edges
            values["a"] = np.where(rng.random(values["a"].shape) < 0.4, values["a"], 0)
        if "r" in values:
            values["r"], values["x"] = np.asarray(0.7), values["x"] * 1.5
        if "period" in values:
            values["period"] = np.array([1.1, 0.9])
        others = {
            "g.batch": lambda: np.sort(rng.integers(0, 3, n)).astype(np.int32),  # graph 3 is empty
            "keep": lambda: rng.random(n) < 0.6,
            "m": lambda: rng.random((n, 5)) < 0.5,
            "group": lambda: rng.integers(0, 4, n).astype(np.int32),
        }
        entry = self.model.entries[self.model.vjps[name]["forward"]]
        for spec in entry["args"]:
            if spec["path"] in others and spec["path"] not in values:
                values[spec["path"]] = others[spec["path"]]()
            elif spec["kind"] == "size":
                values[spec["path"]] = 4
            elif spec["kind"] == "graph":
                values[spec["path"]] = self.context.graph(n, np.array(src, np.int32), np.array(dst, np.int32))
        return values

    def check(self, name, graph_name):
        rng = np.random.default_rng(zlib.crc32(f"{name}/{graph_name}".encode()))
        graph = oracle.graphs(rng)[graph_name]
        values = self.arguments(name, graph, rng)
        reference = CASES[name][0]
        expected = np.asarray(reference(graph, values))
        cotangent = rng.standard_normal(expected.shape)
        results, gradients = self.model.value_and_vjp(self.context, name, values, {"out": cotangent})
        self.assert_close(results["out"], expected, 1e-12, "value")
        real = {path: values[path] for path in CASES[name][1] if path not in CONSTANT}
        if "a" in real:  # the pattern is held constant
            there = values["m"] if "m" in values else values["a"] != 0
            self.assertTrue(np.all(gradients["a"][~there] == 0))

        def changed(values_now):
            now = {**values, **values_now}
            if "a" in real:
                now["a"] = np.where(there, now["a"], values["a"])
            return reference(graph, now)

        self.assert_gradients(changed, real, gradients, cotangent, rng)


    # ---- Semantics ----

    def forward(self, name, graph, **arguments):
        n, src, dst = graph
        handle = self.context.graph(n, np.array(src, np.int32), np.array(dst, np.int32))
        entry = self.model.vjps[name]["forward"]
        given = {"g": handle} if any(spec["path"] == "g" for spec in self.model.entries[entry]["args"]) else {}
        return self.model.call(self.context, entry, {**given, **arguments})["out"]

    def test_missing_edge(self):
        u, v = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
        self.assert_refused("index", r"structure.gnn:\d+: entry 1 asks for an edge from 1 to 0, but the graph has none",
                            lambda: self.forward("chosen", (2, [0], [1]), w=np.ones(1), u=u, v=v))

    def test_first_of_parallel_edges(self):
        u, v = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
        found = self.forward("chosen", (2, [1, 0, 0], [0, 1, 1]), w=np.array([5.0, 7.0, 9.0]), u=u, v=v)
        np.testing.assert_array_equal(found, [7, 5])

    def test_node_of_no_graph(self):
        self.assert_refused("index", r"`g.batch\[1\]` is 2, but must be at least 0 and below g.graphs, which is 2",
                            lambda: self.forward("pooled", (2, [0], [1]), **{"x": np.ones((2, 3)), "g.batch": np.array([0, 2], np.int32), "g.graphs": 2}))

    def test_position_that_is_none(self):
        x = np.array([[0.0, 0], [np.nan, 1]])
        self.assert_refused("argument", r"the position of point 1 is nan in dimension 0: neighbours are looked for among finite positions",
                            lambda: self.forward("nearby", (0, [], []), x=x, r=1.0))

    def test_negative_radius_and_period(self):
        x, period = np.zeros((2, 2)), np.ones(2)
        self.assert_refused("argument", "the radius of a radius graph is -1, but must be a finite number from 0 on",
                            lambda: self.forward("nearby", (0, [], []), x=x, r=-1.0))
        self.assert_refused("argument", "the period in dimension 1 is -1, but must be a positive number, or 0 where nothing repeats",
                            lambda: self.forward("crystal", (0, [], []), x=x, r=0.5, period=np.array([1.0, -1])))
        self.assert_refused("argument", "more than 1000 periods",
                            lambda: self.forward("crystal", (0, [], []), x=x, r=1e6, period=period))

    def test_points_on_the_edges_of_cells(self):
        """A lattice whose spacing is the radius, which is no binary number: what is near lies just in reach, or just not."""
        for spacing, r in ((0.1, 0.1), (0.7, 0.7), (1 / 3, 2 / 3), (0.1, 0.1 * (1 + 1e-12))):
            x = np.array(list(itertools.product(range(-6, 7), repeat=2))) * spacing
            squared = (x[:, None, 0] - x[None, :, 0]) ** 2 + (x[:, None, 1] - x[None, :, 1]) ** 2
            found = self.model.call(self.context, "reached", {"x": x, "r": r})["out"]
            np.testing.assert_array_equal(found, np.sum(squared <= r * r, 0) - 1)

    def test_number_of_neighbours(self):
        x = np.arange(4.0).reshape(4, 1)
        for k, found in ((0, 0), (2, 2), (9, 3)):
            np.testing.assert_array_equal(self.model.call(self.context, "closest", {"x": x, "k": k})["out"], [found] * 4)
        self.assert_refused("argument", "a graph of the -1 nearest neighbours is asked for: give a number from 0 on",
                            lambda: self.model.call(self.context, "closest", {"x": x, "k": -1}))

    def test_a_removed_nan_leaves_no_trace(self):
        graph = (2, [0, 0], [1, 0])
        w = np.array([1.0, np.nan])
        g = self.context.graph(2, np.array(graph[1], np.int32), np.array(graph[2], np.int32))
        results, gradients = self.model.value_and_vjp(
            self.context, "no_loops", {"g": g, "w": w, "x": np.ones((2, 1))}, {"out": np.ones((2, 1))})
        np.testing.assert_array_equal(results["out"][:, 0], [0, 1])
        np.testing.assert_array_equal(gradients["w"], [1, 0])

    def test_alone_as_in_a_batch(self):
        random = np.random.default_rng(5)
        x, q = random.standard_normal((7, 3)), random.standard_normal((7, 3))
        both = np.array([0, 0, 0, 1, 1, 1, 1], np.int32)
        together = self.forward("attention", (7, [], []), **{"x": x, "q": q, "g.batch": both, "g.graphs": 2})
        for part in (slice(0, 3), slice(3, 7)):
            alone = self.forward("attention", (part.stop - part.start, [], []),
                                 **{"x": x[part], "q": q[part], "g.batch": np.zeros(part.stop - part.start, np.int32), "g.graphs": 1})
            np.testing.assert_array_equal(alone, together[part])

    def test_adjacency_with_signed_zeros_and_nan(self):
        a = np.array([[0.0, -0.0], [np.nan, 2.0]])
        value = self.forward("of_matrix", (0, [], []), a=a, x=np.array([[1.0], [10.0]]))
        np.testing.assert_array_equal(value[:, 0], [np.nan, 40])


harness.add_cases(
    Structure,
    [(f"{name} on {graph}", (name, graph)) for name in CASES for graph in oracle.graphs(np.random.default_rng(0))],
    Structure.check,
)
