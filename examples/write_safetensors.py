"""Writes safetensors files with Python alone, for the examples' make_data.py."""

import json
import struct


def write_safetensors(path, tensors, metadata):
    """`tensors`: name → (safetensors type, struct code, shape, values in row-major order); `metadata`: name → text."""
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, code, shape, values) in tensors.items():
        blob = struct.pack(f"<{len(values)}{code}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
