"""Code for the oldest processors calls no mathematical function, and rounds as the newest do."""

import subprocess

import numpy as np

import harness

# What other compilers call a library for, also inside of others: the power rounds its exponent.
CALLS = ["floor(x)", "ceil(x)", "round(x)", "pow(x, 2.5)", "exp(x)", "log1p(x)", "tanh(x)", "sin(x)", "erf(x)", "softplus(x)"]
ROUNDING = {"floor": np.floor, "ceil": np.ceil, "round": np.round}
# Halves, the largest numbers with a fraction, their neighbours, zeros of both signs, and what is no number.
POINTS = {
    "f32": [0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 3.5, 0.49999997, 4194303.5, 4194304.5, 8388607.5, 8388608, 8388609, 1e30, 1e-40, np.inf, np.nan],
    "f64": [0.0, 0.3, 0.5, 0.7, 1.5, 2.5, 0.49999999999999994, 2.0**51 + 0.5, 2.0**52 - 0.5, 2.0**52, 2.0**53 + 2, 1e300, 5e-324, np.inf, np.nan],
}


def program(name, lines):
    path = harness.work_folder() / name
    path.write_text("import nn;\n" + "".join(lines))
    return path


class Baseline(harness.TestCase):
    def test_calls_nothing_but_the_runtime(self):
        lines = [f"export fn f{k}[N](x: real[N]) -> real[N] {{ return {e}; }}\n" for k, e in enumerate(CALLS)]
        lines.append("export fn integers[N](x: i32[N], y: i32[N]) -> (i32[N], f64[N]) { return (x * y, f64(x)); }\n")
        lines.append("export fn drawn[N](key: Key, rate: real, x: real[N]) -> real[N] { return dropout(x, rate, key); }\n")
        for real in ("f32", "f64"):
            path = harness.compiled(program("baseline.gnn", lines), f"--real={real}", "--cpu=x86-64")
            listed = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
            names = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
            allowed = {"memcpy", "memset", "memmove"}
            self.assertEqual({name for name in names if not name.startswith("gnnrt_")} - allowed, set())

    def check(self, real, cpu, function):
        source = program("rounding.gnn", [f"export fn {f}_of[N](x: real[N]) -> real[N] {{ return {f}(x); }}\n" for f in ROUNDING])
        x = np.array([sign * point for point in POINTS[real] for sign in (1, -1)], {"f32": np.float32, "f64": np.float64}[real])
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(source, f"--real={real}", f"--cpu={cpu}"))
            result = model.call(context, f"{function}_of", {"x": x})["out"]
        expected = ROUNDING[function](x)
        np.testing.assert_array_equal(result, expected)
        numbers = ~np.isnan(x)
        np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(expected[numbers]))


harness.add_cases(
    Baseline,
    [(f"{function} {real} {cpu}", (real, cpu, function)) for function in ROUNDING for real in POINTS for cpu in ("x86-64", "x86-64-v2")],
    Baseline.check,
)

