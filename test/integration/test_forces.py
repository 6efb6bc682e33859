"""Second order through positions: forces against differences of the oracle's energies, and the gradient of a loss on forces against differences of that
loss, whose forces are the compiled ones."""

import zlib

import numpy as np

import harness
import oracle
import oracle_themes
from oracle_shapes import HIDDEN, KERNELS, I, O, linear, mlp


def cf_conv(graph, a):
    return np.sum(oracle_themes.cf_conv(graph, a))


def egnn(graph, a):
    return np.sum(np.sin(oracle_themes.egnn_both(graph, {**a, "h": a["x"]})))


def painn(graph, a):
    n, src, dst = graph
    r = np.zeros((n, 3))
    for j, i in zip(src, dst):
        r[i] += np.sin(a["pos"][i] - a["pos"][j])
    size = a["x"].shape[1]
    y = oracle_themes.painn(graph, {**a, "s": a["x"], "v": r[:, :, None] * a["x"][:, None]})
    return np.sum(np.sin(y[:, :size])) + np.sum(y[:, size:] ** 2)


PAINN = mlp("p.send", O, 3 * O, O) | linear("p.filter", KERNELS, 3 * O) | mlp("p.update", 2 * O, 3 * O, O)
# Layer → the energy of forces.gnn in numpy, the number of features, the shapes of the parameters.
LAYERS = {
    "cf_conv": (cf_conv, I, {"p.into": (I, HIDDEN)} | mlp("p.filter", KERNELS, HIDDEN) | linear("p.out", HIDDEN, 1)),
    "egnn": (egnn, I, mlp("p.edge", 2 * I + 1, 6) | mlp("p.position", 6, 1) | mlp("p.node", I + 6, 1)),
    "painn": (painn, O, PAINN | {"p.u": (O, O), "p.v": (O, O)}),
}


class Forces(harness.TestCase):
    def check(self, layer, graph_name):
        rng = np.random.default_rng(zlib.crc32(f"{layer}/{graph_name}".encode()))
        n, src, dst = graph = oracle.graphs(rng)[graph_name]
        energy, features, parameters = LAYERS[layer]
        shapes = {"x": (n, features), "pos": (n, 3)} | parameters
        values = {path: 0.5 * rng.standard_normal(shape) for path, shape in shapes.items()}
        values["pos"] *= 2
        target = rng.standard_normal((n, 3))
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(harness.PROGRAMS / "forces.gnn", "--real=f64"))
            handle = context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))

            def forces(changed):
                return model.call(context, f"{layer}_forces", {"g": handle, **changed})

            def loss(changed):
                given = {path: value for path, value in changed.items() if path != "target"}
                found = forces(given)
                return float(found["energy"]) ** 2 + np.sum((found["force"] - changed["target"]) ** 2)

            found = forces(values)
            self.assert_close(found["energy"], energy(graph, values), 1e-12, "energy")
            moved = lambda changed: energy(graph, {**values, **changed})
            self.assert_gradients(moved, {"pos": values["pos"]}, {"pos": -found["force"]}, 1.0, rng)
            given = {**values, "target": target}
            results, gradients = model.value_and_vjp(context, f"{layer}_loss", {"g": handle, **given}, {"out": np.array(1.0)})
            self.assert_close(results["out"], loss(given), 1e-12, "loss")
            self.assert_gradients(loss, given, gradients, 1.0, rng)


harness.add_cases(
    Forces,
    [(f"{layer} on {graph}", (layer, graph)) for layer in LAYERS for graph in ("awkward", "no edges", "one node", "star in")],
    Forces.check,
)
