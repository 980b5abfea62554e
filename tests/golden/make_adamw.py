"""Steps of torch.optim.AdamW in f32 and in f16: expected/adamw.safetensors.

    python make_adamw.py [OUTPUT]

By PyTorch's code for any x86 processor: its vector code fuses some products and sums, others on another processor."""

import os

os.environ["ATEN_CPU_CAPABILITY"] = "default"  # read as torch is imported

import pathlib
import sys

import torch

from tensor_file import save

OUTPUT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
torch.set_num_threads(1)


def steps(dtype):
  generator = torch.Generator().manual_seed(3)
  start = torch.randn(37, generator=generator).to(dtype)
  parameter = start.clone().requires_grad_()
  optimiser = torch.optim.AdamW([parameter], lr=3e-3, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, foreach=False)
  gradients, values = [], []
  for step in range(6):
    gradient = (torch.randn(37, generator=generator) * 10.0 ** (step - 3)).to(dtype)
    parameter.grad = gradient.clone()
    optimiser.step()
    gradients.append(gradient)
    values.append(parameter.detach().clone())
  return start, torch.stack(gradients), torch.stack(values)


tensors = {}
for dtype, name in [(torch.float32, "f32"), (torch.float16, "f16")]:
  start, gradients, values = steps(dtype)
  tensors |= {f"{name}.start": start, f"{name}.gradients": gradients, f"{name}.values": values}
save(OUTPUT / "expected" / "adamw.safetensors", tensors, {"torch": torch.__version__})
