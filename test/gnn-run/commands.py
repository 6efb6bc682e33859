"""What the commands of gnn-run do, with numbers that are known."""

import json
import math
import os
import pty
import re
import signal
import subprocess

from support import Settings, TestCase, decode, encode, main, regression

MASK = 2**64 - 1


def fold(k, i):
    """LANGUAGE's fold, written independently."""
    z = (k + 0x9E3779B97F4A7C15 * (i + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Train(TestCase):
    def result(self, *arguments, **options):
        self.train("--json", "result.json", *arguments, **options)
        return json.loads(self.path("result.json").read_text())

    def test_learns(self):
        result = self.result("--eval", "evaluate", "--epochs", "400")
        scalars = result["runs"][0]["scalars"]
        self.assertLess(scalars["evaluate.loss"], 1e-6)
        self.assertAlmostEqual(scalars["closeness"], 1 / (1 + scalars["evaluate.loss"]))
        self.assertEqual(result["runs"][0]["epoch"], 400)
        self.assertGreater(result["seconds_per_epoch"], 0)

    def test_real_types_convert(self):
        """The data is F64, the model f32."""
        result = self.train("--epochs", "5", "--verbose", real="f32")
        self.assertIn("x in data.safetensors is converted from F64 to F32", result.stderr)

    def test_key_is_folded_from_seed_and_epoch(self):
        for seed, epochs in ((0, 1), (7, 3)):
            scalars = self.result("--seed", str(seed), "--epochs", str(epochs))["runs"][0]["scalars"]
            self.assertEqual(scalars["noise"], (fold(fold(0, seed), epochs) >> 40) * 2.0**-24)

    def test_set_and_default(self):
        still = self.result("--set", "lr=0", "--epochs", "3", "--checkpoint", "c.safetensors")["runs"][0]["scalars"]["loss"]
        first = self.result("--epochs", "1")["runs"][0]["scalars"]["loss"]
        self.assertEqual(still, first)

    def test_checkpoint(self):
        self.train("--seed", "3", "--epochs", "7", "--checkpoint", "c.safetensors")
        tensors, metadata = decode(self.path("c.safetensors"))
        self.assertEqual(sorted(tensors), ["opt.step", "p.b", "p.w"])
        self.assertEqual(tensors["opt.step"], ("I64", [], [7]))
        self.assertEqual(tensors["p.w"][:2], ("F64", [3, 2]))
        self.assertEqual((metadata["seed"], metadata["epoch"], metadata["entry"]), ("3", "7", "train_step"))
        self.assertIn("scalar.loss", metadata)
        self.assertEqual([path.name for path in self.folder.glob("*.tmp*")], [])

    def test_glorot(self):
        self.train("--set", "lr=0", "--epochs", "1", "--checkpoint", "c.safetensors")
        tensors, _ = decode(self.path("c.safetensors"))
        limit = math.sqrt(6 / (3 + 2))
        self.assertTrue(all(abs(value) < limit for value in tensors["p.w"][2]))
        self.assertEqual(len(set(tensors["p.w"][2])), 6)
        self.assertEqual(tensors["p.b"][2], [0, 0])

    def test_seed_decides(self):
        runs = [self.result("--seed", seed, "--epochs", "2")["runs"][0]["scalars"] for seed in ("1", "1", "2")]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_resume_goes_on_as_if_never_stopped(self):
        self.train("--seed", "5", "--epochs", "10", "--checkpoint", "whole.safetensors")
        self.train("--seed", "5", "--epochs", "4", "--checkpoint", "part.safetensors")
        self.train("--epochs", "10", "--resume", "part.safetensors", "--checkpoint", "rest.safetensors")
        self.assertEqual(decode(self.path("whole.safetensors")), decode(self.path("rest.safetensors")))

    def test_seeds(self):
        result = self.result("--seeds", "0..3", "--epochs", "3", "--checkpoint", "c.safetensors")
        losses = [run["scalars"]["loss"] for run in result["runs"]]
        mean = sum(losses) / 4
        self.assertAlmostEqual(result["mean"]["loss"], mean, 12)
        self.assertAlmostEqual(result["std"]["loss"], math.sqrt(sum((x - mean) ** 2 for x in losses) / 3), 12)
        self.assertEqual([run["seed"] for run in result["runs"]], [0, 1, 2, 3])
        self.assertEqual(sorted(path.name for path in self.folder.glob("c.*")), [f"c.seed{k}.safetensors" for k in range(4)])

    def test_one_seed_has_no_deviation(self):
        self.assertIsNone(self.result("--epochs", "1")["std"]["loss"])

    def test_stop_keeps_the_best_epoch(self):
        """A much too large step makes the loss grow, so the first epoch is the best one."""
        run = self.result(
            "--set", "lr=3", "--epochs", "50", "--eval", "evaluate", "--stop", "evaluate.loss", "--patience", "5",
            "--checkpoint", "c.safetensors",
        )["runs"][0]  # fmt: skip
        self.assertEqual((run["epoch"], run["last_epoch"], run["stopped_early"]), (1, 6, True))
        tensors, metadata = decode(self.path("c.safetensors"))
        self.assertEqual(tensors["opt.step"][2], [1])
        self.assertEqual(metadata["epoch"], "1")

    def test_mode_max(self):
        run = self.result("--epochs", "20", "--eval", "evaluate", "--stop", "closeness", "--mode", "max")["runs"][0]
        self.assertEqual((run["epoch"], run["stopped_early"]), (20, False))

    def test_log_in_a_pipe_is_plain(self):
        result = self.train("--epochs", "20", "--log-every", "10", "--report", "loss")
        lines = result.stdout.splitlines()
        self.assertEqual([line.split("  ")[0] for line in lines[:3]], ["epoch 1/20", "epoch 10/20", "epoch 20/20"])
        self.assertTrue(lines[3].startswith("seed 0: trained 20 epochs, kept epoch 20: loss "))
        self.assertNotIn("\x1b", result.stdout)
        self.assertNotIn("\r", result.stdout)

    def test_quiet_says_the_result_only(self):
        self.assertEqual(len(self.train("--epochs", "20", "--quiet").stdout.splitlines()), 1)

    def test_json_on_standard_output(self):
        result = self.train("--epochs", "2", "--json", "-")
        self.assertEqual(json.loads(result.stdout)["epochs"], 2)
        self.assertIn("epoch 2/2", result.stderr)

    def test_terminal_has_a_live_line(self):
        try:
            parent, child = pty.openpty()
        except OSError as error:  # a chroot without /dev/pts
            self.skipTest(str(error))
        arguments = [Settings.tool, "train", self.model(), "--data", self.data, "--step", "train_step", "--epochs", "3"]
        process = subprocess.Popen(list(map(str, arguments)), stdout=child, stderr=child)
        os.close(child)
        text = b""
        try:
            while chunk := os.read(parent, 4096):
                text += chunk
        except OSError:  # the other end was closed
            pass
        self.assertEqual(process.wait(), 0)
        os.close(parent)
        self.assertIn(b"\repoch 1/3", text)
        self.assertIn(b"ETA 0:0", text)
        self.assertTrue(text.splitlines()[-1].startswith(b"\x1b[Kseed 0: trained 3 epochs"), text)

    def test_interrupt_writes_the_result(self):
        arguments = [Settings.tool, "train", self.model(), "--data", self.data, "--step", "train_step", "--epochs", "100000000",
                     "--log-every", "1000", "--checkpoint", "c.safetensors", "--json", "r.json"]  # fmt: skip
        process = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertIn("epoch 1/", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted after", output)
        result = json.loads(self.path("r.json").read_text())
        self.assertTrue(result["interrupted"])
        _, metadata = decode(self.path("c.safetensors"))
        self.assertEqual(metadata["epoch"], str(result["runs"][0]["epoch"]))

    def test_rename(self):
        tensors = regression()
        tensors["train_mask"] = tensors.pop("train")
        data = self.write("renamed.safetensors", encode(tensors))
        self.train("--epochs", "1", "--rename", "train=train_mask", data=data)

    def test_fill(self):
        tensors = regression()
        del tensors["train"]
        data = self.write("short.safetensors", encode(tensors))
        self.train("--epochs", "1", "--fill", "train=true", data=data)

    def test_two_data_files(self):
        tensors = regression()
        y = {"y": tensors.pop("y")}
        first, second = self.write("a.safetensors", encode(tensors)), self.write("b.safetensors", encode(y))
        self.train("--epochs", "1", "--data", second, data=first)

    def test_csr_becomes_dense(self):
        tensors = {
            "x.indptr": ("I32", [4], [0, 2, 2, 3]),
            "x.indices": ("I32", [3], [2, 0, 1]),
            "x.values": ("F32", [3], [3, 1, 2]),
            "y": ("F64", [3, 1], [0, 0, 0]),
            "train": ("U8", [3], [1, 1, 1]),
        }
        sparse = self.write("sparse.safetensors", encode(tensors, {"x.shape": "3, 3"}))
        for name in ("x.indptr", "x.indices", "x.values"):
            del tensors[name]
        tensors["x"] = ("F64", [3, 3], [1, 0, 3, 0, 0, 0, 0, 2, 0])
        dense = self.write("dense.safetensors", encode(tensors))
        results = [self.result("--epochs", "3", data=data)["runs"][0]["scalars"] for data in (sparse, dense)]
        self.assertEqual(*results)


class Infer(TestCase):
    def setUp(self):
        super().setUp()
        parameters = {"p.w": ("F64", [2, 2], [1, 2, 3, 4]), "p.b": ("F64", [2], [10, 0])}
        self.parameters = self.write("p.safetensors", encode(parameters))
        self.inputs = self.write("x.safetensors", encode({"x": ("F64", [3, 2], [0, 0, 1, 0, 5, 5])}))

    def test_results(self):
        for real, dtype in (("f64", "F64"), ("f32", "F32")):
            result = self.run_tool(
                "infer", "--entry", "predict", "--data", self.inputs, "--checkpoint", self.parameters, "-o", "out.safetensors",
                real=real,
            )  # fmt: skip
            tensors, metadata = decode(self.path("out.safetensors"))
            self.assertEqual(tensors["out"], (dtype, [3, 2], [10, 0, 11, 2, 30, 30]))
            self.assertEqual(tensors["best"], ("I32", [3], [0, 0, 0]))
            self.assertEqual(metadata["entry"], "predict")
            self.assertIn(f"out: {dtype} [3, 2]", result.stdout)

    def test_scalars_as_json(self):
        data = self.write("xy.safetensors", encode({"x": ("F64", [1, 2], [0, 0]), "y": ("F64", [1, 2], [10, 2])}))
        result = self.run_tool("infer", "--entry", "evaluate", "--data", data, "--params", self.parameters, "--json", "-")
        self.assertEqual(json.loads(result.stdout)["results"]["loss"]["value"], 2)

    def test_size(self):
        self.run_tool("infer", "--entry", "count", "--size", "n=4", "-o", "out.safetensors")
        self.assertEqual(decode(self.path("out.safetensors"))[0]["out"], ("I64", [4], [0, 1, 2, 3]))

    def test_size_from_metadata(self):
        data = self.write("meta.safetensors", encode({}, {"classes": "5"}))
        self.run_tool("infer", "--entry", "count", "--data", data, "--size", "n=classes", "-o", "out.safetensors")
        self.assertEqual(decode(self.path("out.safetensors"))[0]["out"][1], [5])

    def test_empty_tensors(self):
        data = self.write("none.safetensors", encode({"x": ("F64", [0, 2], [])}))
        self.run_tool("infer", "--entry", "predict", "--data", data, "--checkpoint", self.parameters, "-o", "out.safetensors")
        self.assertEqual(decode(self.path("out.safetensors"))[0]["out"], ("F64", [0, 2], []))

    def test_into_a_device(self):
        self.run_tool("infer", "--entry", "count", "--size", "n=4", "-o", "/dev/null")

    def test_link_stays_a_link(self):
        target = self.write("real.safetensors", "old")
        self.path("link.safetensors").symlink_to(target)
        self.run_tool("infer", "--entry", "count", "--size", "n=1", "-o", "link.safetensors")
        self.assertTrue(self.path("link.safetensors").is_symlink())
        self.assertEqual(decode(target)[0]["out"][1], [1])


class Bench(TestCase):
    def setUp(self):
        super().setUp()
        parameters = {"p.w": ("F64", [3, 2], [1, 2, 3, 4, 5, 6]), "p.b": ("F64", [2], [0.5, -0.5])}
        self.parameters = self.write("p.safetensors", encode(parameters))

    def bench(self, *arguments):
        return self.run_tool("bench", "predict", "--data", self.data, "--checkpoint", self.parameters, *arguments)

    def result(self, *arguments):
        self.bench("--json", "result.json", *arguments)
        return json.loads(self.path("result.json").read_text())

    def test_says_median_and_least(self):
        lines = self.bench("--repeat", "4", "--threads", "1").stdout.splitlines()
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"^predict: median [\d.]+ (us|ms|s), least [\d.]+ (us|ms|s) of 4 calls on 1 thread$")

    def test_json(self):
        result = self.result("--repeat", "5", "--warmup", "0", "--threads", "2")
        self.assertEqual((result["entry"], result["repeat"], result["warmup"], result["threads"]), ("predict", 5, 0, 2))
        self.assertEqual(result["median_seconds"], sorted(result["seconds"])[2])
        self.assertEqual(result["min_seconds"], min(result["seconds"]))
        self.assertNotIn("profile", result)
        self.assertEqual(json.loads(self.bench("--json", "-").stdout)["entry"], "predict")

    def test_median_of_an_even_number(self):
        result = self.result("--repeat", "2")
        self.assertAlmostEqual(result["median_seconds"], sum(result["seconds"]) / 2, 15)

    def test_profile(self):
        result = self.result("--repeat", "6", "--profile")
        records = {record["name"]: record for record in result["profile"]}
        self.assertEqual(sorted(records), ["argmax (fake.gnn:8)", "linear (fake.gnn:7)"])
        self.assertEqual([record["calls"] for record in records.values()], [6, 6])
        linear = records["linear (fake.gnn:7)"]
        self.assertEqual((linear["bytes_read"], linear["bytes_written"]), (6000, 144))
        self.assertAlmostEqual(linear["bytes_per_second"] * linear["seconds"], 6144, 6)
        seconds = [record["seconds"] for record in result["profile"]]
        self.assertEqual(seconds, sorted(seconds, reverse=True))
        self.assertAlmostEqual(sum(seconds) + result["outside_seconds"], sum(result["seconds"]), 12)
        self.assertLess(sum(record["share"] for record in result["profile"]), 1)

    def test_table(self):
        lines = self.bench("--repeat", "6", "--profile").stdout.splitlines()
        self.assertEqual(lines[1].split(), ["calls", "total", "each", "run", "share", "reads", "writes", "GB/s", "step"])
        steps = sorted(re.split("% +", line)[1] for line in lines[2:4])
        self.assertRegex(steps[0], r"^0 B +8 B +\d+\.\d  argmax \(fake\.gnn:8\)$")
        self.assertRegex(steps[1], r"^1\.0 kB +24 B +\d+\.\d  linear \(fake\.gnn:7\)$")
        self.assertRegex(lines[2], r"^ +6 ")
        self.assertRegex(lines[4], r"% +the call itself$")

    def test_an_entry_without_steps(self):
        result = self.run_tool("bench", "--entry", "count", "--size", "n=3", "--profile", "--json", "-")
        self.assertEqual(json.loads(result.stdout)["profile"], [])

    def test_parameters_come_from_their_initialisers(self):
        self.run_tool("bench", "train_step", "--data", self.data, "--repeat", "1")

    def test_inout_values_go_on(self):
        """The third step fails, which is after two calls."""
        parameters = {"opt.step": ("I64", [], [1]), "p.w": ("F64", [3, 2], [0] * 6), "p.b": ("F64", [2], [0, 0])}
        data = self.write("s.safetensors", encode(parameters))
        arguments = ("train_step", "--data", self.data, "--checkpoint", data, "--set", "fail_at=3", "--warmup", "0")
        self.run_tool("bench", *arguments, "--repeat", "2")
        self.refused(self.run_tool("bench", *arguments, "--repeat", "3", status=1), "the step was told to fail here")


class Gradients(TestCase):
    AWKWARD = "nodes=20,edges=60,isolated,loops,duplicates,hub"

    def check(self, *arguments, entry="layer", **options):
        return self.run_tool("gradcheck", "--entry", entry, *arguments, **options)

    def test_right_gradients(self):
        for graph in (self.AWKWARD, "nodes=9,edges=0", "nodes=2,edges=2", "nodes=0,edges=0"):
            result = self.check("--random", graph, "--size", "F=5", "--size", "O=3")
            self.assertIn("all 5 gradients agree", result.stdout)

    def test_lost_gradient(self):
        result = self.check("--random", self.AWKWARD, "--size", "F=5", "--size", "O=3", "--json", "r.json", entry="lossy", status=1)
        self.assertIn("1 of 5 gradients differ", result.stdout)
        rows = json.loads(self.path("r.json").read_text())["gradients"]
        self.assertEqual({row["path"]: row["ok"] for row in rows}, {"w": False, "x": True, "p.w": True, "p.b": True, "eps": True})

    def test_lost_gradient_of_a_large_tensor(self):
        """Too many edges for one by one."""
        result = self.check("--random", "nodes=40,edges=400", "--size", "F=2", "--size", "O=2", entry="lossy", status=1)
        self.assertRegex(result.stdout, r"w +\[400\] +8 directions, 64 of 400 .* WRONG")

    def test_f32_with_a_tolerance(self):
        self.check("--random", self.AWKWARD, "--size", "F=2", "--size", "O=2", "--tolerance", "1e-2", "--eps", "1e-2", real="f32")

    def test_graph_from_files(self):
        """Edges 0→1, 0→2, 2→2, with weights, in each kind of file."""
        mtx = "%%MatrixMarket matrix coordinate real general\n% a comment\n3 3 3\n1 2 0.5\n1 3 2\n3 3 -1\n"
        files = {"a.mtx": mtx, "a.tsv": "# src dst weight\n0\t1\t0.5\n0\t2\t2\n2\t2\t-1\n", "a.txt": "0 1 0.5\n0 2 2\n2 2 -1\n"}
        tensors = {"x": ("F64", [3, 1], [1, 2, 3]), "p.w": ("F64", [1, 1], [1]), "p.b": ("F64", [1], [0])}
        tensors["out_adj"] = ("F64", [3, 1], [1, 1, 1])
        data = self.write("x.safetensors", encode(tensors))
        for name, text in files.items():
            self.write(name, text)
            self.vjp("--data", data, "--graph", f"g={name}", "--rename", "w=g.weight", "--set", "eps=0")
        parts = {"g.src": ("I64", [3], [0, 0, 2]), "g.dst": ("I32", [3], [1, 2, 2]), "w": ("F32", [3], [0.5, 2, -1])}
        whole = self.write("whole.safetensors", encode(tensors | parts, {"g.num_nodes": "3"}))
        self.vjp("--data", whole, "--set", "eps=0")
        for source, target in (("I8", "I16"), ("U16", "U32"), ("U8", "I64")):
            narrow = {"g.src": (source, [3], [0, 0, 2]), "g.dst": (target, [3], [1, 2, 2])}
            whole = self.write("whole.safetensors", encode(tensors | parts | narrow, {"g.num_nodes": "3"}))
            self.vjp("--data", whole, "--set", "eps=0")
        csr = {"h.indptr": ("I32", [4], [0, 0, 1, 3]), "h.indices": ("I32", [3], [0, 0, 2]), "w": ("F64", [3], [0.5, 2, -1])}
        rows = self.write("csr.safetensors", encode(tensors | csr))
        self.vjp("--data", rows, "--rename", "g=h", "--set", "eps=0")

    def vjp(self, *arguments):
        self.run_tool("vjp", "--entry", "layer", *arguments, "-o", "out.safetensors")
        out, _ = decode(self.path("out.safetensors"))
        a = [0, 0.5, 2 - 3]
        slope = [1 - math.tanh(v) ** 2 for v in a]
        self.close(out["out"], [math.tanh(v) for v in a])
        self.close(out["w_adj"], [slope[1], slope[2], 3 * slope[2]])
        self.close(out["x_adj"], [0.5 * slope[1] + 2 * slope[2], 0, -slope[2]])
        self.close(out["p.w_adj"], [sum(v * s for v, s in zip(a, slope))])
        self.close(out["eps_adj"], [sum(x * s for x, s in zip((1, 2, 3), slope))])
        self.assertNotIn("residuals", out)

    def close(self, tensor, expected):
        for have, want in zip(tensor[2], expected, strict=True):
            self.assertAlmostEqual(have, want, 12)


if __name__ == "__main__":
    main()
