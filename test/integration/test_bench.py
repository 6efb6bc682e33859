"""The benchmark: its graphs are what they say, and it runs. Nothing is timed."""

import os
import subprocess
import sys
import unittest

import harness
import numpy as np

BENCH = harness.SOURCE / "bench"
sys.path.insert(0, str(BENCH))

import graphs  # noqa: E402


class Graphs(unittest.TestCase):
    def test_sizes_and_skew(self):
        nodes, src, dst = graphs.make("arxiv")
        self.assertEqual((nodes, len(src), len(dst)), (169_343, 1_166_243, 1_166_243))
        self.assertAlmostEqual(np.bincount(dst).max(), 13_150, delta=1_000)
        self.assertAlmostEqual(np.bincount(src).max(), 440, delta=120)

    def test_the_same_every_time(self):
        for name in ("knn", "molecules", "even"):
            for first, second in zip(graphs.make(name)[1:], graphs.make(name)[1:]):
                np.testing.assert_array_equal(first, second)
        self.assertFalse(np.array_equal(graphs.make("knn", 0)[1], graphs.make("knn", 1)[1]))

    def test_ends_are_nodes(self):
        for name in ("knn", "molecules", "star", "star_t", "even"):
            nodes, src, dst = graphs.make(name)
            self.assertTrue(0 <= min(src.min(), dst.min()) and max(src.max(), dst.max()) < nodes, name)

    def test_molecules_are_trees_in_both_directions(self):
        nodes, src, dst = graphs.make("molecules")
        self.assertEqual(len(src), 2 * (nodes - 2048))
        self.assertEqual({*zip(src, dst)}, {*zip(dst, src)})

    def test_unknown_graph(self):
        with self.assertRaisesRegex(SystemExit, "unknown graph 'moon': it is one of arxiv"):
            graphs.make("moon")


# Python and the tools that it starts need different environments then.
not_sanitized = unittest.skipIf("LD_PRELOAD" in os.environ, "under a sanitizer these programs can't start the tools")


@not_sanitized
class Run(unittest.TestCase):
    def run_bench(self, *options):
        return subprocess.run(
            [sys.executable, BENCH / "run.py", "--build", harness.Settings.build, *options], capture_output=True, text=True
        )

    def test_table(self):
        result = self.run_bench("--layers", "spmm", "--graphs", "molecules", "--repeat", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\| molecules \| spmm \| \d+\.\d \| \d+\.\d ")

    def test_unknown_layer(self):
        result = self.run_bench("--layers", "gcnn")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown layer ['gcnn']", result.stderr)


class Rewrites(unittest.TestCase):
    @not_sanitized
    def test_table(self):
        result = subprocess.run(
            [sys.executable, BENCH / "rewrites.py", "--build", harness.Settings.build, "--rewrites", "rows", "--graph",
             "molecules", "--repeat", "1"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^\| `rows` \| gat \| molecules \| \d+\.\d \| \d+\.\d \| \d+\.\d\d \|$")

    def test_knows_every_rewrite(self):
        import rewrites

        result = harness.run("gnnc", "build", "none.gnn", "--disable-rewrite", "?", check=False)
        for name in rewrites.WHERE:
            self.assertIn(name, result.stderr)
