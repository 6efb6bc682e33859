"""The built-in elementwise functions, in f64 and f32: values against numpy's, gradients against differences of numpy's, and what they give at
kinks, poles and special values.
"""

import functools
import math

import numpy as np

import harness

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Expression in x → (its reference, the interval that arguments are drawn from).
FUNCTIONS = {
    "exp(x)": (np.exp, (-20, 20)),
    "expm1(x)": (np.expm1, (-2, 2)),
    "log(x)": (np.log, (1e-3, 50)),
    "log1p(x)": (np.log1p, (-0.9, 3)),
    "sqrt(x)": (np.sqrt, (1e-3, 50)),
    "rsqrt(x)": (lambda x: 1 / np.sqrt(x), (1e-2, 50)),
    "tanh(x)": (np.tanh, (-5, 5)),
    "sin(x)": (np.sin, (-10, 10)),
    "cos(x)": (np.cos, (-10, 10)),
    "tan(x)": (np.tan, (-1.4, 1.4)),
    "atan(x)": (np.arctan, (-5, 5)),
    "erf(x)": (erf, (-3, 3)),
    "abs(x)": (np.abs, (-3, 3)),
    "sigmoid(x)": (sigmoid, (-15, 15)),
    "softplus(x)": (lambda x: np.logaddexp(x, 0), (-15, 15)),
    "silu(x)": (lambda x: x * sigmoid(x), (-10, 10)),
    "gelu(x)": (lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), (-1.5, 3)),  # below, 1 + erf cancels
    "relu(x)": (lambda x: np.maximum(x, 0), (-3, 3)),
    "leaky_relu(x, 0.2)": (lambda x: np.where(x > 0, x, 0.2 * x), (-3, 3)),
    "elu(x)": (lambda x: np.where(x > 0, x, np.expm1(x)), (-3, 3)),
    "pow(x, 2)": (lambda x: x**2, (-3, 3)),
    "pow(x, -3)": (lambda x: x**-3.0, (0.5, 3)),
    "pow(x, 2.5)": (lambda x: x**2.5, (0.1, 3)),
    "clamp(x, -1, 1)": (lambda x: np.clip(x, -1, 1), (-3, 3)),
    "maximum(x, 0.5)": (lambda x: np.maximum(x, 0.5), (-3, 3)),
    "minimum(x, 0.5)": (lambda x: np.minimum(x, 0.5), (-3, 3)),
    "where(x > 0, x * x, -x)": (lambda x: np.where(x > 0, x * x, -x), (-3, 3)),
    "1 / x": (lambda x: 1 / x, (0.2, 3)),
    "x * x + 3 * x": (lambda x: x * x + 3 * x, (0, 3)),
}

inf, nan = math.inf, math.nan
# Expression, argument, value, gradient; a gradient of None is not looked at.
POINTS = [
    ("relu(x)", 0, 0, 0),
    ("relu(x)", nan, nan, None),
    ("abs(x)", 0, 0, 0),
    ("sqrt(x)", 0, 0, 0),
    ("sqrt(x)", -1, nan, None),
    ("clamp(x, -1, 1)", 1, 1, 1),
    ("clamp(x, -1, 1)", -1, -1, 1),
    ("clamp(x, -1, 1)", 1.5, 1, 0),
    ("maximum(x, 0.5)", 0.5, 0.5, 0.5),
    ("maximum(x, 0.5)", nan, nan, None),
    ("minimum(x, 0.5)", 0.5, 0.5, 0.5),
    ("pow(x, 2)", 0, 0, 0),
    ("pow(x, 2.5)", 0, 0, 0),
    ("exp(x)", -inf, 0, 0),
    ("exp(x)", inf, inf, inf),
    ("log(x)", 0, -inf, inf),
    ("tanh(x)", inf, 1, 0),
    ("tanh(x)", -40, -1, 0),
    ("sigmoid(x)", -800, 0, 0),
    ("sigmoid(x)", 800, 1, 0),
    ("softplus(x)", 800, 800, 1),
    ("softplus(x)", -800, 0, 0),
    ("where(x > 0, log(x), 0)", -1, 0, 0),  # what is not selected contributes nothing, though its derivative be bad
    ("where(x > 0, sqrt(x), 0)", 0, 0, 0),
    ("where(x > 0, 1 / x, 0)", 0, 0, 0),
    ("where(x > 0, pow(x, 0.5), 0)", 0, 0, 0),
]
EXPRESSIONS = list(FUNCTIONS) + sorted({point[0] for point in POINTS} - set(FUNCTIONS))


@functools.cache
def model_path(real):
    """One program with a function for each expression."""
    program = harness.work_folder() / "functions.gnn"
    lines = [
        f"fn f{k}[N](x: real[N]) -> real[N] {{ return {expression}; }}\nexport vjp f{k};\n"
        for k, expression in enumerate(EXPRESSIONS)
    ]
    program.write_text("".join(lines))
    return harness.compiled(program, f"--real={real}")


class Functions(harness.TestCase):
    def value_and_gradient(self, real, expression, x):
        """f and f' at each entry of x."""
        x = np.asarray(x, {"f32": np.float32, "f64": np.float64}[real])
        with harness.runtime().context() as context:
            model = context.model(model_path(real))
            name = f"f{EXPRESSIONS.index(expression)}"
            results, gradients = model.value_and_vjp(context, name, {"x": x}, {"out": np.ones_like(x)})
        return results["out"], gradients["x"]

    def check(self, real, expression):
        function, (low, high) = FUNCTIONS[expression]
        tolerance = {"f32": 2e-6, "f64": 1e-14}[real]
        for size in (0, 1, 37, 1000):  # also sizes that fill no vector
            x = np.random.default_rng(size).uniform(low, high, size)
            if real == "f32":
                x = x.astype(np.float32).astype(np.float64)  # the same arguments on both sides
            value, gradient = self.value_and_gradient(real, expression, x)
            if size == 0:
                continue
            expected = function(x)
            scale = np.maximum(np.abs(expected), 1e-2 if real == "f32" else 1e-3)
            self.assertLess(np.max(np.abs(value - expected) / scale), tolerance, f"value, {size} entries")
            step = 1e-5 * np.maximum(np.abs(x), 1e-2)
            slope = (function(x + step) - function(x - step)) / (2 * step)
            smooth = np.abs(x - np.round(2 * x) / 2) > 2 * step  # the kinks are at multiples of a half
            self.assert_close(gradient[smooth], slope[smooth], max(tolerance, 1e-8), f"gradient, {size} entries")

    def check_point(self, real, expression, x, value, gradient):
        got = self.value_and_gradient(real, expression, [x, x, x])
        for what, expected, result in zip(("value", "gradient"), (value, gradient), got):
            if expected is not None:
                np.testing.assert_array_equal(result, np.full(3, expected), f"{what} of {expression} at {x}")


harness.add_cases(
    Functions,
    [(f"{real} {expression}", (real, expression)) for expression in FUNCTIONS for real in ("f64", "f32")],
    Functions.check,
)
harness.add_cases(
    Functions,
    [(f"{point[0]} at {point[1]}", ("f64", *point)) for point in POINTS],
    Functions.check_point,
)
