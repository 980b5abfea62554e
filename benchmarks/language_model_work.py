"""Steps of language models and of attention in PyTorch: what benchmarks/language_model.cpp and precast bench measure of
ours.

The models are those of `precast bench lm`: llama with RMS norm, rotary positions, SwiGLU and no biases; gpt2 with layer
norm, learned positions, gelu and biases; each with a head of its own.
f32: parameters and all else in f32. bf16: the module cast to bf16. amp-bf16: f32 parameters under autocast.
"""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

BATCH, VOCABULARY = 4, 10_000
# name: width, inner, layers, heads; those of reference_pipeline/timing/model_sizes.cpp
SIZES = {"tiny": (64, 256, 2, 4), "S": (768, 3072, 12, 12), "M": (1024, 4096, 24, 16), "L": (1280, 5120, 36, 20),
         "XL": (1600, 6400, 48, 25), "2.7B": (2560, 10240, 32, 32)}


def rotated(x, cosines, sines):
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat((-second, first), dim=-1) * sines


class Block(nn.Module):
    def __init__(self, width, inner, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = (nn.RMSNorm(width, eps=1e-6) for _ in range(2))
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cosines, sines):
        normed = self.norm1(x)
        q, k, v = (layer(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        q, k = rotated(q, cosines, sines).to(v.dtype), rotated(k, cosines, sines).to(v.dtype)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).flatten(-2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    def __init__(self, width, inner, layers, heads, context):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(Block(width, inner, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        half = width // heads // 2
        angles = torch.outer(torch.arange(context), 10_000.0 ** (-torch.arange(half) / half)).repeat(1, 2)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosines, self.sines)
        return loss(self.head(self.norm(x)), targets)


class Gpt2Block(nn.Module):
    def __init__(self, width, inner, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = (nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, width, inner, layers, heads, context):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Gpt2Block(width, inner, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        x = self.embedding(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return loss(self.head(self.norm(x)), targets)


VARIANTS = {"llama": Llama, "gpt2": Gpt2}


def loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


class Step:
    """Computes the loss and its gradients, which replace those of the step before; the loss alone; or AdamW's step."""

    def __init__(self, model, windows, autocast, run=None):
        self.model, self.windows, self.autocast = model, windows, autocast
        self.run = model if run is None else run  # of a compiled model Python would ask for a length
        self.adamw = None

    def loss(self):
        device = self.windows.device.type
        cast = torch.autocast(device, torch.bfloat16) if self.autocast else contextlib.nullcontext()
        with cast:
            return self.run(self.windows[:, :-1], self.windows[:, 1:])

    def __call__(self):
        with torch.inference_mode(False), torch.enable_grad():
            self.model.zero_grad(set_to_none=True)
            loss = self.loss()
            loss.backward()
        return loss.detach()

    def forward(self):
        with torch.no_grad():
            return self.loss()

    def optimizer(self):
        """Of the parameters as the model has them, in PyTorch's fastest way."""
        if self.adamw is None:
            self.adamw = torch.optim.AdamW(self.model.parameters(), fused=True)
        self.adamw.step()

    def compiled(self):
        with torch.inference_mode(False):
            return Step(self.model, self.windows, self.autocast, torch.compile(self.model, dynamic=False))


def training_step(policy, size, context, variant="llama", batch=BATCH):
    if size not in SIZES or policy not in ("f32", "bf16", "amp-bf16"):
        raise ValueError(f"no step of {size!r} under {policy!r}")
    with torch.inference_mode(False):
        model = VARIANTS[variant](*SIZES[size], context)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 2:
                    parameter.normal_(0, 0.02)
        if policy == "bf16":
            model = model.to(torch.bfloat16)
        windows = torch.randint(VOCABULARY, (batch, context + 1))
    return Step(model, windows, policy == "amp-bf16")


def plain_attention(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1) @ v


ATTENTION = {"plain": plain_attention, "flash": F.scaled_dot_product_attention}
ATTENTION_DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


class AttentionStep:
    """Self-attention of one head without a mask, and its gradients, as often as they are asked for."""

    def __init__(self, policy, kind, context, head_width, batch):
        if policy not in ATTENTION_DTYPES:
            raise ValueError(f"no attention under {policy!r}")
        shape, dtype = (batch, context, head_width), ATTENTION_DTYPES[policy]
        self.attend, self.out = ATTENTION[kind], None
        self.qkv = [torch.randn(shape).to(dtype).requires_grad_() for _ in range(3)]
        self.dout = torch.randn(shape).to(dtype)

    def forward(self):
        self.out = self.attend(*self.qkv)

    def backward(self):
        torch.autograd.grad(self.out, self.qkv, self.dout, retain_graph=True)

    def held_between(self):
        """Bytes of the operands, the result, its gradient, and what else autograd keeps for the backward pass."""
        storages = {}

        def note(tensor):
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            out = self.attend(*self.qkv)
        for tensor in (*self.qkv, out, self.dout):
            note(tensor)
        return sum(storages.values())
