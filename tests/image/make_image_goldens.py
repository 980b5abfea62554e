"""Writes resize_golden.json and png_golden.json: what Pillow makes of pictures.

    python tests/image/make_image_goldens.py        # needs Pillow >= 13 and NumPy
"""

import io
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

FOLDER = pathlib.Path(__file__).parent


def pattern(width, height, hard):
  """The picture that tests/image/resize.cpp draws too: noise, or only 0 and 255, whose overshoot is clipped."""
  words = np.arange(width * height * 3, dtype=np.uint64) * 2654435761 % 2**32 >> 24
  values = np.where(words > 127, 255, 0) if hard else words
  return values.astype(np.uint8).reshape(height, width, 3)


def fnv1a(data):
  """64-bit FNV-1a."""
  result = 0xCBF29CE484222325
  for byte in data:
    result = (result ^ byte) * 0x100000001B3 % 2**64
  return f"{result:016x}"


def resize_goldens():
  sizes = [(1, 1, 1, 1), (1, 1, 5, 4), (5, 4, 1, 1), (2, 3, 2, 3), (7, 5, 13, 9), (13, 9, 7, 5), (16, 16, 16, 40),
           (16, 16, 40, 16), (64, 64, 32, 32), (33, 21, 64, 64), (100, 3, 16, 16), (3, 100, 16, 16), (31, 94, 29, 40),
           (40, 40, 30, 20), (40, 41, 30, 20), (90, 70, 64, 48), (1, 50, 9, 7), (50, 1, 7, 9)]
  found = []
  for width, height, to_width, to_height in sizes:
    for hard in (False, True):
      picture = Image.fromarray(pattern(width, height, hard))
      resized = np.asarray(picture.resize((to_width, to_height), Image.Resampling.LANCZOS)).tobytes()
      found.append({"from": [width, height], "hard": hard, "to": [to_width, to_height], "fnv1a": fnv1a(resized)})
  return found


def chunk(kind, data):
  return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_rows(samples, depth):
  """Filter byte 0 and the samples of each row, packed big-endian; samples is [height, width, channels]."""
  rows = b""
  for row in samples:
    bits = "".join(format(int(value), f"0{depth}b") for value in row.reshape(-1))
    bits += "0" * (-len(bits) % 8)
    rows += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
  return rows


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, color_type, depth, interlaced, extra=b""):
  height, width = samples.shape[:2]
  if interlaced:
    passes = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
    data = b"".join(packed_rows(part, depth) for part in passes if part.size)
  else:
    data = packed_rows(samples, depth)
  header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced))
  return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data)) +
          chunk(b"IEND", b""))


def png_goldens():
  rng = np.random.default_rng(1)
  channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
  found = {}
  for color_type, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
    for depth in depths:
      for interlaced in (False, True):
        for width, height in ((1, 1), (6, 5)):
          colors = min(2**depth, 20)
          samples = rng.integers(0, colors if color_type == 3 else 2**depth, (height, width, channels[color_type]))
          extra = b""
          if color_type == 3:
            extra = chunk(b"PLTE", rng.integers(0, 256, 3 * colors, dtype=np.uint8).tobytes())
            extra += chunk(b"tRNS", rng.integers(0, 256, colors, dtype=np.uint8).tobytes())
          if color_type == 0 and depth < 16:
            extra = chunk(b"tRNS", struct.pack(">H", int(samples[0, 0, 0])))
          data = png(samples, color_type, depth, interlaced, extra)
          if color_type == 0 and depth == 16:  # Pillow clips these to 255, and we keep the upper byte
            rgb = np.repeat((samples >> 8).astype(np.uint8), 3, 2)
          else:
            rgb = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
          name = f"type{color_type} depth{depth}{' interlaced' if interlaced else ''} {width}x{height}"
          found[name] = {"png": data.hex(), "size": [width, height], "rgb": rgb.tobytes().hex()}
  return found


def main():
  (FOLDER / "resize_golden.json").write_text(json.dumps(resize_goldens(), indent=0) + "\n")
  (FOLDER / "png_golden.json").write_text(json.dumps(png_goldens(), indent=0) + "\n")


if __name__ == "__main__":
  main()
