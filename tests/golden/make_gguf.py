"""expected/small.gguf: a file as the PyPI package gguf writes it.

    python -m venv venv && venv/bin/pip install numpy gguf==0.19.0 && venv/bin/python make_gguf.py
"""

import pathlib

import gguf
import numpy as np


def main():
  path = pathlib.Path(__file__).parent / "expected" / "small.gguf"
  writer = gguf.GGUFWriter(path, "flux")
  writer.add_uint8("test.u8", 200)
  writer.add_int8("test.i8", -100)
  writer.add_uint16("test.u16", 60000)
  writer.add_int16("test.i16", -30000)
  writer.add_uint32("test.u32", 4000000000)
  writer.add_int32("test.i32", -2000000000)
  writer.add_uint64("test.u64", 2**63)
  writer.add_int64("test.i64", -2**62)
  writer.add_float32("test.f32", 0.5)
  writer.add_float64("test.f64", 0.1)
  writer.add_bool("test.bool", True)
  writer.add_string("test.string", "a \u5186\n")
  writer.add_array("test.shape", [320, 4, 3])
  writer.add_array("test.scores", [0.25, -1.5])
  writer.add_array("test.tokens", ["<unk>", "", "\u2581a"])
  values = np.arange(512, dtype=np.float32).reshape(2, 256) / 64 - 4
  writer.add_tensor("matrix.f32", values[:, :6].copy())
  writer.add_tensor("matrix.f16", values.astype(np.float16))
  for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.BF16):
    writer.add_tensor(f"matrix.{kind.name.lower()}", gguf.quants.quantize(values, kind), raw_dtype=kind)
  writer.add_tensor("matrix.q4_k", (np.arange(288) % 251).astype(np.uint8).reshape(2, 144),
                    raw_dtype=gguf.GGMLQuantizationType.Q4_K)
  writer.add_tensor("ids", np.arange(30, dtype=np.int32).reshape(2, 3, 5))
  writer.add_tensor("single", np.array([7.0], np.float32))
  writer.write_header_to_file()
  writer.write_kv_data_to_file()
  writer.write_tensors_to_file()
  writer.close()


main()
