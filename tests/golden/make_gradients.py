#!/usr/bin/env python3
"""Gradients of ops: inputs, gradients in f64 arithmetic, and how far PyTorch's own are from them in f32, bf16 and f16:
expected/gradients.safetensors.

    python -m venv venv && venv/bin/pip install torch numpy && venv/bin/python make_gradients.py
"""

import json
import os

import torch
import torch.nn.functional as F

import tensor_file

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
HERE = os.path.dirname(os.path.abspath(__file__))


def cases():
  """(name, op, options, inputs, the input that has the shape of dy): sizes are odd on purpose."""
  generator = torch.Generator("cpu").manual_seed(1717)

  def normal(*shape, scale=1.0, shift=0.0):
    return torch.randn(shape, generator=generator) * scale + shift

  def linear(rows, inner, columns, scale=1.0):
    return dict(x=normal(rows, inner, scale=scale), weight=normal(columns, inner, scale=inner ** -0.5), bias=normal(columns),
                dy=normal(rows, columns))

  def norm(rows, width, shifts, **how):
    inputs = dict(x=normal(rows, width, **how), weight=normal(width, scale=0.2, shift=1.0), dy=normal(rows, width))
    return {**inputs, "bias": normal(width, scale=0.3)} if shifts else inputs

  def attention(batch, heads, heads_kv, queries, keys, dim, scale=1.0):
    return dict(q=normal(batch, queries, heads * dim, scale=scale), k=normal(batch, keys, heads_kv * dim, scale=scale),
                v=normal(batch, keys, heads_kv * dim), dy=normal(batch, queries, heads * dim))

  yield "linear.small", "linear", {}, linear(3, 19, 13)
  yield "linear.tall", "linear", {}, linear(70, 11, 5, scale=30.0)
  yield "layer_norm.small", "layer_norm", {"eps": 1e-5}, norm(7, 37, True)
  yield "layer_norm.shifted", "layer_norm", {"eps": 1e-6}, norm(3, 65, True, scale=0.5, shift=20.0)
  yield "rms_norm.small", "rms_norm", {"eps": 1e-6}, norm(7, 10, False)
  yield "rms_norm.large", "rms_norm", {"eps": 1e-6}, norm(3, 77, False, scale=200.0)
  points = torch.cat([torch.linspace(-12, 12, 49), normal(22, scale=2.0)])
  for op in ("gelu_tanh", "gelu_erf", "silu", "quick_gelu"):
    yield f"{op}.points", op, {}, dict(x=points, dy=normal(71))
  yield "swiglu.small", "swiglu", {}, dict(x=normal(5, 33, scale=2.0), gate=normal(5, 33, scale=2.0), dy=normal(5, 33))
  yield "embedding.repeated", "embedding", {"ids": [4, 0, 4, 2, 4, 0, 6, 4, 4]}, dict(weight=normal(7, 9), dy=normal(9, 9))
  targets = {"targets": [3, 0, 9, 9, 5, 1, 2], "ignore_index": -100}
  yield "cross_entropy.small", "cross_entropy", targets, dict(x=normal(7, 10))
  yield "cross_entropy.ignored", "cross_entropy", {**targets, "ignore_index": 9}, dict(x=normal(7, 10, scale=5.0))
  yield "attention.small", "attention", {"heads": 2, "heads_kv": 2, "causal": False}, attention(1, 2, 2, 7, 9, 8)
  yield "attention.causal", "attention", {"heads": 2, "heads_kv": 2, "causal": True}, attention(1, 2, 2, 19, 19, 10)
  yield "attention.shared", "attention", {"heads": 4, "heads_kv": 2, "causal": True}, attention(1, 4, 2, 13, 13, 6, 2.0)
  yield "rotary.halves", "rotary", {"heads": 2, "theta": 10000.0}, dict(x=normal(1, 5, 16), dy=normal(1, 5, 16))
  neighbours = {"heads": 3, "theta": 10000.0}
  yield "rotary.neighbours", "rotary_of_neighbours", neighbours, dict(x=normal(2, 5, 18), dy=normal(2, 5, 18))
  yield "matmul.batched", "matmul", {}, dict(a=normal(2, 9, 21), b=normal(21, 13), dy=normal(2, 9, 13))
  biased = dict(attention(2, 2, 1, 9, 11, 6), bias=normal(2, 9, 11, scale=2.0))
  yield "attention.biased", "attention", {"heads": 2, "heads_kv": 1, "causal": False}, biased
  yield "relu.points", "relu", {}, dict(x=points, dy=normal(71))


def rotated(x, heads, theta):
  """Rotary embeddings as transformers' Llama has them; angles in f64, their cosines and sines rounded to f32."""
  batch, tokens, columns = x.shape
  width = columns // heads
  angles = torch.arange(tokens, dtype=torch.float64)[:, None] * theta ** (
      -2.0 * torch.arange(width // 2, dtype=torch.float64) / width)
  cos, sin = (torch.cat([f(angles)] * 2, -1).float().to(x.dtype)[None, :, None] for f in (torch.cos, torch.sin))
  heads_of = x.view(batch, tokens, heads, width)
  turned = torch.cat([-heads_of[..., width // 2:], heads_of[..., :width // 2]], -1)
  return (heads_of * cos + turned * sin).reshape(x.shape)


def rotated_neighbours(x, heads, theta):
  """The same of neighbouring pairs, as diffusers' Flux has them, of tokens that are counted from 0."""
  batch, tokens, columns = x.shape
  width = columns // heads
  angles = torch.arange(tokens, dtype=torch.float64)[:, None] * theta ** (
      -2.0 * torch.arange(width // 2, dtype=torch.float64) / width)
  cos, sin = (f(angles).repeat_interleave(2, -1).float().to(x.dtype)[None, :, None] for f in (torch.cos, torch.sin))
  heads_of = x.view(batch, tokens, heads, width)
  turned = torch.stack([-heads_of[..., 1::2], heads_of[..., ::2]], -1).flatten(-2)
  return (heads_of * cos + turned * sin).reshape(x.shape)


def apply(op, options, values):
  x = values.get("x")
  if op == "linear":
    return F.linear(x, values["weight"], values["bias"])
  if op == "layer_norm":
    return F.layer_norm(x, x.shape[-1:], values["weight"], values["bias"], options["eps"])
  if op == "rms_norm":
    return F.rms_norm(x, x.shape[-1:], values["weight"], options["eps"])
  if op == "gelu_tanh":
    return F.gelu(x, approximate="tanh")
  if op == "gelu_erf":
    return F.gelu(x)
  if op == "silu":
    return F.silu(x)
  if op == "quick_gelu":
    return x * torch.sigmoid(1.702 * x)
  if op == "swiglu":
    return F.silu(values["gate"]) * x
  if op == "embedding":
    return F.embedding(torch.tensor(options["ids"]), values["weight"])
  if op == "cross_entropy":
    return F.cross_entropy(x, torch.tensor(options["targets"]), ignore_index=options["ignore_index"])
  if op == "rotary":
    return rotated(x, options["heads"], options["theta"])
  if op == "rotary_of_neighbours":
    return rotated_neighbours(x, options["heads"], options["theta"])
  if op == "matmul":
    return values["a"] @ values["b"]
  if op == "relu":
    return F.relu(x)
  if op == "attention":
    def heads(value, count):
      return value.view(value.shape[0], value.shape[1], count, -1).transpose(1, 2)
    q = heads(values["q"], options["heads"])
    k, v = (heads(values[name], options["heads_kv"]).repeat_interleave(options["heads"] // options["heads_kv"], 1)
            for name in "kv")
    # Of four dimensions, or PyTorch takes another kernel than for the cases without one.
    bias = values["bias"][None] if "bias" in values else None
    result = F.scaled_dot_product_attention(q, k, v, bias, is_causal=options["causal"])
    return result.transpose(1, 2).reshape(values["q"].shape)
  raise ValueError(op)


def gradients(op, options, inputs, dtype):
  """The gradient of each input but dy, and but the bias of attention, to which Precast gives none."""
  given = {"dy", "bias"} if op == "attention" else {"dy"}
  values = {k: v.detach().to(dtype).clone().requires_grad_(k not in given) for k, v in inputs.items()}
  result = apply(op, options, values)
  result.backward(values["dy"].detach() if "dy" in values else torch.ones_like(result))
  return {k: v.grad for k, v in values.items() if k not in given}


def main():
  torch.set_num_threads(1)
  tensors, listed = {}, {}
  for name, op, options, inputs in cases():
    errors = {}
    for key, value in inputs.items():
      tensors[f"{name}.{key}"] = value
    for label, dtype in DTYPES.items():
      rounded = {k: v.to(dtype).double() for k, v in inputs.items()}
      exact, theirs = gradients(op, options, rounded, torch.float64), gradients(op, options, inputs, dtype)
      errors[label] = {}
      for key, gradient in exact.items():
        # Against bf16 and f16 an f32 copy of the reference is exact enough and half the bytes.
        tensors[f"{name}.{label}.d{key}"] = gradient if label == "f32" else gradient.float()
        errors[label][key] = float((theirs[key].double() - gradient).norm() / gradient.norm())
    listed[name] = {"op": op, **options, "inputs": list(inputs), "errors": errors}
  tensor_file.save(os.path.join(HERE, "expected", "gradients.safetensors"), tensors, {"cases": json.dumps(listed)})


if __name__ == "__main__":
  main()
