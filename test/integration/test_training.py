"""Losses, optimisers, schedules and running moments of the standard library against numpy, in f64."""

import numpy as np

import harness


class Training(harness.TestCase):
    def setUp(self):
        self.context = harness.runtime().context()
        self.addCleanup(self.context.__exit__)
        self.model = self.context.model(harness.compiled(harness.PROGRAMS / "training.gnn", "--real=f64"))
        self.rng = np.random.default_rng(0)

    def call(self, name, values):
        return self.model.call(self.context, name, values)

    def check_loss(self, name, values, reference, constants=None):
        results, gradients = self.model.value_and_vjp(self.context, name, {**values, **(constants or {})}, {"out": np.asarray(1.0)})
        self.assert_close(results["out"], reference(values), 1e-13, name)
        self.assert_gradients(reference, values, gradients, 1.0, self.rng)

    def test_cross_entropy_with_weights_and_smoothing(self):
        values = {"logits": self.rng.standard_normal((9, 4)), "weight": self.rng.uniform(0.5, 2, 4)}
        y, mask = self.rng.integers(0, 4, 9).astype(np.int32), np.arange(9) % 3 > 0

        def reference(a):
            total = count = 0.0
            for row in range(9):
                if mask[row]:
                    p = np.exp(a["logits"][row]) / np.sum(np.exp(a["logits"][row]))
                    target = np.full(4, 0.1 / 4)
                    target[y[row]] += 0.9
                    total -= np.sum(target * a["weight"] * np.log(p))
                    count += a["weight"][y[row]]
            return total / count

        self.check_loss("weighted", values, reference, {"y": y, "mask": mask})

    def test_binary_cross_entropy(self):
        values = {"x": self.rng.standard_normal(7), "y": self.rng.uniform(0, 1, 7)}
        sigmoid = lambda x: 1 / (1 + np.exp(-x))
        self.check_loss(
            "binary", values, lambda a: -np.mean(a["y"] * np.log(sigmoid(a["x"])) + (1 - a["y"]) * np.log(1 - sigmoid(a["x"])))
        )
        large = {"x": np.array([800.0, -800.0]), "y": np.array([1.0, 0.0])}
        results, _ = self.model.value_and_vjp(self.context, "binary", large, {"out": np.asarray(1.0)})
        self.assertEqual(results["out"], 0)

    def test_huber(self):
        values = {"x": np.array([0.1, 3.0, -2.0, 0.7]), "y": np.array([0.3, 0.5, 0.5, 0.2]), "delta": np.asarray(0.8)}

        def reference(a):
            d = np.abs(a["x"] - a["y"])
            return np.mean(np.where(d <= a["delta"], 0.5 * d * d, a["delta"] * (d - 0.5 * a["delta"]))) + np.mean(d)

        self.check_loss("robust", values, reference)

    # ---- Optimisers ----

    def weights(self, prefix):
        return {f"{prefix}.a": self.rng.standard_normal(3), f"{prefix}.b": self.rng.standard_normal((2, 2)), f"{prefix}.n": np.asarray(5, np.int32)}

    def test_adamw(self):
        p, dp = self.weights("p"), self.weights("dp")
        state = {f"opt.{k}.{leaf}": 0 * p[f"p.{leaf}"] for k in "mv" for leaf in "abn"} | {"opt.step": np.asarray(0, np.int64)}
        expected, m, v = ({leaf: 1.0 * p[f"p.{leaf}"] for leaf in "ab"}, {leaf: 0.0 for leaf in "ab"}, {leaf: 0.0 for leaf in "ab"})
        arguments = {**p, **state, **dp}
        for t in range(1, 4):
            results = self.call("adamw", {**arguments, "lr": 0.1, "decay": 0.3})
            arguments.update({path: results[path] for path in results if path in arguments})
            for leaf in "ab":
                d = dp[f"dp.{leaf}"]
                m[leaf], v[leaf] = 0.9 * m[leaf] + 0.1 * d, 0.999 * v[leaf] + 0.001 * d * d
                step = m[leaf] / (1 - 0.9**t) / (np.sqrt(v[leaf] / (1 - 0.999**t)) + 1e-8)
                expected[leaf] = expected[leaf] - 0.1 * (step + 0.3 * expected[leaf])
                self.assert_close(arguments[f"p.{leaf}"], expected[leaf], 1e-12, f"step {t}, {leaf}")
        self.assertEqual(arguments["p.n"], 5)
        norm = np.sqrt(np.sum(dp["dp.a"] ** 2) + np.sum(dp["dp.b"] ** 2))
        self.assert_close(results["out"], norm, 1e-14, "norm")

    def test_rmsprop(self):
        p, dp = self.weights("p"), self.weights("dp")
        arguments = {**p, **dp} | {f"opt.{k}.{leaf}": 0 * p[f"p.{leaf}"] for k in "vu" for leaf in "abn"}
        expected, v, u = ({leaf: 1.0 * p[f"p.{leaf}"] for leaf in "ab"}, {leaf: 0.0 for leaf in "ab"}, {leaf: 0.0 for leaf in "ab"})
        for t in range(3):
            results = self.call("rmsprop", {**arguments, "lr": 0.1})
            arguments.update({path: results[path] for path in results if path in arguments})
            for leaf in "ab":
                d = dp[f"dp.{leaf}"] + 0.01 * expected[leaf]
                v[leaf] = 0.99 * v[leaf] + 0.01 * d * d
                u[leaf] = 0.9 * u[leaf] + d / (np.sqrt(v[leaf]) + 1e-8)
                expected[leaf] = expected[leaf] - 0.1 * u[leaf]
                self.assert_close(arguments[f"p.{leaf}"], expected[leaf], 1e-12, f"step {t}, {leaf}")

    def test_clipping(self):
        dp = self.weights("dp")
        norm = np.sqrt(np.sum(dp["dp.a"] ** 2) + np.sum(dp["dp.b"] ** 2))
        for limit in (norm / 2, 2 * norm):
            results = self.call("clipped", {**dp, "limit": limit})
            for leaf in "ab":
                d = dp[f"dp.{leaf}"]
                self.assert_close(results[f"out.0.{leaf}"], d * min(1, limit / norm), 1e-14, "norm")
                self.assert_close(results[f"out.1.{leaf}"], np.clip(d, -limit, limit), 1e-14, "value")

    def test_schedules(self):
        for t in (0.0, 7.0, 25.0, 150.0):
            results = self.call("schedules", {"lr": 0.2, "t": t})
            expected = (0.2 * 0.1 ** (t // 10), 0.1 * (1 + np.cos(np.pi * min(t / 100, 1))), 0.2 * min(t / 20, 1))
            for k, value in enumerate(expected):
                self.assertAlmostEqual(float(results[f"out.{k}"]), value, delta=1e-15)

    def test_running_moments(self):
        x = self.rng.standard_normal((6, 3))
        m = {"m.mean": self.rng.standard_normal(3), "m.variance": self.rng.uniform(1, 2, 3)}
        p = {"p.gain": self.rng.standard_normal(3), "p.b": self.rng.standard_normal(3)}
        results = self.call("tracked", {**m, **p, "x": x})
        self.assert_close(results["out.0.mean"], 0.9 * m["m.mean"] + 0.1 * x.mean(0), 1e-14, "mean")
        self.assert_close(results["out.0.variance"], 0.9 * m["m.variance"] + 0.1 * x.var(0, ddof=1), 1e-14, "variance")
        normal = (x - m["m.mean"]) / np.sqrt(m["m.variance"] + 1e-5) * p["p.gain"] + p["p.b"]
        self.assert_close(results["out.1"], normal, 1e-14, "normalised")
