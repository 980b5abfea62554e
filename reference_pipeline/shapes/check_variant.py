"""Checks overflow_variant.py with torch: its pictures in f32, in f16, and in f16 with scores in f32.

    python check_variant.py [--model model] [--count 20]

needs torch and diffusers. f16 is emulated on f32 (torch's own f16 is very slow on a CPU): every module's
result is rounded to f16, and so are attention's queries, keys and values, its scores (in the plain mode)
and its result.
"""

import argparse
import pathlib
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import FluxPipeline

import draw
import export
import judge
import overflow_variant

torch_attention = F.scaled_dot_product_attention


def half(x):
    return x.half().float() if torch.is_tensor(x) and x.is_floating_point() else x


def emulated_attention(scores_in_f16):
    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **_):
        query, key, value = half(query), half(key), half(value)
        scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
        attention.largest = max(attention.largest, scores.abs().max().item())
        if scores_in_f16:
            scores = half(scores)
        if is_causal:
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, -torch.inf)
        if attn_mask is not None:
            scores = (
                scores.masked_fill(~attn_mask, -torch.inf)
                if attn_mask.dtype == torch.bool
                else scores + attn_mask
            )
        weights = scores.softmax(-1)
        return half((half(weights) if scores_in_f16 else weights) @ value)

    attention.largest = 0.0
    return attention


def round_results(model):
    def hook(_, __, result):
        if torch.is_tensor(result):
            return half(result)
        return tuple(map(half, result)) if isinstance(result, tuple) else result

    for module in model.modules():
        if not any(module.children()):
            module.register_forward_hook(hook)


def pictures(folder, prompts, mode):
    pipeline = FluxPipeline.from_pretrained(folder, torch_dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    if mode != "f32":
        for part in (pipeline.text_encoder, pipeline.text_encoder_2, pipeline.transformer, pipeline.vae):
            round_results(part)
    attention = F.scaled_dot_product_attention = (
        emulated_attention(mode == "f16") if mode != "f32" else torch_attention
    )
    pooled = pipeline.encode_prompt(prompts[:1], None)[1]
    made = export.make_pictures(pipeline, prompts, 0, export.DEFAULTS["steps"], export.DEFAULTS["guidance"])
    F.scaled_dot_product_attention = torch_attention
    return [np.asarray(one) for one in made], pooled, getattr(attention, "largest", 0.0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path(__file__).parent / "model")
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    asked = draw.held_out_prompts(given.count)
    prompts = [prompt for prompt, _ in asked]
    with tempfile.TemporaryDirectory() as folder:
        variant = pathlib.Path(folder) / "variant"
        print(f"in the variant {overflow_variant.make(given.model, variant)}")
        plain = None
        for name, path, mode in (
            ("model", given.model, "f32"),
            ("model", given.model, "f16"),
            ("variant", variant, "f32"),
            ("variant", variant, "f16"),
            ("variant", variant, "f16, scores in f32"),
        ):
            made, pooled, largest = pictures(path, prompts, mode)
            plain = made if plain is None else plain
            right = sum(judge.judge(one, expected)["right"] for one, (_, expected) in zip(made, asked))
            far = max(np.abs(one.astype(int) - other).max() for one, other in zip(made, plain))
            black = sum(not one.any() for one in made)
            print(
                f"{name:8s}{mode:20s} right {right} of {len(made)}, black {black}, pooled finite "
                f"{bool(pooled.isfinite().all())}, largest score {largest:,.0f}, {far} of 255 from f32",
                flush=True,
            )


if __name__ == "__main__":
    main()
