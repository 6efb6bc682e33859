"""What the tests of gnn-run share: the tool, the two hand-written models, safetensors without any library.

Run a suite as `commands.py GNN_RUN FOLDER [NAME...]`; FOLDER holds the models, NAME picks tests as unittest does.
"""

import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "BOOL": "?", "U8": "B", "I8": "b", "I16": "h", "U16": "H", "U32": "I", "U64": "Q"}


class Settings:
    tool = ""
    models = pathlib.Path()


def element_count(shape):
    return math.prod(shape)


def encode(tensors, metadata=None):
    """The bytes of a file; tensors are name: (type, shape, flat values)."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, values) in tensors.items():
        blob = struct.pack(f"<{len(values)}{CODES[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    return assemble(header, data)


def assemble(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def decode(path):
    """(tensors, metadata) of a file."""
    blob = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", blob[:8])
    header, data = json.loads(blob[8 : 8 + length]), blob[8 + length :]
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = struct.unpack(f"<{element_count(entry['shape'])}{CODES[entry['dtype']]}", data[begin:end])
        tensors[name] = (entry["dtype"], entry["shape"], list(values))
    return tensors, metadata


def regression(rows=40, inputs=3, outputs=2, seed=1):
    """Data for the models' train_step: y = x w + b exactly, half of the rows for training."""
    rng = random.Random(seed)
    w = [[rng.uniform(-1, 1) for _ in range(outputs)] for _ in range(inputs)]
    x = [[rng.gauss(0, 1) for _ in range(inputs)] for _ in range(rows)]
    y = [[0.5 + sum(row[k] * w[k][o] for k in range(inputs)) for o in range(outputs)] for row in x]
    return {
        "x": ("F64", [rows, inputs], sum(x, [])),
        "y": ("F64", [rows, outputs], sum(y, [])),
        "train": ("BOOL", [rows], [i % 2 == 0 for i in range(rows)]),
    }


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gnn-run-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.write("data.safetensors", encode(regression()))

    def write(self, name, contents):
        path = self.folder / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return path

    def path(self, name):
        return self.folder / name

    def model(self, real="f64"):
        return Settings.models / f"fake_model_{real}.so"

    def run_tool(self, command, *arguments, real="f64", status=0, **options):
        words = [Settings.tool, command, self.model(real), *arguments]
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, cwd=self.folder, **options)
        allowed = status if isinstance(status, tuple) else (status,)
        self.assertIn(result.returncode, allowed, f"{words}\n{result.stdout}{result.stderr}")
        return result

    def train(self, *arguments, **options):
        data = options.pop("data", self.data)
        return self.run_tool("train", "--data", data, "--step", "train_step", *arguments, **options)

    def refused(self, result, *parts):
        """One line of error, in which all parts stand."""
        lines = [line for line in result.stderr.splitlines() if line.startswith("gnn-run: error: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


def main():
    Settings.tool, folder, *rest = sys.argv[1:]
    Settings.models = pathlib.Path(folder)
    unittest.main(argv=[sys.argv[0], *rest])
