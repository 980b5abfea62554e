"""Block formats as ggml's C reference encodes and decodes them: expected/block_formats.safetensors.

Its own script, because it needs ggml's source (a PyPI package carries it) and a C compiler instead of PyTorch:

    python -m venv venv && venv/bin/pip install numpy
    venv/bin/pip download --no-binary :all: --no-deps llama-cpp-python==0.3.36 && tar xzf llama_cpp_python-*.tar.gz
    venv/bin/python make_block_formats.py llama_cpp_python-*/vendor/llama.cpp/ggml

The reference is compiled here with -ffp-contract=off: with fused multiply-adds compilers disagree. README.md says what
is in the file.
"""

import argparse
import ctypes
import json
import os
import pathlib
import struct
import subprocess
import tempfile

import numpy as np

# name: values and bytes of a block. mxfp8 and mxfp6 are OCP's, made below.
FORMATS = {"q8_0": (32, 34), "q5_1": (32, 24), "q5_0": (32, 22), "q4_1": (32, 20), "q4_0": (32, 18), "mxfp4": (32, 17),
           "iq4_nl": (32, 18), "nvfp4": (64, 36), "q6_k": (256, 210), "q5_k": (256, 176), "q4_k": (256, 144),
           "q3_k": (256, 110), "q2_k": (256, 84), "iq4_xs": (256, 136), "mxfp8": (32, 33), "mxfp6_e3m2": (32, 25),
           "mxfp6_e2m3": (32, 25)}
ENCODED, DECODED = 1024 * 256, 1024 * 64  # values behind each hash
ENCODE_SEED, SCALE_SEED, DECODE_SEED = 1, 2, 3


def splitmix(seed, count):
  """Words `count` of SplitMix64 (Steele, Lea, Flood 2014)."""
  with np.errstate(over="ignore"):
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def generated():
  """The inputs behind the hashes, 256 values of a kind at a time; tests/quant/generated_values.hpp makes the same."""
  words = splitmix(ENCODE_SEED, ENCODED).reshape(-1, 256)
  field = lambda shift: ((words >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64)
  bell = field(0) + field(16) + field(32) + field(48) - 2 * 65535
  power = (splitmix(SCALE_SEED, len(words)) % np.uint64(24)).astype(np.int64)[:, None] - 40
  sign = np.where(words >> np.uint64(63), -1.0, 1.0)
  wide = sign * np.ldexp(1 + (words & np.uint64(0x7FFFFF)).astype(np.float64) * 2.0**-23,
                         ((words >> np.uint64(23)) & np.uint64(63)).astype(np.int64) - 40)
  kinds = [
      np.ldexp(bell.astype(np.float64), -22),
      np.ldexp(bell.astype(np.float64), power),
      ((words >> np.uint64(58)).astype(np.int64) - 32) / 8.0,
      wide,
      np.where(words % np.uint64(64) == 0, bell, 0).astype(np.float64),
      np.ldexp(np.abs(bell).astype(np.float64), -22),
      np.ldexp(-(np.abs(bell) + 65536).astype(np.float64), power),
      np.ldexp((bell >> 6).astype(np.float64) + 2**20, -20),
  ]
  values = np.stack([kinds[i % len(kinds)][i] for i in range(len(words))])
  exact = values.astype(np.float32)
  assert np.array_equal(exact.astype(np.float64), values)
  return exact.reshape(-1)


def chosen():
  """Edges: 40 blocks of 256."""
  random = np.random.default_rng(7)
  normal = lambda: random.standard_normal(256)
  tiny = np.float64(2.0**-140)
  blocks = [np.zeros(256), np.full(256, -0.0), np.full(256, 1.0), np.full(256, -3.0)]
  for at, value in ((0, 5.0), (31, -5.0), (100, 65504.0), (255, -1e-6)):
    blocks.append(np.zeros(256))
    blocks[-1][at] = value
  blocks.append(np.where(np.arange(256) % 2, 7.0, -7.0))  # the first of the extremes counts
  blocks.append(np.where(np.arange(256) % 2, -7.0, 7.0))
  blocks.append((np.arange(256) % 33 - 16) / 2)  # ties
  blocks.append((np.arange(256) % 17 - 8) * 0.5 + 0.25)
  blocks.append(np.where(np.arange(256) % 32 == 0, 127.0, np.arange(256) % 127 + 0.5))  # q8_0's halves
  blocks.append(np.where(np.arange(256) % 3 == 0, 1.0, tiny * (np.arange(256) - 128)))  # subnormal beside 1
  blocks.append(np.where(np.arange(256) % 32 < 16, 0.0, normal() * 0.1))
  blocks.append(np.where(np.arange(256) // 32 % 2, 0.0, normal()))
  blocks.append(np.repeat(np.ldexp(1.0, np.arange(-20, 12)), 8) * random.uniform(-1, 1, 256))
  blocks.append(np.repeat([np.nextafter(np.float32(2.0**k), np.float32(0)) for k in range(-4, 4)], 32) *
                np.where(np.arange(256) % 32, random.integers(-4, 5, 256) / 4, 1))  # log2 rounds up
  blocks.append(normal() * 1e-12)
  blocks.append(normal() * 1e-15)  # about where groups count as empty
  blocks.append(normal() * 3e-16)
  blocks.append(normal() * 1e8)  # scales beyond f16's range
  blocks.append(np.abs(normal()))
  blocks.append(-np.abs(normal()) - 1)
  while len(blocks) < 40:
    blocks.append(normal() * 10.0**random.uniform(-4, 2) + random.choice([0, 0, 0.5, -2]))
  return np.stack(blocks).astype(np.float32).reshape(-1)


def compiled(ggml):
  """ggml-quants.c alone as a shared library."""
  with tempfile.TemporaryDirectory() as folder:
    library = pathlib.Path(folder) / "reference.so"
    subprocess.run(["gcc", "-O2", "-ffp-contract=off", "-DNDEBUG", "-fPIC", "-shared", "-w", f"-I{ggml}/include",
                    f"-I{ggml}/src", f"{ggml}/src/ggml-quants.c", "-o", library, "-lm",
                    "-Wl,--unresolved-symbols=ignore-all"], check=True)
    return ctypes.CDLL(str(library), mode=os.RTLD_LAZY)


class Ggml:
  def __init__(self, folder):
    self.library = compiled(folder)

  def encode(self, name, values):
    in_block, size = FORMATS[name]
    out = np.zeros(values.size // in_block * size, np.uint8)
    pointers = [values.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)]
    if name == "iq4_nl":  # its quantize_row_iq4_nl_ref searches less than what files are made with
      self.library.quantize_iq4_nl(*pointers, ctypes.c_int64(1), ctypes.c_int64(values.size), None)
    else:
      self.function("quantize_row_%s_ref", name)(*pointers, ctypes.c_int64(values.size))
    return out

  def decode(self, name, blocks):
    in_block, size = FORMATS[name]
    out = np.zeros(blocks.size // size * in_block, np.float32)
    self.function("dequantize_row_%s", name)(blocks.ctypes.data_as(ctypes.c_void_p),
                                             out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(out.size))
    return out

  def function(self, pattern, name):
    return getattr(self.library, pattern % (name[:-1] + "K" if name.endswith("_k") else name))


class Microscaling:
  """OCP Microscaling 1.0, by search through all codes instead of arithmetic on bits."""

  def __init__(self, exponent_bits, mantissa_bits, last_is_nan):
    self.bits = 1 + exponent_bits + mantissa_bits
    codes = np.arange(2**(self.bits - 1) - last_is_nan)  # without sign
    field, fraction = codes >> mantissa_bits, codes % 2**mantissa_bits / 2.0**mantissa_bits
    bias = 2**(exponent_bits - 1) - 1
    self.numbers = np.where(field == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, field - bias))
    self.power = int(np.frexp(self.numbers[-1])[1]) - 1  # of the largest

  def encode(self, _, values):
    rows = values.astype(np.float64).reshape(-1, 32)
    largest = np.abs(rows).max(1)
    power = np.where(largest > 0, np.frexp(largest)[1] - 1 - self.power, -127).clip(-127, 127)
    scaled = np.ldexp(np.abs(rows), -power[:, None]).clip(0, self.numbers[-1])
    above = np.searchsorted(self.numbers, scaled, side="left")
    below = np.maximum(above - 1, 0)
    up, down = self.numbers[above] - scaled, scaled - self.numbers[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    code = code | np.where(np.signbit(rows), 1 << (self.bits - 1), 0)
    return np.concatenate([(power + 127)[:, None].astype(np.uint8), self.packed(code)], 1).reshape(-1)

  def decode(self, _, blocks):
    rows = blocks.reshape(-1, 1 + 4 * self.bits)
    codes = self.unpacked(rows[:, 1:])
    sign = 1 << (self.bits - 1)
    numbers = np.append(self.numbers, np.nan)[codes & (sign - 1)] * np.where(codes & sign, -1.0, 1.0)
    with np.errstate(over="ignore"):
      values = np.ldexp(numbers, rows[:, :1].astype(np.int64) - 127).astype(np.float32)
    return np.where(rows[:, :1] == 255, np.float32(np.nan), values)

  def packed(self, codes):
    """Bit after bit, the lowest of a code and of a byte first."""
    bits = codes[:, :, None] >> np.arange(self.bits) & 1
    return np.packbits(bits.reshape(len(codes), -1).astype(np.uint8), axis=1, bitorder="little")

  def unpacked(self, rows):
    bits = np.unpackbits(rows, axis=1, bitorder="little").reshape(len(rows), 32, self.bits)
    return (bits.astype(np.int64) << np.arange(self.bits)).sum(2)


OCP = {"mxfp8": Microscaling(4, 3, True), "mxfp6_e3m2": Microscaling(3, 2, False), "mxfp6_e2m3": Microscaling(2, 3, False)}


def fnv1a(data):
  """64-bit FNV-1a over little-endian words of 32 bits (the last one filled with zeros)."""
  data = data.tobytes()
  data += b"\0" * (-len(data) % 4)
  value = 0xCBF29CE484222325
  for word in struct.unpack(f"<{len(data) // 4}I", data):
    value = ((value ^ word) * 0x100000001B3) & (2**64 - 1)
  return f"{value:016x}"


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("ggml", type=pathlib.Path, help="ggml's folder in llama.cpp's source")
  parser.add_argument("--output", type=pathlib.Path,
                      default=pathlib.Path(__file__).parent / "expected" / "block_formats.safetensors")
  options = parser.parse_args()
  ggml, inputs, many = Ggml(options.ggml), chosen(), generated()
  tensors, facts = {"input": inputs}, {}
  for name, (in_block, size) in FORMATS.items():
    reference = OCP.get(name, ggml)
    tensors[f"{name}.blocks"] = reference.encode(name, inputs)
    blocks = splitmix(DECODE_SEED, DECODED // in_block * size // 4).astype("<u8").view(np.uint8)[:DECODED // in_block * size]
    decoded = reference.decode(name, np.ascontiguousarray(blocks))
    bits = np.where(np.isnan(decoded), np.uint32(0x7FC00000), decoded.view(np.uint32))
    facts[name] = {"encoded": fnv1a(reference.encode(name, many)), "decoded": fnv1a(bits)}
  header, data = {"__metadata__": {"hashes": json.dumps(facts, sort_keys=True)}}, b""
  for name in sorted(tensors, key=lambda n: (tensors[n].dtype != np.float32, n)):
    raw = tensors[name].tobytes()
    header[name] = {"dtype": "F32" if tensors[name].dtype == np.float32 else "U8", "shape": [tensors[name].size],
                    "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
  text = json.dumps(header, separators=(",", ":")).encode()
  text += b" " * (-len(text) % 8)
  options.output.write_bytes(struct.pack("<Q", len(text)) + text + data)


main()
