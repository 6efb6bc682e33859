"""Times training steps with and without each rewrite of the compiler, on a layer and a graph where it matters.

    rewrites.py --build build/release [--rewrites rows,group] [--repeat 9] [--out rewrites.md]

The step is that of run.py, on two threads. Repetitions of the two builds alternate; the table has medians. A rewrite pays where the last column is
above 1.
"""

import argparse
import pathlib
import tempfile
import time

import numpy as np

import run  # first: it makes what the tests use importable

import gnnrt  # noqa: E402
import graphs  # noqa: E402

WHERE = {  # the names of gnnc's --disable-rewrite; which layer on which graph
    "structure": ("sage", "star_t"),
    "products": ("edgeconv", "knn"),
    "rows": ("gat", "arxiv"),
    "winners": ("edgeconv", "knn"),
    "accumulate": ("edgeconv_linear", "star_t"),
    "inline": ("gcn", "arxiv"),
    "group": ("gat", "arxiv"),
    "merge": ("gat", "star_t"),
}


def measure(context, shapes, paths, repeat):
    """Medians in ms of a step of each build."""
    nodes, src, dst = shapes
    graph = context.graph(nodes, src, dst)
    models = [context.model(path) for path in paths]
    given = run.arguments(models[0], graph, nodes, len(src), np.random.default_rng(0))
    results = [model.call(context, "step", given) for model in models]
    times = [[] for _ in models]
    for _ in range(repeat):
        for model, result, spent in zip(models, results, times):
            begin = time.perf_counter()
            model.call(context, "step", given, outputs=result)
            spent.append(1e3 * (time.perf_counter() - begin))
    return [float(np.median(spent)) for spent in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=run.HERE.parent / "build" / "release")
    parser.add_argument("--rewrites", default=",".join(WHERE))
    parser.add_argument("--graph", help="use this graph for all, such as a small one for a test of this script")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rewrites = options.rewrites.split(",")
    if unknown := set(rewrites) - set(WHERE):
        raise SystemExit(f"unknown rewrite {sorted(unknown)}: they are {', '.join(WHERE)}")
    runtime = gnnrt.Runtime(str(options.build / "lib" / "libgnnrt.so"))
    gnnc = options.build / "bin" / "gnnc"
    rows = ["| rewrite | layer | graph | step ms | without it | without / with |", "|---|" + "---|" * 5]
    with tempfile.TemporaryDirectory() as name, runtime.context(2) as context:
        for rewrite in rewrites:
            layer, graph = WHERE[rewrite]
            graph = options.graph or graph
            ways = [(), ("--disable-rewrite", rewrite)]
            paths = [run.build(pathlib.Path(name), gnnc, layer, *way)[0] for way in ways]
            step, without = measure(context, graphs.make(graph), paths, options.repeat)
            rows.append(f"| `{rewrite}` | {layer} | {graph} | {step:.1f} | {without:.1f} | {without / step:.2f} |")
            print(rows[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
