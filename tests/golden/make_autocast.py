"""What torch's autocast does with each operator: expected/autocast.json, by asking torch itself.

The dispatcher says which operators have a kernel for AutocastCUDA or AutocastCPU. What such a kernel does is seen by
calling the operator with tensors of f32, of bf16 and of both, and stopping at the next key of the dispatcher (Autograd),
where a function of ours looks at the dtypes that arrive. Tensors on CUDA are fake ones, so no device is needed. By itself:

    venv/bin/python make_autocast.py
"""
import json
import os
import warnings

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
LOW = torch.bfloat16
KEYS = {"cuda": ("AutocastCUDA", "AutogradCUDA"), "cpu": ("AutocastCPU", "AutogradCPU")}


class Arrived(Exception):
    def __init__(self, name, arguments):
        super().__init__(name)
        self.name, self.arguments = name, arguments


def operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_of(v)]
    return []


def junk(argument, make):
    """An argument that the schema takes; `make` makes the next tensor."""
    kind = str(argument.type)
    if kind == "Tensor":
        return make()
    if kind in ("List[Tensor]",):
        return [make(), make()]
    if kind == "List[Optional[Tensor]]":
        return [torch.zeros(1, dtype=torch.long, device=make.device)]
    if kind.startswith("Optional["):
        return None
    if kind == "bool":
        return False
    if kind == "int" or kind == "SymInt":
        return 1
    if kind == "float":
        return 1.0
    if kind in ("number", "Scalar"):
        return 2
    if kind == "str":
        return "mean"
    if kind in ("List[int]", "List[SymInt]"):
        return [1] * (argument.N or 1)
    if kind == "List[bool]":
        return [False] * (argument.N or 1)
    if kind == "List[float]":
        return [1.0] * (argument.N or 1)
    raise ValueError(f"{argument.name}: {kind}")


class Maker:
    """Makes tensors of these dtypes in turn."""

    def __init__(self, device, dtypes):
        self.device, self.dtypes, self.made = device, dtypes, 0

    def __call__(self):
        dtype = self.dtypes[min(self.made, len(self.dtypes) - 1)]
        self.made += 1
        return torch.ones(2, 2, dtype=dtype, device=self.device)


def arrivals(name, device, dtypes):
    """(operator, dtypes of its tensors, its dtype argument) behind the autocast kernel, or the kernel's own error."""
    op, make = operator(name), Maker(device, dtypes)
    # The kernel of cuDNN's networks looks at these before it casts.
    fixed = {"proj_size": 0, "weight_stride0": 2, "hidden_size": 2, "mode": 2} if name == "_cudnn_rnn" else {}
    positional, named = [], {}
    for argument in op._schema.arguments:
        value = fixed[argument.name] if argument.name in fixed else junk(argument, make)
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, LOW)
    try:
        op(*positional, **named)
    except Arrived as there:
        floats = [t.dtype for t in tensors_of(list(there.arguments)) if t.is_floating_point()]
        kinds = [a for a in there.arguments if isinstance(a, torch.dtype)]
        return there.name, floats, kinds
    except RuntimeError as error:
        return "error", str(error).strip().splitlines()[0], []
    finally:
        torch.set_autocast_enabled(device, False)
        torch.clear_autocast_cache()
    return "error", "did not arrive", []


def kind_of(name, device):
    wide, low = torch.float32, LOW
    from_wide, from_low = arrivals(name, device, [wide]), arrivals(name, device, [low])
    if from_wide[0] == "error":
        if name == "_cudnn_rnn":
            # It copies all weights into one buffer of the lower precision before it goes on, and so needs a device.
            assert "CUDA" in from_wide[1] or "cuDNN" in from_wide[1], from_wide
            assert "AutocastRNN.cpp" in torch._C._dispatch_dump("aten::_cudnn_rnn")
            return "lower_precision"
        assert "unsafe to autocast" in from_wide[1], (name, from_wide)
        return "banned"
    if set(from_wide[1]) == {low}:
        return "lower_precision"
    if set(from_low[1]) == {wide}:
        return "f32"
    if torch.float32 in from_low[2]:
        # norm is sent on to an overload that has a dtype: its result is f32 as well
        return "f32_set_dtype" if from_low[0] == name else "f32"
    mixed = arrivals(name, device, [wide, low])
    if set(mixed[1]) == {wide} and set(from_low[1]) == {low}:
        return "promote"
    raise AssertionError(f"{name}: {from_wide} {from_low} {mixed}")


def lists(device):
    autocast_key, autograd_key = KEYS[device]
    everything = torch._C._dispatch_get_all_op_names()
    registered = sorted(n[6:] for n in everything
                        if n.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(n, autocast_key))
    library = torch.library.Library("aten", "IMPL")
    packets = {n.partition(".")[0] for n in registered}
    for full in everything:
        if not full.startswith("aten::"):
            continue
        name = full[6:]
        if name in registered or (name.partition(".")[0] == "norm" and "norm" in packets and "out" not in name):
            def stop(*arguments, _name=name, **named):
                raise Arrived(_name, list(arguments) + list(named.values()))
            library.impl(name, stop, autograd_key)
    found = {}
    with FakeTensorMode(allow_non_fake_inputs=True):
        for name in registered:
            found[name] = kind_of(name, device)
    library._destroy()
    return found



def flow(device, autocast, parameters):
    """The dtype of every value of a transformer block as the notebook writes it, and of its loss."""
    vocab, context, width, heads = 11, 6, 8, 2
    seen = {}

    def keep(name, value):
        seen[name] = str(value.dtype).removeprefix("torch.")
        return value

    with FakeTensorMode(allow_non_fake_inputs=True):
        def parameter(*shape):
            return torch.randn(*shape, device=device).to(parameters)

        ids = torch.zeros(1, context, dtype=torch.long, device=device)
        targets = torch.zeros(context, dtype=torch.long, device=device)
        torch.set_autocast_enabled(device, autocast is not None)
        torch.set_autocast_dtype(device, autocast or LOW)
        try:
            tokens = keep("tok_emb", F.embedding(ids, parameter(vocab, width)))
            places = keep("pos_emb", F.embedding(torch.arange(context, device=device), parameter(context, width)))
            x = keep("x", tokens + places[None])
            normed = keep("blocks.0.ln1", F.layer_norm(x, (width,), parameter(width), parameter(width)))
            qkv = keep("blocks.0.attn.qkv", F.linear(normed, parameter(3 * width, width)))
            q, k, v = (t.view(1, context, heads, width // heads).transpose(1, 2) for t in qkv.chunk(3, dim=-1))
            scores = keep("blocks.0.attn.scores", (q @ k.transpose(-2, -1)) / (width // heads) ** 0.5)
            weights = keep("blocks.0.attn.softmax", F.softmax(scores, dim=-1))
            attended = keep("blocks.0.attn", weights @ v)
            attended = attended.transpose(1, 2).reshape(1, context, width)
            projected = keep("blocks.0.attn.proj", F.linear(attended, parameter(width, width)))
            x = keep("blocks.0.residual_1", x + projected)
            normed = keep("blocks.0.ln2", F.layer_norm(x, (width,), parameter(width), parameter(width)))
            hidden = keep("blocks.0.mlp.fc1", F.linear(normed, parameter(4 * width, width), parameter(4 * width)))
            hidden = keep("blocks.0.mlp.gelu", F.gelu(hidden))
            hidden = keep("blocks.0.mlp.fc2", F.linear(hidden, parameter(width, 4 * width), parameter(width)))
            x = keep("blocks.0.residual_2", x + hidden)
            x = keep("ln_f", F.layer_norm(x, (width,), parameter(width), parameter(width)))
            logits = keep("head", F.linear(x, parameter(vocab, width)))
            keep("loss", F.cross_entropy(logits.view(-1, vocab), targets))
        finally:
            torch.set_autocast_enabled(device, False)
            torch.clear_autocast_cache()
    return seen


def claims(device):
    """What sources say is kept in f32, as the dtype of the result for operands of LOW under autocast."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        def low(*shape):
            return torch.randn(*shape, device=device).to(LOW)

        weight, wide = torch.ones(4, device=device), torch.randn(2, 2, device=device)
        torch.set_autocast_enabled(device, True)
        torch.set_autocast_dtype(device, LOW)
        try:
            results = {
                "batch_norm": F.batch_norm(low(2, 4, 3, 3), torch.zeros(4, device=device), weight, weight, weight, True),
                "layer_norm": F.layer_norm(low(2, 4), (4,), weight, weight),
                "group_norm": F.group_norm(low(2, 4, 3, 3), 2, weight, weight),
                "matmul of 2x2 in f32": wide @ wide,
                "matmul of 1x1 in f32": wide[:1, :1] @ wide[:1, :1],
                "mean": low(2, 4).mean(),
                "var": low(2, 4).var(),
                "sum": low(2, 4).sum(),
                "softmax": F.softmax(low(2, 4), dim=-1),
                "log_softmax": F.log_softmax(low(2, 4), dim=-1),
                "cross_entropy": F.cross_entropy(low(2, 4), torch.zeros(2, dtype=torch.long, device=device)),
                "gelu": F.gelu(low(2, 4)),
                "silu": F.silu(low(2, 4)),
                "sigmoid": torch.sigmoid(low(2, 4)),
                "tanh": torch.tanh(low(2, 4)),
            }
        finally:
            torch.set_autocast_enabled(device, False)
            torch.clear_autocast_cache()
    return {name: str(value.dtype).removeprefix("torch.") for name, value in results.items()}


if __name__ == "__main__":
    regimes = {"none, parameters f32": (None, torch.float32), "none, parameters f16": (None, torch.float16),
               "f16, parameters f32": (torch.float16, torch.float32), "bf16, parameters f32": (LOW, torch.float32)}
    result = {"torch": torch.__version__}
    for device in ("cuda", "cpu"):
        result[device] = {
            "flow": {name: flow(device, *regime) for name, regime in regimes.items()},
            "claims": claims(device),
            "operators": lists(device),
        }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected", "autocast.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1, sort_keys=True)
        file.write("\n")
