"""Rows of fp8 and int8 codes under scales, by numpy, ml_dtypes and PyTorch: expected/scaled_rows.safetensors.

    flock /tmp/torch.lock python make_scaled_rows.py

A scale is the largest magnitude over the largest code in f32, 1 where all values are 0; a code is the quotient in f64
rounded once, by ml_dtypes' casts (PyTorch's go by f32) and numpy's rint; decoded values are PyTorch's casts of the
codes to f32, times the scale.
"""

import pathlib

import ml_dtypes
import numpy as np
import torch
from safetensors.numpy import save_file

ROWS, COLUMNS = 12, 83  # an odd number: no vector ends with a row
FORMATS = {
    "fp8_e4m3_row": (ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn, 448, True),
    "fp8_e5m2_row": (ml_dtypes.float8_e5m2, torch.float8_e5m2, 57344, True),
    "int8_row": (np.int8, torch.int8, 127, True),
    "fp8_e4m3_tensor": (ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn, 448, False),
    "fp8_e5m2_tensor": (ml_dtypes.float8_e5m2, torch.float8_e5m2, 57344, False),
}


def values():
  """Rows of several kinds: of one size, far apart, with an outlier, tiny, zeros of both signs, exact codes."""
  random = np.random.default_rng(20261123)
  x = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
  x[1] *= np.exp(4 * random.standard_normal(COLUMNS)).astype(np.float32)
  x[2, 7] = -3e4
  x[3] *= np.float32(1e-30)
  x[4] = np.where(np.arange(COLUMNS) % 2, np.float32(0), np.float32(-0.0))
  x[5] = np.arange(COLUMNS, dtype=np.float32) - 41
  x[6] = np.float32(448) / (1 + np.arange(COLUMNS, dtype=np.float32))
  x[7] = 127 - np.arange(COLUMNS, dtype=np.float32) * 1.5  # ties of int8
  return x


def encoded(x, number, largest, by_row):
  most = np.abs(x).max(axis=1, keepdims=True) if by_row else np.abs(x).max().reshape(1, 1)
  scale = (most / np.float32(largest)).astype(np.float32)
  scale = np.where(most == 0, np.float32(1), np.maximum(scale, np.float32(1e-45)))
  quotient = x.astype(np.float64) / scale.astype(np.float64)
  codes = np.rint(quotient).clip(-127, 127).astype(np.int8) if number is np.int8 else quotient.astype(number)
  return np.broadcast_to(scale, (ROWS, 1)).copy(), codes


def main():
  x = values()
  tensors = {"input": x}
  for name, (number, torch_dtype, largest, by_row) in FORMATS.items():
    scale, codes = encoded(x, number, largest, by_row)
    bits = torch.from_numpy(codes.view(np.uint8)).view(torch_dtype)
    tensors[name + ".scales"] = scale
    tensors[name + ".codes"] = codes.view(np.uint8)
    tensors[name + ".values"] = (bits.to(torch.float32) * torch.from_numpy(scale)).numpy()
  save_file(tensors, pathlib.Path(__file__).parent / "expected" / "scaled_rows.safetensors")


if __name__ == "__main__":
  torch.set_num_threads(1)
  main()
