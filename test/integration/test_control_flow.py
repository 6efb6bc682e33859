"""Branches, loops and partial updates in f64: values against numpy, gradients against differences of numpy's; checkpoints against loops that
keep everything; positions out of range; memory.
"""

import re
import zlib

import numpy as np

import harness
import oracle

PROGRAM = harness.PROGRAMS / "control_flow.gnn"
NODES, SRC, DST = 5, np.array([0, 1, 2, 3, 0, 0, 2], np.int32), np.array([1, 2, 3, 0, 2, 0, 0], np.int32)


def aggregate(m):
    out = np.zeros((NODES, *m.shape[1:]))
    np.add.at(out, DST, m)
    return out


def product(a):
    return a["x"] ** a["n"]


def rnn(a):
    h = a["h0"]
    for x in a["xs"]:
        h = np.tanh(x @ a["w"] + h @ a["u"])
    return h


def states(a):
    ys = [a["h0"]]
    for _ in range(a["T"] - 1):
        ys.append(np.tanh(ys[-1] @ a["u"]) + 0.5 * ys[-1])
    return np.array(ys)


def diffuse(a):
    h, out = a["x"], []
    for _ in range(a["steps"]):
        h = np.tanh(aggregate(a["w"][:, None] * h[SRC])) + h
        out.insert(0, h)
    return np.array(out).reshape(a["steps"], *a["x"].shape)


def kept(a):
    h = a["h0"]
    for t in range(a["steps"]):
        h = np.sin(h @ a["u"]) + t * 0.01 * h
    return h


def piecewise(a):
    x, y = a["x"], a["y"]
    if x < 0:
        return x * y
    b = np.exp(-y) * (2 if x > 2 else 1) if y > 0 else y
    return (np.sqrt(x) if x > 1 else x * x) * b


def triangular(a):
    y = a["x"]
    for i in range(a["n"]):
        for j in range(i):
            y = np.sin(y) + 0.1 * j * a["x"]
        if i == 2:
            y = y * a["x"]
    return y


def set_row(a):
    v = a["x"] ** 2
    v[a["t"]] *= a["e"]
    v[a["t"], 0] += 1
    return v * a["x"]


def set_columns(a):
    v = a["x"] ** 2
    v[:, 1:5:2] = a["e"]
    v[:, 2] *= 3
    v[0] = 0
    return v * a["x"]


def add_at(a):
    v = a["x"] ** 2
    np.add.at(v, a["i"], a["e"] ** 2)
    return v * a["x"]


def set_at(a):
    v = a["x"] ** 2
    for i, e in zip(a["i"], a["e"]):
        v[i] = e**2
    return v * a["x"]


def pairs(a):
    p, q = a["p.a"], a["p.b"]
    for _ in range(a["steps"]):
        p = p + 0.1 * q
        q = q - 0.1 * p
        q[0] = p[0]
    return np.concatenate([p, q])


def looped(a):
    src, dst = np.concatenate([SRC, np.arange(NODES)]), np.concatenate([DST, np.arange(NODES)])
    w = np.concatenate([a["w"], np.ones(NODES)])
    h = a["x"]
    for _ in range(a["n"]):
        top, total = np.zeros_like(h), np.zeros(NODES)
        np.add.at(top, dst, w[:, None] * h[src])
        np.add.at(total, dst, w)
        h = top / total[:, None]
    return h


def tgcn(a):
    def through(layer, x, h):
        mixed = oracle.gcn((NODES, SRC, DST), {"w": a["w"], "x": x, "p.w": a[f"p.g{layer}.w"], "p.b": a[f"p.g{layer}.b"]})
        return np.concatenate([mixed, h], axis=1) @ a[f"p.{layer}.w"] + a[f"p.{layer}.b"]

    h = a["h0"]
    for x in a["xs"]:
        z = 1 / (1 + np.exp(-through("z", x, h)))
        r = 1 / (1 + np.exp(-through("r", x, h)))
        h = z * h + (1 - z) * np.tanh(through("h", x, r * h))
    return h


def count_up(a):
    k, y = 0, a["x"]
    for _ in range(a["n"]):
        if y > 0.5:
            k, y = k + 2, y * 0.9
        else:
            y = y + 0.2
    return y * k


def vector(*shape):
    return lambda rng: rng.standard_normal(shape)


# name: reference, what stands beside the graph
CASES = {
    "product": (product, {"x": lambda rng: 1.3, "n": 5}),
    "product none": (product, {"x": lambda rng: 1.3, "n": 0}),
    "rnn": (rnn, {"w": vector(3, 4), "u": vector(4, 4), "xs": vector(6, 3), "h0": vector(4)}),
    "rnn without steps": (rnn, {"w": vector(3, 4), "u": vector(4, 4), "xs": vector(0, 3), "h0": vector(4)}),
    "states": (states, {"u": vector(4, 4), "h0": vector(4), "T": 6}),
    "states one": (states, {"u": vector(4, 4), "h0": vector(4), "T": 1}),
    "diffuse": (diffuse, {"g": None, "w": vector(7), "x": vector(5, 3), "steps": 4}),
    "diffuse none": (diffuse, {"g": None, "w": vector(7), "x": vector(5, 3), "steps": 0}),
    "kept": (kept, {"u": vector(3, 3), "h0": vector(3), "steps": 7}),
    "piecewise negative": (piecewise, {"x": lambda rng: -0.7, "y": lambda rng: 0.4}),
    "piecewise small": (piecewise, {"x": lambda rng: 0.7, "y": lambda rng: -0.4}),
    "piecewise large": (piecewise, {"x": lambda rng: 1.7, "y": lambda rng: 0.4}),
    "piecewise largest": (piecewise, {"x": lambda rng: 2.7, "y": lambda rng: 0.4}),
    "set row": (set_row, {"x": vector(4, 3), "e": vector(3), "t": 2}),
    "set columns": (set_columns, {"x": vector(4, 6), "e": vector(4, 2)}),
    "add at": (add_at, {"g": None, "x": vector(5, 3), "i": np.array([1, 4, 1, 1], np.int32), "e": vector(4, 3)}),
    "set at": (set_at, {"g": None, "x": vector(5, 3), "i": np.array([1, 4, 1, 0], np.int32), "e": vector(4, 3)}),
    "looped": (looped, {"g": None, "w": lambda rng: rng.uniform(0.5, 1, 7), "x": vector(5, 3), "n": 3}),
}
for name in ("product", "kept"):
    reference, arguments = CASES[name]
    count = "n" if "n" in arguments else "steps"
    CASES[name + " once"] = (reference, {**arguments, count: 1})
CASES["tgcn"] = (
    tgcn,
    {
        "g": None,
        "w": lambda rng: rng.uniform(0.5, 1, 7),
        "xs": vector(3, NODES, 2),
        "h0": vector(NODES, 3),
        **{f"p.g{layer}.w": vector(2, 3) for layer in "zrh"},
        **{f"p.g{layer}.b": vector(3) for layer in "zrh"},
        **{f"p.{layer}.w": vector(6, 3) for layer in "zrh"},
        **{f"p.{layer}.b": vector(3) for layer in "zrh"},
    },
)
# Numbers of iterations that are known only inside of the call can't be those of residuals: values only.
VALUES = {
    "product": (lambda a: np.float64(1), {"x": lambda rng: 1.3, "n": -4}),
    "triangular": (triangular, {"x": vector(3), "n": 5}),
    "counting": (count_up, {"x": lambda rng: 0.4, "n": 9}),
}


class ControlFlow(harness.TestCase):
    def setUp(self):
        self.context = self.enterContext(harness.runtime().context(threads=2))

    def enterContext(self, context):  # Python 3.11 has it
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def model(self, *flags):
        return self.context.model(harness.compiled(PROGRAM, "--real", "f64", *flags))

    def arguments(self, name, given):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        made = {path: np.asarray(value(rng)) if callable(value) else value for path, value in given.items()}
        if "g" in made:
            made["g"] = self.context.graph(NODES, SRC, DST)
        return made, rng

    def case(self, name, reference, given):
        values, rng = self.arguments(name, given)
        model = self.model()
        function = next(f for f in model.vjps if name.replace(" ", "_").startswith(f))
        expected = reference(values)
        cotangent = rng.standard_normal(np.shape(expected))
        outputs, gradients = model.value_and_vjp(self.context, function, values, {"out": cotangent})
        self.assert_close(outputs["out"], expected, 1e-12, "value")
        real = {path: v for path, v in values.items() if path != "g" and np.asarray(v).dtype.kind == "f"}
        rest = {path: v for path, v in values.items() if path not in real}
        self.assert_gradients(lambda a: reference({**a, **rest}), real, gradients, cotangent, rng)

    def test_pairs_of_struct(self):
        values, rng = self.arguments("pairs", {"p.a": vector(4), "p.b": vector(4), "steps": 3})
        expected = pairs(values)
        cotangent = rng.standard_normal(8)
        outputs, gradients = self.model().value_and_vjp(
            self.context, "pairs", values, {"out.a": cotangent[:4], "out.b": cotangent[4:]}
        )
        self.assert_close(np.concatenate([outputs["out.a"], outputs["out.b"]]), expected, 1e-12, "value")
        real = {path: v for path, v in values.items() if path != "steps"}
        self.assert_gradients(lambda a: pairs({**a, "steps": 3}), real, gradients, cotangent, rng)

    def test_the_same_without_fusion(self):
        for name in ("rnn", "states", "diffuse", "looped", "set row", "piecewise largest"):
            reference, given = CASES[name]
            values, _ = self.arguments(name, given)
            function = name.split(" ")[0] if name != "set row" else "set_row"
            fused = self.model().call(self.context, function, values)
            plain = self.model("--no-fuse").call(self.context, function, values)
            self.assert_close(fused["out"], plain["out"], 1e-12, name)

    def gradient_of(self, entry, values, paths, results):
        """What an entry that gives (value, gradients) says, against differences of its value."""
        model = self.model()
        exact = model.call(self.context, entry, values)
        rng = np.random.default_rng(5)
        for path, result in zip(paths, results):
            direction = rng.standard_normal(np.shape(values[path]))

            def along(step):
                return float(model.call(self.context, entry, {**values, path: values[path] + step * direction})["out.0"])

            derivative = float(np.sum(exact[result] * direction))
            errors = []
            for step in (1e-3, 1e-4, 1e-5):
                difference = (along(step) - along(-step)) / (2 * step)
                errors.append(abs(derivative - difference) / max(abs(difference), 1e-3))
            self.assertLess(min(errors), 1e-6, f"{entry}, {path}")
        return exact

    def test_checkpoint_changes_nothing(self):
        rng = np.random.default_rng(1)
        for steps in (0, 1, 2, 3, 16, 17, 40):
            values = {"u": 0.7 * rng.standard_normal((3, 3)), "h0": rng.standard_normal(3), "steps": steps}
            plain = self.model().call(self.context, "kept_grad", values)
            segments = self.model().call(self.context, "checkpointed_grad", values)
            for path, value in plain.items():
                self.assert_close(segments[path], value, 1e-12, f"{path} after {steps} steps")
        self.gradient_of("checkpointed_grad", values, ["u", "h0"], ["out.1.0", "out.1.1"])

    def test_while_counts_by_the_data(self):
        for x in (1.0, 2.0, 1000.0):
            found = self.model().call(self.context, "root", {"x": x})
            y, steps = x, 0
            while abs(y * y - x) > 1e-3 * x:
                y, steps = 0.5 * (y + x / y), steps + 1
            self.assertEqual(int(found["out.1"]), steps)
            self.assertLess(abs(float(found["out.0"]) ** 2 - x), 1e-3 * x)
            self.gradient_of("root_grad", {"x": np.float64(x)}, ["x"], ["out.1"])

    def test_values(self):
        for name, (reference, given) in VALUES.items():
            values, _ = self.arguments(name, given)
            found = self.model().call(self.context, name, values)
            self.assert_close(found.get("out", found.get("out.0")), reference(values), 1e-12, name)

    def test_triangular_gradient(self):
        values, rng = self.arguments("triangular", VALUES["triangular"][1])
        cotangent = rng.standard_normal(3)
        _, gradients = self.model().value_and_vjp(self.context, "triangular", values, {"out": cotangent})
        self.assert_gradients(lambda a: triangular({**a, "n": 5}), {"x": values["x"]}, gradients, cotangent, rng)

    def test_counting_gradient(self):
        values, rng = self.arguments("counting", VALUES["counting"][1])
        outputs, gradients = self.model().value_and_vjp(self.context, "counting", values, {"out.0": np.float64(1)})
        k, y = 0, 0.4
        for _ in range(9):
            k, y = (k + 2, y * 0.9) if y > 0.5 else (k, y + 0.2)
        self.assertEqual(int(outputs["out.1"]), k)
        self.assert_gradients(lambda a: count_up({**a, "n": 9}), {"x": values["x"]}, gradients, np.float64(1), rng)

    def test_grad_in_a_loop(self):
        rng = np.random.default_rng(2)
        values = {"x": rng.standard_normal(4), "k": np.float64(0.8), "steps": 6}
        self.gradient_of("descend_grad", values, ["x", "k"], ["out.1.0", "out.1.1"])

    def test_second_order(self):
        rng = np.random.default_rng(3)
        model = self.model()
        values = {"x": rng.standard_normal(4), "k": np.float64(0.8), "steps": 4}
        found = model.call(self.context, "curvature", values)["out"]

        def square(x):
            return float(np.sum(model.call(self.context, "descend_grad", {**values, "x": x})["out.1.0"] ** 2))

        for k in range(4):
            unit = np.eye(4)[k] * 1e-4
            difference = (square(values["x"] + unit) - square(values["x"] - unit)) / 2e-4
            self.assertLess(abs(found[k] - difference) / max(abs(difference), 1e-3), 1e-6)

    def test_training_in_a_loop(self):
        rng = np.random.default_rng(6)
        w, x = rng.standard_normal((3, 2)), rng.standard_normal((8, 3))
        y, n, own = x @ rng.standard_normal((3, 2)), np.array(5, np.int32), w.copy()
        losses = []
        for _ in range(40):
            difference = x @ own - y
            losses.append(np.mean(difference**2))
            own = own - 0.1 * 2 * x.T @ difference / difference.size
        last = self.model().call(self.context, "train", {"w": w, "n": n, "x": x, "y": y, "steps": 40, "lr": 0.1})["out"]
        self.assert_close(last, losses[-1], 1e-12, "loss")
        self.assert_close(w, own, 1e-12, "parameters")
        self.assertEqual(int(n), 5 + 40 + 100 * sum(loss < 0.01 for loss in losses))

    def test_what_is_carried(self):
        graph, x = self.context.graph(NODES, SRC, DST), np.random.default_rng(7).standard_normal((NODES, 3))
        for steps in (0, 1, 2, 5):
            found = self.model().call(self.context, "carried", {"g": graph, "x": x, "key": 3, "n": steps})
            total, best, flag = np.zeros(NODES), x.argmax(1), True
            for _ in range(steps):
                flag = not flag
                total = total + x[np.arange(NODES), best]
                best = (-x).argmax(1) if flag else x.argmax(1)
            self.assert_close(found["out.0"], total, 1e-15, "sum")
            self.assertEqual((int(found["out.1"]), bool(found["out.2"])), (2 * steps, flag))
        self.assertEqual(int(self.model().call(self.context, "collatz", {"n": 27.0})["out"]), 111)

    def test_loops_in_loops(self):
        for steps in (0, 1, 4):
            for entry in ("double_grad", "hess"):
                self.gradient_of(entry, {"x": np.float64(0.8), "n": steps}, ["x"], ["out.1"])

    def test_parts_in_branches_and_loops(self):
        for seed, t in enumerate((0, 2, 5)):
            x = np.random.default_rng(seed).standard_normal(4)
            self.gradient_of("branchy_grad", {"x": x, "t": t}, ["x"], ["out.1"])
        x = np.random.default_rng(8).standard_normal(6)
        exact = self.gradient_of("cum_grad", {"x": x}, ["x"], ["out.1"])
        self.assert_close(exact["out.0"], np.sum(np.cumsum(x) ** 3), 1e-12, "value")
        self.gradient_of("cum_hess", {"x": x}, ["x"], ["out.1"])
        found = self.model().call(self.context, "powers_grad", {"x": 2.0, "n": 5})
        self.assertEqual((float(found["out.0"]), float(found["out.1"])), (31, 49))

    def test_draws_differ_from_step_to_step(self):
        model, x = self.model(), np.zeros(2000)
        first = model.call(self.context, "walk", {"x": x, "key": 7, "steps": 1})["out"]
        second = model.call(self.context, "walk", {"x": x, "key": 7, "steps": 2})["out"]
        self.assertLess(abs(np.corrcoef(first, second - first)[0, 1]), 0.1)
        self.assertTrue(np.array_equal(second, model.call(self.context, "walk", {"x": x, "key": 7, "steps": 2})["out"]))

    def test_normal_numbers(self):
        drawn = self.model().call(self.context, "walk", {"x": np.zeros(100000), "key": 1, "steps": 1})["out"]
        # A uniform number and a tenth of a normal one.
        self.assertLess(abs(drawn.mean() - 0.5), 0.01)
        self.assertLess(abs(drawn.var() - (1 / 12 + 0.01)), 0.002)

    def test_positions_out_of_range_fail_the_call(self):
        model, x = self.model(), np.arange(12.0).reshape(4, 3)
        self.assert_close(model.call(self.context, "entry", {"x": x, "t": 2})["out"], x[2] + x[3], 1e-15, "in range")
        for t in (-1, 3, 4):
            out = np.full(3, 7.0)
            self.assert_refused(
                "index",
                r"control_flow.gnn:\d+: the index t \+ k is out of range: it must be from 0 to below n",
                lambda: model.call(self.context, "entry", {"x": x, "t": t}, outputs={"out": out}),
            )
            self.assertTrue(np.all(out == 7), "a failed call wrote its result")

    def test_negative_sizes_are_refused(self):
        self.assert_refused(
            "argument",
            "`n` is -3, but a size cannot be negative",
            lambda: self.model().call(self.context, "shifted", {"x": np.ones(4), "n": -3}, outputs={"out": np.zeros(0)}),
        )

    def test_a_number_is_the_size_of_a_result(self):
        found = self.model().call(self.context, "shifted", {"x": np.full(4, 2.0), "n": 5})["out"]
        self.assertTrue(np.array_equal(found, 2.0 * np.arange(5)))
        self.assert_refused(
            "shape",
            "out",
            lambda: self.model().call(self.context, "shifted", {"x": np.ones(4), "n": 5}, outputs={"out": np.zeros(4)}),
        )

    def test_same_bits_for_any_number_of_threads(self):
        values, rng = self.arguments("rnn", {"w": vector(40, 64), "u": vector(64, 64), "xs": vector(9, 40), "h0": vector(64)})
        bits = []
        for threads in (1, 3):
            with harness.runtime().context(threads=threads) as context:
                model = context.model(harness.compiled(PROGRAM, "--real", "f64"))
                outputs, gradients = model.value_and_vjp(context, "rnn", values, {"out": np.ones(64)})
                bits.append([outputs["out"].tobytes(), *[gradients[k].tobytes() for k in sorted(gradients)]])
        self.assertEqual(bits[0], bits[1])

    def test_what_a_loop_keeps(self):
        """All states without a checkpoint, two stacks of about the square root of their number with one."""
        kept, segments = reported(PROGRAM, "kept_grad"), reported(PROGRAM, "checkpointed_grad")
        state = 4 * 3
        known = {"H": 3, "iterations": 10000, "segments": 100, "steps of a segment": 100}
        self.assertGreater(evaluated(kept, known), 10000 * state)
        self.assertLess(evaluated(segments, known), 250 * state)

    def test_langevin(self):
        """Dynamics under a learned pair potential, differentiated through every step: gradients, and 10,000 steps in the memory of 300."""
        program = harness.PROGRAMS / "langevin.gnn"
        model = self.context.model(harness.compiled(program, "--real", "f64"))
        nodes, width = 4, 5
        pairs_of = [(i, j) for i in range(nodes) for j in range(nodes) if i != j]
        rng = np.random.default_rng(4)
        values = {"g": self.context.graph(nodes, *(np.array(ends, np.int32) for ends in zip(*pairs_of))), "key": 3, "steps": 12}
        sizes = {"V": nodes, "M": width, "g.edges": len(pairs_of)}
        parameters = [spec for spec in model.entries["spread_grad"]["args"] if spec["kind"] == "tensor"]
        for spec in parameters:
            values[spec["path"]] = rng.standard_normal([int(sizes.get(dim, 0) or dim) for dim in spec["dims"]])
        exact = model.call(self.context, "spread_grad", values)
        for spec in parameters:
            path = spec["path"]
            if not path.startswith("p."):
                continue
            direction = rng.standard_normal(values[path].shape)

            def along(step):
                return float(model.call(self.context, "spread_grad", {**values, path: values[path] + step * direction})["out.0"])

            derivative, errors = float(np.sum(exact["out.1." + path[2:]] * direction)), []
            for step in (1e-2, 1e-3, 1e-4):
                difference = (along(step) - along(-step)) / (2 * step)
                errors.append(abs(derivative - difference) / abs(difference))
            self.assertLess(min(errors), 1e-6, path)

        values["steps"] = 10000
        found = model.call(self.context, "spread_grad", values)
        self.assertTrue(all(np.all(np.isfinite(value)) for value in found.values()))
        known = {**sizes, "iterations": 10000, "segments": 100, "steps of a segment": 100}
        self.assertLess(evaluated(reported(program, "spread_grad"), known), 300 * 4 * 3 * nodes + 20000)


def reported(program, entry):
    """The bound that the memory report gives for an entry, as text over its sizes."""
    path = harness.work_folder() / "libreported.so"
    report = harness.run("gnnc", "build", program, "-o", path, "--report", "memory").stderr
    text = report[report.index(f"memory of '{entry}'") :]
    return re.search(r"in all at most (.*?) bytes", text).group(1)


def evaluated(expression, sizes):
    for name in sorted(sizes, key=len, reverse=True):
        expression = expression.replace(name, str(sizes[name]))
    return eval(expression, {"ceildiv": lambda a, b: -(-a // b)})


harness.add_cases(ControlFlow, [(name, (name, *case)) for name, case in CASES.items()], ControlFlow.case)
