"""What torch.Generator("cpu") draws."""

import json

import torch

import tensor_file

SEEDS = [0, 1, 42, 2**32 - 1, 2**32 + 5, 2**63 - 1]
SIZES = [1, 5, 15, 16, 17, 31, 64, 1000, 4096]
SEQUENCE = [5, 16, 3, 1, 64, 7, 17, 1000, 2, 33, 1]


def write(path):
  """expected/randn.safetensors"""
  tensors = {}
  for seed in SEEDS:
    for size in SIZES if seed in (0, 42, 2**63 - 1) else SIZES[:-1]:
      tensors[f"seed{seed}.size{size}.f32"] = torch.randn(size, generator=torch.Generator("cpu").manual_seed(seed))
  for seed in (0, 42):
    for size in (1, 15, 17, 64, 1000):
      for label, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
        tensors[f"seed{seed}.size{size}.{label}"] = torch.randn(
            size, generator=torch.Generator("cpu").manual_seed(seed), dtype=dtype)
  for seed in (1, 2**32 + 5):
    generator = torch.Generator("cpu").manual_seed(seed)
    for i, size in enumerate(SEQUENCE):
      tensors[f"sequence.seed{seed}.f32.draw{i:02}"] = torch.randn(size, generator=generator)
  for label, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
    generator = torch.Generator("cpu").manual_seed(1)
    for i, size in enumerate(SEQUENCE):
      tensors[f"sequence.seed1.{label}.draw{i:02}"] = torch.randn(size, generator=generator, dtype=dtype)
  shaped = torch.randn((2, 3, 5, 7), generator=torch.Generator("cpu").manual_seed(7))
  tensors["shaped.seed7"] = shaped
  tensor_file.save(path, tensors, {"seeds": json.dumps(SEEDS), "sizes": json.dumps(SIZES), "sequence": json.dumps(SEQUENCE)})
