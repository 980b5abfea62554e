"""The numbers of the demonstrations of autocast_amp_notebook.md and lm_benchmark_report.md, by PyTorch on the CPU:
expected/experiments.json, for tests/experiments. Each demonstration begins with torch.manual_seed(0). By itself:

    venv/bin/python make_experiments.py
"""
import json
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def accumulation():
    def added(dtype, term):
        total = torch.tensor(0, dtype=dtype)
        for _ in range(1000):
            total += term
        return total.item()

    half = torch.tensor(0.01, dtype=torch.float16)
    return [added(torch.float32, torch.tensor(0.01)), added(torch.float16, half), added(torch.float32, half),
            added(torch.float32, half.type(torch.float32))]


def stagnation():
    found = {}
    for name, dtype in DTYPES.items():
        weight, changed = torch.tensor(1.0, dtype=dtype), 0
        for _ in range(2000):
            after = weight - torch.tensor(1e-5, dtype=dtype)
            changed += int(after.item() != weight.item())
            weight = after
        found[name] = {"changed": changed, "final": weight.item()}
    return found


def softmax():
    logits = torch.tensor([0.0, 20.0, 40.0, 80.0])
    right = F.softmax(logits.double(), dim=0).float()
    found = {}
    for name, dtype in DTYPES.items():
        x = logits.to(dtype)
        terms = torch.exp(x)
        naive, stable = (terms / terms.sum()).float(), F.softmax(x, dim=0).float()
        found[name] = {"naive_finite": bool(torch.isfinite(naive).all()),
                       "stable_finite": bool(torch.isfinite(stable).all()),
                       "error": (stable - right).abs().max().item()}
    return found


def softplus():
    x = torch.linspace(-80, 80, 2000)
    right = F.softplus(x.double()).float()
    found = {}
    for name, dtype in DTYPES.items():
        naive = torch.log1p(torch.exp(x.to(dtype))).float()
        stable = F.softplus(x.to(dtype)).float()
        finite = torch.isfinite(naive)
        found[name] = {"naive_not_finite": int((~finite).sum()), "naive_finite_up_to": x[finite].max().item(),
                       "naive_error": (naive - right)[finite].abs().max().item(),
                       "stable_error": (stable - right).abs().max().item()}
    return found


def overflow():
    x = torch.linspace(-20, 20, 400)
    found = {}
    for name, dtype in DTYPES.items():
        finite = torch.isfinite(torch.exp(x.to(dtype)))
        total = torch.full((160 * 256 * 4,), 3.0).to(dtype).sum()
        found[name] = {"exp_finite_up_to": x[finite].max().item(), "sum": str(total.float().item())}
    return found


def underflow():
    torch.manual_seed(0)
    power = torch.empty(200_000).uniform_(-12, 0)
    gradients = (10 ** power).to(torch.float32)
    found = {"first": power[:8].tolist()}
    for setting, values in (("unscaled", gradients), ("scaled by 8192", gradients * 2**13)):
        for name in ("f16", "bf16"):
            cast = values.to(DTYPES[name])
            found[f"{setting} {name}"] = {"zeros": int((cast == 0).sum()), "finite": int(torch.isfinite(cast).sum())}
    return found


def loss_scaling(scale, dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1)).to(dtype)
    x = (torch.randn(256, 128) * 1e-3).to(dtype)
    y = (torch.randn(256, 1) * 1e-3).to(dtype)
    loss = ((model(x) - y) ** 2).mean()
    (loss * scale).backward()
    if scale != 1:
        for p in model.parameters():
            p.grad.div_(scale)
    grads = torch.cat([p.grad.flatten().abs().to(torch.float32) for p in model.parameters()])
    return {"loss": loss.item(), "zero": int((grads == 0).sum()), "count": grads.numel(),
            "median": torch.median(grads).item()}


if __name__ == "__main__":
    result = {"torch": torch.__version__, "accumulation": accumulation(), "stagnation": stagnation(),
              "softmax": softmax(), "softplus": softplus(), "overflow": overflow(), "underflow": underflow(),
              "loss-scaling": {"fp16 no scaling": loss_scaling(1, torch.float16),
                               "fp16 scaled+unscaled": loss_scaling(2**13, torch.float16),
                               "f32": loss_scaling(1, torch.float32)}}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected", "experiments.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
