"""Each layer on a graph from an edge list, from CSR and from a dense matrix: the same bits, values and gradients, for edges in the same order."""

import zlib

import numpy as np

import harness
from test_oracle import LAYERS

NODES = 9  # the last two are isolated; node 0 has many in-edges; 3 has a self loop; no edge stands twice, since a matrix can't say so
PAIRS = [(1, 0), (2, 0), (4, 0), (5, 0), (6, 0), (0, 2), (3, 3), (3, 1), (4, 6), (6, 4), (2, 5), (5, 2), (1, 6)]


def from_coo(context, pairs):
    return context.graph(NODES, np.array([j for j, _ in pairs], np.int32), np.array([i for _, i in pairs], np.int32))


def from_csr(context, pairs):
    starts = np.searchsorted([i for _, i in pairs], np.arange(NODES + 1))
    return context.graph_from_csr(NODES, starts.astype(np.int64), np.array([j for j, _ in pairs], np.int32))


def from_dense(context, pairs):
    matrix = np.zeros((NODES, NODES))
    for j, i in pairs:
        matrix[j, i] = -0.5
    return context.graph_from_dense(matrix)


class Storage(harness.TestCase):
    def check(self, layer):
        rng = np.random.default_rng(zlib.crc32(layer.encode()))
        reference, arguments = LAYERS[layer]
        by_target, by_source = sorted(PAIRS, key=lambda pair: pair[::-1]), sorted(PAIRS)
        values = arguments(layer, (NODES, [0] * len(PAIRS), [0] * len(PAIRS)), rng)
        cotangent = rng.standard_normal(reference((NODES, *zip(*PAIRS)), values).shape)
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.program_of(layer), "--real=f64"))

            def outcome(graph):
                results, gradients = model.value_and_vjp(context, layer, {"g": graph, **values}, {"out": cotangent})
                return {"out": results["out"], **gradients}

            for make, pairs in ((from_csr, by_target), (from_dense, by_source)):
                expected, found = outcome(from_coo(context, pairs)), outcome(make(context, pairs))
                for path, value in expected.items():
                    np.testing.assert_array_equal(found[path], value, f"{path} {make.__name__}")


harness.add_cases(Storage, [(layer, (layer,)) for layer in LAYERS], Storage.check)
