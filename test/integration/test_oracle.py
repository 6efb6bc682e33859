"""Layers against a dense oracle: values, and gradients against central differences of the oracle, in f64."""

import zlib

import numpy as np

import harness
import oracle
import oracle_shapes
import oracle_themes

VALUES = 1e-12


# Name → reference implementation, random arguments.
LAYERS = {name: (function, oracle.arguments) for name, function in oracle.LAYERS.items()}
LAYERS |= {name: (function, oracle_shapes.arguments) for name, function in oracle_themes.LAYERS.items()}


class Oracle(harness.TestCase):
    def check(self, layer, graph_name, flags=()):
        rng = np.random.default_rng(zlib.crc32(f"{layer}/{graph_name}".encode()))
        graph = oracle.graphs(rng)[graph_name]
        reference, arguments = LAYERS[layer]
        values = arguments(layer, graph, rng)
        expected = reference(graph, values)
        cotangent = rng.standard_normal(expected.shape)

        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.program_of(layer), "--real=f64", *flags))
            n, src, dst = graph
            handle = context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))
            results, gradients = model.value_and_vjp(context, layer, {"g": handle, **values}, {"out": cotangent})
        self.assert_close(results["out"], expected, VALUES, "value")

        self.assert_gradients(lambda changed: reference(graph, changed), values, gradients, cotangent, rng)


harness.add_cases(
    Oracle,
    [
        (f"{layer} on {graph}", (layer, graph))
        for layer in LAYERS
        for graph in oracle.graphs(np.random.default_rng(0))
    ],
    Oracle.check,
)
harness.add_cases(
    Oracle,
    [(f"{layer} without fusion", (layer, "awkward", ("--no-fuse",))) for layer in LAYERS],
    Oracle.check,
)
