"""Layers against reference values: a folder of safetensors files (by default ../shared/golden), in f64.

Each file holds a graph, inputs `in.*`, parameters `param.*` in PyTorch's layouts (a linear layer's weight is [out, in]), the
output `out.0`, a cotangent `cot.0`, the gradients `grad.*`, a direction `dir.*` with the derivative of the output along it, `jvp.0`, and that of the
gradients, `hvp.*`. The mapping to this library's parameters stands here.
"""

import pathlib
import re

import numpy as np

import harness
import safetensors_io

VALUES = 1e-9
GRADIENTS = 1e-8
SECOND_ORDER = 1e-7
FIRST, SECOND = "first", "second"  # halves of a tensor's first dimension
ROUNDING = 1e-14  # a gradient that is 0 but for rounding


class Leaf:
    """A parameter's place in the reference, and the change of layout each way. Several tensors may be one here, stacked, and one there may be
    two here, each a half of its first dimension."""

    def __init__(self, name, here=lambda t, _: t, there=lambda t, _: t, half=None):
        self.names = name if isinstance(name, list) else [name]
        self.here = here
        self.there = there
        self.half = half

    def of(self, data, kind=""):
        tensors = [data[kind + name] for name in self.names]
        if self.half:
            return np.split(tensors[0], 2)[self.half == SECOND]
        return tensors[0] if len(tensors) == 1 else np.stack(tensors)

    def compared(self, data):
        return True


class Optional(Leaf):
    """A matrix that a case may lack, where it is a constant here."""

    def __init__(self, name, constant):
        super().__init__(name, lambda t, _: t.T, lambda t, _: t.T)
        self.constant = constant

    def of(self, data, kind=""):
        if kind + self.names[0] in data:
            return super().of(data, kind)
        return self.constant(data) if kind == "" else np.zeros_like(self.constant(data))

    def compared(self, data):
        return self.names[0] in data


def plain(name):
    return Leaf(name)


def matrix(name):
    """[out, in] there, [in, out] here."""
    return Leaf(name, lambda t, _: t.T, lambda t, _: t.T)


def matrices(*names):
    """[out, in] each there, [K, in, out] here."""
    return Leaf(list(names), lambda t, _: t.transpose(0, 2, 1), lambda t, _: t.transpose(0, 2, 1))


def half_of(name, half):
    """Half of the rows of [out, in] there, [in, out] here."""
    return Leaf(name, lambda t, _: t.T, lambda t, _: t.T, half)


def only_relation(leaf):
    """[in, out] or [out] with a dimension of one relation before the last one here."""
    return Leaf(leaf.names, lambda t, _: leaf.here(t, _)[..., None, :], lambda t, _: leaf.there(t[..., 0, :], _), leaf.half)


def scalar(name):
    return Leaf(name, lambda t, _: t.reshape(()), lambda t, _: t.reshape(1))


def heads(name):
    """[1, H, D] there, [H, D] here."""
    return Leaf(name, lambda t, _: t[0], lambda t, _: t[None])


def per_head(name):
    """[H*D, in] there, [in, H, D] here."""
    return Leaf(name, lambda t, hd: t.T.reshape(t.shape[1], *hd), lambda t, _: t.reshape(t.shape[0], -1).T)


def head_bias(name):
    """[H*D] there, [H, D] here."""
    return Leaf(name, lambda t, hd: t.reshape(hd), lambda t, _: t.reshape(-1))


def mean_bias(name):
    """[D] there, added behind the mean over heads; here each head has its own, and the mean's gradient is their sum."""
    return Leaf(name, lambda t, hd: np.tile(t, (hd[0], 1)), lambda t, _: t.sum(axis=0))


def aggregators(name):
    """[out, 13·F] there, [13·F, out] here: the features, then for each scaler mean, min, max, std there and mean, max, min, std here."""

    def swapped(t):
        size = t.shape[0] // 13
        order = [0, *(4 * scaler + place for scaler in range(3) for place in (1, 3, 2, 4))]
        return np.concatenate([t[size * k : size * (k + 1)] for k in order])

    return Leaf(name, lambda t, _: swapped(t.T), lambda t, _: swapped(t).T)


def kernels(name, count=4):
    """[in, K·out] there, [in, K, out] here, where the kernels are averaged and there they are added."""
    return Leaf(
        name,
        lambda t, _: count * t.reshape(t.shape[0], count, -1),
        lambda t, _: count * t.reshape(t.shape[0], -1),
    )


def vector(name):
    """[1, in] there, [in] here."""
    return Leaf(name, lambda t, _: t[0], lambda t, _: t[None])


INPUTS = {"x": plain("in.x")}
WEIGHTED = INPUTS | {"w": plain("in.w")}
GCN = WEIGHTED | {"p.w": matrix("param.lin.weight"), "p.b": plain("param.bias")}
SAGE = INPUTS | {
    "p.nbr": matrix("param.lin_l.weight"),
    "p.b": plain("param.lin_l.bias"),
    "p.root": matrix("param.lin_r.weight"),
}
GRAPH_CONV = WEIGHTED | {
    "p.nbr": matrix("param.lin_rel.weight"),
    "p.b": plain("param.lin_rel.bias"),
    "p.root": matrix("param.lin_root.weight"),
}
ATTENTION = {"w": per_head("param.lin.weight"), "a_src": heads("param.att_src"), "a_dst": heads("param.att_dst")}



def linear(path, name):
    return {f"{path}.w": matrix(f"param.{name}.weight"), f"{path}.b": plain(f"param.{name}.bias")}


def projection(path, name):
    return {f"{path}.w": per_head(f"param.{name}.weight"), f"{path}.b": head_bias(f"param.{name}.bias")}


def perceptron(path, name):
    return linear(f"{path}.hidden", f"{name}.0") | linear(f"{path}.out", f"{name}.2")


def hops(count):
    """One map for the node itself and `count` maps of hops."""
    return {
        "p.root": matrix("param.lins.0.weight"),
        "p.hop.w": matrices(*(f"param.lins.{k + 1}.weight" for k in range(count))),
        "p.b": plain("param.bias"),
    }


def tgcn_gate(here, there):
    convolution = {f"p.gcn_{here}.w": matrix(f"param.gcn_{there}.lin.weight"), f"p.gcn_{here}.b": plain(f"param.gcn_{there}.bias")}
    return convolution | linear(f"p.{here}", f"lin_{there}")


def swapped(name):
    """[B, in, out] there, [in, B, out] here."""
    return Leaf(name, lambda t, _: t.swapaxes(0, 1), lambda t, _: t.swapaxes(0, 1))


HALVES = (("shift", FIRST), ("scale", SECOND))
POSITIONS = INPUTS | {"pos": plain("in.pos")}
EDGES = INPUTS | {"e": plain("in.e")}

# Case → (function of layers.gnn, its arguments).
CASES = {
    "gcn": ("gcn", GCN),
    "gcn_noloops": ("gcn_no_loops", GCN),
    "sage_mean": ("sage_mean", SAGE),
    "sage_max": ("sage_max", SAGE),
    "graph_conv_add": ("graph_conv", GRAPH_CONV),
    "graph_conv_mean": ("graph_conv_mean", GRAPH_CONV),
    "graph_conv_max": ("graph_conv_max", GRAPH_CONV),
    "gin": (
        "gin",
        INPUTS
        | {
            "p.eps": scalar("param.eps"),
            "p.mlp.hidden.w": matrix("param.nn.0.weight"),
            "p.mlp.hidden.b": plain("param.nn.0.bias"),
            "p.mlp.out.w": matrix("param.nn.2.weight"),
            "p.mlp.out.b": plain("param.nn.2.bias"),
        },
    ),
    "gat": ("gat", INPUTS | {f"p.{k}": v for k, v in ATTENTION.items()} | {"p.b": head_bias("param.bias")}),
    "gat_edge": (
        "gat_edge",
        INPUTS
        | {"e": plain("in.e"), "p.w": per_head("param.lin_edge.weight"), "p.a": heads("param.att_edge")}
        | {f"p.node.{k}": v for k, v in ATTENTION.items()}
        | {"p.node.b": mean_bias("param.bias")},
    ),
    "gatv2": (
        "gatv2_biased",
        EDGES
        | {"p.w": per_head("param.lin_edge.weight"), "p.a": heads("param.att"), "p.b": head_bias("param.bias")}
        | projection("p.src", "lin_l")
        | projection("p.dst", "lin_r"),
    ),
    "transformer": (
        "transformer_gated",
        EDGES
        | {"p.gate": vector("param.lin_beta.weight"), "p.edge.w": per_head("param.lin_edge.weight")}
        | projection("p.edge.node.q", "lin_query")
        | projection("p.edge.node.k", "lin_key")
        | projection("p.edge.node.v", "lin_value")
        | projection("p.edge.node.root", "lin_skip"),
    ),
    "gine": (
        "gine",
        EDGES | {"p.eps": scalar("param.eps")} | linear("p.edge", "lin") | linear("p.mlp.hidden", "nn.0") | linear("p.mlp.out", "nn.2"),
    ),
    "agnn": ("agnn", INPUTS | {"p.beta": scalar("param.beta")}),
    "nn_conv_mean": (
        "nn_conv",
        EDGES
        | {"p.root": matrix("param.lin.weight"), "p.b": plain("param.bias")}
        | linear("p.edge.hidden", "nn.0")
        | linear("p.edge.out", "nn.2"),
    ),
    "res_gated": (
        "res_gated",
        INPUTS
        | {"p.root.w": matrix("param.lin_skip.weight"), "p.root.b": plain("param.bias")}
        | linear("p.receive", "lin_key")
        | linear("p.send", "lin_query")
        | linear("p.value", "lin_value"),
    ),
    "cg_conv": ("cg_conv", EDGES | linear("p.gate", "lin_f") | linear("p.value", "lin_s")),
    "megnet": (
        "megnet",
        EDGES
        | linear("p.edge.hidden", "phi_e.0")
        | linear("p.edge.out", "phi_e.2")
        | linear("p.node.hidden", "phi_v.0")
        | linear("p.node.out", "phi_v.2"),
    ),
    "gmm": (
        "gmm",
        EDGES
        | {"p.theta": kernels("param.g"), "p.mu": plain("param.mu"), "p.sigma": plain("param.sigma")}
        | {"p.root": matrix("param.root.weight"), "p.b": plain("param.bias")},
    ),
    "sg": ("sg", WEIGHTED | linear("p", "lin")),
    "tag": ("tag_no_loops", WEIGHTED | hops(3)),
    "cheb": ("cheb", WEIGHTED | hops(2)),
    "appnp": ("appnp", WEIGHTED),
    "gcn2": ("gcn2", WEIGHTED | {"x0": plain("in.x0"), "p.w": plain("param.weight1")}),
    "gated_graph": (
        "gated_graph",
        WEIGHTED
        | {"p.message.w": plain("param.weight")}
        | {"p.cell.input.w": matrix("param.rnn.weight_ih"), "p.cell.input.b": plain("param.rnn.bias_ih")}
        | {"p.cell.state.w": matrix("param.rnn.weight_hh"), "p.cell.state.b": plain("param.rnn.bias_hh")},
    ),
    "tgcn": (
        "tgcn",
        {"xs": plain("in.xs"), "w": plain("in.w"), "h0": plain("in.h0")}
        | tgcn_gate("z", "z")
        | tgcn_gate("r", "r")
        | tgcn_gate("c", "h"),
    ),
    "gen": (
        "gen_conv",
        EDGES
        | {"p.t": scalar("param.aggr_module.t"), "p.norm.gain": plain("param.mlp.1.weight"), "p.norm.b": plain("param.mlp.1.bias")}
        | {f"p.{leaf}": matrix(f"param.lin_{leaf}.weight") for leaf in ("src", "dst")}
        | {"p.edge": Optional("param.lin_edge.weight", lambda data: np.eye(data["in.e"].shape[1]))}
        | {"p.hidden": matrix("param.mlp.0.weight"), "p.out": matrix("param.mlp.4.weight")},
    ),
    "egnn": (
        "egnn",
        {"h": plain("in.h"), "pos": plain("in.pos")}
        | perceptron("p.edge", "phi_e")
        | perceptron("p.position", "phi_x")
        | perceptron("p.node", "phi_h"),
    ),
    "rgcn_basis": (
        "rgcn_basis",
        INPUTS
        | {"p.basis": swapped("param.weight"), "p.comb": plain("param.comp")}
        | {"p.root": plain("param.root"), "p.b": plain("param.bias")},
    ),
    "film": (
        "film_one",
        INPUTS
        | {"p.w": only_relation(matrix("param.lins.0.weight")), "p.root": matrix("param.lin_skip.weight")}
        | {"p.root_shift": half_of("param.film_skip.weight", FIRST), "p.root_scale": half_of("param.film_skip.weight", SECOND)}
        | {f"p.{leaf}": only_relation(half_of("param.films.0.weight", half)) for leaf, half in HALVES}
        | {f"p.{leaf}_b": only_relation(Leaf("param.films.0.bias", half=half)) for leaf, half in HALVES},
    ),
    "pointnet": (
        "point_net_no_loops",
        POSITIONS | perceptron("p.local", "local_nn") | linear("p.out", "global_nn.0"),
    ),
    "point_transformer": (
        "point_transformer_no_loops",
        POSITIONS
        | {"p.value": matrix("param.lin.weight"), "p.src": matrix("param.lin_src.weight"), "p.dst": matrix("param.lin_dst.weight")}
        | perceptron("p.position", "pos_nn")
        | perceptron("p.score", "attn_nn"),
    ),
    "edge_conv_max": ("edge_conv", INPUTS | linear("p.hidden", "nn.0") | linear("p.out", "nn.2")),
    "pna": (
        "pna_mixed",
        INPUTS
        | linear("p.message", "pre_nns.0.0")
        | {"p.update.w": aggregators("param.post_nns.0.0.weight"), "p.update.b": plain("param.post_nns.0.0.bias")}
        | linear("mix", "lin"),
    ),
    "global_sum": ("global_sum", INPUTS),
    "global_mean": ("global_mean", INPUTS),
    "global_max": ("global_max", INPUTS),
    "global_attention": (
        "attention_pool",
        INPUTS
        | linear("p.gate.hidden", "gate_nn.0")
        | linear("p.gate.out", "gate_nn.2")
        | linear("p.feature.hidden", "nn.0")
        | linear("p.feature.out", "nn.2"),
    ),
}


# Function → its index arguments, from the data of a case.
INDICES = {
    "rgcn_basis": {"rel": lambda data: data["relation"]},
    "film_one": {"rel": lambda data: np.zeros(len(data["src"]), np.int64)},
}
BATCH = {"g.batch": lambda data: data["batch"], "g.graphs": lambda data: len(data["out.0"])}
INDICES |= {layer: BATCH for layer in ("global_sum", "global_mean", "global_max", "attention_pool")}


def indices(function, data):
    return {path: make(data) for path, make in INDICES.get(function, {}).items()}


def head_shape(data):
    """(H, D) of an attention layer; the reference has two heads where no tensor tells."""
    for name in ("param.att_src", "param.att"):
        if name in data:
            return data[name].shape[1:]
    if "param.lin_key.bias" in data:
        return (2, data["param.lin_key.bias"].size // 2)
    return None


def places(entry):
    """Result → its number in the reference."""
    results = [spec["path"] for spec in entry["results"] if spec["path"] != "residuals"]
    return {path: k for k, path in enumerate(results)}


def split_outside(text):
    """At commas that stand outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[(") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def with_derivatives(function):
    """A function's program with two entry points for it alone: its derivative along a direction, and that of its gradients."""
    text = re.sub(r"^export vjp .*?;\n", "", harness.program_of(function).read_text(), flags=re.M)
    dims, params, result = re.search(rf"^fn {function}\[(.*?)\]\((.*?)\)\s*-> (.*?) \{{", text, re.M | re.S).groups()
    params = split_outside(params)
    held = [param for param in params if re.search(r": (Graph|index\()", param)]
    given = [param for param in params if param not in held]
    constants = ", ".join(param.split(":")[0] for param in held)
    names = [param.split(":")[0] for param in given]
    types = [param.split(":", 1)[1].strip() for param in given]
    results = split_outside(result[1:-1]) if result.startswith("(") else [result]
    cotangents = [f"y{k}: " + element.split(": ")[-1] for k, element in enumerate(results)]
    adjoints = ", ".join(f"y{k}" for k in range(len(results)))
    listed, tangents = ", ".join(names), ", ".join(f"d{name}" for name in names)
    wrt = listed if len(names) == 1 else f"({listed})"
    gradient = types[0] if len(types) == 1 else f"({', '.join(types)})"
    along = [f"d{param}" for param in given]
    path = harness.work_folder() / f"derivatives_of_{function}.gnn"
    path.write_text(f"""{text}
export fn pushed[{dims}]({', '.join([*held, *given, *along])}) -> {result} {{
  let (_, push) = jvp({function}, wrt={wrt})({constants}, {listed});
  return push({tangents});
}}
fn gradients[{dims}]({', '.join([*held, *given, *cotangents])}) -> {gradient} {{
  let (_, back) = vjp({function}, wrt={wrt})({constants}, {listed});
  return back({adjoints});
}}
export fn second[{dims}]({', '.join([*held, *given, *along, *cotangents])}) -> ({', '.join(f"h{param}" for param in given)}) {{
  let (_, push) = jvp(gradients, wrt={wrt})({constants}, {listed}, {adjoints});
  return push({tangents});
}}
""")
    return path


class Golden(harness.TestCase):
    def check(self, folder, case):
        path = pathlib.Path(harness.Settings.golden) / folder / f"{case}.safetensors"
        if not path.is_file():
            self.skipTest(f"no reference values at {path}")
        data, metadata = safetensors_io.read(path)
        function, leaves = CASES[case]
        shape = head_shape(data)
        values = {path: np.array(leaf.here(leaf.of(data), shape), order="C") for path, leaf in leaves.items()}

        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.program_of(function), "--real=f64"))
            graph = context.graph(int(metadata["num_nodes"]), data["src"], data["dst"])
            outputs = places(model.entries[model.vjps[function]["forward"]])
            cotangents = {path: data[f"cot.{k}"] for path, k in outputs.items()}
            arguments = {"g": graph, **indices(function, data), **values}
            results, gradients = model.value_and_vjp(context, function, arguments, cotangents)
        for path, k in outputs.items():
            self.assert_close(results[path], data[f"out.{k}"], VALUES, f"value of {path}")
        for path, leaf in leaves.items():
            if not leaf.compared(data):
                continue
            got = leaf.there(gradients[path], shape)
            expected = leaf.of(data, "grad.")
            if expected.size and np.max(np.abs(expected)) < ROUNDING:  # softmax does not see the keys' bias
                self.assertLess(np.max(np.abs(got)), ROUNDING, f"gradient of {path}, which is 0")
                continue
            self.assert_close(got, expected, GRADIENTS, f"gradient of {path}")

    def check_derivatives(self, folder, case):
        path = pathlib.Path(harness.Settings.golden) / folder / f"{case}.safetensors"
        if not path.is_file():
            self.skipTest(f"no reference values at {path}")
        data, metadata = safetensors_io.read(path)
        function, leaves = CASES[case]
        shape = head_shape(data)
        here = lambda leaf, kind="": np.array(leaf.here(leaf.of(data, kind), shape), order="C")
        values = {path: here(leaf) for path, leaf in leaves.items()} | {f"d{path}": here(leaf, "dir.") for path, leaf in leaves.items()}
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(with_derivatives(function), "--real=f64"))
            graph = context.graph(int(metadata["num_nodes"]), data["src"], data["dst"])
            outputs = places(model.entries["pushed"])
            values = {"g": graph, **indices(function, data), **values}
            pushed = model.call(context, "pushed", values)
            values |= {f"y{k}": data[f"cot.{k}"] for k in outputs.values()}
            # A size that the cotangents show is no argument.
            taken = {spec["path"] for spec in model.entries["second"]["args"]}
            second = model.call(context, "second", {path: value for path, value in values.items() if path in taken})
        for path, k in outputs.items():
            self.assert_close(pushed[path], data[f"jvp.{k}"], GRADIENTS, f"forward mode, {path}")
        largest = max(np.max(np.abs(leaf.of(data, "hvp."))) for leaf in leaves.values())
        for path, leaf in leaves.items():
            if not leaf.compared(data):
                continue
            got, expected = leaf.there(second[f"h{path}"], shape), leaf.of(data, "hvp.")
            if np.max(np.abs(expected)) < ROUNDING * largest or case == "transformer" and path.endswith("k.b"):
                self.assertLess(np.max(np.abs(got)), 10 * ROUNDING * largest, f"second order of {path}, which is 0")
                continue
            self.assert_close(got, expected, SECOND_ORDER, f"second order of {path}")


harness.add_cases(
    Golden,
    [(f"{case} in {folder}", (folder, case)) for case in CASES for folder in ("small", "larger")],
    Golden.check,
)
harness.add_cases(
    Golden,
    [(f"derivatives of {case} in {folder}", (folder, case)) for case in CASES for folder in ("small", "larger")],
    Golden.check_derivatives,
)
