"""Results are the same to the bit, run to run and for any number of threads; contexts in several threads don't disturb
each other."""

import threading

import numpy as np

import gnnrt
import harness

NODES, EDGES, CLASSES = 1500, 40000, 7
SIZES = {
    "gcn": {"In": 40, "Hidden": 16, "Out": CLASSES},
    "gat": {"In": 40, "H": 4, "D": 8, "Out": CLASSES},
}


def train(example, threads, steps, seed=0):
    """The bytes of all losses, parameters and states after some steps of an example's training."""
    rng = np.random.default_rng(seed)
    src, dst = harness.skewed_graph(rng, NODES, EDGES)
    program = harness.SOURCE / "examples" / "cora" / f"{example}.gnn"
    with harness.runtime().context(threads) as context:
        model = context.model(harness.compiled(program))
        graph = context.graph(NODES, src, dst)
        sizes = {**SIZES[example], "g.nodes": NODES, "g.edges": EDGES}
        arguments = harness.training(model, sizes, rng, CLASSES)
        losses = []
        for step in range(steps):
            results = model.call(context, "train_step", {"g": graph, "key": 1000 * seed + step, **arguments})
            losses.append(float(results["loss"]))
    assert np.all(np.isfinite(losses)) and len(set(losses)) == steps, losses
    return repr(losses).encode() + b"".join(arguments[path].tobytes() for path in sorted(arguments))


LAYER_SIZES = {
    "gatv2": {"In": 16, "H": 4, "D": 4},
    "transformer": {"In": 16, "H": 4, "D": 4},
    "edgeconv": {"In": 16, "Out": 16},
    "edgeconv_linear": {"In": 16, "Out": 40},  # the gradient goes to the winners
    "pna": {"F": 40},
}


def layer_step(layer, threads):
    """The bytes of a layer's loss and gradients, and what they are."""
    rng = np.random.default_rng(7)
    src, dst = harness.skewed_graph(rng, NODES, EDGES)
    program = harness.SOURCE / "bench" / "models" / f"{layer}.gnn"
    with harness.runtime().context(threads) as context:
        model = context.model(harness.compiled(program))
        sizes = {**LAYER_SIZES[layer], "g.nodes": NODES, "g.edges": EDGES}
        arguments = {"g": context.graph(NODES, src, dst)}
        for spec in model.entries["step"]["args"]:
            if spec["kind"] == "tensor":
                shape = [gnnrt.evaluate_size(size, sizes) for size in spec["dims"]]
                arguments[spec["path"]] = rng.standard_normal(shape).astype(np.float32)
        results = model.call(context, "step", arguments)
    assert all(np.all(np.isfinite(value)) and np.any(value) for value in results.values())
    return {path: value.tobytes() for path, value in results.items()}


class Reproducible(harness.TestCase):
    def check_layer(self, layer):
        reference = layer_step(layer, 1)
        for threads in (1, 2, 3):
            for path, value in layer_step(layer, threads).items():
                self.assertTrue(value == reference[path], f"{path} with {threads} threads")

    def check(self, example):
        reference = train(example, 1, 3)
        for threads in (1, 2, 3):
            self.assertEqual(train(example, threads, 3), reference, f"{threads} threads")


harness.add_cases(Reproducible, [(example, (example,)) for example in SIZES], Reproducible.check)
harness.add_cases(Reproducible, [(f"layer {layer}", (layer,)) for layer in LAYER_SIZES], Reproducible.check_layer)


class Contexts(harness.TestCase):
    def test_two_at_once(self):
        harness.runtime()
        for example in SIZES:
            harness.compiled(harness.SOURCE / "examples" / "cora" / f"{example}.gnn")
        alone = [train(example, 2, 6, seed) for seed, example in enumerate(SIZES)]
        together = [None] * len(alone)
        start = threading.Barrier(len(alone))

        def work(seed, example):
            start.wait()
            together[seed] = train(example, 2, 6, seed)

        workers = [threading.Thread(target=work, args=item) for item in enumerate(SIZES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(together, alone)
