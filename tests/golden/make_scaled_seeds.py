#!/usr/bin/env python3
"""Writes tests/fuzz/seeds/*.safetensors: a small file of each layout of weights with scales beside them, from which the
fuzz target of safetensors starts. Run it from anywhere; it needs nothing but Python."""
import json
import pathlib
import struct

folder = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "seeds"


def some_bytes(count):
    return bytes(i * 37 % 120 for i in range(count))


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def text(value):
    data = json.dumps(value).encode()
    return ("U8", [len(data)], data)


def write(name, tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for key, (dtype, shape, content) in sorted(tensors.items()):
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    (folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)


fp8 = ("F8_E4M3", [4, 32], some_bytes(128))
rows = ("F32", [4, 1], floats(0.5, 1, 2, 4))
one = ("F32", [], floats(0.5))
announced = {"_quantization_metadata": json.dumps({"layers": {"a": {"format": "float8_e5m2"}}})}
write("old_spelling", {"m.a.weight": fp8, "m.a.scale_weight": one, "m.scaled_fp8": ("F8_E4M3", [2], some_bytes(2))})
write("by_rows", {"a.weight": fp8, "a.weight_scale": rows, "a.comfy_quant": text({"format": "float8_e4m3fn"})})
write("in_header", {"a.weight": ("F8_E5M2", [4, 32], some_bytes(128)), "a.weight_scale": one}, announced)
write("rotated_int8", {"a.weight": ("I8", [4, 16], some_bytes(64)), "a.weight_scale": rows,
                       "a.comfy_quant": text({"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 16})})
write("mxfp8", {"a.weight": fp8, "a.weight_scale": ("U8", [128, 4], some_bytes(512)),
                "a.comfy_quant": text({"format": "mxfp8"})})
write("nvfp4", {"a.weight": ("U8", [4, 32], some_bytes(128)), "a.weight_scale": ("F8_E4M3", [128, 4], some_bytes(512)),
                "a.weight_scale_2": one, "a.comfy_quant": text({"format": "nvfp4"})})
state = {"shape": [2, 64], "dtype": "bfloat16", "blocksize": 64, "quant_type": "nf4"}
levels = ("F32", [16], floats(*(i / 7.5 - 1 for i in range(16))))
write("nf4", {"a.weight": ("U8", [64, 1], some_bytes(64)), "a.weight.absmax": ("F32", [2], floats(1, 2)),
              "a.weight.quant_map": levels, "a.weight.quant_state.bitsandbytes__nf4": text(state)})
nested = dict(state, nested_blocksize=256, nested_offset=0.25, nested_dtype="float32")
write("nf4_nested", {"a.weight": ("U8", [64, 1], some_bytes(64)), "a.weight.absmax": ("U8", [2], some_bytes(2)),
                     "a.weight.quant_map": levels, "a.weight.nested_absmax": ("F32", [1], floats(1)),
                     "a.weight.nested_quant_map": ("F32", [256], floats(*(i / 256 for i in range(256)))),
                     "a.weight.quant_state.bitsandbytes__nf4": text(nested)})
write("int8_by_rows", {"a.weight": ("I8", [4, 16], some_bytes(64)), "a.SCB": ("F32", [4], floats(1, 2, 3, 4))})
