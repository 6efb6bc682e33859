"""Layers against a dense oracle: values, and gradients against central differences of the oracle, in f64."""

import zlib

import numpy as np

import harness
import oracle

VALUES = 1e-12
GRADIENTS = 1e-6


class Oracle(harness.TestCase):
    def check(self, layer, graph_name):
        rng = np.random.default_rng(zlib.crc32(f"{layer}/{graph_name}".encode()))
        graph = oracle.graphs(rng)[graph_name]
        values = oracle.arguments(layer, graph, rng)
        reference = oracle.LAYERS[layer]
        expected = reference(graph, values)
        cotangent = rng.standard_normal(expected.shape)

        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.PROGRAMS / "layers.gnn", "--real=f64"))
            n, src, dst = graph
            handle = context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))
            results, gradients = model.value_and_vjp(context, layer, {"g": handle, **values}, {"out": cotangent})
        self.assert_close(results["out"], expected, VALUES, "value")

        # Every floating-point argument gets a gradient; each is compared along a random direction of its own.
        self.assertEqual(set(gradients), set(values))
        for path, value in values.items():
            if value.size == 0:
                continue
            direction = rng.standard_normal(value.shape)

            def along(step):
                return np.sum(cotangent * reference(graph, {**values, path: value + step * direction}))

            exact = float(np.sum(gradients[path] * direction))
            errors = []
            for step in (1e-3, 1e-4, 1e-5, 1e-6):
                difference = float(along(step) - along(-step)) / (2 * step)
                errors.append(abs(exact - difference) / max(abs(difference), 1e-3))
            self.assertLess(min(errors), GRADIENTS, f"gradient of {path}: {exact}, relative errors {errors}")


harness.add_cases(
    Oracle,
    [
        (f"{layer} on {graph}", (layer, graph))
        for layer in oracle.LAYERS
        for graph in oracle.graphs(np.random.default_rng(0))
    ],
    Oracle.check,
)
