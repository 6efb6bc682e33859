"""What the integration tests share: where the build is, compiling a program once, comparing tensors."""

import os
import pathlib
import subprocess
import unittest

import numpy as np

import gnnrt

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
GOLDEN = SOURCE.parent / "shared" / "golden"


class Settings:
    """Set by run.py before any test runs."""

    build = SOURCE / "build" / "release"
    golden = GOLDEN


def work_folder():
    folder = Settings.build / "test" / "integration"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def tool_environment():
    """The environment for programs of the build: without what run.py sets for Python alone under a sanitizer."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "GNNC_TOOLS_ASAN_OPTIONS")}
    if "GNNC_TOOLS_ASAN_OPTIONS" in os.environ:
        environment["ASAN_OPTIONS"] = os.environ["GNNC_TOOLS_ASAN_OPTIONS"]
    return environment


def run(tool, *arguments, check=True, **options):
    """Runs a tool of the build; its output is text. A failure prints what the tool said."""
    environment = tool_environment()
    command = [str(Settings.build / "bin" / tool), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def program_of(layer):
    """The one of the programs of layers that has an entry point of this name."""
    (found,) = [path for path in sorted(PROGRAMS.glob("layers*.gnn")) if f"export vjp {layer};" in path.read_text()]
    return found


_built = {}


def compiled(program, *flags):
    """The path of a program's shared object, compiled once for each set of flags. One that fails is not tried again."""
    key = (str(program), flags)
    if key not in _built:
        name = pathlib.Path(program).stem + "".join(flag.replace("-", "_").replace("=", "_") for flag in flags)
        path = work_folder() / f"lib{name}.so"
        _built[key] = None
        run("gnnc", "build", program, "-o", path, *flags)
        _built[key] = path
    if _built[key] is None:
        raise AssertionError(f"{program} did not compile before")
    return _built[key]


_runtime = None


def runtime():
    global _runtime
    if _runtime is None:
        _runtime = gnnrt.Runtime(str(Settings.build / "lib" / "libgnnrt.so"))
    return _runtime


def relative_error(value, reference):
    """max |a − b| over max |b|; where the reference is all zeros, or empty, max |a|."""
    value, reference = np.asarray(value), np.asarray(reference)
    if value.shape != reference.shape:
        raise AssertionError(f"shapes differ: {value.shape} and {reference.shape}")
    if value.size == 0:
        return 0.0
    difference = np.max(np.abs(value - reference))
    scale = np.max(np.abs(reference))
    return float(difference / scale if scale > 0 else difference)


class TestCase(unittest.TestCase):
    maxDiff = None

    def assert_close(self, value, reference, tolerance, what):
        error = relative_error(value, reference)
        # Written so that a NaN fails.
        self.assertTrue(error <= tolerance, f"{what}: relative error {error:.3g}, allowed {tolerance:g}")

    def assert_gradients(self, reference, values, gradients, cotangent, rng, tolerance=1e-6):
        """Every floating-point argument has a gradient, and each agrees with central differences of the reference (a function of a
        dictionary of arguments) along a random direction of its own, extrapolated from one step size to the next where that is better."""
        real = {path: value for path, value in values.items() if np.asarray(value).dtype.kind == "f"}
        self.assertEqual(set(gradients), set(real))
        for path, value in real.items():
            self.assertEqual(gradients[path].shape, np.shape(value), path)
            if np.size(value) == 0:
                continue
            direction = rng.standard_normal(np.shape(value))

            def along(step):
                return float(np.sum(cotangent * reference({**values, path: value + step * direction})))

            exact = float(np.sum(gradients[path] * direction))
            steps = (1e-3, 1e-4, 1e-5, 1e-6)
            differences = [(along(step) - along(-step)) / (2 * step) for step in steps]
            differences += [(100 * finer - coarser) / 99 for coarser, finer in zip(differences, differences[1:])]
            errors = [abs(exact - difference) / max(abs(difference), 1e-3) for difference in differences]
            self.assertLess(min(errors), tolerance, f"gradient of {path}: {exact}, relative errors {errors}")

    def assert_refused(self, status, pattern, call):
        """The call fails with a status and a message that matches."""
        with self.assertRaisesRegex(gnnrt.Error, pattern) as caught:
            call()
        self.assertEqual(caught.exception.name, status, caught.exception.message)


def add_cases(test_class, cases, method):
    """Adds one test for each (name, arguments) to a class, so that each is counted and named."""
    for name, arguments in cases:

        def test(self, arguments=arguments):
            method(self, *arguments)

        words = "".join(c if c.isalnum() else " " for c in name).split()
        label = "_".join(["test", *words])
        while hasattr(test_class, label):  # names that differ in signs only
            label += "_"
        setattr(test_class, label, test)


def training(model, sizes, rng, classes):
    """Arguments of an example's train_step beside the graph and the key: parameters, optimiser state, features, labels."""
    arguments = {}
    for spec in model.entries["train_step"]["args"]:
        if spec["kind"] != "tensor":
            continue
        shape = [gnnrt.evaluate_size(size, sizes) for size in spec["dims"]]
        if spec["path"].startswith("opt."):
            array = np.zeros(shape)
        elif spec["dtype"] == "index":
            array = rng.integers(0, classes, shape)
        elif spec["dtype"] == "bool":
            array = rng.random(shape) < 0.5
        else:
            array = 0.1 * rng.standard_normal(shape)
        arguments[spec["path"]] = array.astype(gnnrt.NUMPY[spec["dtype"]])
    return arguments


def skewed_graph(rng, nodes, edges):
    """A multigraph with hubs in both directions: a third of the edges end in node 0, a third begin in node 1."""
    src, dst = rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)
    dst[: edges // 3] = 0
    src[-(edges // 3) :] = 1
    return src.astype(np.int32), dst.astype(np.int32)
