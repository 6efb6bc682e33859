"""Kernels against plain numpy: every kind of access, reduction and size that the code generator treats differently.

The entries are written in the gnn dialect and compiled by gnnc-emit, so these tests need no front end."""

import itertools
import unittest

import numpy as np

import gnnrt
import harness

NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


def tensor(element, *dims):
    shape = "".join(f"{d}x" if isinstance(d, int) else "?x" for d in dims)
    return f"tensor<{shape}{element}, #gnn.dims<{', '.join(map(str, dims))}>>"


GRAPH = "!gnn.graph<s0 -> s0, s1>"
SETS = ["g.nodes", "g.edges", "F", "H", "g2.edges"]


class Entry:
    """Text of one entry: arguments, a body of lines, results."""

    def __init__(self, name):
        self.name, self.args, self.lines, self.results = name, [], [], []
        self.count = 0

    def arg(self, path, type, kind=None, mode=None, dtype=None, into=None):
        extra = f'gnn.path = "{path}"'
        for key, value in [("kind", kind), ("mode", mode), ("dtype", dtype)]:
            if value:
                extra += f', gnn.{key} = "{value}"'
        if into:
            extra += f", gnn.into = #gnn.size<{into}>"
        self.args.append(f"%{path}: {type} {{{extra}}}")
        return f"%{path}"

    def graph(self):
        self.arg("g", GRAPH)
        for end in ("src", "dst"):
            self.lines.append(f"%{end} = gnn.endpoint {end} %g nondiff : ({GRAPH}) -> {tensor('i32', 's1')}")

    def op(self, text, results=1):
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name}{f':{results}' if results > 1 else ''} = {text}")
        return name

    def returns(self, *results):
        self.results = results

    def text(self):
        names = ", ".join(f'"{s}"' for s in SETS)
        types = ", ".join(
            f'{type} {{gnn.path = "out{i}"{", gnn.inout = " + str(inout) if inout is not None else ""}}}'
            for i, (_, type, inout) in enumerate(self.results)
        )
        body = "\n  ".join(self.lines)
        values = ", ".join(v for v, _, _ in self.results)
        return_types = ", ".join(t for _, t, _ in self.results)
        return (
            f"func.func @{self.name}({', '.join(self.args)}) -> ({types})\n"
            f"    attributes {{gnn.entry, gnn.set_names = [{names}]}} {{\n  {body}\n"
            f"  return {values} : {return_types}\n}}\n"
        )


def feature_dims(width):
    return [] if width is None else [width]


def sum_entry(name, real, width, end, kind="sum"):
    """Features of the other end, reduced over a node's edges."""
    e = Entry(name)
    e.graph()
    x, m = tensor(real, "s0", *feature_dims(width)), tensor(real, "s1", *feature_dims(width))
    e.arg("x", x)
    index = tensor("i32", "s1")
    other = "src" if end == "dst" else "dst"
    gathered = e.op(f"gnn.gather %x[%{other}] dims [0] : ({x}, {index}) -> {m}")
    if kind in ("max", "min"):
        w = tensor("i32", "s0", *feature_dims(width))
        v = e.op(f"gnn.segment_reduce {kind} {gathered} by [%{end}] at 0 dims [0] : ({m}, {index}) -> ({x}, {w})", 2)
        e.returns((f"{v}#0", x, None), (f"{v}#1", w, None))
    else:
        v = e.op(f"gnn.segment_reduce {kind} {gathered} by [%{end}] at 0 dims [0] : ({m}, {index}) -> {x}")
        e.returns((v, x, None))
    return e


def reduce_entry(name, real, shape, dims, kind="sum"):
    e = Entry(name)
    x = tensor(real, *shape)
    e.arg("x", x)
    y = tensor(real, *[d for i, d in enumerate(shape) if i not in dims])
    v = e.op(f"gnn.reduce {kind} %x dims {dims} : ({x}) -> {y}")
    e.returns((v, y, None))
    return e


WIDTHS = [None, 1, 3, 8, 16, 40, 64, 100, "s2"]


def module():
    entries = []
    for real, width in itertools.product(("f32", "f64"), WIDTHS):
        tag = f"{real}_{'n' if width is None else width}"
        entries.append(sum_entry(f"in_{tag}", real, width, "dst"))
        entries.append(sum_entry(f"out_{tag}", real, width, "src"))
        entries.append(sum_entry(f"max_{tag}", real, width, "dst", "max"))
        entries.append(sum_entry(f"min_{tag}", real, width, "src", "min"))
        entries.append(reduce_entry(f"all_{tag}", real, ["s0", *feature_dims(width)], list(range(len(feature_dims(width)) + 1))))
        if width is not None:
            entries.append(reduce_entry(f"bias_{tag}", real, ["s0", width], [0]))
            entries.append(reduce_entry(f"row_{tag}", real, ["s0", width], [1]))
            entries.append(reduce_entry(f"rowmax_{tag}", real, ["s0", width], [1], "max"))
        # A plain gather, and elementwise code with a broadcast.
        e = Entry(f"map_{tag}")
        e.graph()
        x, m = tensor(real, "s0", *feature_dims(width)), tensor(real, "s1", *feature_dims(width))
        e.arg("x", x)
        w = tensor(real, "s1")
        e.arg("w", w)
        a = e.op(f"gnn.gather %x[%src] dims [0] : ({x}, {tensor('i32', 's1')}) -> {m}")
        b = e.op(f"gnn.broadcast %w dims [0] : ({w}) -> {m}")
        c = e.op(f"arith.mulf {a}, {b} : {m}")
        d = e.op(f"arith.addf {c}, {a} : {m}")
        e.returns((d, m, None))
        entries.append(e)
    for real, heads, depth in itertools.product(("f32", "f64"), (1, 4, "s3"), (1, 8, 24, "s2")):
        e = Entry(f"dot_{real}_{heads}_{depth}")
        h, a, s = tensor(real, "s0", heads, depth), tensor(real, heads, depth), tensor(real, "s0", heads)
        e.arg("h", h)
        e.arg("a", a)
        v = e.op(f"gnn.contract %h [0, 1, 2], %a [1, 2] -> [0, 1] : ({h}, {a}) -> {s}")
        e.returns((v, s, None))
        entries.append(e)
        e = Entry(f"dota_{real}_{heads}_{depth}")
        e.arg("h", h)
        e.arg("s", s)
        v = e.op(f"gnn.contract %h [0, 1, 2], %s [0, 1] -> [1, 2] : ({h}, {s}) -> {a}")
        e.returns((v, a, None))
        entries.append(e)
        # Weighted sum of messages with heads: gather twice, multiply, reduce.
        e = Entry(f"heads_{real}_{heads}_{depth}")
        e.graph()
        e.arg("h", h)
        alpha, m, i = tensor(real, "s1", heads), tensor(real, "s1", heads, depth), tensor("i32", "s1")
        e.arg("a", alpha)
        g = e.op(f"gnn.gather %h[%src] dims [0] : ({h}, {i}) -> {m}")
        p = e.op(f"gnn.broadcast %a dims [0, 1] : ({alpha}) -> {m}")
        q = e.op(f"arith.mulf {p}, {g} : {m}")
        v = e.op(f"gnn.segment_reduce sum {q} by [%dst] at 0 dims [0] : ({m}, {i}) -> {h}")
        e.returns((v, h, None))
        entries.append(e)
    for real in ("f32", "f64"):
        e = Entry(f"loops_{real}")
        e.graph()
        w, w2, i2 = tensor(real, "s1"), tensor(real, "s4"), tensor("i32", "s4")
        g2 = "!gnn.graph<s0 -> s0, s4>"
        e.arg("w", w)
        one = e.op(f"arith.constant dense<1.0> : {tensor(real)}")
        e.lines.append(f"%g2, %old = gnn.derive add_missing_self_loops of %g nondiff : ({GRAPH}) -> ({g2}, {i2})")
        a = e.op(f"gnn.gather %w[%old] dims [0] fill {one} : ({w}, {i2}, {tensor(real)}) -> {w2}")
        d2 = e.op(f"gnn.endpoint dst %g2 nondiff : ({g2}) -> {i2}")
        b = e.op(f"gnn.segment_reduce sum {a} by [{d2}] at 0 dims [0] : ({w2}, {i2}) -> {tensor(real, 's0')}")
        e.returns((b, tensor(real, "s0"), None))
        entries.append(e)

        e = Entry(f"uniform_{real}")
        x = tensor(real, "s0", "s2")
        e.arg("x", x)
        e.arg("key", tensor("i64"), kind="scalar", dtype="key")
        seven = e.op(f"arith.constant dense<7> : {tensor('i64')}")
        key = e.op(f"gnn.fold_key %key, {seven} : ({tensor('i64')}, {tensor('i64')}) -> {tensor('i64')}")
        u = e.op(f"gnn.uniform {key} nondiff : ({tensor('i64')}) -> {x}")
        e.returns((u, x, None))
        entries.append(e)

        e = Entry(f"gemm_{real}")
        x, y, z = tensor(real, "s0", "s2"), tensor(real, "s2", "s3"), tensor(real, "s0", "s3")
        e.arg("x", x)
        e.arg("y", y)
        v = e.op(f"gnn.contract %x [0, 1], %y [1, 2] -> [0, 2] : ({x}, {y}) -> {z}")
        u = e.op(f"gnn.contract %x [0, 1], {v} [0, 2] -> [1, 2] : ({x}, {z}) -> {y}")
        e.returns((v, z, None), (u, y, None))
        entries.append(e)

        e = Entry(f"cat_{real}")
        x, xx = tensor(real, "s0", "s2"), tensor(real, "s0", "2*s2")
        e.arg("x", x)
        c = e.op(f"gnn.concat %x, %x dim 1 : ({x}, {x}) -> {xx}")
        t = e.op(f"gnn.transpose {c} perm [1, 0] : ({xx}) -> {tensor(real, '2*s2', 's0')}")
        b = e.op(f"gnn.slice {c} dim 1 from #gnn.size<2*s2 - 1> step -1 : ({xx}) -> {xx}")
        e.returns((t, tensor(real, "2*s2", "s0"), None), (b, xx, None))
        entries.append(e)

        e = Entry(f"inout_{real}")
        x = tensor(real, "s0", "s2")
        e.arg("x", x, mode="inout")
        e.arg("lr", tensor(real), kind="scalar")
        b = e.op(f"gnn.broadcast %lr dims [] : ({tensor(real)}) -> {x}")
        y = e.op(f"arith.mulf %x, {b} : {x}")
        mask = e.op(f"arith.cmpf ogt, %x, {y} : {x}")
        m = tensor("i1", "s0", "s2")
        picked = e.op(f"arith.select {mask}, %x, {y} : {m}, {x}")
        e.returns((y, x, 0), (mask, m, None), (picked, x, None), ("%x", x, None))
        entries.append(e)

        e = Entry(f"argmax_{real}")
        x, i = tensor(real, "s0", "s2"), tensor("i32", "s0")
        e.arg("x", x)
        v = e.op(f"gnn.arg_reduce max %x dim 1 nondiff : ({x}) -> {i}")
        u = e.op(f"gnn.arg_reduce min %x dim 0 nondiff : ({x}) -> {tensor('i32', 's2')}")
        e.returns((v, i, None), (u, tensor("i32", "s2"), None))
        entries.append(e)
    return "\n".join(entry.text() for entry in entries)


def hub_graph(random, nodes, edges, hub):
    """Isolated nodes (the last ones), self loops, duplicates, and node 3 with `hub` in-edges and out-edges more."""
    src = random.integers(0, max(nodes - 5, 1), edges)
    dst = random.integers(0, max(nodes - 5, 1), edges)
    src = np.concatenate([src, random.integers(0, max(nodes - 5, 1), hub), np.full(hub, 3)])
    dst = np.concatenate([dst, np.full(hub, 3), random.integers(0, max(nodes - 5, 1), hub)])
    order = random.permutation(len(src))
    return src[order].astype(np.int32), dst[order].astype(np.int32)


def philox(key, counters, word):
    """Philox 4x32-10 (Salmon et al. 2011) with the counter in words 0 and 1."""
    mask = np.uint64(0xFFFFFFFF)
    c = [counters.astype(np.uint64) & mask, counters.astype(np.uint64) >> np.uint64(32)]
    c += [np.zeros_like(c[0]), np.zeros_like(c[0])]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k[0], p1 & mask, (p0 >> np.uint64(32)) ^ c[3] ^ k[1], p0 & mask]
        k = [np.uint64((int(k[0]) + 0x9E3779B9) & 0xFFFFFFFF), np.uint64((int(k[1]) + 0xBB67AE85) & 0xFFFFFFFF)]
    return c[word]


def fold(key, number):
    limit = (1 << 64) - 1
    z = (key + 0x9E3779B97F4A7C15 * (number + 1)) & limit
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & limit
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & limit
    return z ^ z >> 31


class Kernels(harness.TestCase):
    cpu = "native"

    @classmethod
    def setUpClass(cls):
        source = harness.work_folder() / "kernels.mlir"
        source.write_text(module())
        path = harness.work_folder() / f"libkernels_{cls.cpu}.so"
        harness.run("gnnc-emit", source, "-o", path, f"--cpu={cls.cpu}")
        cls.context = harness.runtime().context(threads=2)
        cls.model = cls.context.model(path)

    def call(self, name, arguments, outputs=None):
        return list(self.model.call(self.context, name, arguments, outputs).values())

    def close(self, value, reference, real, what):
        tolerance = 2e-5 if real == "f32" else 1e-13
        self.assert_close(value, reference, tolerance, what)

    def cases(self):
        for real, width in itertools.product(("f32", "f64"), WIDTHS):
            tag = f"{real}_{'n' if width is None else width}"
            for size in [None] if width is None else [width] if isinstance(width, int) else [0, 1, 5, 16, 17, 33, 48, 64, 70, 130]:
                yield real, tag, [] if size is None else [size]

    def graphs(self):
        random = np.random.default_rng(1)
        yield random, 60, *hub_graph(random, 60, 100, 9000)
        yield random, 40, *hub_graph(random, 40, 50, 0)
        yield random, 7, np.zeros(0, np.int32), np.zeros(0, np.int32)
        yield random, 0, np.zeros(0, np.int32), np.zeros(0, np.int32)

    def test_segment_sums(self):
        for random, nodes, src, dst in self.graphs():
            graph = self.context.graph(nodes, src, dst)
            for real, tag, shape in self.cases():
                x = random.standard_normal([nodes, *shape]).astype(NUMPY[real])
                for end, other, name in [(dst, src, "in"), (src, dst, "out")]:
                    expected = np.zeros([nodes, *shape])
                    np.add.at(expected, end, x.astype(np.float64)[other])
                    got = self.call(f"{name}_{tag}", {"g": graph, "x": x})[0]
                    self.close(got, expected, real, f"{name} {tag} {shape} {nodes}")

    def test_extrema(self):
        for random, nodes, src, dst in self.graphs():
            graph = self.context.graph(nodes, src, dst)
            for real, tag, shape in self.cases():
                x = random.integers(-3, 4, [nodes, *shape]).astype(NUMPY[real])
                if nodes > 10:
                    x[2] = np.nan
                    x[4] = -np.inf
                    x[6] = np.inf
                for end, other, name in [(dst, src, "max"), (src, dst, "min")]:
                    sign = 1 if name == "max" else -1
                    expected = np.zeros([nodes, *shape])
                    winner = np.full([nodes, *shape], -1, np.int32)
                    for node in range(nodes):
                        entries = np.flatnonzero(end == node)
                        if not len(entries):
                            continue
                        messages = sign * x[other[entries]]
                        best = messages.max(axis=0)  # NaN if there is one
                        expected[node] = sign * best
                        same = (messages == best) | (np.isnan(messages) & np.isnan(best))
                        winner[node] = entries[same.argmax(axis=0)]
                    got = self.call(f"{name}_{tag}", {"g": graph, "x": x})
                    np.testing.assert_array_equal(got[0], expected, f"{name} {tag} {shape}")
                    np.testing.assert_array_equal(got[1], winner, f"{name} {tag} {shape}")

    def test_maps(self):
        for random, nodes, src, dst in self.graphs():
            graph = self.context.graph(nodes, src, dst)
            for real, tag, shape in self.cases():
                x = random.standard_normal([nodes, *shape]).astype(NUMPY[real])
                w = random.standard_normal(len(src)).astype(NUMPY[real])
                m = x[src]
                expected = m * w.reshape([-1] + [1] * len(shape)) + m
                got = self.call(f"map_{tag}", {"g": graph, "x": x, "w": w})[0]
                self.close(got, expected, real, f"map {tag}")

    def test_reductions(self):
        random = np.random.default_rng(2)
        for real, tag, shape in self.cases():
            for nodes in (0, 1, 5, 33, 1000, 50000 if shape == [] or shape[0] <= 16 else 3000):
                x = random.standard_normal([nodes, *shape]).astype(NUMPY[real])
                wide = x.astype(np.float64)
                scale = np.abs(wide).sum() or 1.0
                got = self.call(f"all_{tag}", {"x": x})[0]
                self.assertLess(abs(got - wide.sum()) / scale, 1e-6 if real == "f32" else 1e-14, f"all {tag} {nodes}")
                if not shape:
                    continue
                got = self.call(f"bias_{tag}", {"x": x})[0]
                self.close(got, wide.sum(0), real, f"bias {tag} {nodes}")
                got = self.call(f"row_{tag}", {"x": x})[0]
                self.close(got, wide.sum(1), real, f"row {tag} {nodes}")
                got = self.call(f"rowmax_{tag}", {"x": x})[0]
                expected = x.max(1) if shape[0] else np.zeros(nodes)
                np.testing.assert_array_equal(got, expected)

    def test_long_sums_are_exact_enough(self):
        ones = np.ones(20_000_000, np.float32)
        self.assertEqual(self.call("all_f32_n", {"x": ones})[0], 20_000_000)

    def test_heads(self):
        for random, nodes, src, dst in self.graphs():
            graph = self.context.graph(nodes, src, dst)
            for real, heads, depth in itertools.product(("f32", "f64"), (1, 4, "s3"), (1, 8, 24, "s2")):
                h_size, d_size = (5 if heads == "s3" else heads), (19 if depth == "s2" else depth)
                h = random.standard_normal([nodes, h_size, d_size]).astype(NUMPY[real])
                a = random.standard_normal([h_size, d_size]).astype(NUMPY[real])
                s = random.standard_normal([nodes, h_size]).astype(NUMPY[real])
                tag = f"{real}_{heads}_{depth}"
                got = self.call(f"dot_{tag}", {"h": h, "a": a})[0]
                self.close(got, np.einsum("nhd,hd->nh", h.astype("f8"), a), real, f"dot {tag}")
                got = self.call(f"dota_{tag}", {"h": h, "s": s})[0]
                self.close(got, np.einsum("nhd,nh->hd", h.astype("f8"), s), real, f"dota {tag}")
                alpha = random.standard_normal([len(src), h_size]).astype(NUMPY[real])
                expected = np.zeros([nodes, h_size, d_size])
                np.add.at(expected, dst, h[src].astype("f8") * alpha[:, :, None])
                got = self.call(f"heads_{tag}", {"g": graph, "h": h, "a": alpha})[0]
                self.close(got, expected, real, f"heads {tag}")

    def test_self_loops(self):
        for random, nodes, src, dst in self.graphs():
            graph = self.context.graph(nodes, src, dst)
            for real in ("f32", "f64"):
                w = random.standard_normal(len(src)).astype(NUMPY[real])
                expected = np.ones(nodes)
                expected[src[src == dst]] = 0
                np.add.at(expected, dst, w.astype("f8"))
                self.close(self.call(f"loops_{real}", {"g": graph, "w": w})[0], expected, real, "self loops")

    def test_random_numbers(self):
        for real in ("f32", "f64"):
            for nodes, width in ((0, 3), (1, 1), (5, 7), (300, 40)):
                key = 0x123456789ABCDEF0
                x = np.zeros([nodes, width], NUMPY[real])
                got = self.call(f"uniform_{real}", {"x": x, "key": key})[0]
                counters = np.arange(nodes * width).reshape(nodes, width)
                folded = fold(key, 7)
                first = philox(folded, counters, 0)
                if real == "f32":
                    expected = (first >> np.uint64(8)).astype("f4") * np.float32(2**-24)
                else:
                    second = philox(folded, counters, 1)
                    expected = (first >> np.uint64(5)).astype("f8") * 2.0**-27 + (second >> np.uint64(6)).astype("f8") * 2.0**-53
                np.testing.assert_array_equal(got, expected)

    def test_products(self):
        random = np.random.default_rng(3)
        for real, (n, k, m) in itertools.product(("f32", "f64"), ((0, 3, 4), (1, 1, 1), (300, 17, 9), (5000, 64, 32))):
            x = random.standard_normal([n, k]).astype(NUMPY[real])
            y = random.standard_normal([k, m]).astype(NUMPY[real])
            got = self.call(f"gemm_{real}", {"x": x, "y": y})
            z = x.astype("f8") @ y.astype("f8")
            self.close(got[0], z, real, "product")
            self.close(got[1], x.astype("f8").T @ z, real, "transposed product")

    def test_shapes(self):
        random = np.random.default_rng(4)
        for real, nodes, width in itertools.product(("f32", "f64"), (0, 1, 37), (0, 1, 21)):
            x = random.standard_normal([nodes, width]).astype(NUMPY[real])
            both = np.concatenate([x, x], 1)
            got = self.call(f"cat_{real}", {"x": x})
            np.testing.assert_array_equal(got[0], both.T)
            np.testing.assert_array_equal(got[1], both[:, ::-1])

    def test_inout(self):
        random = np.random.default_rng(5)
        for real, nodes, width in itertools.product(("f32", "f64"), (0, 1, 37), (1, 21)):
            x = random.standard_normal([nodes, width]).astype(NUMPY[real])
            before = x.copy()
            got = self.call(f"inout_{real}", {"x": x, "lr": 0.5})
            after = before * NUMPY[real](0.5)
            np.testing.assert_array_equal(x, after)
            np.testing.assert_array_equal(got[0], before > after)
            np.testing.assert_array_equal(got[1], np.where(before > after, before, after))
            np.testing.assert_array_equal(got[2], before)

    def test_positions_of_extrema(self):
        random = np.random.default_rng(6)
        for real, nodes, width in itertools.product(("f32", "f64"), (1, 50, 6000), (1, 5, 16, 70)):
            x = random.integers(-4, 5, [nodes, width]).astype(NUMPY[real])
            if nodes > 10:
                x[3, width // 2] = np.nan
                x[5] = -np.inf
            got = self.call(f"argmax_{real}", {"x": x})
            np.testing.assert_array_equal(got[0], x.argmax(1))  # numpy, too, takes the first, and a NaN before all
            np.testing.assert_array_equal(got[1], x.argmin(0))

    def test_bits_do_not_depend_on_threads(self):
        random, nodes, src, dst = next(iter(self.graphs()))
        x = random.standard_normal([nodes, 40]).astype(np.float32)
        results = []
        for threads in (1, 2, 3):
            with harness.runtime().context(threads=threads) as context:
                graph = context.graph(nodes, src, dst)
                results.append([list(self.model.call(context, name, arguments).values())[0].tobytes() for name, arguments in
                                [("in_f32_40", {"g": graph, "x": x}), ("all_f32_40", {"x": x}), ("bias_f32_40", {"x": x})]])
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])


RESIDUALS = """
func.func @f_fwd(%x: tensor<?x?xf32, #gnn.dims<s0, s1>> {gnn.path = "x"})
    -> (tensor<?x?xf32, #gnn.dims<s0, 2*s1>> {gnn.path = "out"}, tensor<?x?xf32, #gnn.dims<s0, s1>> {gnn.residual = 0 : i64})
    attributes {gnn.entry, gnn.set_names = ["n", "F"],
                gnn.vjp = {of = "f", forward = "f_fwd", backward = "f_bwd", wrt = ["x"]}} {
  %y = arith.mulf %x, %x : tensor<?x?xf32, #gnn.dims<s0, s1>>
  %z = gnn.concat %y, %x dim 1 : (tensor<?x?xf32, #gnn.dims<s0, s1>>, tensor<?x?xf32, #gnn.dims<s0, s1>>) -> tensor<?x?xf32, #gnn.dims<s0, 2*s1>>
  return %z, %x : tensor<?x?xf32, #gnn.dims<s0, 2*s1>>, tensor<?x?xf32, #gnn.dims<s0, s1>>
}
func.func @f_bwd(%x: tensor<?x?xf32, #gnn.dims<s0, s1>> {gnn.residual = 0 : i64},
                 %out_adj: tensor<?x?xf32, #gnn.dims<s0, 2*s1>> {gnn.path = "out_adj"})
    -> (tensor<?x?xf32, #gnn.dims<s0, s1>> {gnn.path = "x_adj"})
    attributes {gnn.entry, gnn.set_names = ["n", "F"]} {
  %first = gnn.slice %out_adj dim 1 from <0> step 1 : (tensor<?x?xf32, #gnn.dims<s0, 2*s1>>) -> tensor<?x?xf32, #gnn.dims<s0, s1>>
  %second = gnn.slice %out_adj dim 1 from <s1> step 1 : (tensor<?x?xf32, #gnn.dims<s0, 2*s1>>) -> tensor<?x?xf32, #gnn.dims<s0, s1>>
  %a = arith.mulf %first, %x : tensor<?x?xf32, #gnn.dims<s0, s1>>
  %b = arith.addf %a, %a : tensor<?x?xf32, #gnn.dims<s0, s1>>
  %c = arith.addf %b, %second : tensor<?x?xf32, #gnn.dims<s0, s1>>
  return %c : tensor<?x?xf32, #gnn.dims<s0, s1>>
}
"""


class Residuals(harness.TestCase):
    """What an exported vjp keeps: a block that knows whose it is. F stands in no shape of the backward function alone."""

    def setUp(self):
        source = harness.work_folder() / "residuals.mlir"
        source.write_text(RESIDUALS)
        path = harness.work_folder() / "libresiduals.so"
        harness.run("gnnc-emit", source, "-o", path)
        self.context = harness.runtime().context(threads=1)
        self.model = self.context.model(path)

    def forward(self, x):
        return self.model.call(self.context, "f_fwd", {"x": x})

    def test_round(self):
        pair = self.model.vjps["f"]
        self.assertEqual((pair["forward"], pair["backward"], pair["wrt"]), ("f_fwd", "f_bwd", ["x"]))
        for nodes, width in ((0, 0), (0, 3), (1, 1), (40, 21)):
            x = np.random.default_rng(7).standard_normal([nodes, width]).astype(np.float32)
            results = self.forward(x)
            self.assertEqual(len(results["residuals"]), gnnrt.evaluate_size(pair["residual_bytes"], {"n": nodes, "F": width}))
            np.testing.assert_array_equal(results["out"], np.concatenate([x * x, x], 1))
            cotangent = np.random.default_rng(8).standard_normal([nodes, 2 * width]).astype(np.float32)
            gradient = np.zeros_like(x)
            self.model.call(self.context, "f_bwd", {"residuals": results["residuals"], "out_adj": cotangent}, {"x_adj": gradient})
            self.assert_close(gradient, 2 * cotangent[:, :width] * x + cotangent[:, width:], 1e-6, "gradient")

    def refused(self, residuals, cotangent, message):
        gradient = np.full([len(cotangent), 3], 7, np.float32)
        with self.assertRaisesRegex(gnnrt.Error, message):
            self.model.call(self.context, "f_bwd", {"residuals": residuals, "out_adj": cotangent}, {"x_adj": gradient})
        self.assertTrue((gradient == 7).all(), "an output was touched by a call that failed")

    def test_refused(self):
        residuals = self.forward(np.zeros([4, 3], np.float32))["residuals"]
        good = np.zeros([4, 6], np.float32)
        self.refused(np.zeros(100, np.uint8), good, "the residuals are not those of a call of the forward function")
        self.refused(residuals[:64], good, "the residuals are not those")
        self.refused(residuals[:8], good, "the residuals are not those")
        self.refused(residuals, np.zeros([5, 6], np.float32), "the residuals are not those")
        self.refused(residuals, np.zeros([4, 7], np.float32), "`out_adj` has the wrong size in dimension 1 .*: it must be 2\\*F")


class KernelsBaseline(Kernels):
    """The same without masks and wide vectors."""

    cpu = "x86-64"


class KernelsV3(Kernels):
    cpu = "x86-64-v3"


if __name__ == "__main__":
    unittest.main()
