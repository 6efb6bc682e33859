"""The examples, as a reader would run them."""

import json
import os
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
