# Configuration of the lit tests: one folder a stage, FileCheck on what the tools print.
import os

import lit.formats

config.name = "gnnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".gnn", ".test"]
config.excludes = ["Inputs", "unit", "integration"]
config.test_source_root = os.path.join(config.gnnc_source, "test")
config.test_exec_root = os.path.join(config.gnnc_build, "test")

# The tests name tools as a user would: gnnc, gnnc-opt and gnn-run of this build, FileCheck and not of LLVM.
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.gnnc_build, "bin"), config.llvm_tools, os.environ.get("PATH", "")]
)
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "OPENBLAS_CORETYPE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%stdlib", os.path.join(config.gnnc_source, "stdlib")),
    ("%examples", os.path.join(config.gnnc_source, "examples")),
    ("%python", "/usr/bin/python3"),
]

# A test of derivatives holds plain functions. Each is wrapped in a vjp of all its floating-point arguments, once or twice, and
# the expanded program must give what differences give.
agree = 'gnnc-opt %s {} -test-gnn-agree="pipeline=func.func(gnn-differentiate) tolerance={}" -o /dev/null'
config.substitutions += [
    ("%first_order", agree.format("-test-gnn-nest", "1e-9")),
    # Or its results, gradients and so on are printed, with all cotangents 1.
    ("%print_first_order", "gnnc-opt %s -test-gnn-nest=ones -gnn-differentiate -test-gnn-interpret -o /dev/null"),
    ("%print_second_order", "gnnc-opt %s -test-gnn-nest=ones -test-gnn-nest=ones -gnn-differentiate -test-gnn-interpret -o /dev/null"),
    ("%second_order", agree.format("-test-gnn-nest -test-gnn-nest", "1e-7")),
]

# Programs and data that may lie beside the checkout; tests that use them say `REQUIRES: shared`.
shared = os.path.join(os.path.dirname(config.gnnc_source), "shared")
if os.path.isdir(os.path.join(shared, "programs")):
    config.available_features.add("shared")
if os.path.isfile(os.path.join(shared, "data", "cora.safetensors")):
    config.available_features.add("cora")
config.substitutions.append(("%shared", shared))

if config.sanitizers:
    config.available_features.add("sanitized")
