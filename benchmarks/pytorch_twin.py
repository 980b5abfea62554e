#!/usr/bin/env python3
"""The work of precast_benchmarks in PyTorch, with the modules of diffusers and transformers themselves.

    pytorch_twin.py NAME...    prints one JSON object a line for each NAME
    pytorch_twin.py            the same for the names on stdin, until it ends

NAME is a benchmark's: double_block/f32/256+512, single_block/bf16/1024+512, t5_layer/f32/512,
vae_decode/f32/512x512, attention/bf16/1536, linear/f32/768x3072x3072. What the last two names needed is kept, so
that they can be asked for again and again, in turn with ours. The object has the seconds of "eager" and of
"compiled" (torch.compile), whichever could be had, and "skipped" with the reason for one that could not.

PRECAST_COMPILE_SECONDS: how long torch.compile may take for one name (default 240; 0: eager only).
"""

import collections
import gc
import json
import os
import re
import signal
import statistics
import sys
import time

import torch

WIDTH, HEADS = 3072, 24
TEXT_TOKENS = 512
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
COMPILE_SECONDS = int(os.environ.get("PRECAST_COMPILE_SECONDS", "240"))


def random_module(make, dtype):
    """A module in a dtype with small random weights, as ours has."""
    with torch.device("meta"):
        module = make()
    module = module.to(dtype).to_empty(device="cpu").eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.02)
    return module


def tokens_of(size):
    match = re.fullmatch(r"(\d+)\+512", size)
    if not match:
        raise ValueError(f"size {size!r} is not IMAGE+512")
    return int(match[1])


def flux_block(single, dtype, size):
    from diffusers.models.transformers.transformer_flux import FluxSingleTransformerBlock, FluxTransformerBlock

    image_tokens = tokens_of(size)
    tokens = TEXT_TOKENS + image_tokens
    kind = FluxSingleTransformerBlock if single else FluxTransformerBlock
    block = random_module(lambda: kind(WIDTH, HEADS, WIDTH // HEADS), dtype)
    angles = torch.rand(tokens, WIDTH // HEADS // 2).repeat_interleave(2, dim=1)
    inputs = {
        "hidden_states": torch.randn(1, image_tokens, WIDTH, dtype=dtype),
        "encoder_hidden_states": torch.randn(1, TEXT_TOKENS, WIDTH, dtype=dtype),
        "temb": torch.randn(1, WIDTH, dtype=dtype),
        "image_rotary_emb": (angles.cos(), angles.sin()),
    }
    return block, inputs


def t5_layer(dtype, size):
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Block, T5PreTrainedModel

    tokens = int(size)
    config = T5Config(d_model=4096, d_kv=64, d_ff=10240, num_heads=64, num_layers=1,
                      feed_forward_proj="gated-gelu", is_decoder=False, use_cache=False)
    config._attn_implementation = "sdpa" if getattr(T5PreTrainedModel, "_supports_sdpa", False) else "eager"
    layer = random_module(lambda: T5Block(config), dtype)
    inputs = {
        "hidden_states": torch.randn(1, tokens, 4096, dtype=dtype),
        "position_bias": torch.randn(1, 64, tokens, tokens, dtype=dtype),
    }
    return layer, inputs


def vae_decode(dtype, size):
    from diffusers import AutoencoderKL

    config = dict(block_out_channels=(128, 256, 512, 512), latent_channels=16, norm_num_groups=32,
                  layers_per_block=2, down_block_types=("DownEncoderBlock2D",) * 4,
                  up_block_types=("UpDecoderBlock2D",) * 4, use_quant_conv=False, use_post_quant_conv=False)
    decoder = random_module(lambda: AutoencoderKL(**config).decoder, dtype)
    side = int(size.split("x")[0]) // 8
    return decoder, {"sample": torch.randn(1, 16, side, side, dtype=dtype)}


def attention(dtype, size):
    class Attention(torch.nn.Module):
        def forward(self, q, k, v):
            q, k, v = (x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    return Attention(), {name: torch.randn(1, int(size), WIDTH, dtype=dtype) for name in "qkv"}


def linear(dtype, size):
    rows, into, out = (int(part) for part in size.split("x"))
    module = random_module(lambda: torch.nn.Linear(into, out), dtype)
    return module, {"input": torch.randn(rows, into, dtype=dtype)}


MAKERS = {
    "double_block": lambda dtype, size: flux_block(False, dtype, size),
    "single_block": lambda dtype, size: flux_block(True, dtype, size),
    "t5_layer": t5_layer,
    "vae_decode": vae_decode,
    "attention": attention,
    "linear": linear,
}
# Compiling a decoder takes longer than it can win back here, and one op alone has nothing to fuse.
COMPILED = {"double_block", "single_block", "t5_layer"}


class OutOfTime(Exception):
    pass


def within(seconds, work):
    def ring(*_):
        raise OutOfTime(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        return work()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Case:
    """A module, its inputs, and the ways to run it."""

    def __init__(self, name):
        kind, dtype, size = name.split("/")
        if kind not in MAKERS or dtype not in DTYPES:
            raise ValueError(f"no twin of {name!r}")
        module, self.inputs = MAKERS[kind](DTYPES[dtype], size)
        self.ways, self.skipped = {"eager": module}, {}
        module(**self.inputs)
        if kind in COMPILED and COMPILE_SECONDS:
            try:
                compiled = torch.compile(module, dynamic=False)
                within(COMPILE_SECONDS, lambda: compiled(**self.inputs))
                compiled(**self.inputs)
                self.ways["compiled"] = compiled
            except Exception as reason:  # without a compiler, or out of time: eager counts
                self.skipped["compiled"] = f"{type(reason).__name__}: {str(reason)[:200].splitlines()[:1]}"
        self.runs = 3 if kind in ("double_block", "single_block", "t5_layer") else 1 if kind == "vae_decode" else 9

    def measure(self):
        times = {way: [] for way in self.ways}
        for _ in range(self.runs):
            for way, module in self.ways.items():
                begin = time.perf_counter()
                module(**self.inputs)
                times[way].append(time.perf_counter() - begin)
        return {way: statistics.median(seconds) for way, seconds in times.items()}


def names():
    if len(sys.argv) > 1:
        yield from sys.argv[1:]
    else:
        for line in sys.stdin:
            if line.strip():
                yield line.strip()


def main():
    torch.set_num_threads(int(os.environ.get("PRECAST_TWIN_THREADS", os.cpu_count() or 2)))
    torch.manual_seed(1)
    cases = collections.OrderedDict()
    with torch.inference_mode():
        for name in names():
            try:
                if name not in cases:
                    while len(cases) > 1:
                        cases.popitem(last=False)
                    gc.collect()
                    cases[name] = Case(name)
                cases.move_to_end(name)
                answer = {"name": name, **cases[name].measure(), "skipped": cases[name].skipped}
            except Exception as reason:
                cases.pop(name, None)
                answer = {"name": name, "error": f"{type(reason).__name__}: {reason}"}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
