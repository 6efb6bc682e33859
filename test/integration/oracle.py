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


def looped_where_missing(graph):
    """The graph with a self loop added to each node that has none, and how many that are."""
    n, src, dst = graph
    without = [v for v in range(n) if not any(s == v and d == v for s, d in zip(src, dst))]
    return (n, list(src) + without, list(dst) + without), len(without)


def gcn(graph, a):
    looped, added = looped_where_missing(graph)
    return gcn_no_loops(looped, {**a, "w": np.concatenate([a["w"], np.ones(added)])})


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


def weighed(graph, score, message, shape):
    """[n, H, D]: for each node and head, the messages of its in-edges weighed by the softmax of their scores."""
    n, _, dst = graph
    out = np.zeros((n, *shape))
    for i, edges in enumerate(in_edges(n, dst)):
        for head in range(shape[0]):
            scores = np.array([score(k, i, head) for k in edges])
            weights = np.exp(scores - np.max(scores, initial=-np.inf)) if edges else scores
            for k, weight in zip(edges, weights):
                out[i, head] += weight / weights.sum() * message(k, head)
    return out


def under(a, prefix, names):
    return {name: a[prefix + name] for name in names.split()}


def gatv2_core(graph, p, x, e, slope=0.2):
    """`e[k]` is what edge k adds before the leaky_relu, [H, D]."""
    src = graph[1]
    l, r = np.tensordot(x, p["src"], 1), np.tensordot(x, p["dst"], 1)

    def score(k, i, head):
        z = r[i, head] + l[src[k], head] + e[k][head]
        return sum(a * (v if v > 0 else slope * v) for a, v in zip(p["a"][head], z))

    return weighed(graph, score, lambda k, head: l[src[k], head], p["a"].shape) + p["b"]


def gatv2_no_loops(graph, a):
    p = under(a, "p.", "src dst a b")
    return gatv2_core(graph, p, a["x"], np.zeros((len(graph[1]), *p["a"].shape))).reshape(graph[0], -1)


def replaced_loops(graph):
    """The graph with exactly one self loop a node, behind the other edges, and which edges those are."""
    n, src, dst = graph
    kept = [k for k in range(len(src)) if src[k] != dst[k]]
    ends = ([src[k] for k in kept] + list(range(n)), [dst[k] for k in kept] + list(range(n)))
    return (n, *ends), kept


def gatv2(graph, a):
    return gatv2_no_loops(replaced_loops(graph)[0], a)


def gatv2_edge(graph, a):
    p = under(a, "p.node.", "src dst a b")
    return gatv2_core(graph, p, a["x"], np.tensordot(a["e"], a["p.w"], 1)).reshape(graph[0], -1)


def gatv2_edge_loops(graph, a):
    looped, kept = replaced_loops(graph)
    n, e = graph[0], a["e"]
    fill = np.zeros((n, e.shape[1]))
    for i, edges in enumerate(in_edges(n, graph[2])):  # the mean of what the node's in-edges carry, self loops left out
        edges = [k for k in edges if k in kept]
        if edges:
            fill[i] = sum(e[k] for k in edges) / len(edges)
    return gatv2_edge(looped, {**a, "e": np.concatenate([e[kept], fill])})


def transformer_messages(graph, a, at, m):
    """`m[k]` is what edge k adds to key and value, [H, D]."""
    src = graph[1]
    q, key, v = (np.tensordot(a["x"], a[f"{at}{name}.w"], 1) + a[f"{at}{name}.b"] for name in "qkv")
    size = q.shape[2]
    return weighed(
        graph,
        lambda k, i, head: q[i, head] @ (key[src[k], head] + m[k][head]) / np.sqrt(size),
        lambda k, head: v[src[k], head] + m[k][head],
        q.shape[1:],
    )


def transformer_root(a, at):
    return (np.tensordot(a["x"], a[f"{at}root.w"], 1) + a[f"{at}root.b"]).reshape(len(a["x"]), -1)


def transformer(graph, a):
    m = np.zeros((len(graph[1]), *a["p.q.b"].shape))
    return transformer_messages(graph, a, "p.", m).reshape(graph[0], -1) + transformer_root(a, "p.")


def transformer_edge(graph, a):
    m = np.tensordot(a["e"], a["p.w"], 1)
    return transformer_messages(graph, a, "p.node.", m).reshape(graph[0], -1) + transformer_root(a, "p.node.")


def transformer_edge_loops(graph, a):
    n, src, dst = graph
    looped = (n, list(src) + list(range(n)), list(dst) + list(range(n)))
    return transformer_edge(looped, {**a, "e": np.concatenate([a["e"], np.full((n, a["e"].shape[1]), 0.5)])})


def transformer_gated(graph, a):
    m = np.tensordot(a["e"], a["p.edge.w"], 1)
    y = transformer_messages(graph, a, "p.edge.node.", m).reshape(graph[0], -1)
    r = transformer_root(a, "p.edge.node.")
    out = []
    for yi, ri in zip(y, r):
        beta = 1 / (1 + np.exp(-np.concatenate([yi, ri, yi - ri]) @ a["p.gate"]))
        out.append(beta * ri + (1 - beta) * yi)
    return np.array(out).reshape(y.shape)


def maximum_of(graph, width, message):
    """[n, width]: per feature, the largest message into each node, 0 where there is none."""
    out = np.zeros((graph[0], width))
    for i, edges in enumerate(in_edges(graph[0], graph[2])):
        if edges:
            out[i] = largest([message(i, graph[1][k]) for k in edges])
    return out


def edge_conv(graph, a):
    def message(i, j):
        z = np.concatenate([a["x"][i], a["x"][j] - a["x"][i]])
        return np.tanh(z @ a["p.hidden.w"] + a["p.hidden.b"]) @ a["p.out.w"] + a["p.out.b"]

    return maximum_of(graph, len(a["p.out.b"]), message)


def edge_conv_linear(graph, a):
    x = a["x"]
    return maximum_of(graph, len(a["p.b"]), lambda i, j: (x[j] - x[i]) @ a["p.theta"] + x[i] @ a["p.phi"] + a["p.b"])


def deviation(rows):
    rows = np.array(rows)
    return np.sqrt(np.mean((rows - rows.mean(axis=0)) ** 2, axis=0))


def pooled_four_ways(graph, width, message):
    out = np.zeros((graph[0], 4 * width))
    for i, edges in enumerate(in_edges(graph[0], graph[2])):
        if edges:
            rows = [message(i, graph[1][k]) for k in edges]
            smallest = np.min(rows, axis=0)
            out[i] = np.concatenate([average(rows), largest(rows), smallest, deviation(rows)])
    return out


def pna_aggregate(graph, a):
    return pooled_four_ways(graph, a["x"].shape[1], lambda i, j: a["x"][j])


def pna(graph, a):
    x, width = a["x"], a["x"].shape[1]
    message = lambda i, j: np.concatenate([x[i], x[j]]) @ a["p.message.w"] + a["p.message.b"]
    pooled = pooled_four_ways(graph, width, message)
    out = []
    for i, edges in enumerate(in_edges(graph[0], graph[2])):
        rows = [x[i], *3 * [np.zeros(4 * width)]]
        if edges:
            scale = np.log(len(edges) + 1) / a["delta"]
            rows[1:] = [pooled[i], pooled[i] * scale, pooled[i] / scale]
        out.append(np.concatenate(rows) @ a["p.update.w"] + a["p.update.b"])
    return np.array(out)


def dense(a, path, x):
    return x @ a[path + ".w"] + a[path + ".b"]


def perceptron(a, path, x):
    return dense(a, path + ".out", np.tanh(dense(a, path + ".hidden", x)))


def pooled(graph, width, message, how):
    """[n, width]: how(messages into each node), 0 where there is none; message(edge, source, target)."""
    out = np.zeros((graph[0], width))
    for i, edges in enumerate(in_edges(graph[0], graph[2])):
        if edges:
            out[i] = how([message(k, graph[1][k], i) for k in edges])
    return out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gine(graph, a):
    x = a["x"]
    message = lambda k, j, i: np.maximum(x[j] + dense(a, "p.edge", a["e"][k]), 0)
    return perceptron(a, "p.mlp", (1 + a["p.eps"]) * x + pooled(graph, x.shape[1], message, total))


def agnn_no_loops(graph, a):
    x = a["x"]
    unit = [row / np.sqrt(row @ row) if row @ row > 0 else 0 * row for row in x]
    score = lambda k, i, head: a["p.beta"] * (unit[graph[1][k]] @ unit[i])
    return weighed(graph, score, lambda k, head: x[graph[1][k]], (1, x.shape[1]))[:, 0]


def agnn(graph, a):
    return agnn_no_loops(replaced_loops(graph)[0], a)


def nn_conv(graph, a, how=average):
    x, (width, out) = a["x"], a["p.root"].shape
    message = lambda k, j, i: x[j] @ perceptron(a, "p.edge", a["e"][k]).reshape(width, out)
    return x @ a["p.root"] + pooled(graph, out, message, how) + a["p.b"]


def nn_conv_sum(graph, a):
    return nn_conv(graph, a, total)


def res_gated(graph, a):
    x = a["x"]
    message = lambda k, j, i: sigmoid(dense(a, "p.receive", x[i]) + dense(a, "p.send", x[j])) * dense(a, "p.value", x[j])
    return dense(a, "p.root", x) + pooled(graph, len(a["p.root.b"]), message, total)


def cg_conv(graph, a):
    x = a["x"]

    def message(k, j, i):
        z = np.concatenate([x[i], x[j], a["e"][k]])
        return sigmoid(dense(a, "p.gate", z)) * np.logaddexp(dense(a, "p.value", z), 0)

    return x + pooled(graph, x.shape[1], message, total)


def megnet_both(graph, a):
    x = a["x"]
    message = lambda k, j, i: perceptron(a, "p.edge", np.concatenate([x[i], x[j], a["e"][k]]))
    width = len(a["p.edge.out.b"])
    nodes = perceptron(a, "p.node", np.concatenate([x, pooled(graph, width, message, average)], axis=1))
    return np.concatenate([nodes, pooled(graph, width, message, total)], axis=1)


def gmm(graph, a):
    x, kernels = a["x"], range(len(a["p.mu"]))

    def message(k, j, i):
        z = (a["e"][k] - a["p.mu"]) / a["p.sigma"]
        return sum(np.exp(-0.5 * z[n] @ z[n]) * (x[j] @ a["p.theta"][:, n]) for n in kernels) / len(a["p.mu"])

    return x @ a["p.root"] + pooled(graph, len(a["p.b"]), message, average) + a["p.b"]


def normalised(rows, axis):
    return (rows - rows.mean(axis=axis, keepdims=True)) / np.sqrt(rows.var(axis=axis, keepdims=True) + 1e-5)


def layer_norm(graph, a):
    return normalised(a["x"], 1) * a["p.gain"] + a["p.b"]


def batch_norm(graph, a):
    return normalised(a["x"], 0) * a["p.gain"] + a["p.b"]


def by_source(graph, a, how):
    """[e, F]: the targets' features, changed together with those of the same source's other targets."""
    n, src, dst = graph
    out = np.zeros((len(src), a["x"].shape[1]))
    for edges in in_edges(n, src):
        if edges:
            out[edges] = how(a["x"][[dst[k] for k in edges]])
    return out


def instance_norm(graph, a):
    return by_source(graph, a, lambda rows: normalised(rows, 0)) * a["p.gain"] + a["p.b"]


def graph_norm(graph, a):
    def how(rows):
        rows = rows - a["p.alpha"] * rows.mean(axis=0)
        return rows / np.sqrt(np.mean(rows**2, axis=0) + 1e-5)

    return by_source(graph, a, how) * a["p.norm.gain"] + a["p.norm.b"]


def spmm(graph, a):
    n, src, dst = graph
    matrix = np.zeros((n, n))
    for k in range(len(src)):
        matrix[dst[k], src[k]] += a["w"][k]
    return matrix @ a["x"]


def u_dot_v(graph, a):
    products = a["u"] @ a["v"].T
    return np.array([products[j, i] for j, i in zip(graph[1], graph[2])]).reshape(-1)


def u_dot_v_heads(graph, a):
    heads = range(a["u"].shape[1])
    return np.stack([u_dot_v(graph, {"u": a["u"][:, h], "v": a["v"][:, h]}) for h in heads], axis=1)


def shapes(name, n, edges):
    """The shapes of a layer's floating-point arguments: features, edge data, and every parameter."""
    i, o, hidden, heads, size, e = 5, 3, 4, 2, 3, 2
    x, weights, features = {"x": (n, i)}, {"w": (edges,)}, {"e": (edges, e)}

    def linear(path, into, out):
        return {path + ".w": (into, out), path + ".b": (out,)}

    def mlp(path, into):
        return linear(path + ".hidden", into, hidden) | linear(path + ".out", hidden, o)

    def gat(at):
        return {at + "w": (i, heads, size)} | {at + leaf: (heads, size) for leaf in ("a_src", "a_dst", "b")}

    def gatv2(at):
        return {at + leaf: (i, heads, size) for leaf in ("src", "dst")} | {at + leaf: (heads, size) for leaf in "ab"}

    def transformer(at):
        leaves = ("q", "k", "v", "root")
        return {f"{at}{k}.w": (i, heads, size) for k in leaves} | {f"{at}{k}.b": (heads, size) for k in leaves}

    edge_weight = (e, heads, size)
    match name:
        case "gcn" | "gcn_no_loops":
            return x | weights | {"p.w": (i, o), "p.b": (o,)}
        case "sage_mean" | "sage_max":
            return x | {"p.nbr": (i, o), "p.root": (i, o), "p.b": (o,)}
        case "graph_conv" | "graph_conv_mean" | "graph_conv_max":
            return x | weights | {"p.nbr": (i, o), "p.root": (i, o), "p.b": (o,)}
        case "gin":
            return x | {"p.eps": ()} | mlp("p.mlp", i)
        case "gat" | "gat_no_loops":
            return x | gat("p.")
        case "gat_edge":
            return x | features | gat("p.node.") | {"p.w": edge_weight, "p.a": (heads, size)}
        case "gatv2" | "gatv2_no_loops":
            return x | gatv2("p.")
        case "gatv2_edge" | "gatv2_edge_loops":
            return x | features | gatv2("p.node.") | {"p.w": edge_weight}
        case "transformer":
            return x | transformer("p.")
        case "transformer_edge" | "transformer_edge_loops":
            return x | features | transformer("p.node.") | {"p.w": edge_weight}
        case "transformer_gated":
            return x | features | transformer("p.edge.node.") | {"p.edge.w": edge_weight, "p.gate": (3 * heads * size,)}
        case "edge_conv":
            return x | mlp("p", 2 * i)
        case "edge_conv_linear":
            return x | {"p.theta": (i, o), "p.phi": (i, o), "p.b": (o,)}
        case "pna_aggregate":
            return x
        case "pna":
            return x | {"delta": ()} | linear("p.message", 2 * i, i) | linear("p.update", 13 * i, o)
        case "gine":
            return x | features | {"p.eps": ()} | linear("p.edge", e, i) | mlp("p.mlp", i)
        case "agnn" | "agnn_no_loops":
            return x | {"p.beta": ()}
        case "nn_conv" | "nn_conv_sum":
            edge = linear("p.edge.hidden", e, hidden) | linear("p.edge.out", hidden, i * o)
            return x | features | edge | {"p.root": (i, o), "p.b": (o,)}
        case "res_gated":
            return x | linear("p.receive", i, o) | linear("p.send", i, o) | linear("p.value", i, o) | linear("p.root", i, o)
        case "cg_conv":
            return x | features | linear("p.gate", 2 * i + e, i) | linear("p.value", 2 * i + e, i)
        case "megnet_both":
            return x | features | mlp("p.edge", 2 * i + e) | mlp("p.node", i + o)
        case "gmm":
            kernels = {"p.theta": (i, 4, o), "p.mu": (4, e), "p.sigma": (4, e)}
            return x | features | kernels | {"p.root": (i, o), "p.b": (o,)}
        case "layer_norm" | "batch_norm" | "instance_norm":
            return x | {"p.gain": (i,), "p.b": (i,)}
        case "graph_norm":
            return x | {"p.norm.gain": (i,), "p.norm.b": (i,), "p.alpha": (i,)}
        case "spmm":
            return x | weights
        case "u_dot_v":
            return {"u": (n, i), "v": (n, i)}
        case "u_dot_v_heads":
            return {"u": (n, heads, size), "v": (n, heads, size)}


def arguments(name, graph, rng):
    """Random arguments of a layer on a graph."""
    values = {path: rng.standard_normal(shape) for path, shape in shapes(name, graph[0], len(graph[1])).items()}
    for path in ("w", "delta", "p.sigma"):  # degrees and widths are positive, so that nothing is near the kink at 0
        if path in values:
            values[path] = rng.uniform(0.2, 2.0, values[path].shape)
    return values


LAYERS = {
    function.__name__: function
    for function in (
        gcn, gcn_no_loops, sage_mean, sage_max, graph_conv, graph_conv_mean, graph_conv_max, gin, gat, gat_no_loops, gat_edge,
        gatv2, gatv2_no_loops, gatv2_edge, gatv2_edge_loops, transformer, transformer_edge, transformer_edge_loops, transformer_gated,
        gine, agnn, agnn_no_loops, nn_conv, nn_conv_sum, res_gated, cg_conv, megnet_both, gmm, layer_norm, batch_norm, instance_norm,
        graph_norm, edge_conv, edge_conv_linear, pna_aggregate, pna, spmm, u_dot_v, u_dot_v_heads,
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
