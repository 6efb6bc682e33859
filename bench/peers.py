"""Times training steps of GAT and EdgeConv beside those of JAX and DGL, with which they alternate.

    peers.py --build build/release --jax JAX/bin/python --dgl DGL/bin/python [--graphs arxiv,knn] [--repeat 7] [--out peers.md]

JAX and DGL are asked for in environments of their own, for each a Python that can import it:

    python3 -m venv JAX && JAX/bin/pip install jax==0.9.2
    python3 -m venv DGL && DGL/bin/pip install torch==2.2.1 "numpy<2" scipy networkx requests tqdm psutil pyyaml pydantic pandas
    DGL/bin/pip install --no-deps dgl==2.1.0 torchdata==0.7.1

The step is that of run.py: the mean square of a layer's results, 64 features to 64 (GAT: 4 heads of 16), f32, with the gradients of x and of all
parameters, two threads. JAX compiles the step as a whole, with edges sorted by destination; DGL runs its own layers, with its formats of the graph
made before. Each system is a process; they take turns, and nothing else of theirs runs meanwhile.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

LAYERS = ("gat", "edgeconv")
FEATURES, HEADS = 64, 4
THREADS = 2


def jax_step(layer, nodes, src, dst, x, random):
    import jax
    import jax.numpy as jnp

    order = np.argsort(dst, kind="stable")
    src, dst, x = jnp.array(src[order]), jnp.array(dst[order]), jnp.array(x)

    def parameter(*shape):
        return jnp.array(random.standard_normal(shape).astype(np.float32) * 0.1)

    def total(messages):
        return jax.ops.segment_sum(messages, dst, nodes, indices_are_sorted=True)

    def largest(messages):
        return jax.ops.segment_max(messages, dst, nodes, indices_are_sorted=True)

    def gat(x, p):
        h = jnp.einsum("ni,ihd->nhd", x, p[0])
        scores = jax.nn.leaky_relu((h * p[1]).sum(-1)[src] + (h * p[2]).sum(-1)[dst], 0.2)
        weights = jnp.exp(scores - largest(scores)[dst])
        return total((weights / total(weights)[dst])[..., None] * h[src]) + p[3]

    def edgeconv(x, p):
        messages = jnp.concatenate([x[dst], x[src] - x[dst]], -1) @ p[0] + p[1]
        most = largest(messages)
        return jnp.where(jnp.isneginf(most), 0, most)

    each = FEATURES // HEADS
    function, p = {
        "gat": (gat, (parameter(FEATURES, HEADS, each), parameter(HEADS, each), parameter(HEADS, each), parameter(HEADS, each))),
        "edgeconv": (edgeconv, (parameter(2 * FEATURES, FEATURES), parameter(FEATURES))),
    }[layer]
    step = jax.jit(jax.value_and_grad(lambda x, p: (function(x, p) ** 2).mean(), argnums=(0, 1)))
    return lambda: jax.block_until_ready(step(x, p))


def dgl_step(layer, nodes, src, dst, x, random):
    os.environ["DGLBACKEND"] = "pytorch"
    import torch

    torch.set_num_threads(THREADS)
    import dgl
    import dgl.nn

    graph = dgl.graph((torch.tensor(src), torch.tensor(dst)), num_nodes=nodes).int()
    graph.create_formats_()
    x = torch.tensor(x, requires_grad=True)
    module = {
        "gat": lambda: dgl.nn.GATConv(FEATURES, FEATURES // HEADS, HEADS, allow_zero_in_degree=True),
        "edgeconv": lambda: dgl.nn.EdgeConv(FEATURES, FEATURES, allow_zero_in_degree=True),
    }[layer]()

    def step():
        x.grad = None
        module.zero_grad(set_to_none=True)
        y = module(graph, x)
        (y * y).mean().backward()

    return step


def serve(system, layer, file):
    """Takes a step and answers with its time for every line that comes in."""
    data = np.load(file)
    random = np.random.default_rng(0)
    make = {"jax": jax_step, "dgl": dgl_step}[system]
    step = make(layer, int(data["nodes"]), data["src"], data["dst"], data["x"], random)
    step()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        step()
        print(time.perf_counter() - begin, flush=True)


class Peer:
    def __init__(self, system, python, layer, file):
        threads = {name: str(THREADS) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        xla = f"--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={THREADS}"
        self.system = system
        self.process = subprocess.Popen(
            [python, __file__, "--serve", system, layer, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **threads, "XLA_FLAGS": xla, "JAX_PLATFORMS": "cpu"})
        self.read("ready")

    def read(self, what=None):
        line = self.process.stdout.readline().strip()
        if not line or (what and line != what):
            raise SystemExit(f"{self.system} ended before it had taken a step")
        return line

    def step(self):
        print(file=self.process.stdin, flush=True)
        return 1e3 * float(self.read())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--build", type=pathlib.Path, default=here.parent / "build" / "release")
    parser.add_argument("--jax", metavar="PYTHON")
    parser.add_argument("--dgl", metavar="PYTHON")
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--graphs", default="arxiv,knn,molecules")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--serve", nargs=3, metavar=("SYSTEM", "LAYER", "FILE"), help="what the processes of the systems run")
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve)
    systems = {name: python for name in ("jax", "dgl") if (python := getattr(options, name))}
    if not systems:
        raise SystemExit("say which Python has which system: --jax PYTHON, --dgl PYTHON")

    import run  # needs what a peer's environment lacks
    import gnnrt
    import graphs

    runtime = gnnrt.Runtime(str(options.build / "lib" / "libgnnrt.so"))
    columns = "".join(f" {name} ms | {name} / gnnc |" for name in systems)
    rows = [f"| graph | layer | gnnc ms |{columns}", "|---|---|---|" + "---|---|" * len(systems)]
    print(*rows, sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as name, runtime.context(THREADS) as context:
        folder = pathlib.Path(name)
        for graph in options.graphs.split(","):
            nodes, src, dst = graphs.make(graph)
            x = np.random.default_rng(0).standard_normal((nodes, FEATURES)).astype(np.float32)
            np.savez(folder / "graph.npz", nodes=nodes, src=src, dst=dst, x=x)
            for layer in options.layers.split(","):
                model = context.model(run.build(folder, options.build / "bin" / "gnnc", layer)[0])
                given = run.arguments(model, context.graph(nodes, src, dst), nodes, len(src), np.random.default_rng(0))
                outputs = model.call(context, "step", given)
                peers = [Peer(system, python, layer, str(folder / "graph.npz")) for system, python in systems.items()]
                times = [[] for _ in range(1 + len(peers))]
                for _ in range(options.repeat):
                    begin = time.perf_counter()
                    model.call(context, "step", given, outputs=outputs)
                    times[0].append(1e3 * (time.perf_counter() - begin))
                    for peer, spent in zip(peers, times[1:]):
                        spent.append(peer.step())
                for peer in peers:
                    peer.close()
                ours, *theirs = (float(np.median(spent)) for spent in times)
                cells = "".join(f" {other:.1f} | {other / ours:.2f} |" for other in theirs)
                rows.append(f"| {graph} | {layer} | {ours:.1f} |{cells}")
                print(rows[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
