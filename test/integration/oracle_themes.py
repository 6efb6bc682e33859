"""Reference implementations of the layers of the standard library's other files, as oracle.py has them for nn.gnn: dense matrices where a layer is
an operator on the graph, a loop over nodes or edges elsewhere."""

import math

import numpy as np

from oracle import average, dense, in_edges, largest, looped_where_missing, pooled, replaced_loops, sigmoid, total


def matrix(graph, w):
    """[n, n]: row i, column j, the sum of the weights of the edges j→i."""
    n, src, dst = graph
    a = np.zeros((n, n))
    for k in range(len(src)):
        a[dst[k], src[k]] += w[k]
    return a


def scaled(a, degree):
    s = np.array([1 / math.sqrt(d) if d > 0 else 0.0 for d in degree])
    return s[:, None] * a * s[None, :]


def operator(graph, a, loops=False):
    """D^-½ A D^-½, D the sums of rows."""
    if loops:
        graph, added = looped_where_missing(graph)
        a = {**a, "w": np.concatenate([a["w"], np.ones(added)])}
    m = matrix(graph, a["w"])
    return scaled(m, m.sum(axis=1))


# ---- spectral.gnn ----------------------------------------------------------------------------------------------------


def power(m, k, x):
    return np.linalg.matrix_power(m, k) @ x


def sg(graph, a):
    return dense(a, "p", power(operator(graph, a, loops=True), 3, a["x"]))


def sg_no_loops(graph, a):
    return dense(a, "p", power(operator(graph, a), 2, a["x"]))


def hops(m, a):
    terms = [power(m, k + 1, a["x"]) @ w for k, w in enumerate(a["p.hop.w"])]
    return a["x"] @ a["p.root"] + sum(terms) + a["p.b"]


def tag(graph, a):
    return hops(operator(graph, a, loops=True), a)


def tag_no_loops(graph, a):
    return hops(operator(graph, a), a)


def cheb_sum(graph, w, a, at, x, bound=2.0):
    """Polynomials of the scaled Laplacian, each written out in powers of it."""
    m = matrix(graph, w)
    laplacian = 2 / bound * (np.eye(graph[0]) - scaled(m, m.sum(axis=0))) - np.eye(graph[0])
    y = x @ a[at + "root"] + a[at + "b"]
    for k, v in enumerate(a[at + "hop.w"]):
        for order, c in enumerate(np.polynomial.chebyshev.cheb2poly([0] * (k + 1) + [1])):
            y = y + c * power(laplacian, order, x) @ v
    return y


def cheb(graph, a):
    return cheb_sum(graph, a["w"], a, "p.", a["x"])


def cheb_scaled(graph, a):
    return cheb_sum(graph, a["w"], a, "p.", a["x"], a["lambda"])


def propagated(m, x, k, alpha):
    """(1 − α)ᵏ Mᵏ x + α Σ_{l<k} (1 − α)ˡ Mˡ x."""
    return (1 - alpha) ** k * power(m, k, x) + alpha * sum((1 - alpha) ** l * power(m, l, x) for l in range(k))


def appnp(graph, a):
    return propagated(operator(graph, a, loops=True), a["x"], 4, 0.15)


def appnp_no_loops(graph, a):
    return propagated(operator(graph, a), a["x"], 3, a["alpha"])


def initial_residual(m, a, alpha, beta):
    h = (1 - alpha) * m @ a["x"] + alpha * a["x0"]
    return h @ ((1 - beta) * np.eye(h.shape[1]) + beta * a["p.w"])


def gcn2(graph, a):
    return initial_residual(operator(graph, a, loops=True), a, 0.2, math.log(0.5 / 1 + 1))


def gcn2_no_loops(graph, a):
    return initial_residual(operator(graph, a), a, a["alpha"], a["beta"])


def arma(graph, a):
    m, stacks = operator(graph, a), []
    for k in range(len(a["p.stack.b"])):
        q = {name: a["p.stack." + name][k] for name in ("first", "w", "root", "b")}
        h = np.tanh(m @ a["x"] @ q["first"] + a["x"] @ q["root"] + q["b"])
        for _ in range(2):
            h = np.tanh(m @ h @ q["w"] + a["x"] @ q["root"] + q["b"])
        stacks.append(h)
    return average(stacks)


def stochastic(m):
    """Each row divided by its sum, 0 where that is not positive."""
    return np.array([row / row.sum() if row.sum() > 0 else 0 * row for row in m])


def diffused(graph, w, a, at, x):
    back = stochastic(matrix(graph, w))
    ahead = stochastic(matrix(graph, w).T)
    y = x @ a[at + "root"] + a[at + "b"]
    for k, (v, u) in enumerate(zip(a[at + "ahead.w"], a[at + "back.w"])):
        y = y + power(ahead, k + 1, x) @ v + power(back, k + 1, x) @ u
    return y


def diffusion(graph, a):
    return diffused(graph, a["w"], a, "p.", a["x"])


# ---- recurrent.gnn ---------------------------------------------------------------------------------------------------


def gru(a, at, x, h):
    """Row by row, each gate with a map of its own."""
    size = h.shape[1]
    gate = lambda path, k, v: v @ a[f"{at}{path}.w"][:, k * size : (k + 1) * size] + a[f"{at}{path}.b"][k * size : (k + 1) * size]
    r = sigmoid(gate("input", 0, x) + gate("state", 0, h))
    z = sigmoid(gate("input", 1, x) + gate("state", 1, h))
    return (1 - z) * np.tanh(gate("input", 2, x) + r * gate("state", 2, h)) + z * h


def gated_graph(graph, a):
    h = np.zeros((graph[0], a["p.message.w"].shape[1]))
    h[:, : a["x"].shape[1]] = a["x"]
    for v in a["p.message.w"]:
        h = gru(a, "p.cell.", matrix(graph, a["w"]) @ h @ v, h)
    return h


def over_time(a, h, gate):
    """The recurrence that all gated layers share; gate(name, input, state)."""
    for x in a["xs"]:
        z, r = sigmoid(gate("z", x, h)), sigmoid(gate("r", x, h))
        h = z * h + (1 - z) * np.tanh(gate("c", x, r * h))
    return h


def tgcn_with(m, a, h):
    convolved = lambda name, x: m @ x @ a[f"p.gcn_{name}.w"] + a[f"p.gcn_{name}.b"]
    return over_time(a, h, lambda name, x, s: dense(a, f"p.{name}", np.concatenate([convolved(name, x), s], axis=1)))


def tgcn(graph, a):
    return tgcn_with(operator(graph, a, loops=True), a, a["h0"])


def tgcn_no_loops(graph, a):
    return tgcn_with(operator(graph, a), a, np.tile(a["h0"], (graph[0], 1)))


def dcgru(graph, a):
    gate = lambda name, x, s: diffused(graph, a["w"], a, f"p.{name}.", np.concatenate([x, s], axis=1))
    return over_time(a, np.zeros((graph[0], len(a["p.z.b"]))), gate)


def cheb_gate(graph, a, name, x, h):
    return cheb_sum(graph, a["w"], a, f"p.{name}.x.", x) + cheb_sum(graph, a["w"], a, f"p.{name}.h.", h)


def gconv_gru(graph, a):
    return over_time(a, a["h0"], lambda name, x, s: cheb_gate(graph, a, name, x, s))


def gconv_lstm(graph, a):
    h, c = a["h0"], a["c0"]
    for x in a["xs"]:
        gate = lambda name: cheb_gate(graph, a, name, x, h)
        i, f = sigmoid(gate("i") + a["p.peep_i"] * c), sigmoid(gate("f") + a["p.peep_f"] * c)
        c = f * c + i * np.tanh(gate("c"))
        h = sigmoid(gate("o") + a["p.peep_o"] * c) * np.tanh(c)
    return np.concatenate([h, c], axis=1)


def evolve_gcn(graph, a):
    m, w, ys = operator(graph, a, loops=True), a["p.first"], []
    for x in a["xs"]:
        columns = [gru(a, "p.cell.", w[:, k][None], w[:, k][None])[0] for k in range(w.shape[1])]
        w = np.stack(columns, axis=1)
        ys.append(m @ x @ w)
    return np.array(ys)


# ---- messages.gnn, pooling.gnn ---------------------------------------------------------------------------------------


def softmax(scores):
    e = np.exp(scores - np.max(scores, axis=0))
    return e / e.sum(axis=0)


def softmax_pooled(graph, width, score, message):
    """[n, width]: messages weighed feature by feature by the softmax of scores; both of (edge, source, target)."""
    out = np.zeros((graph[0], width))
    for i, edges in enumerate(in_edges(graph[0], graph[2])):
        if edges:
            ends = [(k, graph[1][k], i) for k in edges]
            out[i] = np.sum(softmax(np.array([score(*e) for e in ends])) * np.array([message(*e) for e in ends]), axis=0)
    return out


def softmax_sum(graph, a):
    message = lambda k, j, i: a["x"][j]
    return softmax_pooled(graph, a["x"].shape[1], lambda *ends: a["t"] * message(*ends), message)


def normalised(rows):
    """Each column with mean 0 and variance 1."""
    return (rows - rows.mean(axis=0)) / np.sqrt(rows.var(axis=0) + 1e-5) if len(rows) else rows


def batch_normed(a, path, rows):
    return normalised(rows) * a[path + ".gain"] + a[path + ".b"]


def relu(x):
    return np.maximum(x, 0)


def gen_conv(graph, a):
    message = lambda k, j, i: relu(a["x"][j] @ a["p.src"] + a["e"][k] @ a["p.edge"]) + 1e-7
    width = a["p.dst"].shape[1]
    y = a["x"] @ a["p.dst"] + softmax_pooled(graph, width, lambda *ends: a["p.t"] * message(*ends), message)
    rows = (y @ a["p.hidden"]).T  # what a layer norm does to rows is what a batch norm does to columns
    return relu(normalised(rows).T * a["p.norm.gain"] + a["p.norm.b"]) @ a["p.out"]


def gated_gcn(graph, a):
    n, src, dst = graph
    x, e = a["x"], a["e"]
    send, receive, value = (dense(a, f"p.{name}", x) for name in ("src", "dst", "v"))
    s = dense(a, "p.e", e) + np.array([send[j] + receive[i] for j, i in zip(src, dst)]).reshape(e.shape)
    gates = pooled(graph, x.shape[1], lambda k, j, i: sigmoid(s[k]), total)
    y = dense(a, "p.u", x) + pooled(graph, x.shape[1], lambda k, j, i: sigmoid(s[k]) / (gates[i] + 1e-6) * value[j], total)
    edges = e + relu(batch_normed(a, "p.edge_norm", s))
    nodes = x + relu(batch_normed(a, "p.node_norm", y))
    return np.concatenate([nodes, pooled(graph, x.shape[1], lambda k, j, i: edges[k], total)], axis=1)


def diff_pool(graph, a):
    m = matrix(graph, a["w"]).T
    s = np.array([softmax(row) for row in a["scores"]])
    n, clusters = s.shape
    link = math.sqrt(sum((m[i, j] - s[i] @ s[j]) ** 2 for i in range(n) for j in range(n))) / n**2
    entropy = -sum(s[i, c] * math.log(s[i, c]) for i in range(n) for c in range(clusters)) / n
    losses = np.tile([link, entropy], (clusters, 1))
    return np.concatenate([s.T @ a["x"], s.T @ m @ s, losses], axis=1)


# ---- geometric.gnn ---------------------------------------------------------------------------------------------------


def silu(x):
    return x * sigmoid(x)


def shifted(x):
    return np.logaddexp(x, 0) - math.log(2)


def mlp(a, path, x, act):
    return dense(a, path + ".out", act(dense(a, path + ".hidden", x)))


def gaussians(d, count, cutoff=2.5):
    step = cutoff / (count - 1)
    return np.array([math.exp(-((d - k * step) ** 2) / (2 * step**2)) for k in range(count)])


def fade(d, cutoff=2.5):
    return 0.5 * (math.cos(math.pi * d / cutoff) + 1) if d < cutoff else 0.0


def distance(a, j, i):
    return math.sqrt(sum((a["pos"][i] - a["pos"][j]) ** 2))


def cf_conv(graph, a):
    x = a["x"] @ a["p.into"]

    def message(k, j, i):
        d = distance(a, j, i)
        return x[j] * mlp(a, "p.filter", gaussians(d, len(a["p.filter.hidden.w"])), shifted) * fade(d)

    return dense(a, "p.out", pooled(graph, x.shape[1], message, total))


def egnn_both(graph, a, act=silu):
    h, pos = a["h"], a["pos"]

    def message(k, j, i):
        return mlp(a, "p.edge", np.concatenate([h[i], h[j], [distance(a, j, i) ** 2]]), act)

    moved = pooled(graph, pos.shape[1], lambda *e: (pos[e[2]] - pos[e[1]]) * mlp(a, "p.position", message(*e), act), average)
    width = len(a["p.edge.out.b"])
    nodes = mlp(a, "p.node", np.concatenate([h, pooled(graph, width, message, total)], axis=1), act)
    return np.concatenate([nodes, pos + moved], axis=1)


def painn(graph, a):
    s, v, pos = a["s"], a["v"], a["pos"]
    size = s.shape[1]
    sent = mlp(a, "p.send", s, silu)

    def message(k, j, i):
        d = distance(a, j, i)
        f = sent[j] * dense(a, "p.filter", gaussians(d, len(a["p.filter.w"]))) * fade(d)
        direction = (pos[i] - pos[j]) / d if d > 0 else np.zeros(3)
        return np.concatenate([f[:size], (v[j] * f[size : 2 * size] + np.outer(direction, f[2 * size :])).ravel()])

    m = pooled(graph, 4 * size, message, total)
    s, v = s + m[:, :size], v + m[:, size:].reshape(v.shape)
    out = []
    for si, vi in zip(s, v):
        u, w = vi @ a["p.u"], vi @ a["p.v"]
        f = mlp(a, "p.update", np.concatenate([si, np.sqrt(np.sum(w**2, axis=0))]), silu)
        si = si + f[:size] + f[size : 2 * size] * np.sum(u * w, axis=0)
        out.append(np.concatenate([si, (vi + f[2 * size :] * u).ravel()]))
    return np.array(out)


def point_net_no_loops(graph, a):
    message = lambda k, j, i: mlp(a, "p.local", np.concatenate([a["x"][j], a["pos"][j] - a["pos"][i]]), np.tanh)
    return dense(a, "p.out", pooled(graph, len(a["p.local.out.b"]), message, largest))


def point_net(graph, a):
    return point_net_no_loops(replaced_loops(graph)[0], a)


def point_transformer_no_loops(graph, a):
    x = a["x"]
    delta = lambda j, i: mlp(a, "p.position", a["pos"][i] - a["pos"][j], np.tanh)
    score = lambda k, j, i: mlp(a, "p.score", x[i] @ a["p.dst"] - x[j] @ a["p.src"] + delta(j, i), np.tanh)
    return softmax_pooled(graph, a["p.value"].shape[1], score, lambda k, j, i: x[j] @ a["p.value"] + delta(j, i))


def point_transformer(graph, a):
    return point_transformer_no_loops(replaced_loops(graph)[0], a)


# ---- relational.gnn --------------------------------------------------------------------------------------------------


def by_relation(graph, a, count, width, message):
    """Σ_r mean of the messages of relation r into each node."""
    n, src, dst = graph
    out = np.zeros((n, width))
    for r in range(count):
        kept = [k for k in range(len(src)) if a["rel"][k] == r]
        part = n, [src[k] for k in kept], [dst[k] for k in kept]
        out += pooled(part, width, lambda k, j, i: message(kept[k], j, i, r), average)
    return out


def rgcn_basis(graph, a):
    maps = np.einsum("rb,ibo->rio", a["p.comb"], a["p.basis"])
    mean = by_relation(graph, a, len(maps), maps.shape[2], lambda k, j, i, r: a["x"][j] @ maps[r])
    return a["x"] @ a["p.root"] + mean + a["p.b"]


def rgcn_blocks(graph, a):
    into, count, blocks, out = a["p.block"].shape
    maps = np.zeros((count, blocks * into, blocks * out))
    for r in range(count):
        for b in range(blocks):
            maps[r, b * into : (b + 1) * into, b * out : (b + 1) * out] = a["p.block"][:, r, b]
    mean = by_relation(graph, a, count, blocks * out, lambda k, j, i, r: a["x"][j] @ maps[r])
    return a["x"] @ a["p.root"] + mean + a["p.b"]


def headwise(graph, shape, score, message):
    """[n, H·D]: messages [H, D] weighed by the softmax of scores [H]."""
    spread = lambda *ends: np.repeat(score(*ends), shape[1])
    return softmax_pooled(graph, shape[0] * shape[1], spread, lambda *ends: message(*ends).ravel())


def rgat(graph, a):
    h = np.einsum("ni,irhd->nrhd", a["x"], a["p.w"])

    def score(k, j, i):
        r = a["rel"][k]
        s = np.sum(h[j, r] * a["p.a_src"][r] + h[i, r] * a["p.a_dst"][r], axis=1)
        return np.where(s > 0, s, 0.2 * s)

    return headwise(graph, a["p.b"].shape, score, lambda k, j, i: h[j, a["rel"][k]]) + a["p.b"].ravel()


def film(graph, a):
    x = a["x"]

    def message(k, j, i, r):
        scale, shift = (x[i] @ a[f"p.{name}"][:, r] + a[f"p.{name}_b"][r] for name in ("scale", "shift"))
        return relu(scale * (x[j] @ a["p.w"][:, r]) + shift)

    own = relu((x @ a["p.root_scale"]) * (x @ a["p.root"]) + x @ a["p.root_shift"])
    return own + by_relation(graph, a, a["p.w"].shape[1], own.shape[1], message)


def hgt(graph, a):
    x, kind = a["x"], a["kind"]
    heads, size = a["p.k"].shape[2:]
    own = lambda name: np.array([np.tensordot(row, a[f"p.{name}"][:, t], 1) for row, t in zip(x, kind)])
    k, q, v = own("k"), own("q"), own("v")
    mapped = lambda rows, name, r: np.array([rows[h] @ a[f"p.{name}"][:, r, h] for h in range(heads)])

    def score(edge, j, i):
        r = a["rel"][edge]
        return np.sum(mapped(k[j], "att", r) * q[i], axis=1) * a["p.prior"][r] / math.sqrt(size)

    y = headwise(graph, (heads, size), score, lambda edge, j, i: mapped(v[j], "msg", a["rel"][edge]))
    erf = np.vectorize(math.erf, otypes=[float])
    y = 0.5 * y * (1 + erf(y / math.sqrt(2)))
    return x + np.array([row @ a["p.out"][:, t] + a["p.out_b"][t] for row, t in zip(y, kind)])


LAYERS = {
    function.__name__: function
    for function in (
        sg, sg_no_loops, tag, tag_no_loops, cheb, cheb_scaled, appnp, appnp_no_loops, gcn2, gcn2_no_loops, arma, diffusion,
        gated_graph, tgcn, tgcn_no_loops, dcgru, gconv_gru, gconv_lstm, evolve_gcn, softmax_sum, gen_conv, gated_gcn, diff_pool,
        cf_conv, egnn_both, painn, point_net, point_net_no_loops, point_transformer, point_transformer_no_loops,
        rgcn_basis, rgcn_blocks, rgat, film, hgt,
    )
}  # fmt: skip
