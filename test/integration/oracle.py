"""Dense, plain reference implementations of the layers, node by node from their formulas.

Written independently of the compiler and of the standard library: adjacency is a list of in-edges per node, every sum a Python
loop, no normalisation trick. Each function takes the graph as (n, src, dst) and arguments by the same paths as the compiled
function, and returns its result.
"""

import numpy as np


def in_edges(n, dst):
    """For each node, the edges that end in it, in the order of edges."""
    lists = [[] for _ in range(n)]
    for edge, node in enumerate(dst):
        lists[node].append(edge)
    return lists


def gcn_no_loops(graph, a):
    n, src, dst = graph
    w, h = a["w"], a["x"] @ a["p.w"]
    degree = np.zeros(n)
    for k in range(len(src)):
        degree[dst[k]] += w[k]
    out = np.zeros((n, h.shape[1]))
    for k in range(len(src)):
        j, i = src[k], dst[k]
        if degree[i] > 0 and degree[j] > 0:
            out[i] += w[k] / np.sqrt(degree[i] * degree[j]) * h[j]
    return out + a["p.b"]


def gcn(graph, a):
    n, src, dst = graph
    without = [v for v in range(n) if not any(s == v and d == v for s, d in zip(src, dst))]
    looped = (n, list(src) + without, list(dst) + without)
    return gcn_no_loops(looped, {**a, "w": np.concatenate([a["w"], np.ones(len(without))])})


def aggregated(graph, a, messages, how):
    """x W_root + how(messages into each node) W_nbr + b; an empty set of messages gives 0."""
    n, _, dst = graph
    out = np.zeros((n, a["p.b"].shape[0]))
    for i, edges in enumerate(in_edges(n, dst)):
        pooled = how([messages[k] for k in edges]) if edges else np.zeros(a["x"].shape[1])
        out[i] = a["x"][i] @ a["p.root"] + pooled @ a["p.nbr"] + a["p.b"]
    return out


def total(rows):
    return np.sum(rows, axis=0)


def average(rows):
    return np.sum(rows, axis=0) / len(rows)


def largest(rows):
    return np.max(rows, axis=0)


def neighbours(graph, a):
    return [a["x"][j] for j in graph[1]]


def weighted(graph, a):
    return [a["w"][k] * a["x"][j] for k, j in enumerate(graph[1])]


def sage_mean(graph, a):
    return aggregated(graph, a, neighbours(graph, a), average)


def sage_max(graph, a):
    return aggregated(graph, a, neighbours(graph, a), largest)


def graph_conv(graph, a):
    return aggregated(graph, a, weighted(graph, a), total)


def graph_conv_mean(graph, a):
    return aggregated(graph, a, weighted(graph, a), average)


def graph_conv_max(graph, a):
    return aggregated(graph, a, weighted(graph, a), largest)


def gin(graph, a):
    n, src, dst = graph
    out = []
    for i, edges in enumerate(in_edges(n, dst)):
        z = (1 + a["p.eps"]) * a["x"][i]
        for k in edges:
            z = z + a["x"][src[k]]
        hidden = np.tanh(z @ a["p.mlp.hidden.w"] + a["p.mlp.hidden.b"])
        out.append(hidden @ a["p.mlp.out.w"] + a["p.mlp.out.b"])
    return np.array(out).reshape(n, -1)


def attention(graph, p, x, extra, slope=0.2):
    """[n, H, D]: softmax over the in-edges of each node of leaky_relu(scores), weighting the transformed sources."""
    n, src, dst = graph
    heads, size = p["a_src"].shape
    h = np.einsum("ni,ihd->nhd", x, p["w"])
    out = np.zeros((n, heads, size))
    for i, edges in enumerate(in_edges(n, dst)):
        for head in range(heads):
            scores = []
            for k in edges:
                score = h[src[k], head] @ p["a_src"][head] + h[i, head] @ p["a_dst"][head] + extra(k, head)
                scores.append(score if score > 0 else slope * score)
            weights = np.exp(np.array(scores) - max(scores, default=0.0))
            for k, weight in zip(edges, weights / max(weights.sum(), 1e-300)):
                out[i, head] += weight * h[src[k], head]
    return out + p["b"]


def gat_no_loops(graph, a):
    p = {name: a["p." + name] for name in ("w", "a_src", "a_dst", "b")}
    return attention(graph, p, a["x"], lambda k, head: 0.0).reshape(graph[0], -1)


def gat(graph, a):
    n, src, dst = graph
    kept = [(s, d) for s, d in zip(src, dst) if s != d] + [(v, v) for v in range(n)]
    return gat_no_loops((n, [s for s, _ in kept], [d for _, d in kept]), a)


def gat_edge(graph, a):
    p = {name: a["p.node." + name] for name in ("w", "a_src", "a_dst", "b")}
    u = np.einsum("ke,ehd->khd", a["e"], a["p.w"])
    return attention(graph, p, a["x"], lambda k, head: u[k, head] @ a["p.a"][head]).mean(axis=1)


def arguments(name, graph, rng):
    """Random arguments of a layer on a graph: features, edge data, and every parameter."""
    n, edges = graph[0], len(graph[1])
    i, o, hidden, heads, size, e = 5, 3, 4, 2, 3, 2
    shapes = {"x": (n, i)}
    if name.startswith("gcn"):
        shapes |= {"p.w": (i, o), "p.b": (o,)}
    elif name.startswith(("sage", "graph_conv")):
        shapes |= {"p.nbr": (i, o), "p.root": (i, o), "p.b": (o,)}
    elif name == "gin":
        shapes |= {"p.eps": (), "p.mlp.hidden.w": (i, hidden), "p.mlp.hidden.b": (hidden,)}
        shapes |= {"p.mlp.out.w": (hidden, o), "p.mlp.out.b": (o,)}
    else:
        at = "p.node." if name == "gat_edge" else "p."
        shapes |= {at + "w": (i, heads, size)} | {at + leaf: (heads, size) for leaf in ("a_src", "a_dst", "b")}
        if name == "gat_edge":
            shapes |= {"e": (edges, e), "p.w": (e, heads, size), "p.a": (heads, size)}
    values = {path: rng.standard_normal(shape) for path, shape in shapes.items()}
    if name.startswith(("gcn", "graph_conv")):
        values["w"] = rng.uniform(0.2, 2.0, edges)  # positive, so degrees stay off the kink at 0
    return values


LAYERS = {
    function.__name__: function
    for function in (
        gcn, gcn_no_loops, sage_mean, sage_max, graph_conv, graph_conv_mean, graph_conv_max, gin, gat, gat_no_loops, gat_edge,
    )
}  # fmt: skip


def graphs(rng):
    """Graphs that are easy to get wrong, by name: (n, src, dst)."""
    n = 12
    src = list(rng.integers(0, n - 2, 20)) + list(range(1, n - 2))  # the last two nodes are isolated
    dst = list(rng.integers(0, n - 2, 20)) + [0] * (n - 3)  # node 0 is a hub
    src += [3, 3, 5, 5, 5]
    dst += [3, 4, 5, 7, 7]  # self loops; 5→7 stands twice
    star = 40
    return {
        "awkward": (n, src, dst),
        "no edges": (4, [], []),
        "one node": (1, [0, 0], [0, 0]),
        "star in": (star, list(range(1, star)), [0] * (star - 1)),
        "star out": (star, [0] * (star - 1), list(range(1, star))),
    }
