"""The tools on whole programs: failed builds leave what was there, files that cannot be used are refused, gradcheck."""

import json
import os
import pathlib
import stat
import subprocess
import unittest

import numpy as np

import harness
import oracle
import safetensors_io

KARATE = harness.SOURCE / "examples" / "karate" / "karate.gnn"


class Builds(harness.TestCase):
    def setUp(self):
        self.folder = harness.work_folder() / self._testMethodName
        self.folder.mkdir(exist_ok=True)

    def refused(self, *arguments):
        """A build that must fail, with a message and nothing else."""
        result = harness.run("gnnc", "build", *arguments, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("error", result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_failed_build_keeps_the_old_object(self):
        program, output = self.folder / "model.gnn", self.folder / "libmodel.so"
        program.write_text("export fn twice(x: real) -> real { return 2 * x; }\n")
        harness.run("gnnc", "build", program, "-o", output)
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        program.write_text("export fn twice(x: real) -> real { return 2 * y; }\n")
        self.refused(program, "-o", output)
        program.write_text("export fn twice(x: real) -> real { return 2 * x; }\n")
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.iterdir()}, before)
        with harness.runtime().context() as context:
            result = context.model(output).call(context, "twice", {"x": 21.0})
        self.assertEqual(result["out"], 42)

    def test_output_folder_is_missing(self):
        message = self.refused(KARATE, "-o", self.folder / "nowhere" / "lib.so")
        self.assertIn("nowhere", message)

    def test_output_is_a_folder(self):
        target = self.folder / "lib.so"
        target.mkdir(exist_ok=True)
        self.assertIn("lib.so", self.refused(KARATE, "-o", target))
        self.assertTrue(target.is_dir())

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_output_folder_is_read_only(self):
        closed = self.folder / "closed"
        closed.mkdir(exist_ok=True)
        closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
        self.addCleanup(closed.chmod, stat.S_IRWXU)
        self.assertIn("closed", self.refused(KARATE, "-o", closed / "lib.so"))

    def test_missing_program(self):
        self.assertIn("nothing.gnn", self.refused(self.folder / "nothing.gnn", "-o", self.folder / "lib.so"))

    def test_builds_are_reproducible(self):
        outputs = [self.folder / f"lib{k}.so" for k in range(2)]
        for output in outputs:
            harness.run("gnnc", "build", KARATE, "-o", output)
        # The objects differ in nothing but, at most, their own names.
        contents = [output.read_bytes().replace(output.name.encode(), b"libN.so") for output in outputs]
        self.assertEqual(*contents)


class Installation(harness.TestCase):
    def test_tools_run_where_they_are_installed(self):
        folder = harness.work_folder() / "installation"
        subprocess.run(["cmake", "--install", harness.Settings.build, "--prefix", folder], check=True, capture_output=True)
        for command in (["gnnc", "check", KARATE], ["gnn-run", "--version"]):
            result = subprocess.run([folder / "bin" / command[0], *command[1:]], capture_output=True, text=True,
                                    env=harness.tool_environment())
            self.assertEqual(result.returncode, 0, result.stderr)


class Data(harness.TestCase):
    """gnn-run with files that it must refuse, and say why."""

    def setUp(self):
        self.folder = harness.work_folder() / self._testMethodName
        self.folder.mkdir(exist_ok=True)
        self.good = self.folder / "good.safetensors"
        make = harness.SOURCE / "examples" / "karate" / "make_data.py"
        namespace = {"__name__": "make_data", "__file__": str(make)}
        exec(compile(make.read_text(), make, "exec"), namespace)
        namespace["main"](self.good)
        self.model = harness.compiled(KARATE, "-DHidden=16", "-DOut=2")

    def train(self, data, check=True):
        return harness.run(
            "gnn-run", "train", self.model, "--data", data, "--step", "train_step", "--eval", "evaluate",
            "--epochs", "3", "--seeds", "0", check=check,
        )  # fmt: skip

    def refused(self, data, pattern):
        result = self.train(data, check=False)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertRegex(result.stderr, pattern)

    def changed(self, **tensors):
        contents, metadata = safetensors_io.read(self.good)
        for name, value in tensors.items():
            name = name.replace("__", ".")
            if value is None:
                del contents[name]
            else:
                contents[name] = value
        path = self.folder / "changed.safetensors"
        safetensors_io.write(path, contents, metadata)
        return path

    def test_good(self):
        self.assertIn("loss", self.train(self.good).stdout)

    def test_missing(self):
        self.refused(self.folder / "nothing.safetensors", r"nothing\.safetensors")

    def test_truncated_header(self):
        path = self.folder / "short.safetensors"
        path.write_bytes(self.good.read_bytes()[:20])
        self.refused(path, r"short\.safetensors")

    def test_truncated_data(self):
        path = self.folder / "short.safetensors"
        path.write_bytes(self.good.read_bytes()[:-10])
        self.refused(path, r"short\.safetensors")

    def test_empty(self):
        path = self.folder / "empty.safetensors"
        path.write_bytes(b"")
        self.refused(path, r"empty\.safetensors")

    def test_header_is_no_json(self):
        path = self.folder / "damaged.safetensors"
        contents = bytearray(self.good.read_bytes())
        contents[8:12] = b"]]]]"
        path.write_bytes(contents)
        self.refused(path, r"damaged\.safetensors")

    def test_header_length_is_absurd(self):
        path = self.folder / "damaged.safetensors"
        path.write_bytes(b"\xff" * 8 + self.good.read_bytes()[8:])
        self.refused(path, r"damaged\.safetensors")

    def test_tensor_is_missing(self):
        self.refused(self.changed(y=None), r"\by\b")

    def test_edge_out_of_range(self):
        src = safetensors_io.read(self.good)[0]["g.src"]
        src[7] = 34
        self.refused(self.changed(g__src=src), r"34")

    def test_label_out_of_range(self):
        y = safetensors_io.read(self.good)[0]["y"]
        y[7] = 2
        self.refused(self.changed(y=y), r"\by\b")

    def test_mask_has_wrong_length(self):
        self.refused(self.changed(train=np.zeros(33, bool)), r"train")

    def test_features_are_integers(self):
        self.refused(self.changed(x=np.eye(34, dtype=np.int32)), r"\bx\b")


class Bench(harness.TestCase):
    """`gnn-run bench --profile`: the steps of a real model, by the lines that they come from."""

    def test_steps_have_names_and_lines(self):
        data, program = harness.work_folder() / "bench.safetensors", harness.work_folder() / "bench.gnn"
        program.write_text(
            "export fn layer[N, In, Out](x: real[N, In], w: real[In, Out]) -> real[N, Out] {\n"
            "  return tanh(x @ w);\n"
            "}\n"
        )
        safetensors_io.write(data, {"x": np.ones((50, 3)), "w": np.ones((3, 2))})
        result = harness.run("gnn-run", "bench", harness.compiled(program), "layer", "--data", data, "--repeat", "4",
                             "--profile", "--json", "-")
        records = json.loads(result.stdout)["profile"]
        self.assertTrue(records)
        for record in records:
            self.assertRegex(record["name"], r"^\S.* \(bench\.gnn:2\)$")
            self.assertEqual(record["calls"], 4)
        bytes_of = {record["name"].split(" (")[0]: (record["bytes_read"], record["bytes_written"]) for record in records}
        real = 4 * 4  # bytes, in four calls
        self.assertEqual(bytes_of, {"matrix product": ((50 * 3 + 3 * 2) * real, 50 * 2 * real), "tanh": (50 * 2 * real, 50 * 2 * real)})

    def test_bytes_of_edges(self):
        """A weighted sum over edges: for each edge its end, its place in the order, its weight and a row; bounds and result for each node."""
        program = harness.SOURCE / "bench" / "models" / "spmm.gnn"
        nodes, edges, features = 30, 90, 16
        rng = np.random.default_rng(0)
        data = harness.work_folder() / "edges.safetensors"
        safetensors_io.write(data, {"g.src": rng.integers(0, nodes, edges).astype(np.int32), "g.dst": rng.integers(0, nodes, edges).astype(np.int32),
                                    "w": np.ones(edges), "x": np.ones((nodes, features))}, {"g.num_nodes": nodes})
        for flags in ((), ("--no-fuse",)):
            result = harness.run("gnn-run", "bench", harness.compiled(program, f"-DF={features}", *flags), "forward", "--data", data,
                                 "--repeat", "1", "--profile", "--json", "-")
            records = json.loads(result.stdout)["profile"]
            last = next(record for record in records if record["name"].startswith("sum over edges (nn.gnn:"))
            row = 4 * features
            self.assertEqual(last["bytes_written"], nodes * row)
            self.assertEqual(last["bytes_read"], nodes * 8 + edges * ((4 + row) if flags else (4 + 4 + 4 + row)))

    def test_bytes_of_rows_that_stay_in_a_group(self):
        """Two passes over the edges; the sum that the second one needs is never written to memory, nor read from there."""
        program, data = harness.work_folder() / "deviations.gnn", harness.work_folder() / "deviations.safetensors"
        program.write_text(
            "export fn squares[F](g: Graph, x: real[g.nodes, F]) -> real[g.nodes, F] {\n"
            "  let d = x[g.src] - sum(x[g.src], by=g.dst)[g.dst];\n"
            "  return sum(d * d, by=g.dst);\n"
            "}\n"
        )
        nodes, edges, features = 30, 90, 16
        rng = np.random.default_rng(0)
        ends = {end: rng.integers(0, nodes, edges).astype(np.int32) for end in ("g.src", "g.dst")}
        safetensors_io.write(data, {**ends, "x": np.ones((nodes, features))}, {"g.num_nodes": nodes})
        result = harness.run("gnn-run", "bench", harness.compiled(program, f"-DF={features}"), "squares", "--data", data,
                             "--repeat", "1", "--profile", "--json", "-")
        (record,) = json.loads(result.stdout)["profile"]
        row = 4 * features
        self.assertEqual(record["bytes_written"], nodes * row)
        self.assertEqual(record["bytes_read"], nodes * 8 + 2 * edges * (4 + row))


class FullDisk(harness.TestCase):
    """A disk that is full is named as the reason, and nothing half-written is left."""

    def test_linking(self):
        program, folder = harness.work_folder() / "full.gnn", harness.work_folder() / "full"
        program.write_text("export fn f[N](x: real[N]) -> real[N] { return exp(x) + sin(x); }\n")
        folder.mkdir(exist_ok=True)
        script = 'mount -t tmpfs -o size=4k none "$1" || exit 77; "$2" build "$3" -o "$1/libfull.so"; status=$?; ls "$1"; exit $status'
        result = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", folder, harness.Settings.build / "bin" / "gnnc", program],
            capture_output=True, text=True, env=harness.tool_environment())
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest("needs the right to mount a small disk")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"^gnnc: error: can't write [^\n]*: No space left on device\n$")
        self.assertEqual(result.stdout, "")


class GradCheck(harness.TestCase):
    """`gnn-run gradcheck` in f64: every layer, with respect to all its floating-point arguments."""

    def check(self, layer, graph_name):
        rng = np.random.default_rng(3)
        n, src, dst = graph = oracle.graphs(rng)[graph_name]
        tensors = {"g.src": np.array(src, np.int32), "g.dst": np.array(dst, np.int32)}
        tensors |= oracle.arguments(layer, graph, rng)
        data = harness.work_folder() / f"gradcheck-{layer}-{graph_name.replace(' ', '-')}.safetensors"
        safetensors_io.write(data, tensors, {"g.num_nodes": n})
        model = harness.compiled(harness.PROGRAMS / "layers.gnn", "--real=f64")
        harness.run("gnn-run", "gradcheck", model, "--data", data, "--vjp", layer, "--tolerance", "1e-6")


harness.add_cases(
    GradCheck,
    [(f"{layer} on {graph}", (layer, graph)) for layer in oracle.LAYERS for graph in ("awkward", "no edges")],
    GradCheck.check,
)
