"""Every operator on edges, generated: copies, sums, differences, products, quotients and dot products of what the source (u), the target (v) and the edge
itself (e) carry, summed, averaged or extremal over a node's incoming edges, or kept for each edge, with each way of broadcasting.

Values and gradients agree with dense incidence matrices in numpy. The compiler's report says that each is one kernel over the edges, and
that neither it nor its value together with its gradients stores anything of the size of edges × features that is no result.
"""

import itertools
import math
import re

import numpy as np

import harness

OPERATORS = {
    "copy": lambda a: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "dot": lambda a, b: np.sum(a * b, axis=-1),
}
TEXT = {"copy": "{0}", "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "dot": "sum({0} * {1}, over=F)"}
PARTIALS = {  # of (a, b, cotangent), before what was broadcast is summed
    "copy": lambda a, y: (y,),
    "add": lambda a, b, y: (y, y),
    "sub": lambda a, b, y: (y, -y),
    "mul": lambda a, b, y: (b * y, a * y),
    "div": lambda a, b, y: (y / b, -a * y / b**2),
    "dot": lambda a, b, y: (b * y[..., None], a * y[..., None]),
}
REDUCTIONS = ("sum", "mean", "max", "min", "kept")
SIZES = {"H": 2, "F": 3}
# How the operands' features match: those of each of the two.
SHAPES = {"equal": ("F", "F"), "narrow": ("F", ""), "wide": ("", "F"), "heads": ("HF", "HF"), "narrow heads": ("HF", "H"), "plain": ("", "")}


def operands(operator):
    if operator == "copy":
        return [("u",), ("v",), ("e",)]
    ordered = operator in ("sub", "div")
    return list(itertools.permutations("uve", 2) if ordered else itertools.combinations("uve", 2))


def cases(shapes):
    """Name → operator, the two operands, reduction."""
    found = {}
    for operator, reduction in itertools.product(OPERATORS, REDUCTIONS):
        if operator == "copy" and shapes[0] == "" or operator == "dot" and (shapes[0] != shapes[1] or shapes[0] == ""):
            continue
        for ends in operands(operator):
            found["_".join([operator, *ends, reduction])] = operator, ends, reduction
    return found


def type_of(end, features):
    return f"real[{', '.join(['g.edges' if end == 'e' else 'g.nodes', *features])}]"


def widest(operator, shapes):
    return shapes[0][:-1] if operator == "dot" else max(shapes, key=len)


def program(shapes):
    """One entry for the value of each case, one for value and gradients together."""
    parts = []
    for name, (operator, ends, reduction) in cases(shapes).items():
        arguments = [f"{p}: {type_of(end, features)}" for p, end, features in zip("ab", ends, shapes)]
        message = TEXT[operator].format(*(p if end == "e" else f"{p}[g.{'src' if end == 'u' else 'dst'}]" for p, end in zip("ab", ends)))
        value = message if reduction == "kept" else f"{reduction}({message}, by=g.dst)"
        result = type_of("e" if reduction == "kept" else "v", widest(operator, shapes))
        used = [p for p in SIZES if any(p in features for features in shapes[: len(ends)])]
        dims = f"[{', '.join(used)}]" if used else ""
        listed = ", ".join("ab"[: len(ends)])
        wrt = listed if len(ends) == 1 else f"({listed})"
        gradients = ", ".join(argument.replace(": ", "_adj: ", 1) for argument in arguments)
        parts.append(f"""export fn {name}{dims}(g: Graph, {', '.join(arguments)}) -> {result} {{ return {value}; }}
export fn {name}_both{dims}(g: Graph, {', '.join(arguments)}, y_adj: {result}) -> (y: {result}, {gradients}) {{
  let (y, back) = vjp({name}, wrt={wrt})(g, {listed});
  {"let (da, db) = back(y_adj);" if len(ends) == 2 else "let da = back(y_adj);"}
  return (y, da{', db' if len(ends) == 2 else ''});
}}
""")
    return "\n".join(parts)


def spread(operand, features, whole):
    """With a dimension of size 1 where a feature is broadcast."""
    return operand.reshape(len(operand), *(SIZES[f] if f in features else 1 for f in whole))


class Kernels:
    """What the compiler's report says of one entry: the kernels over edges, the others, and the features of each value that is written for edges and
    is no result."""

    def __init__(self, lines):
        self.over_edges, self.others, self.stored = [], [], []
        by_edge = False
        for line in lines:
            if re.match(r"  (kernel|matrix product)", line):
                over_edges = "over g.edges" in line
                by_edge = over_edges and " by " not in line
                (self.over_edges if over_edges else self.others).append(line)
            unit = re.match(r" +per (edge|item) +writes .*?(?:\((\d+) features\))?(; .*)?$", line)
            if unit and (unit.group(1) == "edge" or by_edge) and unit.group(3) != "; returned":
                self.stored.append(int(unit.group(2) or 1))


def kernels(report):
    """Entry → its kernels."""
    blocks = re.split(r"^fusion of '(\w+)'", report, flags=re.M)
    return {name: Kernels(text.splitlines()) for name, text in zip(blocks[1::2], blocks[2::2])}


# Node 6 has no in-edges; node 0 has many; an edge stands twice, so extrema of sources tie; 3 has a self loop.
NODES, SRC, DST = 7, [1, 2, 3, 4, 5, 6, 0, 3, 2, 2, 5, 1], [0, 0, 0, 0, 0, 0, 2, 3, 4, 4, 1, 5]


class EdgeOperators(harness.TestCase):
    @classmethod
    def built(cls, kind):
        """The program of one way of broadcasting, compiled once, and the compiler's report."""
        cls.programs = vars(cls).get("programs", {})
        if kind not in cls.programs:
            folder = harness.work_folder()
            path = folder / f"edge_operators_{kind.replace(' ', '_')}.gnn"
            path.write_text(program(SHAPES[kind]))
            given = [f"-D{name}={size}" for name, size in SIZES.items() if name in "".join(SHAPES[kind])]
            built = harness.run("gnnc", "build", path, "-o", path.with_suffix(".so"), "--real=f64", *given, "--report", "fusion")
            cls.programs[kind] = path.with_suffix(".so"), kernels(built.stderr)
        return cls.programs[kind]

    def expected(self, operator, ends, reduction, shapes, given, cotangent):
        """Value and gradients, from dense incidence matrices."""
        source, target = (np.eye(NODES)[ids] for ids in (SRC, DST))
        maps = {"u": source, "v": target, "e": np.eye(len(SRC))}
        whole = max(shapes, key=len)
        parts = [np.tensordot(maps[end], spread(given[p], f, whole), 1) for p, end, f in zip("ab", ends, shapes)]
        message = OPERATORS[operator](*parts)
        y_adj = cotangent
        if reduction == "kept":
            y, of_message = message, y_adj
        elif reduction in ("sum", "mean"):
            degree = target.sum(axis=0) if reduction == "mean" else np.ones(NODES)
            weights = target / np.maximum(degree, 1)
            y, of_message = np.tensordot(weights.T, message, 1), np.tensordot(weights, y_adj, 1)
        else:
            mine = target.T.reshape(NODES, len(SRC), *[1] * (message.ndim - 1)) > 0
            sign = 1 if reduction == "max" else -1
            top = np.max(np.where(mine, sign * message, -np.inf), axis=1)
            y = np.where(np.isfinite(top), sign * top, 0)
            won = mine & (message == y[:, None])
            shares = won / np.maximum(won.sum(axis=1, keepdims=True), 1)
            of_message = np.sum(shares * y_adj[:, None], axis=0)
        gradients = {}
        for p, end, features, part in zip("ab", ends, shapes, PARTIALS[operator](*parts, of_message)):
            axes = tuple(k + 1 for k, f in enumerate(whole) if f not in features)
            gradients[f"{p}_adj"] = np.tensordot(maps[end].T, np.broadcast_to(part, (len(SRC), *(SIZES[f] for f in whole))).sum(axis=axes), 1)
        return y, gradients

    def check_kernels(self, value, both, operator, ends, reduction, features):
        # The sum of what the target carries is that times its degree, so nothing is left to do for edges.
        of_degree = operator == "copy" and ends == ("v",) and reduction in ("sum", "mean")
        self.assertEqual(len(value.over_edges), 0 if of_degree else 1)
        # What a mean divides by belongs to nodes, and has no features.
        if not of_degree and reduction != "mean":
            self.assertEqual(value.others, [])
        self.assertEqual([stored for stored in value.stored + both.stored if stored > 1 and stored >= features], [])

    def check(self, kind):
        path, report = self.built(kind)
        shapes = SHAPES[kind]
        rng = np.random.default_rng(7)
        with harness.runtime().context() as context:
            model = context.model(path)
            graph = context.graph(NODES, np.array(SRC, np.int32), np.array(DST, np.int32))
            for name, (operator, ends, reduction) in cases(shapes).items():
                with self.subTest(name):
                    count = lambda end: len(SRC) if end == "e" else NODES
                    draw = lambda n, features: rng.choice([-1, 1]) * rng.uniform(0.5, 2, (n, *(SIZES[f] for f in features)))
                    given = {p: draw(count(end), features) for p, end, features in zip("ab", ends, shapes)}
                    cotangent = draw(count("e" if reduction == "kept" else "v"), widest(operator, shapes))
                    y, gradients = self.expected(operator, ends, reduction, shapes, given, cotangent)
                    value = model.call(context, name, {"g": graph, **given})["out"]
                    both = model.call(context, f"{name}_both", {"g": graph, **given, "y_adj": cotangent})
                    self.assert_close(value, y, 1e-13, "value")
                    self.assert_close(both.pop("y"), y, 1e-13, "value with gradients")
                    self.assertEqual(set(both), set(gradients))
                    for of, gradient in gradients.items():
                        self.assert_close(both[of], gradient, 1e-13, of)
                    self.check_kernels(report[name], report[f"{name}_both"], operator, ends, reduction, math.prod(SIZES[f] for f in max(shapes, key=len)))


harness.add_cases(EdgeOperators, [(kind, (kind,)) for kind in SHAPES], EdgeOperators.check)
