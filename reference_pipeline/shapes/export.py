"""Writes the trained parts as a diffusers folder in bf16; makes pictures from such a folder with diffusers.

    python export.py --model model --pictures D [--count 100] [--dtype f32] [--seed S] ...

makes D/out-001.png ... from the held-out prompts, for judge.py. train.py calls `write`.
"""

import argparse
import json
import pathlib
import shutil

import torch
from diffusers import FluxPipeline
from transformers import CLIPTokenizer, T5TokenizerFast

import draw
import parts
import train

# What `generate` uses where the user says nothing.
DEFAULTS = {"steps": 8, "guidance": 3.0, "width": 64, "height": 64}


def write(work: pathlib.Path, output: pathlib.Path, which=None):
    clip, t5 = train.load_text(work)
    vae = train.load_vae(work)
    transformer = parts.make_transformer()
    distilled = work / "guidance.pt"
    state = work / which if which else distilled if distilled.exists() else work / "flow.pt"
    transformer.load_state_dict(torch.load(state))
    output.mkdir(parents=True, exist_ok=True)
    pipeline = FluxPipeline(
        scheduler=parts.make_scheduler(),
        vae=vae.bfloat16(),
        text_encoder=clip.bfloat16(),
        tokenizer=CLIPTokenizer.from_pretrained(work / "tokenizer"),
        text_encoder_2=t5.bfloat16(),
        tokenizer_2=T5TokenizerFast.from_pretrained(work / "tokenizer_2"),
        transformer=transformer.bfloat16(),
    )
    pipeline.save_pretrained(output)
    for name in (
        "tokenizer",
        "tokenizer_2",
    ):  # as real Flux folders hold them, not as this transformers writes them
        shutil.rmtree(output / name)
        shutil.copytree(work / name, output / name)
    index = json.loads((output / "model_index.json").read_text())
    index = {key: value for key, value in index.items() if value != [None, None]}
    index["tokenizer_2"] = ["transformers", "T5TokenizerFast"]
    (output / "model_index.json").write_text(json.dumps(index, indent=2) + "\n")
    (output / "precast.json").write_text(json.dumps(DEFAULTS, indent=2) + "\n")
    for file in output.rglob("*.safetensors"):
        file.chmod(0o644)
    for file in output.rglob("*.json"):
        file.write_text(file.read_text().rstrip("\n") + "\n")


@torch.no_grad()
def make_pictures(pipeline, prompts, seed, steps, guidance):
    """Pictures one after another from one seed each, as the command line makes them."""
    channels = parts.LATENT_CHANNELS
    found = []
    for start in range(0, len(prompts), 50):
        lines = prompts[start : start + 50]
        draws = [
            torch.randn(
                1,
                channels,
                16,
                16,
                dtype=pipeline.transformer.dtype,
                generator=torch.Generator().manual_seed(seed + start + i),
            )
            for i in range(len(lines))
        ]
        latents = parts.pack(torch.cat(draws))
        found += pipeline(
            prompt=lines,
            latents=latents,
            height=64,
            width=64,
            num_inference_steps=steps,
            guidance_scale=guidance,
            max_sequence_length=train.vocabularies.T5_LENGTH,
        ).images
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path(__file__).parent / "model")
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--dtype", choices=["f32", "bf16", "f16"], default="f32")
    parser.add_argument("--steps", type=int, default=DEFAULTS["steps"])
    parser.add_argument("--guidance", type=float, default=DEFAULTS["guidance"])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[given.dtype]
    pipeline = FluxPipeline.from_pretrained(given.model, torch_dtype=dtype)
    pipeline.set_progress_bar_config(disable=True)
    given.pictures.mkdir(parents=True, exist_ok=True)
    prompts = [prompt for prompt, _ in draw.held_out_prompts(given.count)]
    for i, picture in enumerate(make_pictures(pipeline, prompts, given.seed, given.steps, given.guidance), 1):
        picture.save(given.pictures / f"out-{i:0{len(str(given.count))}}.png")


if __name__ == "__main__":
    main()
