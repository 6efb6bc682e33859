"""Models written from their papers (programs/papers.gnn): they compile, and `gnn-run gradcheck` agrees. And gnn-run on a batch of graphs."""

import numpy as np

import harness
import safetensors_io

SIZES = {
    "graph_mae": ["Hid=6", "H=2", "D=3", "F=4"],
    "u_net": ["F=4", "g.graphs=3"],
    "graph_transformer": ["In=4", "K=3", "H=2", "D=3"],
}


class Papers(harness.TestCase):
    def check(self, model):
        program = harness.compiled(harness.PROGRAMS / "papers.gnn", "--real=f64")
        sizes = [option for size in SIZES[model] for option in ("--size", size)]
        result = harness.run("gnn-run", "gradcheck", program, "--vjp", model, *sizes, "--random", "nodes=14,edges=40,isolated,loops,duplicates,hub")
        self.assertIn("agree with central differences", result.stdout)


harness.add_cases(Papers, [(model, (model,)) for model in SIZES], Papers.check)


class BatchFromFile(harness.TestCase):
    """The graph of each node is `g.batch` of the file, the number of graphs `g.num_graphs` of its metadata, or a size."""

    def setUp(self):
        self.program = harness.work_folder() / "readout.gnn"
        self.program.write_text("export fn readout(g: GraphBatch, x: real[g.nodes]) -> real[g.graphs] { return sum(x, by=g.batch); }\n")
        self.file = harness.work_folder() / "batch.safetensors"
        ends = {"g.src": np.array([0, 2], np.int32), "g.dst": np.array([1, 1], np.int32)}
        self.tensors = {**ends, "g.batch": np.array([0, 0, 2], np.int64), "x": np.array([1, 2, 4], np.float32)}

    def infer(self, *options, check=True):
        out = harness.work_folder() / "readout.safetensors"
        result = harness.run("gnn-run", "infer", harness.compiled(self.program), "--entry", "readout", "--data", self.file, *options, "-o", out, check=check)
        return result if result.returncode else safetensors_io.read(out)[0]["out"]

    def test_metadata(self):
        safetensors_io.write(self.file, self.tensors, {"g.num_nodes": 3, "g.num_graphs": 4})
        np.testing.assert_array_equal(self.infer(), [3, 0, 4, 0])

    def test_size(self):
        safetensors_io.write(self.file, self.tensors, {"g.num_nodes": 3})
        np.testing.assert_array_equal(self.infer("--size", "g.graphs=3"), [3, 0, 4])
        result = self.infer(check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("g.graphs", result.stderr)

    def test_too_few(self):
        safetensors_io.write(self.file, self.tensors, {"g.num_nodes": 3, "g.num_graphs": 2})
        result = self.infer(check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("`g.batch[2]` is 2, but must be at least 0 and below g.graphs, which is 2", result.stderr)
