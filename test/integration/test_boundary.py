"""What the C interface must refuse, each with its status and a message in the user's names; and what it must accept."""

import ctypes
import pathlib

import numpy as np

import gnnrt
import harness

NODES, IN, HIDDEN, OUT = 6, 4, 3, 2
SRC = np.array([0, 1, 2, 3, 3], np.int32)
DST = np.array([1, 2, 0, 0, 4], np.int32)


class Boundary(harness.TestCase):
    def setUp(self):
        self.context = harness.runtime().context()
        self.addCleanup(self.context.__exit__)
        self.model = self.context.model(harness.compiled(harness.SOURCE / "examples" / "karate" / "karate.gnn"))
        self.graph = self.context.graph(NODES, SRC, DST)
        rng = np.random.default_rng(1)
        sizes = {"g.nodes": NODES, "g.edges": len(SRC), "In": IN, "Hidden": HIDDEN, "Out": OUT}
        self.training = {"g": self.graph, **harness.training(self.model, sizes, rng, OUT)}
        self.prediction = {p: v for p, v in self.training.items() if p in ("g", "x") or p.startswith("p.")}

    def predict(self, outputs=None, **changes):
        arguments = {**self.prediction, **changes}
        return self.model.call(self.context, "predict", arguments, outputs)["faction"]

    def train(self, changes=None, outputs=None):
        return self.model.call(self.context, "train_step", {**self.training, **(changes or {})}, outputs)

    # ---- Accepted ----

    def test_any_offset(self):
        expected = self.predict()
        x = self.prediction["x"]
        memory = np.zeros(x.nbytes + 64, np.uint8)
        for offset in (4, 12):
            memory[offset : offset + x.nbytes] = np.frombuffer(x.tobytes(), np.uint8)
            moved = gnnrt.tensor(x, data=memory.ctypes.data, byte_offset=offset)
            np.testing.assert_array_equal(self.predict(x=moved), expected)

    def test_int64_indices(self):
        wide = {**self.training, "y": self.training["y"].astype(np.int64)}
        copies = [{p: v.copy() if isinstance(v, np.ndarray) else v for p, v in a.items()} for a in (self.training, wide)]
        losses = [self.model.call(self.context, "train_step", arguments)["loss"] for arguments in copies]
        self.assertEqual(losses[0].tobytes(), losses[1].tobytes())

    def test_int64_edges(self):
        graph = self.context.graph(NODES, SRC.astype(np.int64), DST.astype(np.int64))
        np.testing.assert_array_equal(self.predict(g=graph), self.predict())

    def test_no_edges(self):
        none = np.zeros(0, np.int32)
        self.assertEqual(self.predict(g=self.context.graph(NODES, none, none)).shape, (NODES,))

    def test_no_nodes(self):
        none = np.zeros(0, np.int32)
        result = self.predict(g=self.context.graph(0, none, none), x=np.zeros((0, IN), np.float32))
        self.assertEqual(result.shape, (0,))

    # ---- Tensors ----

    def test_wrong_type(self):
        self.assert_refused("dtype", r"\bx\b.*f32.*f64|\bx\b.*f64.*f32", lambda: self.predict(x=self.prediction["x"].astype(np.float64)))

    def test_wrong_type_of_parameter(self):
        wrong = {"p.first.w": self.training["p.first.w"].astype(np.int32)}
        self.assert_refused("dtype", r"p\.first\.w", lambda: self.train(wrong))

    def test_wrong_rank(self):
        self.assert_refused("shape", r"\bx\b", lambda: self.predict(x=np.zeros(NODES, np.float32)))

    def test_rows_are_not_nodes(self):
        self.assert_refused("shape", r"\bx\b.*g\.nodes", lambda: self.predict(x=np.zeros((NODES + 1, IN), np.float32)))

    def test_sizes_contradict(self):
        wrong = np.zeros((IN + 1, HIDDEN), np.float32)
        self.assert_refused("shape", r"\bIn\b", lambda: self.predict(**{"p.first.w": wrong}))

    def test_negative_size(self):
        broken = gnnrt.tensor(self.prediction["x"], shape=(-NODES, IN))
        self.assert_refused("argument", r"\bx\b.*-6", lambda: self.predict(x=broken))

    def test_transposed(self):
        x = np.asfortranarray(self.prediction["x"])
        self.assert_refused("stride", r"\bx\b.*(copy|contiguous)", lambda: self.predict(x=x))

    def test_every_second_row(self):
        x = np.zeros((2 * NODES, IN), np.float32)[::2]
        self.assert_refused("stride", r"\bx\b", lambda: self.predict(x=x))

    def test_other_device(self):
        x = gnnrt.tensor(self.prediction["x"], device_type=2)
        self.assert_refused("device", r"\bx\b", lambda: self.predict(x=x))

    def test_null_data(self):
        x = gnnrt.tensor(self.prediction["x"], data=None)
        self.assert_refused("argument", r"\bx\b", lambda: self.predict(x=x))

    def test_label_too_large(self):
        y = self.training["y"].copy()
        y[3] = OUT
        self.assert_refused("index", r"\by\b", lambda: self.train({"y": y}))

    def test_label_negative(self):
        y = self.training["y"].copy()
        y[2] = -1
        self.assert_refused("index", r"\by\b.*-1", lambda: self.train({"y": y}))

    # ---- Overlap; nothing is written when a call fails ----

    def test_output_is_input(self):
        x = self.prediction["x"]
        alias = gnnrt.tensor(np.zeros(NODES, np.int32), data=x.ctypes.data)
        alias.array = x
        before = x.tobytes()
        self.assert_refused("overlap", r"faction.*\bx\b|\bx\b.*faction", lambda: self.predict({"faction": alias}))
        self.assertEqual(x.tobytes(), before)

    def test_output_ends_in_input(self):
        w = self.prediction["p.first.w"]
        alias = gnnrt.tensor(np.zeros(NODES, np.int32), data=w.ctypes.data + w.nbytes - 4)
        alias.array = w
        self.assert_refused("overlap", r"faction", lambda: self.predict({"faction": alias}))

    def test_two_inouts_share_memory(self):
        self.assert_refused("overlap", r"opt\.", lambda: self.train({"opt.m.first.w": self.training["opt.v.first.w"]}))

    def test_inputs_may_share_memory(self):
        both = self.training["train"]
        evaluation = {**self.prediction, "y": self.training["y"], "test": both}
        self.assertTrue(np.isfinite(self.model.call(self.context, "evaluate", evaluation)["accuracy"]))

    def test_failure_writes_nothing(self):
        y = self.training["y"].copy()
        y[0] = 99
        loss = np.full((), 123.0, np.float32)
        before = {p: v.tobytes() for p, v in self.training.items() if isinstance(v, np.ndarray)}
        self.assert_refused("index", r"\by\b", lambda: self.train({"y": y}, {"loss": loss}))
        self.assertEqual(loss, 123.0)
        for path, value in before.items():
            self.assertEqual(self.training[path].tobytes(), value, path)

    # ---- Calls ----

    def raw_call(self, entry, values, count=None):
        lib = self.context.lib
        array = (gnnrt.Value * max(len(values), 1))(*values) if values is not None else None
        self.context.check(
            lib.gnnrt_model_call(self.context.handle, self.model.handle, entry, array, len(values) if count is None else count)
        )

    def test_unknown_entry(self):
        self.assert_refused("argument", r"fit.*train_step|train_step.*fit", lambda: self.raw_call(b"fit", []))

    def test_too_few_values(self):
        self.assert_refused("argument", r"predict", lambda: self.raw_call(b"predict", [gnnrt.Value()]))

    def test_null_values(self):
        spec = self.model.entries["predict"]
        count = len(spec["args"]) + len(spec["results"])
        self.assert_refused("argument", r"\bg\b", lambda: self.raw_call(b"predict", [gnnrt.Value()] * count))

    def test_null_array(self):
        spec = self.model.entries["predict"]
        count = len(spec["args"]) + len(spec["results"])
        self.assert_refused("argument", r".", lambda: self.raw_call(b"predict", None, count))

    def test_null_context(self):
        lib = self.context.lib
        self.assertNotEqual(lib.gnnrt_model_call(None, self.model.handle, b"predict", None, 0), 0)
        self.assertNotEqual(lib.gnnrt_model_open(None, b"x.so", ctypes.byref(ctypes.c_void_p())), 0)

    def test_message_is_that_of_the_last_failure(self):
        self.assertEqual(self.context.last_error(), "")
        with self.assertRaisesRegex(gnnrt.Error, r"\bx\b"):
            self.predict(x=np.zeros(NODES, np.float32))
        self.predict()
        with self.assertRaisesRegex(gnnrt.Error, r"p\.first\.b"):
            self.predict(**{"p.first.b": np.zeros(HIDDEN + 1, np.float32)})
        self.assertRegex(self.context.last_error(), r"p\.first\.b")

    # ---- Graphs ----

    def test_edge_out_of_range(self):
        bad = np.array([0, NODES], np.int32)
        self.assert_refused("index", rf"{NODES}", lambda: self.context.graph(NODES, bad, np.zeros(2, np.int32)))

    def test_edge_negative(self):
        bad = np.array([0, -3], np.int64)
        self.assert_refused("index", r"-3", lambda: self.context.graph(NODES, np.zeros(2, np.int64), bad))

    def test_edge_beyond_32_bits(self):
        bad = np.array([0, 2**32], np.int64)  # 0 if cut to 32 bits
        self.assert_refused("index", r"4294967296", lambda: self.context.graph(NODES, bad, np.zeros(2, np.int64)))

    def test_edge_lists_differ(self):
        self.assert_refused("shape", r"src.*dst", lambda: self.context.graph(NODES, SRC, DST[:-1]))

    def test_edges_of_floats(self):
        self.assert_refused("dtype", r"src", lambda: self.context.graph(NODES, SRC.astype(np.float32), DST))

    def test_negative_nodes(self):
        self.assert_refused("argument", r"-1", lambda: self.context.graph(-1, SRC, DST))

    def test_too_many_nodes(self):
        self.assert_refused("too_large", r".", lambda: self.context.graph(2**40, SRC, DST))

    def test_csr_falls(self):
        indptr = np.array([0, 3, 2, 5, 5, 5, 5], np.int64)
        self.assert_refused("index", r"indptr", lambda: self.context.graph_from_csr(NODES, indptr, SRC))

    # ---- Model files ----

    def test_missing_model(self):
        self.assert_refused("file", r"nowhere\.so", lambda: self.context.model("/tmp/nowhere.so"))

    def test_not_a_model(self):
        path = harness.work_folder() / "text.so"
        path.write_text("not an object\n")
        self.assert_refused("file", r"text\.so", lambda: self.context.model(path))

    def test_other_library(self):
        library = harness.Settings.build / "lib" / "libgnnrt.so"
        self.assert_refused("file", r"gnnc", lambda: self.context.model(library))

    def test_truncated_model(self):
        whole = pathlib.Path(harness.compiled(harness.SOURCE / "examples" / "karate" / "karate.gnn")).read_bytes()
        path = harness.work_folder() / "truncated.so"
        path.write_bytes(whole[:3000])
        self.assert_refused("file", r"truncated\.so", lambda: self.context.model(path))
