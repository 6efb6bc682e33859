"""Runs the integration tests against a build: run.py [--build DIR] [--golden DIR] [--junit FILE] [PATTERN...].

A pattern is a part of a test's name, such as `golden` or `gat`; without one all tests run. `--golden` names the folder of reference
values that test_golden.py compares with. Needs numpy (Debian's python3-numpy).
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
import unittest
from xml.etree import ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402


class Result(unittest.TextTestResult):
    """Also keeps each test's outcome, for the report."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.cases = []

    def startTest(self, test):
        self.started = time.monotonic()
        super().startTest(test)

    def keep(self, test, kind, text=""):
        self.cases.append((test.id(), time.monotonic() - self.started, kind, text))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.keep(test, None)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.keep(test, "failure", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.started = getattr(self, "started", time.monotonic())
        self.keep(test, "error", self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.keep(test, "skipped", reason)

    def write(self, path):
        root = ElementTree.Element("testsuite", name="integration", tests=str(len(self.cases)))
        for name, seconds, kind, text in self.cases:
            case = ElementTree.SubElement(root, "testcase", name=name, time=f"{seconds:.3f}")
            if kind:
                ElementTree.SubElement(case, kind).text = text
        ElementTree.ElementTree(root).write(path, encoding="unicode")


def preload_sanitizer(build):
    """A sanitized runtime can be loaded into Python only with the sanitizer's own library there first."""
    cache = (build / "CMakeCache.txt").read_text()
    if "GNNC_SANITIZE:STRING=address" not in cache or "LD_PRELOAD" in os.environ:
        return
    name = f"libclang_rt.asan-{os.uname().machine}.so"
    found = subprocess.run(["clang-22", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    # Python and numpy keep much of what they allocate until the process ends, so leaks are not looked for in this process. The
    # tools that the tests start get the options of the caller back (harness.tool_environment) and do look for theirs.
    own = os.environ.get("ASAN_OPTIONS", "")
    options = ":".join(filter(None, [own, "detect_leaks=0"]))
    environment = {**os.environ, "LD_PRELOAD": found, "ASAN_OPTIONS": options, "GNNC_TOOLS_ASAN_OPTIONS": own}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=harness.Settings.build)
    parser.add_argument("--golden", type=pathlib.Path, default=harness.Settings.golden)
    parser.add_argument("--junit", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    harness.Settings.build = options.build.resolve()
    harness.Settings.golden = options.golden.resolve()
    if not (harness.Settings.build / "bin" / "gnnc").is_file():
        sys.exit(f"{harness.Settings.build} holds no bin/gnnc: build first (scripts/build.sh), or name the build with --build")
    preload_sanitizer(harness.Settings.build)

    loader = unittest.TestLoader()
    if options.patterns:
        loader.testNamePatterns = [f"*{pattern}*" for pattern in options.patterns]
    suite = loader.discover(str(HERE), pattern="test_*.py")
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    result = runner.run(suite)
    if options.junit:
        result.write(options.junit)
    if result.testsRun == 0:
        print("no test has a name like that", file=sys.stderr)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
