"""Layers against a dense oracle: values, and gradients against central differences of the oracle, in f64."""

import zlib

import numpy as np

import harness
import oracle

VALUES = 1e-12


class Oracle(harness.TestCase):
    def check(self, layer, graph_name, flags=()):
        rng = np.random.default_rng(zlib.crc32(f"{layer}/{graph_name}".encode()))
        graph = oracle.graphs(rng)[graph_name]
        values = oracle.arguments(layer, graph, rng)
        reference = oracle.LAYERS[layer]
        expected = reference(graph, values)
        cotangent = rng.standard_normal(expected.shape)

        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.PROGRAMS / "layers.gnn", "--real=f64", *flags))
            n, src, dst = graph
            handle = context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))
            results, gradients = model.value_and_vjp(context, layer, {"g": handle, **values}, {"out": cotangent})
        self.assert_close(results["out"], expected, VALUES, "value")

        self.assert_gradients(lambda changed: reference(graph, changed), values, gradients, cotangent, rng)


harness.add_cases(
    Oracle,
    [
        (f"{layer} on {graph}", (layer, graph))
        for layer in oracle.LAYERS
        for graph in oracle.graphs(np.random.default_rng(0))
    ],
    Oracle.check,
)
harness.add_cases(
    Oracle,
    [(f"{layer} without fusion", (layer, "awkward", ("--no-fuse",))) for layer in oracle.LAYERS],
    Oracle.check,
)
