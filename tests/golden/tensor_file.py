"""A safetensors writer that always writes the same bytes (the library's own orders metadata at random)."""

import json
import struct

import numpy as np
import torch

NAMES = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.int32: "I32",
         torch.uint32: "U32", torch.uint16: "U16", torch.uint8: "U8"}
ORDER = ["F64", "F32", "I32", "U32", "BF16", "F16", "U16", "U8"]  # wide first keeps everything aligned


def save(path, tensors, metadata):
  """Writes tensors (torch or numpy) by dtype and name, and metadata (strings) by key."""
  items = {k: (torch.from_numpy(v) if isinstance(v, np.ndarray) else v).contiguous() for k, v in tensors.items()}
  header, data = {"__metadata__": dict(sorted(metadata.items()))}, b""
  for key in sorted(items, key=lambda k: (ORDER.index(NAMES[items[k].dtype]), k)):
    value = items[key]
    raw = value.reshape(-1).view(torch.uint8).numpy().tobytes()
    header[key] = {"dtype": NAMES[value.dtype], "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
  text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
  text += b" " * (-len(text) % 8)
  with open(path, "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data)
