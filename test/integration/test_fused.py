"""Kernels in groups against every op as a kernel of its own (`--no-fuse`): the same function, the same arguments."""

import re
import zlib

import numpy as np

import gnnrt
import harness
import oracle_themes

FUSED = harness.PROGRAMS / "fused.gnn"
MODELS = harness.SOURCE / "bench" / "models"
# Sums of the same terms in another order, and products that are added without being rounded before.
TOLERANCE = {"f64": 1e-12, "f32": 4e-6}


def graphs():
    """Name → nodes, sources, destinations."""
    rng = np.random.default_rng(3)
    # Nodes 7 and up have no edges; node 3 has self loops; edges 0-1 and 1-2 stand twice.
    awkward = 9, [0, 0, 1, 1, 3, 3, 4, 6, 5, 2], [1, 1, 2, 2, 3, 3, 0, 0, 6, 5]
    src, dst = harness.skewed_graph(rng, 37, 18000)  # rows of more than 5000 edges at both ends are cut
    return {
        "awkward": awkward,
        "hub": (40, src, dst),
        "no edges": (3, [], []),
        "one node": (1, [0, 0, 0], [0, 0, 0]),
        "nothing": (1, [], []),
    }


GRAPHS = graphs()


def arguments_of(context, entry, graph, params, rng, values=None):
    """Arguments for an entry: numbers of both signs; small integers where ties are wanted; positive weights of edges
    for a layer; or some of them NaN or infinite."""
    n, src, dst = graph
    sizes = {"g.nodes": n, "g.edges": len(src), **params}
    arguments = {}
    for spec in entry["args"]:
        path = spec["path"]
        if spec["kind"] == "graph":
            arguments[path] = context.graph(n, np.array(src, np.int32), np.array(dst, np.int32))
        elif spec["kind"] == "size":
            arguments[path] = sizes[spec["set"]]
        elif spec["kind"] == "tensor" and path != "residuals":
            shape = [gnnrt.evaluate_size(size, sizes) for size in spec["dims"]]
            dtype = gnnrt.NUMPY[spec["dtype"]]
            if spec["dtype"] == "index":
                arguments[path] = rng.integers(0, gnnrt.evaluate_size(spec["into"], sizes), shape).astype(dtype)
            elif values == "layer" and path in ("w", "lambda"):
                arguments[path] = rng.uniform(0.5, 1.5, shape).astype(np.float32).astype(dtype)  # no degree is near 0
            elif values == "integers":
                arguments[path] = rng.integers(-2, 3, shape).astype(dtype)
            else:
                array = rng.uniform(-1, 1, shape).astype(np.float32).astype(dtype)
                if values == "special":
                    array = np.where(rng.random(shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf], shape), array).astype(dtype)
                arguments[path] = array
        elif spec["kind"] != "tensor":
            arguments[path] = 5 if spec["dtype"] == "key" else spec.get("default", 0.25)
    return arguments, sizes


def finite(tensor):
    return np.where(np.isfinite(tensor), tensor, 0)


def largest(tensor):
    return np.max(np.abs(tensor), initial=0)


def alone(function):
    """A program of one function of fused.gnn: compiling all of them for each choice of sizes would take minutes."""
    blocks = FUSED.read_text().split("\n\n")
    (text,) = [block for block in blocks if re.search(rf"\bfn {function}\[", block)]
    path = harness.work_folder() / f"fused_{function}.gnn"
    path.write_text(f"import nn;\n{text}\n")
    return path


class Fused(harness.TestCase):
    def outcomes(self, program, function, real, graph, params, constants, flags, values=None):
        """Results, and gradients where the function has them, by path."""
        rng = np.random.default_rng(zlib.crc32(f"{function}/{graph}/{params}".encode()))
        given = [f"-D{name}={params[name]}" for name in constants]
        with harness.runtime().context(threads=2) as context:
            model = context.model(harness.compiled(program or alone(function), f"--real={real}", *given, *flags))
            pair = model.vjps.get(function)
            entry = model.entries[pair["forward"] if pair else function]
            arguments, sizes = arguments_of(context, entry, GRAPHS[graph], params, rng, values)
            if not pair:
                return model.call(context, function, arguments, sizes=sizes)
            results = [spec for spec in entry["results"] if spec["path"] != "residuals"]
            cotangents = {}
            for spec in results:
                shape = [gnnrt.evaluate_size(size, sizes) for size in spec["dims"]]
                cotangents[spec["path"]] = rng.uniform(-1, 1, shape).astype(np.float32).astype(gnnrt.NUMPY[spec["dtype"]])
            values, gradients = model.value_and_vjp(context, function, arguments, cotangents)
            return {**values, **{f"gradient of {path}": value for path, value in gradients.items()}}

    def check(self, program, function, real, graph, params, constants, values=None):
        def outcome(real, *flags):
            return self.outcomes(program, function, real, graph, params, constants, flags, values)

        tolerance = TOLERANCE[real] * (10 if values == "layer" else 1)  # a layer over time repeats what a convolution does
        fused, plain = outcome(real), outcome(real, "--no-fuse")
        # Gradients of scores are sums that nearly cancel, so single precision is held to what it reaches without fusion.
        exact = outcome("f64", "--no-fuse") if real == "f32" else plain
        self.assertEqual(set(fused), set(plain))
        for path, value in fused.items():
            if value.dtype.kind != "f":
                np.testing.assert_array_equal(value, plain[path], path)
                continue
            for what in (np.isnan, np.isposinf, np.isneginf):
                np.testing.assert_array_equal(what(value), what(plain[path]), path)
            reference, of_plain, of_fused = (finite(tensors[path]) for tensors in (exact, plain, fused))
            if largest(reference) < 1e-7 * max(largest(finite(tensor)) for tensor in exact.values()):
                # Zero but for rounding, as the gradient of what a softmax does not see: compared as a part of the whole.
                whole = max(largest(finite(tensor)) for tensor in exact.values())
                self.assertLessEqual(largest(of_fused), 10 * tolerance * whole, path)
                continue
            self.assert_close(of_fused, reference, tolerance + 4 * harness.relative_error(of_plain, reference), path)


# Function → sizes that it is tried with; the last ones also without -D, where they are not known when compiling.
FUNCTIONS = {
    "extremes": [{"F": f} for f in (1, 7, 40)],
    "tied": [{"F": f} for f in (3, 16)],
    "winners": [{"F": f} for f in (1, 10, 64)],
    "peaks": [{"F": f} for f in (10, 32, 40, 64)],
    "strongest": [{"F": f} for f in (1, 24)],
    "products": [{"F": f} for f in (1, 8, 100)],
    "counted": [{"F": f} for f in (1, 3, 40)],
    "weights": [{"H": h, "D": d} for h, d in ((1, 1), (3, 7), (8, 8))],
    "nested": [{"H": h, "D": d} for h, d in ((1, 16), (5, 3))],
    "dropped": [{"H": h, "D": d} for h, d in ((1, 10), (4, 16))],
    "scores": [{"F": f} for f in (1, 10, 64)],
    "spread": [{"F": f} for f in (1, 7, 24)],
    "twice": [{"F": f} for f in (1, 16, 40)],
    "typed": [{"F": f, "Rel": 3} for f in (1, 10)],
    "wide_dot": [{"H": h, "D": d} for h, d in ((1, 7), (2, 64))],
    "dot_attention": [{"H": h, "D": d} for h, d in ((1, 40), (3, 8))],
    "gatv2_edge": [{"In": 3, "E": 2, "H": 2, "D": 5}],
    "transformer_gated": [{"In": 3, "E": 2, "H": 2, "D": 5}],
    "sage_max": [{"In": 10, "Out": 3}],
}
INTEGERS = {"tied"}
# Gradients are left out: NaN times 0 depends on which products are formed.
SPECIAL = {"winners", "counted", "peaks"}
# Model of the benchmark → sizes of its features.
LAYERS = {
    "gcn": [{"In": 7, "Out": 16}, {"In": 40, "Out": 600}],
    "sage": [{"In": 8, "Out": 3}, {"In": 100, "Out": 10}],
    "gin": [{"In": 10, "Hidden": 8, "Out": 3}],
    "spmm": [{"F": f} for f in (1, 64, 512)],
    "u_dot_v": [{"F": f} for f in (1, 24, 600)],
    "gat": [{"In": 7, "H": h, "D": d} for h, d in ((1, 1), (1, 64), (2, 10), (3, 7), (5, 8), (8, 8), (8, 64))],
    "gatv2": [{"In": 7, "H": h, "D": d} for h, d in ((1, 40), (3, 7), (8, 3), (4, 16), (2, 200))],
    "transformer": [{"In": 7, "H": h, "D": d} for h, d in ((1, 24), (2, 3), (5, 8), (8, 16))],
    "transformer_conv": [{"In": 7, "H": h, "D": d} for h, d in ((1, 16), (3, 10))],
    "edgeconv": [{"In": 7, "Out": 10}],
    "edgeconv_linear": [{"In": 7, "Out": f} for f in (1, 16, 100, 256)],
    "pna": [{"F": f} for f in (1, 10, 64)],
    "pna_conv": [{"In": 7, "Out": 8}],
}


def layer_cases():
    for model, choices in LAYERS.items():
        for k, params in enumerate(choices):
            for graph in ("hub", "awkward") if k else GRAPHS:
                for real in ("f32", "f64") if k == 0 else ("f64",):
                    size = " ".join(map(str, params.values()))
                    yield f"{model} {size} {real} on {graph}", (MODELS / f"{model}.gnn", "step", real, graph, params, tuple(params))
        # Features whose number is not known when compiling, and all but the last one known.
        params = choices[-1]
        for constants in ((), tuple(params)[:-1]) if len(params) > 1 else ((),):
            yield f"{model} without {len(params) - len(constants)} sizes", (
                MODELS / f"{model}.gnn", "step", "f64", "hub", params, constants)


def function_cases():
    for function, choices in FUNCTIONS.items():
        for k, params in enumerate(choices):
            for graph in ("hub", "awkward") if k else GRAPHS:
                for real in ("f32", "f64") if k == 0 else ("f64",):
                    size = " ".join(map(str, params.values()))
                    yield f"{function} {size} {real} on {graph}", (
                        None, function, real, graph, params, tuple(params), "integers" if function in INTEGERS else None)
        yield f"{function} without sizes", (
            None, function, "f64", "hub", choices[-1], (), "integers" if function in INTEGERS else None)
        if function in SPECIAL:
            for graph in ("hub", "awkward"):
                yield f"{function} of NaN on {graph}", (
                    None, function, "f64", graph, choices[-1], tuple(choices[-1]), "special")
                yield f"{function} of ties on {graph}", (
                    None, function, "f64", graph, choices[-1], tuple(choices[-1]), "integers")


# Sizes of all layers of the library's other files, by the names of their parameters.
SIZES = {"In": 7, "Out": 6, "F": 6, "E": 3, "K": 4, "Hidden": 5, "M": 5, "H": 8, "D": 3, "T": 3, "Rel": 3, "B": 2, "I": 2, "O": 5, "C": 4}


def theme_cases():
    for layer in oracle_themes.LAYERS:
        program = harness.program_of(layer)
        # Thousands of messages into one node saturate the gates of gated_graph, whose gradients are then rounding.
        for graph in ("awkward", "no edges", "nothing", *(["hub"] if layer != "gated_graph" else [])):
            yield f"{layer} on {graph}", (program, layer, "f64", graph, SIZES, (), "layer")
        yield f"{layer} in f32", (program, layer, "f32", "awkward", SIZES, (), "layer")


harness.add_cases(Fused, [*layer_cases(), *function_cases(), *theme_cases()], Fused.check)


class Nan(harness.TestCase):
    """A NaN in a segment is in the results and gradients of that segment, and in nothing else."""

    NODES, SRC, DST = 5, np.array([0, 1, 2, 3, 4, 0, 1]), np.array([0, 0, 0, 1, 1, 2, 2])
    WRONG = 1  # an edge into node 0, whose edges are 0, 1 and 2

    def outcome(self, function, sizes, given, cotangents, *flags):
        constants = [f"-D{name}={size}" for name, size in sizes.items()]
        with harness.runtime().context(threads=1) as context:
            model = context.model(harness.compiled(alone(function), "--real=f64", *constants, *flags))
            graph = context.graph(self.NODES, self.SRC.astype(np.int32), self.DST.astype(np.int32))
            values, gradients = model.value_and_vjp(context, function, {"g": graph, **given}, cotangents)
            return {**values, **{f"gradient of {path}": value for path, value in gradients.items()}}

    def compare(self, function, sizes, given, path, cotangents, touched):
        """`touched`: for each result, the rows that a NaN in row WRONG of argument `path` is to be found in."""
        spoiled = {**given, path: given[path].copy()}
        spoiled[path][self.WRONG] = np.nan
        clean = self.outcome(function, sizes, given, cotangents)
        for flags in ((), ("--no-fuse",)):
            for name, value in self.outcome(function, sizes, spoiled, cotangents, *flags).items():
                if name == "residuals":
                    continue
                rows = np.isin(np.arange(len(value)), touched[name])
                self.assertTrue(np.isfinite(value[~rows]).all(), (name, flags, value))
                np.testing.assert_allclose(value[~rows], clean[name][~rows], rtol=1e-12, err_msg=f"{name} {flags}")
                if not name.startswith("gradient"):
                    self.assertTrue(np.isnan(value[rows]).all(), (name, flags, value))

    def test_softmax(self):
        rng = np.random.default_rng(1)
        for heads, features in ((1, 16), (4, 16), (3, 5)):
            given = {"s": rng.normal(size=(7, heads)), "v": rng.normal(size=(5, heads, features))}
            # Nodes 0, 1 and 2 send to node 0; their gradients sum what all their edges bring.
            touched = {"out": [0], "gradient of s": [0, 1, 2], "gradient of v": [0, 1, 2]}
            cotangents = {"out": rng.normal(size=(5, heads, features))}
            self.compare("attended", {"H": heads, "D": features}, given, "s", cotangents, touched)

    def test_extrema(self):
        rng = np.random.default_rng(2)
        for features in (1, 7, 64):
            touched = {"most": [0], "least": [0], "gradient of m": [0, 1, 2]}
            cotangents = {name: rng.normal(size=(5, features)) for name in ("most", "least")}
            self.compare("outermost", {"F": features}, {"m": rng.normal(size=(7, features))}, "m", cotangents, touched)
