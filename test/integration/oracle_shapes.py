"""The shapes of the arguments of the layers in oracle_themes.py."""

import numpy as np

I, O, HIDDEN, HEADS, SIZE, E, KERNELS, STEPS, RELATIONS, KINDS = 5, 3, 4, 2, 3, 2, 6, 3, 3, 2


def linear(path, into, out):
    return {path + ".w": (into, out), path + ".b": (out,)}


def mlp(path, into, out, hidden=HIDDEN):
    return linear(path + ".hidden", into, hidden) | linear(path + ".out", hidden, out)


def hops(at, into, out, count=2):
    return {at + "root": (into, out), at + "hop.w": (count, into, out), at + "b": (out,)}


def diffusion(at, into, out, count=2):
    return {at + "root": (into, out), at + "b": (out,)} | {f"{at}{way}.w": (count, into, out) for way in ("ahead", "back")}


def cheb_gates(names):
    shapes = {}
    for name in names:
        shapes |= hops(f"p.{name}.x.", I, O) | hops(f"p.{name}.h.", O, O)
    return shapes


def norm(path, size):
    return {path + ".gain": (size,), path + ".b": (size,)}


def shapes(name, n, edges):
    """Path → shape of each floating-point argument."""
    x, w, pos = {"x": (n, I)}, {"w": (edges,)}, {"pos": (n, 3)}
    over_time, state = w | {"xs": (STEPS, n, I)}, {"h0": (n, O)}
    head = HEADS, SIZE
    match name:
        case "sg" | "sg_no_loops":
            return x | w | linear("p", I, O)
        case "tag" | "tag_no_loops" | "cheb":
            return x | w | hops("p.", I, O, 3)
        case "cheb_scaled":
            return x | w | hops("p.", I, O, 3) | {"lambda": ()}
        case "appnp":
            return x | w
        case "appnp_no_loops":
            return x | w | {"alpha": ()}
        case "gcn2":
            return x | w | {"x0": (n, I), "p.w": (I, I)}
        case "gcn2_no_loops":
            return x | w | {"x0": (n, I), "p.w": (I, I), "alpha": (), "beta": ()}
        case "arma":
            return x | w | {"p.stack.first": (2, I, O), "p.stack.w": (2, O, O), "p.stack.root": (2, I, O), "p.stack.b": (2, O)}
        case "diffusion":
            return x | w | diffusion("p.", I, O)
        case "gated_graph":
            return {"x": (n, 3)} | w | {"p.message.w": (STEPS, 4, 4)} | linear("p.cell.input", 4, 12) | linear("p.cell.state", 4, 12)
        case "tgcn" | "tgcn_no_loops":
            gates = {}
            for gate in "zrc":
                gates |= linear(f"p.gcn_{gate}", I, O) | linear(f"p.{gate}", 2 * O, O)
            return over_time | gates | (state if name == "tgcn" else {"h0": (O,)})
        case "dcgru":
            return over_time | diffusion("p.z.", I + O, O) | diffusion("p.r.", I + O, O) | diffusion("p.c.", I + O, O)
        case "gconv_gru":
            return over_time | state | cheb_gates("zrc")
        case "gconv_lstm":
            return over_time | state | {"c0": (n, O)} | cheb_gates("ifco") | {f"p.peep_{gate}": (O,) for gate in "ifo"}
        case "evolve_gcn":
            return over_time | {"p.first": (I, O)} | linear("p.cell.input", I, 3 * I) | linear("p.cell.state", I, 3 * I)
        case "softmax_sum":
            return x | {"t": ()}
        case "gen_conv":
            maps = {"p.src": (I, O), "p.dst": (I, O), "p.edge": (E, O), "p.hidden": (O, HIDDEN), "p.out": (HIDDEN, O)}
            return x | {"e": (edges, E), "p.t": ()} | maps | norm("p.norm", HIDDEN)
        case "gated_gcn":
            maps = {}
            for leaf in ("u", "v", "e", "src", "dst"):
                maps |= linear(f"p.{leaf}", I, I)
            return x | {"e": (edges, I)} | maps | norm("p.node_norm", I) | norm("p.edge_norm", I)
        case "diff_pool":
            return x | w | {"scores": (n, O)}
        case "cf_conv":
            return x | pos | {"p.into": (I, HIDDEN)} | mlp("p.filter", KERNELS, HIDDEN) | linear("p.out", HIDDEN, O)
        case "egnn_both":
            return {"h": (n, I)} | pos | mlp("p.edge", 2 * I + 1, 6) | mlp("p.position", 6, 1) | mlp("p.node", I + 6, O)
        case "painn":
            networks = mlp("p.send", O, 3 * O, O) | linear("p.filter", KERNELS, 3 * O) | mlp("p.update", 2 * O, 3 * O, O)
            return {"s": (n, O), "v": (n, 3, O)} | pos | networks | {"p.u": (O, O), "p.v": (O, O)}
        case "point_net" | "point_net_no_loops":
            return x | pos | mlp("p.local", I + 3, 6) | linear("p.out", 6, O)
        case "point_transformer" | "point_transformer_no_loops":
            maps = {f"p.{leaf}": (I, O) for leaf in ("dst", "src", "value")}
            return x | pos | maps | mlp("p.position", 3, O) | mlp("p.score", O, O)
        case "rgcn_basis":
            return x | {"p.basis": (I, 2, O), "p.comb": (RELATIONS, 2), "p.root": (I, O), "p.b": (O,)}
        case "rgcn_blocks":
            return {"x": (n, 4), "p.block": (2, RELATIONS, 2, O), "p.root": (4, 2 * O), "p.b": (2 * O,)}
        case "rgat":
            return x | {"p.w": (I, RELATIONS, *head), "p.a_src": (RELATIONS, *head), "p.a_dst": (RELATIONS, *head), "p.b": head}
        case "film":
            maps = {f"p.{leaf}": (I, RELATIONS, O) for leaf in ("w", "shift", "scale")}
            own = {f"p.{leaf}": (I, O) for leaf in ("root", "root_shift", "root_scale")}
            return x | maps | own | {"p.shift_b": (RELATIONS, O), "p.scale_b": (RELATIONS, O)}
        case "hgt":
            maps = {f"p.{leaf}": (I, KINDS, *head) for leaf in "kqv"} | {f"p.{leaf}": (SIZE, RELATIONS, *head) for leaf in ("att", "msg")}
            return x | maps | {"p.prior": (RELATIONS, HEADS), "p.out": (HEADS * SIZE, KINDS, I), "p.out_b": (KINDS, I)}


POSITIVE = ("w", "lambda")  # degrees and the bound of the spectrum, so that nothing is near a kink or a pole
INDICES = {"rgcn_basis": ("rel",), "rgcn_blocks": ("rel",), "rgat": ("rel",), "film": ("rel",), "hgt": ("rel", "kind")}


def arguments(name, graph, rng):
    """Random arguments of a layer on a graph."""
    n, edges = graph[0], len(graph[1])
    values = {path: rng.standard_normal(shape) for path, shape in shapes(name, n, edges).items()}
    for path in POSITIVE:
        if path in values:
            values[path] = rng.uniform(0.5, 2.0, values[path].shape)
    for path in INDICES.get(name, ()):
        values[path] = rng.integers(0, RELATIONS, edges) if path == "rel" else rng.integers(0, KINDS, n)
    return values
