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
ROUNDING = 1e-14  # a gradient that is 0 but for rounding


class Leaf:
    """A parameter's place in the reference, and the change of layout each way."""

    def __init__(self, name, here=lambda t, _: t, there=lambda t, _: t):
        self.name = name
        self.here = here
        self.there = there


def plain(name):
    return Leaf(name)


def matrix(name):
    """[out, in] there, [in, out] here."""
    return Leaf(name, lambda t, _: t.T, lambda t, _: t.T)


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
    "edge_conv_max": ("edge_conv", INPUTS | linear("p.hidden", "nn.0") | linear("p.out", "nn.2")),
    "pna": (
        "pna_mixed",
        INPUTS
        | linear("p.message", "pre_nns.0.0")
        | {"p.update.w": aggregators("param.post_nns.0.0.weight"), "p.update.b": plain("param.post_nns.0.0.bias")}
        | linear("mix", "lin"),
    ),
}


def head_shape(data):
    """(H, D) of an attention layer; the reference has two heads where no tensor tells."""
    for name in ("param.att_src", "param.att"):
        if name in data:
            return data[name].shape[1:]
    if "param.lin_key.bias" in data:
        return (2, data["param.lin_key.bias"].size // 2)
    return None


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
    """layers.gnn with two entry points for one of its functions: its derivative along a direction, and that of its gradients."""
    text = re.sub(r"^export vjp .*?;\n", "", (harness.PROGRAMS / "layers.gnn").read_text(), flags=re.M)
    dims, params, result = re.search(rf"^fn {function}\[(.*?)\]\((.*?)\)\s*-> (.*?) \{{", text, re.M | re.S).groups()
    graph, *given = split_outside(params)
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
export fn pushed[{dims}]({', '.join([graph, *given, *along])}) -> {result} {{
  let (_, push) = jvp({function}, wrt={wrt})(g, {listed});
  return push({tangents});
}}
fn gradients[{dims}]({', '.join([graph, *given, *cotangents])}) -> {gradient} {{
  let (_, back) = vjp({function}, wrt={wrt})(g, {listed});
  return back({adjoints});
}}
export fn second[{dims}]({', '.join([graph, *given, *along, *cotangents])}) -> ({', '.join(f"h{param}" for param in given)}) {{
  let (_, push) = jvp(gradients, wrt={wrt})(g, {listed}, {adjoints});
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
        values = {path: np.array(leaf.here(data[leaf.name], shape), order="C") for path, leaf in leaves.items()}

        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.PROGRAMS / "layers.gnn", "--real=f64"))
            graph = context.graph(int(metadata["num_nodes"]), data["src"], data["dst"])
            # A second output is that of the edges.
            outputs = {path: k for k, path in enumerate(("out", "edges")) if f"out.{k}" in data}
            cotangents = {path: data[f"cot.{k}"] for path, k in outputs.items()}
            results, gradients = model.value_and_vjp(context, function, {"g": graph, **values}, cotangents)
        for path, k in outputs.items():
            self.assert_close(results[path], data[f"out.{k}"], VALUES, f"value of {path}")
        for path, leaf in leaves.items():
            got = leaf.there(gradients[path], shape)
            expected = data[f"grad.{leaf.name}"]
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
        here = lambda leaf, prefix="": np.array(leaf.here(data[prefix + leaf.name], shape), order="C")
        values = {path: here(leaf) for path, leaf in leaves.items()} | {f"d{path}": here(leaf, "dir.") for path, leaf in leaves.items()}
        outputs = {path: k for k, path in enumerate(("out", "edges")) if f"out.{k}" in data}
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(with_derivatives(function), "--real=f64"))
            graph = context.graph(int(metadata["num_nodes"]), data["src"], data["dst"])
            pushed = model.call(context, "pushed", {"g": graph, **values})
            cotangents = {f"y{k}": data[f"cot.{k}"] for k in outputs.values()}
            second = model.call(context, "second", {"g": graph, **values, **cotangents})
        for path, k in outputs.items():
            self.assert_close(pushed[path], data[f"jvp.{k}"], GRADIENTS, f"forward mode, {path}")
        largest = max(np.max(np.abs(data[f"hvp.{leaf.name}"])) for leaf in leaves.values())
        for path, leaf in leaves.items():
            got, expected = leaf.there(second[f"h{path}"], shape), data[f"hvp.{leaf.name}"]
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
