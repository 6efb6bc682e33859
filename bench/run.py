"""Times a training step of each layer, fused and with --no-fuse, and what it needs of memory.

    run.py --build build/release [--layers gcn,gat] [--graphs arxiv,knn] [--repeat 9] [--limit FOLDER] [--only-fused] [--memory] [--out results.md]

A step is the loss mean(y*y) of one layer, 64 features to 64 (4 heads of 16 where there are heads), f32, with the gradients of x and
of all parameters; edge weights are constant, and what belongs to the structure is cached on the graph. Two threads; results go to
memory that is there before. Repetitions of the two builds alternate; the table has medians.

--limit names a folder with a program `bench` that times kernels written by hand (`bench GRAPH FILE layers` prints lines
`layer,GRAPH,KERNEL,forward ms,backward ms,step ms`). It runs before and after ours for each graph; the best of its variants counts.
--memory prints the rise of the process's peak over a step beside the plan of `gnnc build --report memory`.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "test" / "integration")]

import gnnrt  # noqa: E402
import graphs  # noqa: E402
import safetensors_io  # noqa: E402

HEADS = ["In=64", "H=4", "D=16"]
LAYERS = {  # constant sizes, and what the layer is called among kernels written by hand
    "spmm": (["F=64"], "spmm64"),
    "gcn": (["In=64", "Out=64"], "gcn"),
    "sage": (["In=64", "Out=64"], None),
    "gat": (HEADS, "gat"),
    "gatv2": (HEADS, "gatv2"),
    "transformer": (HEADS, "transformer"),
    "edgeconv": (["In=64", "Out=64"], "edgeconv"),
    "edgeconv_linear": (["In=64", "Out=64"], "edgeconv"),
    "pna": (["F=64"], "pna"),
}


def build(folder, gnnc, layer, *flags):
    """Compiles a layer; returns its path and what --report memory says of its step."""
    path = folder / f"lib{layer}{''.join(flags).replace('-', '_')}.so"
    sizes = [part for size in LAYERS[layer][0] for part in ("-D", size)]
    command = [gnnc, "build", HERE / "models" / f"{layer}.gnn", *sizes, *flags, "--report", "memory", "-o", path]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(result.stderr)
    return path, result.stderr


def arguments(model, graph, nodes, edges, random):
    given = {"g": graph}
    for spec in model.entries["step"]["args"]:
        if spec["kind"] == "tensor":
            path = spec["path"]
            shape = {"x": (nodes, 64), "w": (edges,)}.get(path) or [gnnrt.evaluate_size(d, {}) for d in spec["dims"]]
            given[path] = (random.standard_normal(shape) * (1 if path == "x" else 0.1)).astype(np.float32)
    return given


def by_hand(folder, name, path):
    """Milliseconds (forward, step) of the best kernel written by hand for each layer."""
    output = subprocess.run(
        [f"{folder}/bench", name, path, "layers"],
        env={**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    ).stdout
    best = {}
    for line in output.splitlines():
        fields = line.split(",")
        if fields[0] == "layer":
            key = fields[2].split()[0]
            best[key] = min(best.get(key, (np.inf, np.inf)), (float(fields[3]), float(fields[5])), key=lambda t: t[1])
    return best


def measure(runtime, shapes, folder, gnnc, repeat):
    """Medians in ms of (forward, step, step with --no-fuse)."""
    nodes, src, dst = shapes
    with runtime.context(2) as context:
        graph = context.graph(nodes, src, dst)
        for layer in LAYERS:
            if layer not in gnnc:
                continue
            models = [context.model(path) for path in gnnc[layer]]
            given = arguments(models[0], graph, nodes, len(src), np.random.default_rng(0))
            calls = [(models[0], "forward"), (models[0], "step"), *((model, "step") for model in models[1:])]
            results = [model.call(context, name, given) for model, name in calls]
            times = [[] for _ in calls]
            for _ in range(repeat):
                for (model, name), result, spent in zip(calls, results, times):
                    begin = time.perf_counter()
                    model.call(context, name, given, outputs=result)
                    spent.append(1e3 * (time.perf_counter() - begin))
            yield layer, [float(np.median(spent)) for spent in times]


def peak(field="VmHWM"):
    return int(re.search(rf"{field}:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) * 1024


def memory(runtime, shapes, layer, path, report):
    """Bytes planned, and the rise of the peak over a step, in a process of its own."""
    nodes, src, dst = shapes
    bound = re.search(r"memory of 'step'.*?in all at most (.*?) bytes", report, re.S)[1]
    plan = eval(bound.replace("g.nodes", str(nodes)).replace("g.edges", str(len(src))))  # noqa: S307
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    # The first call makes the graph's structure, in a context whose memory is not measured.
    with runtime.context(2) as first, runtime.context(2) as second:
        graph = first.graph(nodes, src, dst)
        model = first.model(path)
        given = arguments(model, graph, nodes, len(src), np.random.default_rng(0))
        outputs = model.call(first, "step", given)
        model = second.model(path)
        small = second.graph(50, np.arange(49, dtype=np.int32), np.arange(1, 50, dtype=np.int32))
        model.call(second, "step", arguments(model, small, 50, 49, np.random.default_rng(0)))  # warms up BLAS
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = peak("VmRSS")
        model.call(second, "step", given, outputs=outputs)
        rise = peak() - before
        print(f"{layer}: planned {plan / 2**20:.1f} MiB, peak rose by {rise / 2**20:.1f} MiB ({rise / plan:.3f})", flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--graphs", default="arxiv,knn,molecules,star,star_t,reddit16")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--limit", type=pathlib.Path)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only-fused", action="store_true", help="leave out --no-fuse, which takes long on large graphs")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    layers = options.layers.split(",")
    if unknown := set(layers) - set(LAYERS):
        raise SystemExit(f"unknown layer {sorted(unknown)}: they are {', '.join(LAYERS)}")
    runtime = gnnrt.Runtime(str(options.build / "lib" / "libgnnrt.so"))
    rows = ["| graph | layer | forward ms | step ms | backward / forward | step with --no-fuse | by hand | step / by hand |", "|---|" + "---|" * 7]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        gnnc = options.build / "bin" / "gnnc"
        ways = [(), ("--no-fuse",)][: 1 if options.only_fused else 2]
        built = {layer: [build(folder, gnnc, layer, *way) for way in ways] for layer in layers}
        for graph in options.graphs.split(","):
            shapes = graphs.make(graph)
            if options.memory:
                for layer in layers:
                    memory(runtime, shapes, f"{graph} {layer}", *built[layer][0])
                continue
            hand = {}
            file = folder / f"{graph}.safetensors"
            if options.limit:
                safetensors_io.write(file, {"edge_index": np.stack(shapes[1:])}, {"num_nodes": shapes[0], "name": graph})
                hand = by_hand(options.limit, graph, file)
            paths = {layer: [path for path, _ in pair] for layer, pair in built.items()}
            measured = list(measure(runtime, shapes, folder, paths, options.repeat))
            for key, value in by_hand(options.limit, graph, file).items() if options.limit else ():
                hand[key] = min(hand[key], value, key=lambda t: t[1])
            for layer, (forward, step, *rest) in measured:
                unfused = f"{rest[0]:.1f} ({rest[0] / step:.1f}x)" if rest else "-"
                best = hand.get(LAYERS[layer][1])
                beside = f"{best[1]:.1f} | {step / best[1]:.2f}" if best else "- | -"
                rows.append(f"| {graph} | {layer} | {forward:.1f} | {step:.1f} | {step / forward - 1:.2f} | {unfused} | {beside} |")
                print(rows[-1], flush=True)
    if options.out and not options.memory:
        options.out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
