"""Rules of one's own, functions of C, values held constant, arrays of structs, in f64: values and gradients against numpy."""

import ctypes
import json

import numpy as np

import gnnrt
import harness
import oracle

# Models find functions of C among what the process has loaded.
LIBM = ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
for _name in ("j0", "j1"):
    getattr(LIBM, _name).restype = ctypes.c_double
    getattr(LIBM, _name).argtypes = [ctypes.c_double]
j0, j1 = np.vectorize(LIBM.j0, otypes=[float]), np.vectorize(LIBM.j1, otypes=[float])

FLAGS = {"": (), " without fusion": ("--no-fuse",)}


class Rules(harness.TestCase):
    def setUp(self):
        self.context = harness.runtime().context()
        self.addCleanup(self.context.__exit__)

    def model(self, *flags):
        return self.context.model(harness.compiled(harness.PROGRAMS / "rules.gnn", "--real=f64", *flags))

    def pair(self, name, values, cotangents, flags=()):
        return self.model(*flags).value_and_vjp(self.context, name, values, cotangents)

    def check_call(self, name, flags):
        x, y_adj = np.array([0.4, 1.7, -2.2]), np.array([1.0, 2.0, -3.0])
        results, gradients = self.pair(name, {"x": x}, {"out": y_adj}, flags)
        np.testing.assert_allclose(results["out"], np.round(x) * x, rtol=1e-14)
        np.testing.assert_allclose(gradients["x"], y_adj * (x + np.round(x)), rtol=1e-14)

    def check_forward_rule(self, flags):
        rng = np.random.default_rng(0)
        x, dx, y_adj = rng.standard_normal((3, 5))
        k, dk = np.asarray(1.5), np.asarray(0.25)
        results, gradients = self.pair("cubes", {"x": x, "k": k}, {"out": y_adj}, flags)
        self.assert_close(results["out"], k * x**3, 1e-14, "value")
        self.assert_close(gradients["x"], 30 * k * x * x * y_adj, 1e-14, "gradient of x")
        self.assert_close(gradients["k"], np.sum(10 * x**3 * y_adj), 1e-13, "gradient of k")
        values = {"x": x, "dx": dx, "k": k, "dk": dk}
        results, gradients = self.pair("cubes_forwards", values, {"out": y_adj}, flags)
        self.assert_close(results["out"], 30 * k * x * x * dx + 10 * x**3 * dk, 1e-14, "tangent")
        self.assert_close(gradients["dx"], 30 * k * x * x * y_adj, 1e-14, "gradient of the tangent")
        # Second order differentiates the rule.
        self.assert_close(gradients["x"], (60 * k * x * dx + 30 * x * x * dk) * y_adj, 1e-14, "second order")
        results, gradients = self.pair("cubes_gradient", {"x": x, "k": k}, {"out": y_adj}, flags)
        self.assert_close(results["out"], 30 * k * x * x, 1e-14, "gradient")
        self.assert_close(gradients["x"], 60 * k * x * y_adj, 1e-14, "second order")
        results, _ = self.pair("straight_through_forwards", {"x": x, "dx": dx}, {"out": y_adj}, flags)
        self.assert_close(results["out"], dx * x + np.round(x) * dx, 1e-14, "forward through a reverse rule")

    def check_layer(self, flags):
        rng = np.random.default_rng(2)
        n, src, dst = oracle.graphs(rng)["awkward"]
        values = {
            "x": rng.standard_normal((n, 4)),
            "p.w": rng.standard_normal((4, 3)),
            "p.b": rng.standard_normal(3),
            "kind": rng.integers(0, 3, n).astype(np.int32),
        }

        def reference(a):
            h = np.tanh(a["x"]) @ a["p.w"]
            y = np.zeros((n, 3))
            np.add.at(y, dst, h[src])
            y = 0.5 * y + a["p.b"]
            return y * np.sum(y[np.arange(n), values["kind"]])

        cotangent = rng.standard_normal((n, 3))
        graph = self.context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))
        results, gradients = self.pair("layered", {**values, "g": graph}, {"out": cotangent}, flags)
        self.assert_close(results["out"], reference(values), 1e-13, "value")
        self.assert_gradients(reference, values, gradients, cotangent, rng)

    def check_extern(self, flags):
        rng = np.random.default_rng(3)
        for size in (1, 5, 37):
            x, y_adj = rng.standard_normal((2, size))
            results, gradients = self.pair("bessel", {"x": x}, {"out": y_adj}, flags)
            self.assert_close(results["out"], j0(x) * x, 1e-14, "value")
            self.assert_close(gradients["x"], y_adj * (j0(x) - j1(x) * x), 1e-13, "gradient")
        n, src, dst = oracle.graphs(rng)["awkward"]

        def reference(a):
            y = np.zeros((n, 3))
            np.add.at(y, dst, j0(a["x"][src]) * a["x"][dst])
            return y

        values, cotangent = {"x": rng.standard_normal((n, 3))}, rng.standard_normal((n, 3))
        graph = self.context.graph(n, np.array(src, np.int64), np.array(dst, np.int64))
        results, gradients = self.pair("bessel_edges", {**values, "g": graph}, {"out": cotangent}, flags)
        self.assert_close(results["out"], reference(values), 1e-13, "value")
        self.assert_gradients(reference, values, gradients, cotangent, rng)
        x = rng.standard_normal(11)
        results = self.model(*flags).call(self.context, "hypotenuse", {"x": x, "y": 2.0})
        self.assert_close(results["out"], np.hypot(x, 2), 1e-15, "two arguments")

    def test_held_constant(self):
        x, y_adj = np.array([1.0, -2.0, 0.5]), np.array([1.0, 10.0, 100.0])
        results, gradients = self.pair("twice_used", {"x": x}, {"out": y_adj})
        square = np.sum(x * x)
        np.testing.assert_allclose(results["out"], square * x + x * x, rtol=1e-14)
        np.testing.assert_allclose(gradients["x"], y_adj * (square + x), rtol=1e-14)
        results, gradients = self.pair("gained", {"x": x, "k": np.asarray(2.0)}, {"out": y_adj})
        np.testing.assert_allclose(results["out"], 9 * x, rtol=1e-14)
        np.testing.assert_allclose(gradients["x"], 9 * y_adj, rtol=1e-14)
        self.assertEqual(gradients["k"], 0)
        results, gradients = self.pair("thawed", {"x": x}, {"out": y_adj})
        np.testing.assert_allclose(results["out"], x**3 + x * x, rtol=1e-14)
        np.testing.assert_allclose(gradients["x"], y_adj * x * x, rtol=1e-14)

    def test_same_tensor_twice(self):
        results = self.model().call(self.context, "same_twice", {"x": 3.0})
        self.assertEqual((results["out.0"], results["out.1"]), (9, 18))
        x = np.array([2.0, 5.0])
        _, gradients = self.pair("handed_on", {"x": x}, {"out.0": np.ones(2), "out.1": np.array([1.0, 10.0])})
        np.testing.assert_array_equal(gradients["x"], [5, 101])

    # ---- Arrays of structs ----

    def stack(self, rng, blocks=3):
        shapes = {"first": (2,), "block.lin.w": (blocks, 2, 2), "block.lin.b": (blocks, 2), "block.scale": (blocks,)}
        return {f"p.{path}": rng.standard_normal(shape) for path, shape in {**shapes, "block.shift": (blocks, 4, 2)}.items()}

    def test_array_of_structs(self):
        rng = np.random.default_rng(4)
        values = {**self.stack(rng), "x": rng.standard_normal((5, 2))}

        def reference(a):
            linear = lambda k, x: x @ a["p.block.lin.w"][k] + a["p.block.lin.b"][k]
            hidden = np.tanh(linear(0, a["x"] + a["p.first"]))
            hidden = np.tanh(linear(1, hidden)) * a["p.block.scale"][1] + a["p.block.shift"][2, 0]
            return linear(2, hidden) * a["p.block.scale"][2]

        cotangent = rng.standard_normal((5, 2))
        for flags in FLAGS.values():
            results, gradients = self.pair("stacked", values, {"out": cotangent}, flags)
            self.assert_close(results["out"], reference(values), 1e-14, "value")
            self.assert_gradients(reference, values, gradients, cotangent, rng)

    def test_array_of_structs_at_run_time(self):
        values = self.stack(np.random.default_rng(5))
        for t in range(3):
            results = self.model().call(self.context, "chosen", {**values, "t": t})
            np.testing.assert_array_equal(results["out"], values["p.block.lin.b"][t] * values["p.block.scale"][t])
        self.assert_refused("index", "", lambda: self.model().call(self.context, "chosen", {**values, "t": 3}))

    def test_initialisers_see_one_block(self):
        text = harness.run("gnnc", "build", "--emit", "manifest", "-o", "-", harness.PROGRAMS / "rules.gnn").stdout
        entry = next(e for e in json.loads(text)["entries"] if e["name"] == "stack_step")
        inits = {a["path"]: (a["init"]["fn"], a["init"].get("block_rank", 0)) for a in entry["args"] if "init" in a}
        self.assertEqual(inits["p.first"], ("zeros", 0))
        self.assertEqual(inits["p.block.lin.w"], ("glorot", 1))
        self.assertEqual(inits["p.block.shift"], ("normal", 1))
        dims = {a["path"]: a["dims"] for a in entry["args"] if a["kind"] == "tensor"}
        self.assertEqual(dims["opt.m.block.shift"], ["3", "K", "F"])


CALLS = ("straight_through", "as_value", "as_default", "as_named", "in_lambda", "in_a_layer")
harness.add_cases(Rules, [(f"{name}{how}", (name, flags)) for name in CALLS for how, flags in FLAGS.items()], Rules.check_call)
for _check in (Rules.check_forward_rule, Rules.check_layer, Rules.check_extern):
    _what = _check.__name__.removeprefix("check_").replace("_", " ")
    harness.add_cases(Rules, [(f"{_what}{how}", (flags,)) for how, flags in FLAGS.items()], _check)
