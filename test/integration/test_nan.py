"""NaN in one message stays in its segment, forward and backward, whether kernels are fused or not."""

import numpy as np

import harness

PROGRAM = """fn attend[H, D](g: Graph, s: real[g.edges, H], v: real[g.nodes, H, D]) -> real[g.nodes, H, D] {
  return sum(softmax(s, by=g.dst) * v[g.src], by=g.dst);
}
export vjp attend;

fn logs[H](g: Graph, s: real[g.edges, H]) -> real[g.nodes, H] { return logsumexp(s, by=g.dst) + sum(log_softmax(s, by=g.dst) * s, by=g.dst); }
export vjp logs;

fn largest[F](g: Graph, e: real[g.edges, F], x: real[g.nodes, F]) -> real[g.nodes, F] { return max(e + x[g.src], by=g.dst); }
export vjp largest;

fn smallest[F](g: Graph, e: real[g.edges, F], x: real[g.nodes, F]) -> real[g.nodes, F] { return min(e - x[g.src], by=g.dst); }
export vjp smallest;

fn winners[F](g: Graph, x: real[g.nodes, F], y: real[g.nodes, F]) -> real[g.nodes, F] { return max(y[g.src] - x[g.dst], by=g.dst); }
export vjp winners;

fn means[F](g: Graph, e: real[g.edges, F], x: real[g.nodes, F]) -> real[g.nodes, F] { return mean(relu(e) * x[g.src], by=g.dst); }
export vjp means;
"""

SOURCES = np.array([0, 1, 2, 3, 4, 5, 0, 2, 4, 1, 3, 5, 5, 0], np.int32)
TARGETS = np.array([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 0, 1, 2], np.int32)
NODES, SPOILT = 7, 4  # edge 4 goes from node 4 to node 2; node 5 gets nothing, node 6 has no edges
# Function -> sizes, and the argument that has the NaN.
CASES = {
    "attend": ({"H": 3, "D": 8}, "s"),
    "logs": ({"H": 4}, "s"),
    "largest": ({"F": 40}, "e"),
    "smallest": ({"F": 5}, "e"),
    "winners": ({"F": 40}, "y"),
    "means": ({"F": 16}, "e"),
}


class Nan(harness.TestCase):
    def outcome(self, function, real, spoilt, *flags):
        sizes, where = CASES[function]
        (text,) = [block for block in PROGRAM.split("\n\n") if f"fn {function}[" in block]
        path = harness.work_folder() / f"nan_{function}.gnn"
        path.write_text(f"import nn;\n{text}\n")
        random = np.random.default_rng(4)
        known = {"nodes": NODES, "edges": len(SOURCES), **sizes}
        dtype = {"f32": np.float32, "f64": np.float64}[real]
        defines = [f"-D{name}={size}" for name, size in sizes.items()]
        with harness.runtime().context(threads=2) as context:
            model = context.model(harness.compiled(path, f"--real={real}", *defines, *flags))
            arguments = {"g": context.graph(NODES, SOURCES, TARGETS)}
            for name, shape in {"attend": {"s": "edges H", "v": "nodes H D"}, "logs": {"s": "edges H"},
                                "winners": {"x": "nodes F", "y": "nodes F"}}.get(function, {"e": "edges F", "x": "nodes F"}).items():
                arguments[name] = random.standard_normal([known[size] for size in shape.split()]).astype(dtype)
            if spoilt:
                arguments[where][SPOILT] = np.nan
            cotangent = random.standard_normal([known[s] for s in {"attend": "nodes H D", "logs": "nodes H"}.get(function, "nodes F").split()])
            values, gradients = model.value_and_vjp(context, function, arguments, {"out": cotangent.astype(dtype)})
        return {"value": values["out"], **gradients}

    def check(self, function, real):
        spoilt, plain = self.outcome(function, real, True), self.outcome(function, real, True, "--no-fuse")
        whole = self.outcome(function, real, False)
        # Where the NaN may go: the segments that it is in, their entries, and the sources of these.
        entries = np.flatnonzero(SOURCES == SPOILT) if function == "winners" else np.array([SPOILT])
        rows = np.unique(TARGETS[entries])
        inside = np.isin(TARGETS, rows)
        touched = {"nodes": np.union1d(rows, SOURCES[inside]), "edges": np.flatnonzero(inside)}
        for path, value in spoilt.items():
            np.testing.assert_array_equal(np.isnan(value), np.isnan(plain[path]), f"{path}: fused and not")
            close = harness.relative_error(np.nan_to_num(value), np.nan_to_num(plain[path]))
            self.assertLess(close, {"f32": 1e-5, "f64": 1e-12}[real], path)
            reach = rows if path == "value" else touched["edges" if len(value) == len(SOURCES) else "nodes"]
            outside = np.setdiff1d(np.arange(len(value)), reach)
            np.testing.assert_array_equal(value[outside], whole[path][outside], f"{path} outside of the segment")
        self.assertTrue(np.isnan(spoilt["value"][rows]).all())
        self.assertFalse(np.isnan(np.delete(spoilt["value"], rows, 0)).any())


harness.add_cases(Nan, [(f"{function} {real}", (function, real)) for function in CASES for real in ("f64", "f32")], Nan.check)
