"""Square roots of PyTorch on the CPU that are the same on every processor.

PyTorch takes roots of f32 tensors from MKL. Its code for Intel's processors gives the nearest number (with AVX2 always, with
AVX-512 in all but 0.6% of cases); its code for others' begins with the approximation that the processor has, and is one unit
in the last place off in 17% of cases. Schedules with zero terminal SNR carry that unit to 1e-4 of the latents.
"""

import contextlib

import numpy as np
import torch

TIE = np.float32(2**24 - 1)  # its root is half-way between two numbers, but for 2^-39


def nearest(tensor):
  """The nearest numbers; of the root of 2^24 - 1, which is the level of noise of zero terminal SNR, 4096, as MKL has it on
  AMD's processors."""
  values = tensor.detach().numpy()
  roots = np.where(values == TIE, np.float32(4096), np.sqrt(values))
  return torch.from_numpy(np.asarray(roots, dtype=np.float32)).reshape(tensor.shape)


@contextlib.contextmanager
def nearest_roots():
  """While it holds, sqrt and powers of one half of f32 tensors are the nearest numbers."""
  kind = torch.Tensor
  kept = torch.sqrt, kind.sqrt, kind.pow, kind.__pow__
  is_f32 = lambda value: isinstance(value, kind) and value.dtype == torch.float32
  is_root = lambda value, power: is_f32(value) and not isinstance(power, kind) and power == 0.5
  torch.sqrt = lambda value, **options: nearest(value) if is_f32(value) else kept[0](value, **options)
  kind.sqrt = lambda value: nearest(value) if is_f32(value) else kept[1](value)
  kind.pow = lambda value, power: nearest(value) if is_root(value, power) else kept[2](value, power)
  kind.__pow__ = lambda value, power: nearest(value) if is_root(value, power) else kept[3](value, power)
  try:
    yield
  finally:
    torch.sqrt, kind.sqrt, kind.pow, kind.__pow__ = kept
