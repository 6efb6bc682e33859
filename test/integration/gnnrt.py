"""A ctypes wrapper of the runtime's C interface (runtime/include/gnnrt/gnnrt.h), for tests.

Compiled models are called by entry name with a dictionary from argument paths ("x", "p.w", "g") to numpy arrays,
graphs and numbers; the manifest says the order, the shapes and the defaults. Calls release Python's lock, so contexts
in several threads run at once.
"""

import ctypes
import json
import re

import numpy as np

CODES = {"f": 2, "i": 0, "u": 1, "b": 6}
STATUS = [
    "ok", "argument", "dtype", "shape", "stride", "index", "overlap", "read_only", "device", "memory", "too_large",
    "file", "abi", "fork", "internal",
]  # fmt: skip
NUMPY = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "bool": "?", "index": "i4", "u8": "u1", "key": "u8"}


class DLTensor(ctypes.Structure):
    """DLPack's tensor; the fields stand here flat, with the layout of the C struct."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Value(ctypes.Union):
    _fields_ = [
        ("graph", ctypes.c_void_p),
        ("tensor", ctypes.POINTER(DLTensor)),
        ("f", ctypes.c_double),
        ("i", ctypes.c_int64),
    ]


class Error(Exception):
    """A failed call: the status and the context's message."""

    def __init__(self, status, message):
        name = STATUS[status] if 0 <= status < len(STATUS) else str(status)
        super().__init__(f"{name}: {message}")
        self.status = status
        self.name = name
        self.message = message


def tensor(array, **fields):
    """A DLTensor on a numpy array's memory. Fields given by name replace what describes the array, to test refusals."""
    result = DLTensor()
    result.array = array  # keeps the memory alive
    result.data = array.ctypes.data
    result.device_type = 1
    result.ndim = array.ndim
    result.code = CODES[array.dtype.kind]
    result.bits = array.dtype.itemsize * 8
    result.lanes = 1
    result.shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    if not array.flags.c_contiguous:
        steps = [step // array.itemsize for step in array.strides]
        result.strides = (ctypes.c_int64 * max(array.ndim, 1))(*steps)
    for name, value in fields.items():
        if name in ("shape", "strides") and value is not None:
            value = (ctypes.c_int64 * max(len(value), 1))(*value)
        setattr(result, name, value)
    return result


class Runtime:
    """libgnnrt.so, loaded."""

    def __init__(self, path):
        lib = ctypes.CDLL(path)
        pointer, i32, i64, out = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)
        dl = ctypes.POINTER(DLTensor)
        for name, result, arguments in [
            ("gnnrt_context_create", i32, [i32, out]),
            ("gnnrt_context_destroy", None, [pointer]),
            ("gnnrt_context_threads", i32, [pointer]),
            ("gnnrt_last_error", ctypes.c_char_p, [pointer]),
            ("gnnrt_status_name", ctypes.c_char_p, [i32]),
            ("gnnrt_abi_version", i32, []),
            ("gnnrt_graph_from_coo", i32, [pointer, i64, i64, dl, dl, out]),
            ("gnnrt_graph_from_csr", i32, [pointer, i64, dl, dl, out]),
            ("gnnrt_graph_from_dense", i32, [pointer, dl, out]),
            ("gnnrt_graph_release", None, [pointer]),
            ("gnnrt_graph_num_src", i64, [pointer]),
            ("gnnrt_graph_num_dst", i64, [pointer]),
            ("gnnrt_graph_num_edges", i64, [pointer]),
            ("gnnrt_graph_src", ctypes.POINTER(i32), [pointer]),
            ("gnnrt_graph_dst", ctypes.POINTER(i32), [pointer]),
            ("gnnrt_model_open", i32, [pointer, ctypes.c_char_p, out]),
            ("gnnrt_model_close", None, [pointer]),
            ("gnnrt_model_manifest", ctypes.c_char_p, [pointer]),
            ("gnnrt_model_call", i32, [pointer, pointer, ctypes.c_char_p, ctypes.POINTER(Value), i32]),
        ]:
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = arguments
        self.lib = lib

    def context(self, threads=1):
        return Context(self.lib, threads)


class Context:
    def __init__(self, lib, threads):
        self.lib = lib
        self.handle = ctypes.c_void_p()
        self.check(lib.gnnrt_context_create(threads, ctypes.byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lib.gnnrt_context_destroy(self.handle)

    def last_error(self):
        return self.lib.gnnrt_last_error(self.handle).decode() if self.handle else ""

    def check(self, status):
        if status != 0:
            raise Error(status, self.last_error())

    def graph(self, nodes, src, dst, num_dst=None):
        """A graph from an edge list; DLTensors are passed on as they are."""
        src, dst = (end if isinstance(end, DLTensor) else tensor(np.ascontiguousarray(end)) for end in (src, dst))
        handle = ctypes.c_void_p()
        targets = nodes if num_dst is None else num_dst
        self.check(
            self.lib.gnnrt_graph_from_coo(
                self.handle, nodes, targets, ctypes.byref(src), ctypes.byref(dst), ctypes.byref(handle)
            )
        )
        return Graph(self.lib, handle)

    def graph_from_csr(self, num_src, indptr, indices):
        handle = ctypes.c_void_p()
        ptr, ind = tensor(indptr), tensor(indices)
        self.check(
            self.lib.gnnrt_graph_from_csr(self.handle, num_src, ctypes.byref(ptr), ctypes.byref(ind), ctypes.byref(handle))
        )
        return Graph(self.lib, handle)

    def graph_from_dense(self, matrix):
        handle = ctypes.c_void_p()
        dense = tensor(matrix)
        self.check(self.lib.gnnrt_graph_from_dense(self.handle, ctypes.byref(dense), ctypes.byref(handle)))
        return Graph(self.lib, handle)

    def model(self, path):
        handle = ctypes.c_void_p()
        self.check(self.lib.gnnrt_model_open(self.handle, str(path).encode(), ctypes.byref(handle)))
        return Model(self.lib, handle)


class Graph:
    def __init__(self, lib, handle):
        self.lib = lib
        self.handle = handle
        self.num_src = lib.gnnrt_graph_num_src(handle)
        self.num_dst = lib.gnnrt_graph_num_dst(handle)
        self.num_edges = lib.gnnrt_graph_num_edges(handle)

    def ends(self):
        """Copies of the sources and targets, in the user's order of edges."""
        ends = (self.lib.gnnrt_graph_src(self.handle), self.lib.gnnrt_graph_dst(self.handle))
        return tuple(np.array(end[: self.num_edges], dtype=np.int32) for end in ends)

    def __del__(self):
        self.lib.gnnrt_graph_release(self.handle)


def evaluate_size(expression, sizes):
    """The value of a manifest's size expression, such as "2*g.nodes + 3"."""
    text = re.sub(r"[A-Za-z_][\w.]*", lambda m: m[0] if m[0] == "ceildiv" else str(sizes[m[0]]), expression)
    return eval(text, {"__builtins__": {}, "ceildiv": lambda a, b: -(-a // b)})  # the manifest is our own


class Model:
    """A compiled model. Its manifest, by entry name, is in `entries`; `vjps` by the function's name."""

    def __init__(self, lib, handle):
        self.lib = lib
        self.handle = handle
        self.manifest = json.loads(lib.gnnrt_model_manifest(handle))
        self.entries = {entry["name"]: entry for entry in self.manifest["entries"]}
        self.vjps = {pair["of"]: pair for pair in self.manifest.get("vjps", [])}

    def close(self):
        self.lib.gnnrt_model_close(self.handle)

    def sizes(self, entry, arguments):
        """The sizes of an entry's sets, read off the arguments' shapes."""
        sizes = {}
        for spec in entry["args"]:
            value = arguments.get(spec["path"])
            if spec["kind"] == "graph":
                sizes[spec["src"]] = value.num_src
                sizes[spec["dst"]] = value.num_dst
                sizes[spec["edges"]] = value.num_edges
            elif spec["kind"] == "tensor":
                shape = value.shape[: value.ndim] if isinstance(value, DLTensor) else np.shape(value)
                for name, size in zip(spec["dims"], shape):
                    if name in entry["sets"]:
                        sizes.setdefault(name, size)
            elif spec.get("set"):
                sizes[spec["set"]] = int(value)
        return sizes

    def call(self, context, name, arguments, outputs=None, sizes=None):
        """Calls an entry; returns its results by path. Arrays given for `inout` arguments are updated in place, and
        must be contiguous and of the right type. `outputs` gives own arrays (or DLTensors) for results, by path;
        `sizes` those sizes of sets that no argument's shape tells."""
        entry = self.entries[name]
        unknown = set(arguments) - {spec["path"] for spec in entry["args"]}
        if unknown:
            raise KeyError(f"{name} has no argument {sorted(unknown)}")
        sizes = {**(sizes or {}), **self.sizes(entry, arguments)}
        values, kept, results = [], [], {}
        for spec in entry["args"]:
            value = Value()
            given = arguments.get(spec["path"], spec.get("default"))
            if given is None:
                raise KeyError(f"{name}: no value for {spec['path']}")
            if spec["kind"] == "graph":
                value.graph = given.handle
            elif spec["kind"] == "tensor":
                if not isinstance(given, DLTensor):
                    given = tensor(given if isinstance(given, np.ndarray) else np.asarray(given, NUMPY[spec["dtype"]]))
                kept.append(given)
                value.tensor = ctypes.pointer(given)
            elif spec["kind"] == "scalar" and spec["dtype"] in ("f32", "f64"):
                value.f = float(given)  # defaults may be "inf"
            else:
                value.i = int(given)
            values.append(value)
        for spec in entry["results"]:
            array = (outputs or {}).get(spec["path"])
            if array is None:
                shape = [evaluate_size(size, sizes) for size in spec["dims"]]
                array = np.zeros(shape, NUMPY[spec["dtype"]])
            results[spec["path"]] = array
            kept.append(array if isinstance(array, DLTensor) else tensor(array))
            value = Value()
            value.tensor = ctypes.pointer(kept[-1])
            values.append(value)
        context.check(
            self.lib.gnnrt_model_call(
                context.handle, self.handle, name.encode(), (Value * len(values))(*values), len(values)
            )
        )
        return results

    def value_and_vjp(self, context, function, arguments, cotangents):
        """The results of a function of `export vjp`, and its gradients by path, for cotangents by result path."""
        pair = self.vjps[function]
        sizes = self.sizes(self.entries[pair["forward"]], arguments)
        results = self.call(context, pair["forward"], arguments)
        residuals = results.pop("residuals")
        backward = {"residuals": residuals}
        for spec in self.entries[pair["backward"]]["args"]:
            path = spec["path"]
            if path in arguments:
                backward[path] = arguments[path]
            elif path.endswith("_adj"):
                backward[path] = cotangents[path.removesuffix("_adj")]
            elif spec["kind"] == "size":
                backward[path] = sizes[spec["set"]]
        gradients = self.call(context, pair["backward"], backward, sizes=sizes)
        return results, {path.removesuffix("_adj"): value for path, value in gradients.items()}
