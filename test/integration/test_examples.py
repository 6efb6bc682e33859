"""The examples, as a reader would run them."""

import json
import os
import re
import subprocess
import unittest

import numpy as np

import harness
import safetensors_io

EXAMPLES = harness.SOURCE / "examples"
CORA = harness.SOURCE.parent / "shared" / "data" / "cora.safetensors"


def script(path, *arguments, check=True, **environment):
    """Runs a script of an example with this build's tools."""
    variables = harness.tool_environment() | {"GNNC_BIN": str(harness.Settings.build / "bin"), **environment}
    command = ["bash", str(EXAMPLES / path), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=600)
    if check and result.returncode != 0:
        raise AssertionError(f"{path}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class Karate(harness.TestCase):
    def setUp(self):
        self.folder = harness.work_folder() / "karate"

    def test_run(self):
        output = script("karate/run.sh", self.folder).stdout
        self.assertRegex(output, r"accuracy 0\.9|accuracy 1")
        self.assertRegex(output, r"per epoch")
        data, _ = safetensors_io.read(self.folder / "karate.safetensors")
        factions = safetensors_io.read(self.folder / "factions.safetensors")[0]["faction"]
        self.assertGreaterEqual(np.mean(factions == data["y"]), 0.9)

    def test_embed(self):
        script("karate/run.sh", self.folder)
        sanitized = "GNNC_SANITIZE:STRING=address" in (harness.Settings.build / "CMakeCache.txt").read_text()
        compiler = "clang-22 -fsanitize=address,undefined" if sanitized else "clang-22"
        output = script("embed/run.sh", self.folder, CC=compiler).stdout
        self.assertRegex(output, r"3[1-4] of 34 members")
        before, after = map(float, output.split("from ")[1].split(" to "))
        self.assertLess(after, before)


class Langevin(harness.TestCase):
    PROGRAM = EXAMPLES / "langevin" / "langevin.gnn"
    PARTICLES, STEPS = 8, 10000

    def bound(self, program):
        """Bytes that a gradient through all steps needs at most, as the compiler reports it."""
        path = harness.work_folder() / "liblangevin.so"
        report = harness.run("gnnc", "build", program, "-o", path, "-DK=8", "-DM=8", "--report", "memory").stderr
        text = re.search(r"memory of 'size_and_gradient'.*?in all at most (.*?) bytes", report, re.S).group(1)
        root = int(self.STEPS**0.5)
        for name, size in (("steps of a segment", root), ("segments", root), ("iterations", self.STEPS), ("V", self.PARTICLES)):
            text = re.sub(rf"\b{name}\b", str(size), text)
        return eval(text.replace("g.edges", str(self.PARTICLES * (self.PARTICLES - 1))))

    def test_memory(self):
        """A tenth of what it would be if the states of all steps were kept, and much less of what a tape of all values would be."""
        kept = harness.work_folder() / "langevin_kept.gnn"
        kept.write_text(self.PROGRAM.read_text().replace("  @checkpoint\n", ""))
        self.assertLess(10 * self.bound(self.PROGRAM), self.bound(kept))
        self.assertGreater(self.bound(kept), self.STEPS * self.PARTICLES * 3 * 4)

    def test_gradient(self):
        """Through all 10,000 steps, against differences of whole simulations."""
        rng = np.random.default_rng(2)
        pairs = np.array([(i, j) for i in range(self.PARTICLES) for j in range(self.PARTICLES) if i != j], np.int32)
        given = {"p.net.hidden.w": (8, 8), "p.net.hidden.b": 8, "p.net.out.w": (8, 1), "p.net.out.b": 1, "x0": (self.PARTICLES, 3)}
        given = {path: 0.5 * rng.standard_normal(shape) for path, shape in given.items()} | {"steps": self.STEPS, "noise": 7}
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(self.PROGRAM, "--real=f64", "-DK=8", "-DM=8"))
            given["g"] = context.graph(self.PARTICLES, *(np.ascontiguousarray(ends) for ends in pairs.T))
            exact = model.call(context, "size_and_gradient", given)
            direction = {path: rng.standard_normal(given[path].shape) for path in given if path.startswith("p.")}

            def along(step):
                moved = {path: given[path] + step * d for path, d in direction.items()}
                return float(model.call(context, "measure", {**given, **moved})["size"])

            derivative = sum(np.sum(exact[path] * d) for path, d in direction.items())
            errors = [abs(derivative / ((along(step) - along(-step)) / (2 * step)) - 1) for step in (1e-3, 1e-4, 1e-5)]
        self.assertLess(min(errors), 1e-6, errors)

    def test_run(self):
        folder = harness.work_folder() / "langevin"
        output = script("langevin/run.sh", folder, EPOCHS="25", STEPS="4000").stdout
        sizes = [float(size) for size in re.findall(r"^size: .*= ([\d.]+)$", output, re.M)]
        self.assertEqual(len(sizes), 4)
        self.assertLess(abs(np.mean(sizes) - 2.0), 0.4, sizes)  # without a potential it would be 1.3


class Clusters(harness.TestCase):
    def test_run(self):
        folder = harness.work_folder() / "clusters"
        output = script("clusters/run.sh", folder, EPOCHS="300", CLUSTERS="8", STEPS="500").stdout
        found = {name: float(value) for name, value in re.findall(r"^(\w+): F64 \[\] = ([\d.e+-]+)$", output, re.M)}
        self.assertLess(found["energy_error"], 0.1)
        self.assertLess(found["force_error"], 0.3 * found["force_size"])
        # The energy fluctuates by what a step of the integrator is off, and does not drift.
        total = safetensors_io.read(folder / "trajectory.safetensors")[0]["total"]
        self.assertLess(np.std(total), 0.02 * found["kinetic"])
        self.assertLess(abs(np.mean(total[-100:]) - np.mean(total[100:200])), 0.01 * found["kinetic"])

    def test_reference(self):
        """The Lennard-Jones energies and forces, pair by pair."""
        rng = np.random.default_rng(3)
        clusters, atoms = 2, 4
        corners = np.array([[0, 0, 0], [1.1, 0, 0], [0, 1.1, 0], [0, 0, 1.1]])
        pos = np.concatenate([corners + 0.05 * rng.standard_normal((atoms, 3)) for _ in range(clusters)])
        pairs = [(c * atoms + i, c * atoms + j) for c in range(clusters) for i in range(atoms) for j in range(atoms) if i != j]
        energy, force = np.zeros(clusters), np.zeros_like(pos)
        for i, j in pairs:
            r = pos[i] - pos[j]
            d = np.sqrt(r @ r)
            energy[i // atoms] += 2 * (d**-12 - d**-6)
            force[i] += 4 * (12 * d**-13 - 6 * d**-7) * r / d
        with harness.runtime().context() as context:
            model = context.model(harness.compiled(EXAMPLES / "clusters" / "clusters.gnn", "--real=f64", "-DF=4", "-DK=4", "-DL=1"))
            graph = context.graph(len(pos), *(np.array(ends, np.int32) for ends in zip(*pairs)))
            given = {"g": graph, "cluster": np.repeat(np.arange(clusters), atoms), "pos": pos, "S": clusters}
            found = model.call(context, "reference", given)
        self.assert_close(found["energy"], energy, 1e-12, "energy")
        self.assert_close(found["force"], force, 1e-12, "force")


class Cora(harness.TestCase):
    def test_no_data(self):
        for arguments in ([], ["/nowhere/cora.safetensors"]):
            result = script("cora/run.sh", "gcn", *arguments, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn("x.indptr", result.stderr)

    def test_no_such_model(self):
        self.assertEqual(script("cora/run.sh", "gin", CORA, check=False).returncode, 2)

    @unittest.skipUnless(CORA.is_file(), f"no data at {CORA}")
    def test_one_seed(self):
        folder = harness.work_folder() / "cora"
        report = folder / "gcn.json"
        script("cora/run.sh", "gcn", CORA, "--json", report, GNNC_OUT=str(folder), SEEDS="1", EPOCHS="60")
        self.assertGreater(json.loads(report.read_text())["mean"]["test_accuracy"], 0.75)
