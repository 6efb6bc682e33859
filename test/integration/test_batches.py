"""Layers on batches of graphs and on graphs that they make, in f64: values against numpy, gradients against differences of numpy's."""

import zlib

import numpy as np

import harness
import oracle
from oracle import dense, perceptron, sigmoid

F, M, O, HEADS, SIZE, RADIAL, ANGULAR, DOWN, GRAPHS = 4, 5, 3, 2, 3, 3, 2, 2, 4


def members(a, k):
    return np.flatnonzero(a["g.batch"] == k)


def by_graph(a, width, how):
    """how(nodes) for each graph, 0 for those without nodes."""
    out = np.zeros((GRAPHS, *width))
    for k in range(GRAPHS):
        if len(members(a, k)):
            out[k] = how(members(a, k))
    return out


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def attention_pool(_, a):
    def pool(i):
        return softmax(perceptron(a, "p.gate", a["x"][i])[:, 0]) @ perceptron(a, "p.feature", a["x"][i])

    return by_graph(a, (O,), pool)


def set2set(_, a):
    out = np.zeros((GRAPHS, 2 * F))
    for k in range(GRAPHS):
        x = a["x"][members(a, k)]
        q, h, c = np.zeros(2 * F), np.zeros(F), np.zeros(F)
        for _ in range(3):
            i, f, fresh, o = np.split(dense(a, "p.input", q) + dense(a, "p.state", h), 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(fresh)
            h = sigmoid(o) * np.tanh(c)
            q = np.concatenate([h, softmax(x @ h) @ x if len(x) else np.zeros(F)])
        out[k] = q
    return out


def sort_pool(_, a):
    out = np.zeros((GRAPHS, 3, F))
    for k in range(GRAPHS):
        best = sorted(members(a, k), key=lambda v: (-a["x"][v, -1], v))[:3]
        out[k, : len(best)] = a["x"][best]
    return out


def top_k_pool(g, a):
    p = a["p.direction"]
    y = a["x"] @ p / np.linalg.norm(p)
    kept = set()
    for k in range(GRAPHS):
        nodes = members(a, k)
        kept |= set(sorted(nodes, key=lambda v: (-y[v], v))[: min(4, int(np.ceil(0.6 * len(nodes))))])
    z = a["x"] * np.tanh(y)[:, None]
    into = np.zeros_like(z)
    for u, v in zip(g[1], g[2]):
        if u in kept and v in kept:
            into[v] += z[u]
    rows = z + into * a["x"]
    return by_graph(a, (F,), lambda i: sum((rows[v] for v in i if v in kept), np.zeros(F)))


def batch_norm(a, path, x):
    return a[path + ".gain"] * (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) + a[path + ".b"]


def gps(g, a):
    x = a["x"]
    local, attended = np.zeros_like(x), np.zeros_like(x)
    for u, v in zip(g[1], g[2]):
        local[v] += x[u]
    q, k, v = (np.einsum("nf,fhd->nhd", x, a[f"p.{name}"]) for name in "qkv")
    for i in range(len(x)):
        mates = members(a, a["g.batch"][i])
        heads = [softmax(k[mates, h] @ q[i, h] / np.sqrt(SIZE)) @ v[mates, h] for h in range(HEADS)]
        attended[i] = dense(a, "p.out", np.concatenate(heads))
    s = batch_norm(a, "p.local_norm", x + np.tanh(local)) + batch_norm(a, "p.global_norm", x + attended)
    return batch_norm(a, "p.norm", s + dense(a, "p.mlp.out", np.maximum(dense(a, "p.mlp.hidden", s), 0)))


def dynamic_edge_conv(_, a):
    x, out = a["x"], np.zeros((len(a["x"]), O))
    for i in range(len(x)):
        near = sorted((j for j in members(a, a["g.batch"][i]) if j != i), key=lambda j: (np.sum((x[i] - x[j]) ** 2), j))[:2]
        if near:
            out[i] = np.max([perceptron(a, "p", np.concatenate([x[i], x[j] - x[i]])) for j in near], 0)
    return out


def dimenet(g, a):
    _, src, dst = g
    silu = lambda z: z * sigmoid(z)  # noqa: E731
    m = a["m"]
    sent = silu((silu(dense(a, "p.kj", m)) * (a["rbf"] @ a["p.rbf"])) @ a["p.down"])
    summed = np.zeros((len(src), DOWN))
    for e in range(len(src)):
        for f in range(len(src)):
            if dst[e] == src[f] and src[e] != dst[f]:
                summed[f] += sent[e] * (np.cos(a["angle"][e] - a["angle"][f]) @ a["p.sbf"])
    into = silu(summed @ a["p.up"])
    return m + silu(dense(a, "p.skip", silu(dense(a, "p.ji", m)) + into))


def linear(path, into, out):
    return {path + ".w": (into, out), path + ".b": (out,)}


def mlp(path, into, out):
    return linear(path + ".hidden", into, M) | linear(path + ".out", M, out)


def norm(path):
    return {path + ".gain": (F,), path + ".b": (F,)}


X = {"x": ("n", F)}
CASES = {
    "global_sum": (lambda _, a: by_graph(a, (F,), lambda i: a["x"][i].sum(0)), X),
    "global_mean": (lambda _, a: by_graph(a, (F,), lambda i: a["x"][i].mean(0)), X),
    "global_max": (lambda _, a: by_graph(a, (F,), lambda i: a["x"][i].max(0)), X),
    "attention_pool": (attention_pool, X | mlp("p.gate", F, 1) | mlp("p.feature", F, O)),
    "set2set": (set2set, X | linear("p.input", 2 * F, 4 * F) | linear("p.state", F, 4 * F)),
    "sort_pool": (sort_pool, X),
    "top_k_pool": (top_k_pool, X | {"p.direction": (F,)}),
    "gps": (
        gps,
        X | {f"p.{name}": (F, HEADS, SIZE) for name in "qkv"} | linear("p.out", HEADS * SIZE, F) | norm("p.local_norm") | norm("p.global_norm")
        | norm("p.norm") | linear("p.mlp.hidden", F, 2 * F) | linear("p.mlp.out", 2 * F, F),
    ),
    "dynamic_edge_conv": (dynamic_edge_conv, X | linear("p.hidden", 2 * F, M) | linear("p.out", M, O)),
    "dimenet": (
        dimenet,
        {"m": ("m", F), "rbf": ("m", RADIAL), "angle": ("m", ANGULAR)} | linear("p.ji", F, F) | linear("p.kj", F, F) | linear("p.skip", F, F)
        | {"p.rbf": (RADIAL, F), "p.down": (F, DOWN), "p.sbf": (ANGULAR, DOWN), "p.up": (DOWN, F)},
    ),
}


class Batches(harness.TestCase):
    def check(self, name, graph_name, *flags):
        rng = np.random.default_rng(zlib.crc32(f"{name}/{graph_name}".encode()))
        n, src, dst = graph = oracle.graphs(rng)[graph_name]
        reference, shapes = CASES[name]
        sizes = {"n": n, "m": len(src)}
        values = {path: rng.uniform(-1, 1, [sizes.get(d, d) for d in shape]) for path, shape in shapes.items()}
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.PROGRAMS / "layers_batches.gnn", "--real=f64", *flags))
            entry = model.entries[model.vjps[name]["forward"]]
            others = {"g": context.graph(n, np.array(src, np.int32), np.array(dst, np.int32))}
            if any(spec["path"] == "g.batch" for spec in entry["args"]):  # graph 3 is empty
                others |= {"g.batch": np.sort(rng.integers(0, GRAPHS - 1, n)).astype(np.int32), "g.graphs": GRAPHS}
            expected = np.asarray(reference(graph, {**values, **others}))
            cotangent = rng.standard_normal(expected.shape)
            results, gradients = model.value_and_vjp(context, name, {**values, **others}, {"out": cotangent})
        self.assert_close(results["out"], expected, 1e-12, "value")
        self.assert_gradients(lambda changed: reference(graph, {**others, **changed}), values, gradients, cotangent, rng)


GRAPH_NAMES = [name for name in oracle.graphs(np.random.default_rng(0))]
harness.add_cases(
    Batches,
    [(f"{name} on {graph}", (name, graph)) for name in CASES for graph in GRAPH_NAMES
     if not (name == "gps" and graph == "one node")],  # whose variance is 0, which differences do not see the same
    Batches.check,
)
harness.add_cases(Batches, [(f"{name} without fusion", (name, "awkward", "--no-fuse")) for name in CASES], Batches.check)
