"""Number formats: every fp8 code, samples of the 16-bit codes, and doubles rounded once, in exact arithmetic."""

from fractions import Fraction
import json
import struct

import ml_dtypes
import numpy as np

import tensor_file

# name: (exponent bits, mantissa bits, bias, has infinity, largest finite value)
FORMATS = {
    "f32": (8, 23, 127, True),
    "tf32": (8, 10, 127, True),
    "bf16": (8, 7, 127, True),
    "f16": (5, 10, 15, True),
    "fp8_e5m2": (5, 2, 15, True),
    "fp8_e4m3": (4, 3, 7, False),
}


def largest(name):
  """The largest finite value: e4m3fn spends its top exponent on numbers and one code on NaN."""
  exponent_bits, mantissa_bits, bias, infinity = FORMATS[name]
  top = (1 << exponent_bits) - (2 if infinity else 1)
  mantissa = (1 << mantissa_bits) - (1 if infinity else 2)
  return Fraction(2) ** (top - bias) * (1 + Fraction(mantissa, 1 << mantissa_bits))


def nan_code(name):
  exponent_bits, mantissa_bits, _, infinity = FORMATS[name]
  ones = ((1 << exponent_bits) - 1) << mantissa_bits
  return ones | (1 << (mantissa_bits - 1)) if infinity else ones | ((1 << mantissa_bits) - 1)


def encode(name, x):
  """The code of a double: to nearest, ties to the even code; beyond the largest: infinity, or NaN where there is none."""
  exponent_bits, mantissa_bits, bias, infinity = FORMATS[name]
  sign = (struct.unpack("<Q", struct.pack("<d", x))[0] >> 63) << (exponent_bits + mantissa_bits)
  if x != x:
    return nan_code(name)
  overflow = ((1 << exponent_bits) - 1) << mantissa_bits if infinity else nan_code(name)
  if x in (float("inf"), float("-inf")):
    return sign | overflow
  value = abs(Fraction(x))
  if value == 0:
    return sign
  exponent = max(value.numerator.bit_length() - value.denominator.bit_length() - 1, 1 - bias)
  while Fraction(2) ** (exponent + 1) <= value:
    exponent += 1
  scaled = value / Fraction(2) ** (exponent - mantissa_bits)
  whole = scaled.numerator // scaled.denominator
  rest = scaled - whole
  if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
    whole += 1
  # A subnormal has whole below 2^mantissa_bits and exponent 1 - bias; a carry moves into the exponent by itself.
  code = ((exponent + bias - 1) << mantissa_bits) + whole if whole >> mantissa_bits or exponent > 1 - bias else whole
  if decode(name, code) is None or decode(name, code) > largest(name):
    return sign | overflow
  return sign | code


def decode(name, code):
  """The value of a positive finite code as a fraction; None where it is infinity, NaN or beyond the format."""
  exponent_bits, mantissa_bits, bias, infinity = FORMATS[name]
  exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
  if exponent >= (1 << exponent_bits) - (1 if infinity else 0) or (not infinity and code == nan_code(name)):
    return None
  if exponent == 0:
    return Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
  return (1 + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (exponent - bias)


def doubles(count):
  """Doubles of every kind: near each format's edges, exact ties and their neighbours, any magnitude."""
  random = np.random.Generator(np.random.PCG64(2026))
  found = [0.0, -0.0, float("inf"), float("-inf"), 1.0, -1.0, 5e-324, -5e-324, 2.2250738585072014e-308,
           1.7976931348623157e308, 464.0, np.nextafter(464.0, 1e9), 448.0, 480.0, 61440.0, np.nextafter(61440.0, 0.0), 65504.0,
           65520.0, np.nextafter(65520.0, 0.0), -65520.0]
  for name, (exponent_bits, mantissa_bits, bias, infinity) in FORMATS.items():
    top = ((1 << exponent_bits) - (1 if infinity else 0)) << mantissa_bits
    codes = set(int(c) for c in random.integers(0, top - 2, 110))
    codes |= {0, 1, 2, (1 << mantissa_bits) - 1, 1 << mantissa_bits, (1 << mantissa_bits) + 1}
    for code in sorted(codes):
      low, high = decode(name, code), decode(name, code + 1)
      if low is None or high is None:
        continue
      middle = float((low + high) / 2)  # exact: one more bit than the format has
      sign = -1.0 if random.integers(0, 2) else 1.0
      found += [sign * float(low), sign * middle, sign * np.nextafter(middle, np.inf), sign * np.nextafter(middle, 0.0)]
    edge = float(largest(name))
    step = edge - float(decode(name, encode(name, edge) - 1))
    for factor in (0.25, 0.5, 0.75, 1.0, 2.0):
      value = edge + factor * step
      found += [value, np.nextafter(value, 0.0), np.nextafter(value, np.inf), -value]
  while len(found) < count:
    spread = random.choice([0.5, 4.0, 12.0, 30.0, 60.0, 160.0])
    found.append(float(random.normal() * 2.0 ** random.normal(0, spread)))
  return np.array(found[:count], dtype=np.float64)


def write(path):
  """expected/formats.safetensors"""
  np.seterr(over="ignore", invalid="ignore")
  tensors = {}
  kinds = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e5m2": ml_dtypes.float8_e5m2}
  for name in ("fp8_e4m3", "fp8_e5m2"):
    tensors[f"{name}.values"] = np.arange(256, dtype=np.uint8).view(kinds[name]).astype(np.float64)
  random = np.random.Generator(np.random.PCG64(7))
  metadata = {}
  for name in ("bf16", "f16"):
    every = np.arange(65536, dtype=np.uint16)
    values = every.view(kinds[name]).astype(np.float32)
    codes = np.unique(np.concatenate([random.integers(0, 65536, 900), np.array(
        [0, 1, 2, 0x7f, 0x80, 0x81, 0x3ff, 0x400, 0x401, 0x3c00, 0x3f80, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7f7f, 0x7f80, 0x7f81,
         0x7fff, 0x8000, 0x8001, 0xfbff, 0xfc00, 0xff80, 0xffff])])).astype(np.uint16)
    tensors[f"{name}.codes"] = codes
    tensors[f"{name}.values"] = values[codes].astype(np.float64)
    # FNV-1a over the f32 bits of all 65,536 values in order of their codes, every NaN taken as 0x7fc00000.
    bits = np.where(np.isnan(values), np.uint32(0x7fc00000), values.view(np.uint32)).astype("<u4")
    checksum = 0xcbf29ce484222325
    for byte in bits.tobytes():
      checksum = ((checksum ^ byte) * 0x100000001b3) & 0xffffffffffffffff
    metadata[f"{name}.fnv1a"] = f"{checksum:016x}"
  inputs = doubles(4000)
  tensors["round.input"] = inputs
  for name, (exponent_bits, mantissa_bits, _, _) in FORMATS.items():
    codes = [encode(name, float(x)) for x in inputs]
    if name == "tf32":
      codes = [c << 13 for c in codes]  # tf32 is kept as an f32 whose low 13 bits are zero
    width = np.uint32 if name in ("f32", "tf32") else np.uint16 if name in ("bf16", "f16") else np.uint8
    tensors[f"round.{name}"] = np.array(codes, dtype=width)
    check(name, inputs, tensors[f"round.{name}"], kinds)
  metadata["formats"] = json.dumps({k: {"exponent_bits": v[0], "mantissa_bits": v[1], "bias": v[2], "infinity": v[3],
                                        "largest": float(largest(k))} for k, v in FORMATS.items()})
  tensor_file.save(path, tensors, metadata)


def check(name, inputs, codes, kinds):
  """The codes against numpy and ml_dtypes, where those round once: their input is already an f32 (or numpy's own cast)."""
  single = inputs.astype(np.float32)
  if name == "f32":
    theirs, rows = single.view(np.uint32), np.ones(len(inputs), bool)
  elif name == "f16":
    theirs, rows = inputs.astype(np.float16).view(np.uint16), np.ones(len(inputs), bool)
  elif name in kinds:
    theirs, rows = single.astype(kinds[name]).view(codes.dtype), single.astype(np.float64) == inputs
  else:
    return
  bad = rows & (theirs != codes)
  nan = np.isnan(single.astype(kinds[name]).astype(np.float32)) if name in kinds else np.isnan(single)
  bad &= ~nan
  if bad.any():
    raise ValueError(f"{name}: {inputs[bad][:5]} {codes[bad][:5]} {theirs[bad][:5]}")
