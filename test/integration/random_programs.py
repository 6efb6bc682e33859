"""Well-typed programs drawn at random, each with what it computes as a function of numpy arrays.

A program is a list of steps on values whose dimensions are known: `n` nodes, `m` edges, and features F and K. A step has its text in
the language and its meaning in numpy, which shares nothing with the compiler. Values are kept small, by a tanh where a step has made
them large on a sample, so that differences stay meaningful.
"""

import numpy as np

SIZES = {"F": 4, "K": 3}
TEXT = {"n": "g.nodes", "m": "g.edges"}
INPUTS = {"x": ("n", "F"), "e": ("m", "K"), "w": ("F", "K"), "b": ("F",), "s": ()}


def written(dims):
    return f"real[{', '.join(TEXT.get(d, d) for d in dims)}]" if dims else "real"


def aligned(value, dims, to):
    """Broadcasting by identity: `dims` is an ordered subsequence of `to`."""
    shape, rest = [], list(dims)
    for d in to:
        if rest and rest[0] == d:
            shape.append(value.shape[len(dims) - len(rest)])
            rest.pop(0)
        else:
            shape.append(1)
    assert not rest
    return np.reshape(value, shape)


def fits(small, large):
    """Whether `small` is an ordered subsequence of `large`. No dimension stands twice in what is drawn, so there is one way at most."""
    it = iter(large)
    return all(d in it for d in small)


def by_segment(function, empty):
    """A reduction of rows of the first axis, by index."""

    def reduce(rows, index, count):
        out = np.full((count, *rows.shape[1:]), float(empty))
        for k in range(count):
            if np.any(index == k):
                out[k] = function(rows[index == k])
        return out

    return reduce


def softmax(rows, index, count):
    out = np.empty_like(rows)
    for k in range(count):
        part = rows[index == k]
        if len(part):
            part = np.exp(part - part.max(0))
            out[index == k] = part / part.sum(0)
    return out


def logsumexp(rows):
    top = rows.max(0)
    return top + np.log(np.exp(rows - top).sum(0))


def std(rows):
    return np.sqrt(np.mean((rows - rows.mean(0)) ** 2, 0))


UNARY = {
    "tanh({})": np.tanh,
    "sin({})": np.sin,
    "sigmoid({})": lambda x: 1 / (1 + np.exp(-x)),
    "softplus({})": lambda x: np.logaddexp(x, 0),
    "relu({})": lambda x: np.maximum(x, 0),
    "leaky_relu({}, 0.2)": lambda x: np.where(x > 0, x, 0.2 * x),
    "exp(-abs({}))": lambda x: np.exp(-np.abs(x)),
    "sqrt(1 + pow({}, 2))": lambda x: np.sqrt(1 + x**2),
    "-{}": lambda x: -x,
    "0.5 * {} + 1": lambda x: 0.5 * x + 1,
    "clamp({}, -0.6, 0.7)": lambda x: np.clip(x, -0.6, 0.7),
    "pow({}, 3)": lambda x: x**3,
}
BINARY = {
    "{} + {}": np.add,
    "{} - {}": np.subtract,
    "{} * {}": np.multiply,
    "{} / (1.5 + pow({}, 2))": lambda a, b: a / (1.5 + b**2),
    "maximum({}, {})": np.maximum,
    "minimum({}, {})": np.minimum,
    "where({0} > {1}, {0} * {0}, {1})": lambda a, b: np.where(a > b, a * a, b),
}
SEGMENT = {
    "sum({}, by={})": by_segment(lambda r: r.sum(0), 0),
    "mean({}, by={})": by_segment(lambda r: r.mean(0), 0),
    "max({}, by={})": by_segment(lambda r: r.max(0), 0),
    "min({}, by={})": by_segment(lambda r: r.min(0), 0),
    "var({}, by={})": by_segment(lambda r: np.mean((r - r.mean(0)) ** 2, 0), 0),
    "std({}, by={})": by_segment(std, 0),
    "prod({}, by={})": by_segment(lambda r: r.prod(0), 1),
    "max({}, by={}, empty=-1)": by_segment(lambda r: r.max(0), -1),
    "tanh(logsumexp({}, by={}))": lambda rows, index, count: np.tanh(by_segment(logsumexp, -np.inf)(rows, index, count)),
}
OVER = {
    "sum({}, over={})": lambda x, axis: x.sum(axis),
    "mean({}, over={})": lambda x, axis: x.mean(axis),
    "max({}, over={})": lambda x, axis: x.max(axis),
    "logsumexp({}, over={})": lambda x, axis: logsumexp(np.moveaxis(x, axis, 0)),
    "norm({}, over={})": lambda x, axis: np.sqrt((x**2).sum(axis)),
    "var({}, over={})": lambda x, axis: x.var(axis),
}


class Program:
    """Draws steps; `body` is their text, `run` their meaning. The result is a number."""

    def __init__(self, seed, graph, length=12):
        self.random = np.random.default_rng(seed)
        self.graph = graph
        self.values = dict(INPUTS)  # name → dimensions
        self.steps = []  # name, text, function of the environment
        self.unused = set()
        self.sample = self.environment(self.draw(self.random))
        while len(self.steps) < length:
            self.step()
        self.finish()

    def shape(self, dims):
        n, src, _ = self.graph
        return [{"n": n, "m": len(src), **SIZES}[d] for d in dims]

    def draw(self, random):
        return {name: random.uniform(-1, 1, self.shape(dims)) for name, dims in INPUTS.items()}

    def environment(self, inputs):
        n, src, dst = self.graph
        return {**inputs, "g.src": np.array(src, int), "g.dst": np.array(dst, int), "n": n}

    def run(self, inputs):
        env = self.environment(inputs)
        for name, _, function in self.steps:
            env[name] = function(env)
        return float(env["result"])

    @property
    def body(self):
        return "\n".join(f"  {text}" for _, text, _ in self.steps) + "\n  return result;"

    def pick(self, wanted=lambda dims: True):
        """A value, most often one of the last and of a graph; None if there is none."""
        names = [name for name, dims in self.values.items() if wanted(dims)]
        if not names:
            return None
        graph = [3.0 if {"n", "m"} & set(self.values[name]) else 1.0 for name in names]
        weights = np.arange(1, len(names) + 1) ** 1.5 * graph
        name = str(self.random.choice(names, p=weights / weights.sum()))
        self.unused.discard(name)
        return name

    def choose(self, table):
        keys = list(table)
        key = keys[self.random.integers(len(keys))]
        return key, table[key]

    def add(self, text, dims, function):
        """`text` is an expression. What has become large is made small again."""
        name = f"v{len(self.steps)}"
        value = function(self.sample)
        if np.size(value) and np.max(np.abs(value)) > 3:
            text, inner = f"tanh(0.3 * ({text}))", function
            function = lambda env: np.tanh(0.3 * inner(env))  # noqa: E731
            value = function(self.sample)
        assert np.all(np.isfinite(value)) and list(np.shape(value)) == self.shape(dims), text
        self.append(name, f"let {name} = {text};", function)
        self.values[name] = dims
        self.sample[name] = value

    def append(self, name, text, function):
        self.steps.append((name, text, function))
        self.unused.add(name)

    def step(self):
        kinds = [self.unary, self.binary, self.binary, self.gather, self.gather, self.segment, self.segment, self.softmax, self.product,
                 self.over, self.concat, self.transposed, self.loop, self.branch, self.mapped]
        kinds[self.random.integers(len(kinds))]()

    def unary(self):
        a = self.pick()
        template, function = self.choose(UNARY)
        self.add(template.format(a), self.values[a], lambda env: function(env[a]))

    def binary(self):
        a = self.pick()
        b = self.pick(lambda dims: fits(dims, self.values[a]))
        if self.random.random() < 0.3:
            a, b = b, a
        template, function = self.choose(BINARY)
        da, db = self.values[a], self.values[b]
        wide = max(da, db, key=len)
        self.add(template.format(a, b), wide, lambda env: function(*np.broadcast_arrays(aligned(env[a], da, wide), aligned(env[b], db, wide))))

    def end(self):
        return ("g.src", "g.dst")[self.random.integers(2)]

    def gather(self):
        a = self.pick(lambda dims: "n" in dims and "m" not in dims)
        if a is None:
            return
        end, axis = self.end(), self.values[a].index("n")
        dims = tuple("m" if d == "n" else d for d in self.values[a])
        self.add(f"{a}[{end}]", dims, lambda env: np.take(env[a], env[end], axis))

    def segment(self):
        a = self.pick(lambda dims: "m" in dims)
        end, axis = self.end(), self.values[a].index("m")
        template, function = self.choose(SEGMENT)
        dims = tuple("n" if d == "m" else d for d in self.values[a])
        self.add(template.format(a, end), dims,
                 lambda env: np.moveaxis(function(np.moveaxis(env[a], axis, 0), env[end], env["n"]), 0, axis))

    def softmax(self):
        a = self.pick(lambda dims: "m" in dims)
        end, axis = self.end(), self.values[a].index("m")
        self.add(f"softmax({a}, by={end})", self.values[a],
                 lambda env: np.moveaxis(softmax(np.moveaxis(env[a], axis, 0), env[end], env["n"]), 0, axis))

    def product(self):
        a = self.pick(lambda dims: dims and dims[-1] == "F" and "K" not in dims)
        if a is not None:
            self.add(f"{a} @ w", (*self.values[a][:-1], "K"), lambda env: env[a] @ env["w"])

    def over(self):
        a = self.pick(lambda dims: len(dims) > 1 and any(d in SIZES for d in dims))
        places = [k for k, d in enumerate(self.values[a]) if d in SIZES]
        axis = places[self.random.integers(len(places))]
        template, function = self.choose(OVER)
        dims = self.values[a]
        self.add(template.format(a, dims[axis]), dims[:axis] + dims[axis + 1 :], lambda env: function(env[a], axis))

    def concat(self):
        """Two values behind each other, and a part of that which overlaps both."""
        a = self.pick(lambda dims: dims and dims[-1] == "F")
        b = self.pick(lambda dims: dims == self.values[a])
        self.add(f"concat({a}, {b})[.., 1:F + 1][.., ::-1] * b", self.values[a],
                 lambda env: np.concatenate([env[a], env[b]], -1)[..., 1 : SIZES["F"] + 1][..., ::-1] * env["b"])

    def transposed(self):
        a = self.pick(lambda dims: len(dims) == 2)
        self.add(f"transpose({a})", self.values[a][::-1], lambda env: env[a].T)

    def loop(self):
        a = self.pick(lambda dims: len(dims) > 0)
        template, function = self.choose({"tanh({0} * {1} + s)": lambda x, y, s: np.tanh(x * y + s),
                                          "0.5 * {0} + sin({1} - {0})": lambda x, y, s: 0.5 * x + np.sin(y - x)})
        name, rounds = f"v{len(self.steps)}", int(self.random.integers(0, 4))

        def meaning(env):
            value = env[a]
            for _ in range(rounds):
                value = function(value, env[a], env["s"])
            return value

        text = f"var {name} = {a}; for _ in 0..{rounds} {{ {name} = {template.format(name, a)}; }}"
        self.append(name, text, meaning)
        self.values[name] = self.values[a]
        self.sample[name] = meaning(self.sample)

    def branch(self):
        a = self.pick()
        limit = round(float(self.random.uniform(-1, 1)), 1)
        self.add(f"if s > {limit} {{ sin({a}) }} else {{ {a} * s }}", self.values[a],
                 lambda env: np.sin(env[a]) if env["s"] > limit else env[a] * env["s"])

    def mapped(self):
        """A function of scalars, applied to a tensor, and a constant in the way of differentiation that is none."""
        a = self.pick()
        self.add(f"curve({a}, slope=s)", self.values[a], lambda env: env["s"] * env[a] / (1 + np.exp(-env[a])))

    def finish(self):
        """A number that depends on all that was made."""
        last = sorted(self.unused)
        text = " + ".join(f"sum(sin({v}))" for v in last) + " + 0.1 * sum(x * b) + 0.1 * sum(tanh(w)) * s + 0.1 * sum(e)"
        self.append("result", f"let result = {text};",
                    lambda env: sum(np.sum(np.sin(env[v])) for v in last) + 0.1 * np.sum(env["x"] * env["b"])
                    + 0.1 * np.sum(np.tanh(env["w"])) * env["s"] + 0.1 * np.sum(env["e"]))


HEAD = """
fn curve(x: real, slope: real) -> real { return slope * silu(x); }
"""
NAMES = ", ".join(INPUTS)
PARAMETERS = ", ".join(f"{name}: {written(dims)}" for name, dims in INPUTS.items())
TANGENTS = ", ".join(f"{name}_tan: {written(dims)}" for name, dims in INPUTS.items())
GRADIENTS = ", ".join(f"d{name}: {written(dims)}" for name, dims in INPUTS.items())
GENERICS = ", ".join(SIZES)


def source(programs):
    """The programs as one file: for program k the entries value_k, gradient_k (reverse), slope_k (forwards) and curvature_k, the
    gradient of the slope."""
    parts = [HEAD]
    for k, program in enumerate(programs):
        given = f"g: Graph, {PARAMETERS}"
        tangents = ", ".join(f"{name}_tan" for name in INPUTS)
        parts.append(f"""
fn f{k}[{GENERICS}]({given}) -> real {{
{program.body}
}}
export fn value_{k}[{GENERICS}]({given}) -> real {{ return f{k}[{GENERICS}](g, {NAMES}); }}
export fn gradient_{k}[{GENERICS}]({given}) -> (y: real, {GRADIENTS}) {{
  let (y, ({', '.join(f'd{name}' for name in INPUTS)})) = value_and_grad(f{k}, wrt=({NAMES}))[{GENERICS}](g, {NAMES});
  return (y, {', '.join(f'd{name}' for name in INPUTS)});
}}
fn along_{k}[{GENERICS}]({given}, {TANGENTS}) -> real {{
  let (_, push) = jvp(f{k}, wrt=({NAMES}))[{GENERICS}](g, {NAMES});
  return push({tangents});
}}
export fn slope_{k}[{GENERICS}]({given}, {TANGENTS}) -> real {{ return along_{k}[{GENERICS}](g, {NAMES}, {tangents}); }}
export fn curvature_{k}[{GENERICS}]({given}, {TANGENTS}) -> ({GRADIENTS}) {{
  return grad(along_{k}, wrt=({NAMES}))[{GENERICS}](g, {NAMES}, {tangents});
}}
""")
    return "\n".join(parts)
