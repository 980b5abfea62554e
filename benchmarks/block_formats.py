#!/usr/bin/env python3
"""Encoders of block formats beside ggml's, on one thread, as tables for docs.

    pip download --no-deps --no-binary :all: llama-cpp-python     # carries ggml's source
    tar xf llama_cpp_python-*.tar.gz
    python3 benchmarks/block_formats.py llama_cpp_python-*/vendor/llama.cpp/ggml

Both are compiled here, ggml-quants.c without fused multiply-adds (docs/quantisation.md says why), both for this machine,
and take turns; each number is the median of 15 rounds over 65,536 values. Bytes must be the same, or nothing is printed.
The bundled model's matrices are encoded too, for the errors of the two encoders.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "reference_pipeline/shapes/model/transformer/diffusion_pytorch_model.safetensors"


def compiled(ggml, folder, compiler):
  """ggml-quants.c alone as a shared library, and the program that measures."""
  library, program = folder / "ggml.so", folder / "block_formats"
  subprocess.run(["gcc", "-O3", "-march=native", "-ffp-contract=off", "-DNDEBUG", "-fPIC", "-shared", "-w",
                  f"-I{ggml}/include", f"-I{ggml}/src", f"{ggml}/src/ggml-quants.c", "-o", library, "-lm",
                  "-Wl,--unresolved-symbols=ignore-all"], check=True)
  subprocess.run([compiler, "-std=c++20", "-O3", "-march=native", "-DNDEBUG", f"-I{ROOT}/include", f"-I{ROOT}/tests",
                  ROOT / "benchmarks/ggml/block_formats.cpp", "-o", program, "-lgomp", "-ldl", "-lpthread"], check=True)
  return library, program


def model_values(path):
  """The bundled model's matrices, whose values are bf16, as f32."""
  data = MODEL.read_bytes()
  size, = struct.unpack("<Q", data[:8])
  with open(path, "wb") as out:
    for name, tensor in json.loads(data[8:8 + size]).items():
      if name == "__metadata__" or len(tensor["shape"]) != 2 or tensor["shape"][1] % 32:
        continue
      begin, end = (8 + size + offset for offset in tensor["data_offsets"])
      assert tensor["dtype"] == "BF16", name
      wide = bytearray(2 * (end - begin))
      wide[2::4], wide[3::4] = data[begin:end:2], data[begin + 1:end:2]
      out.write(wide)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("ggml", type=pathlib.Path, help="ggml's folder in llama.cpp's source")
  parser.add_argument("--compiler", default="g++", help="the C++ compiler of our side (default: g++)")
  options = parser.parse_args()
  with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    library, program = compiled(options.ggml.resolve(), folder, options.compiler)
    model_values(folder / "model.f32")
    lines = subprocess.run([program, library, folder / "model.f32"], check=True, capture_output=True, text=True).stdout
  rows = [json.loads(line) for line in lines.splitlines()]

  print("| format | reference, GB/s of f32 | times ggml's | search, GB/s |\n|---|---|---|---|")
  for row in rows:
    ratio = f"{row['encode_ratio']:.1f}" if "encode_ratio" in row else "–"
    print(f"| `{row['format']}` | {row['encode']:.2f} | {ratio} | {row['search']:.3f} |")
  print("\n| format | normal values, reference | search / reference | bundled model, reference | search / reference |")
  print("|---|---|---|---|---|")
  for row in rows:
    (bell, bell_found), (model, model_found) = row["bell"], row["model"]
    print(f"| `{row['format']}` | {bell:.3g} | {bell_found / bell:.3f} | {model:.3g} | {model_found / model:.3f} |")


if __name__ == "__main__":
  main()
