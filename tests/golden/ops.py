"""Single ops: inputs, the result in f64 arithmetic, and PyTorch's own results in f32, bf16 and f16."""

import json

import torch
import torch.nn.functional as F

import tensor_file

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def cases():
  """(name, op, options, inputs): sizes are odd on purpose, scales both tame and hard."""
  generator = torch.Generator("cpu").manual_seed(99)

  def normal(*shape, scale=1.0, shift=0.0):
    return torch.randn(shape, generator=generator) * scale + shift

  def linear(rows, inner, columns, scale=1.0):
    return dict(x=normal(rows, inner, scale=scale), weight=normal(columns, inner, scale=inner ** -0.5), bias=normal(columns))

  def attention(heads, queries, keys, dim, scale=1.0):
    return dict(q=normal(1, heads, queries, dim, scale=scale), k=normal(1, heads, keys, dim, scale=scale),
                v=normal(1, heads, keys, dim))

  def conv(high, wide, channels, out, kernel):
    scale = (channels * kernel ** 2) ** -0.5
    return dict(x=normal(1, channels, high, wide), weight=normal(out, channels, kernel, kernel, scale=scale),
                bias=normal(out))

  def affine(width, **extra):
    return dict(**extra, weight=normal(width, scale=0.2, shift=1.0), bias=normal(width, scale=0.3))

  yield "linear.small", "linear", {}, linear(3, 37, 29)
  yield "linear.wide", "linear", {}, linear(5, 300, 7, scale=30.0)
  yield "linear.tall", "linear", {}, linear(41, 24, 13)
  yield "attention.small", "attention", {"causal": False}, attention(2, 7, 7, 8)
  yield "attention.sharp", "attention", {"causal": False}, attention(1, 33, 33, 10, scale=3.0)
  yield "attention.cross", "attention", {"causal": False}, attention(2, 5, 71, 16)
  yield "attention.causal", "attention", {"causal": True}, attention(2, 17, 17, 12)
  yield "layer_norm.affine", "layer_norm", {"eps": 1e-5}, affine(37, x=normal(5, 37))
  yield "layer_norm.shifted", "layer_norm", {"eps": 1e-6}, dict(x=normal(3, 256, scale=0.5, shift=20.0))
  yield "rms_norm.small", "rms_norm", {"eps": 1e-6}, dict(x=normal(7, 10), weight=normal(10, scale=0.2, shift=1.0))
  yield "rms_norm.large", "rms_norm", {"eps": 1e-6}, dict(x=normal(3, 301, scale=200.0), weight=normal(301, scale=0.2, shift=1.0))
  yield "rms_norm.tiny", "rms_norm", {"eps": 1e-6}, dict(x=normal(3, 33, scale=1e-3), weight=normal(33, scale=0.2, shift=1.0))
  yield "group_norm.small", "group_norm", {"groups": 3, "eps": 1e-6}, affine(12, x=normal(1, 12, 7, 5))
  yield "group_norm.shifted", "group_norm", {"groups": 4, "eps": 1e-6}, affine(8, x=normal(2, 8, 5, 7, scale=0.5, shift=5.0))
  yield "softmax.small", "softmax", {}, dict(x=normal(7, 33))
  yield "softmax.sharp", "softmax", {}, dict(x=normal(3, 101, scale=20.0))
  points = torch.cat([torch.linspace(-12, 12, 193), normal(108, scale=2.0)])
  for op in ("gelu_tanh", "gelu_erf", "silu", "quick_gelu"):
    yield f"{op}.points", op, {}, dict(x=points)
  yield "conv2d.same", "conv2d", {"stride": 1, "padding": [1, 1, 1, 1]}, conv(9, 7, 5, 6, 3)
  yield "conv2d.stride", "conv2d", {"stride": 2, "padding": [1, 1, 1, 1]}, conv(11, 8, 4, 3, 3)
  yield "conv2d.down", "conv2d", {"stride": 2, "padding": [0, 0, 1, 1]}, conv(8, 10, 3, 4, 3)
  yield "conv2d.point", "conv2d", {"stride": 1, "padding": [0, 0, 0, 0]}, conv(5, 6, 17, 9, 1)
  yield "upsample.twice", "upsample", {"factor": 2}, dict(x=normal(1, 3, 5, 4))
  yield "sum.rows", "sum", {"rows": True}, dict(x=normal(5, 301, shift=2.0))
  yield "sum.all", "sum", {"rows": False}, dict(x=normal(3, 7, 41, shift=-1.0))
  yield "mean.rows", "mean", {"rows": True}, dict(x=normal(3, 4, 77, scale=30.0))
  yield "mean.all", "mean", {"rows": False}, dict(x=normal(6, 130, shift=20.0))
  yield "mean_squared_error.small", "mean_squared_error", {}, dict(x=normal(4, 33), y=normal(4, 33))
  yield "mean_squared_error.close", "mean_squared_error", {}, dict(x=normal(2, 300), y=normal(2, 300, scale=3.0, shift=1.0))
  classes = {"targets": [3, 0, 9, 9, 5, 1, 2], "ignore_index": -100}
  yield "cross_entropy.small", "cross_entropy", classes, dict(x=normal(7, 10))
  yield "cross_entropy.ignored", "cross_entropy", {**classes, "ignore_index": 9}, dict(x=normal(7, 10))
  yield "cross_entropy.sharp", "cross_entropy", classes, dict(x=normal(7, 301, scale=20.0))


def apply(op, options, values):
  x = values.get("x")
  if op == "linear":
    return F.linear(x, values["weight"], values["bias"])
  if op == "attention":
    return F.scaled_dot_product_attention(values["q"], values["k"], values["v"], is_causal=options["causal"])
  if op == "layer_norm":
    return F.layer_norm(x, x.shape[-1:], values.get("weight"), values.get("bias"), options["eps"])
  if op == "rms_norm":
    return F.rms_norm(x, x.shape[-1:], values["weight"], options["eps"])
  if op == "group_norm":
    return F.group_norm(x, options["groups"], values["weight"], values["bias"], options["eps"])
  if op == "softmax":
    return F.softmax(x, -1)
  if op == "gelu_tanh":
    return F.gelu(x, approximate="tanh")
  if op == "gelu_erf":
    return F.gelu(x)
  if op == "silu":
    return F.silu(x)
  if op == "quick_gelu":
    return x * torch.sigmoid(1.702 * x)
  if op == "conv2d":
    top, left, bottom, right = options["padding"]
    return F.conv2d(F.pad(x, (left, right, top, bottom)), values["weight"], values["bias"], options["stride"])
  if op in ("sum", "mean"):
    reduce = torch.sum if op == "sum" else torch.mean
    return reduce(x, -1) if options["rows"] else reduce(x)
  if op == "mean_squared_error":
    return F.mse_loss(x, values["y"])
  if op == "cross_entropy":
    return F.cross_entropy(x, torch.tensor(options["targets"]), ignore_index=options["ignore_index"])
  if op == "upsample":
    return F.interpolate(x, scale_factor=float(options["factor"]), mode="nearest")
  raise ValueError(op)


def write(path):
  """expected/ops.safetensors"""
  tensors, listed = {}, {}
  for name, op, options, inputs in cases():
    errors = {}
    for key, value in inputs.items():
      tensors[f"{name}.{key}"] = value
    for label, dtype in DTYPES.items():
      rounded = {k: v.to(dtype) for k, v in inputs.items()}
      exact = apply(op, options, {k: v.double() for k, v in rounded.items()})
      theirs = apply(op, options, rounded)
      # Against bf16 and f16 an f32 copy of the reference is exact enough and half the bytes.
      tensors[f"{name}.{label}.exact"] = exact if label == "f32" else exact.float()
      tensors[f"{name}.{label}.torch"] = theirs
      errors[label] = float((theirs.double() - exact).norm() / exact.norm())
    listed[name] = {"op": op, **options, "inputs": list(inputs), "errors": errors}
  tensor_file.save(path, tensors, {"cases": json.dumps(listed)})
