#!/usr/bin/env python3
"""Writes a diffusers folder of Stable Diffusion at full size with random weights: random_models.py KIND FOLDER.

Weights are small normal numbers in f16, one run of them again and again; norms scale by one, biases are zero. Needs
torch, diffusers and transformers for names, shapes and configs, and holds no weight in memory."""

import argparse
import json
import struct
from pathlib import Path

import numpy
import torch
from diffusers import AutoencoderKL, EulerDiscreteScheduler, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

VAE = dict(block_out_channels=(128, 256, 512, 512), down_block_types=("DownEncoderBlock2D",) * 4,
           up_block_types=("UpDecoderBlock2D",) * 4, layers_per_block=2, latent_channels=4, norm_num_groups=32)
CLIP_L = dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, projection_dim=768,
              hidden_act="quick_gelu", bos_token_id=49406, eos_token_id=49407, pad_token_id=1)
CLIP_H = dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=23, num_attention_heads=16, projection_dim=512,
              hidden_act="gelu", bos_token_id=49406, eos_token_id=49407, pad_token_id=1)
CLIP_G = dict(hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, num_attention_heads=20,
              projection_dim=1280, hidden_act="gelu", bos_token_id=49406, eos_token_id=49407, pad_token_id=1)
SCHEDULER = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1,
                 timestep_spacing="leading")
CROSS, UP_CROSS = "CrossAttnDownBlock2D", "CrossAttnUpBlock2D"
UNET_21 = dict(cross_attention_dim=1024, attention_head_dim=(5, 10, 20, 20), use_linear_projection=True)
MODELS = {
    "sd15": dict(
        pipeline="StableDiffusionPipeline",
        unet=dict(cross_attention_dim=768, sample_size=64),
        vae=dict(VAE, sample_size=512, scaling_factor=0.18215),
        encoders={"text_encoder": (CLIPTextModel, CLIP_L)}),
    "sd21_base": dict(
        pipeline="StableDiffusionPipeline",
        unet=dict(UNET_21, sample_size=64),
        vae=dict(VAE, sample_size=768, scaling_factor=0.18215),
        encoders={"text_encoder": (CLIPTextModel, CLIP_H)}),
    "sd21": dict(
        pipeline="StableDiffusionPipeline",
        unet=dict(UNET_21, sample_size=96, upcast_attention=True),
        vae=dict(VAE, sample_size=768, scaling_factor=0.18215),
        encoders={"text_encoder": (CLIPTextModel, CLIP_H)},
        scheduler=dict(prediction_type="v_prediction")),
    "sdxl": dict(
        pipeline="StableDiffusionXLPipeline",
        unet=dict(sample_size=128, block_out_channels=(320, 640, 1280), down_block_types=("DownBlock2D", CROSS, CROSS),
                  up_block_types=(UP_CROSS, UP_CROSS, "UpBlock2D"),
                  transformer_layers_per_block=(1, 2, 10), attention_head_dim=(5, 10, 20), cross_attention_dim=2048,
                  use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256,
                  projection_class_embeddings_input_dim=2816),
        vae=dict(VAE, sample_size=1024, scaling_factor=0.13025, force_upcast=False),
        encoders={"text_encoder": (CLIPTextModel, CLIP_L), "text_encoder_2": (CLIPTextModelWithProjection, CLIP_G)}),
    "sdxl_refiner": dict(
        pipeline="StableDiffusionXLImg2ImgPipeline",
        unet=dict(sample_size=128, block_out_channels=(384, 768, 1536, 1536),
                  down_block_types=("DownBlock2D", CROSS, CROSS, "DownBlock2D"),
                  up_block_types=("UpBlock2D", UP_CROSS, UP_CROSS, "UpBlock2D"),
                  transformer_layers_per_block=4, attention_head_dim=(6, 12, 24, 24), cross_attention_dim=1280,
                  use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256,
                  projection_class_embeddings_input_dim=2560),
        vae=dict(VAE, sample_size=1024, scaling_factor=0.13025, force_upcast=True),
        encoders={"text_encoder_2": (CLIPTextModelWithProjection, CLIP_G)},
        index=dict(requires_aesthetics_score=True, force_zeros_for_empty_prompt=False)),
}
ROW = (0.02 * numpy.random.default_rng(1).standard_normal(1 << 20)).astype(numpy.float16)


def published(name):
    """A tensor's name in published files: transformers 5 leaves the first part out for text encoders."""
    parts = name.split(".")
    return name if parts[0] not in ("embeddings", "encoder", "final_layer_norm") else f"text_model.{name}"


def write_file(path, entries, values=()):
    """A safetensors file of entries, whose values come in parts."""
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for part in values:
            file.write(part.tobytes())


def values_of(entries):
    """Of norms ones, of biases zeros, of all else the run of random numbers."""
    for name, entry in entries.items():
        count = (entry["data_offsets"][1] - entry["data_offsets"][0]) // 2
        if len(entry["shape"]) == 1:
            yield numpy.full(count, 1 if name.endswith("weight") else 0, numpy.float16)
        else:
            for first in range(0, count, len(ROW)):
                yield ROW[:count - first]


def write_weights(path, module, text=False):
    """Those of a module on the meta device."""
    entries, end = {}, 0
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            name = published(name) if text else name
            begin, end = end, end + 2 * tensor.numel()
            entries[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    write_file(path, entries, values_of(entries))


def write_tokenizer(folder):
    """A vocabulary of CLIP's size that knows single bytes, without merges."""
    folder.mkdir()
    printable = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    letters = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(256 - len(printable))]
    tokens = letters + [letter + "</w>" for letter in letters]
    tokens += [f"unused{i}</w>" for i in range(49406 - len(tokens))] + ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    end = {"content": "<|endoftext|>", "lstrip": False, "normalized": True, "rstrip": False, "single_word": False}
    special = {"bos_token": dict(end, content="<|startoftext|>"), "eos_token": end, "unk_token": end,
               "pad_token": "<|endoftext|>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        dict(special, model_max_length=77, tokenizer_class="CLIPTokenizer", do_lower_case=True, errors="replace",
             add_prefix_space=False)))


def write_model(kind, folder):
    model, folder = MODELS[kind], Path(folder)
    folder.mkdir(parents=True)
    index = {"_class_name": model["pipeline"], "unet": ["diffusers", "UNet2DConditionModel"],
             "vae": ["diffusers", "AutoencoderKL"], "scheduler": ["diffusers", "EulerDiscreteScheduler"],
             **model.get("index", {})}
    with torch.device("meta"):
        parts = {"unet": UNet2DConditionModel(**model["unet"]), "vae": AutoencoderKL(**model["vae"])}
        for name, (kind_of, config) in model["encoders"].items():
            parts[name] = kind_of(CLIPTextConfig(**config))
            index[name] = ["transformers", kind_of.__name__]
            index[name.replace("text_encoder", "tokenizer")] = ["transformers", "CLIPTokenizer"]
            write_tokenizer(folder / name.replace("text_encoder", "tokenizer"))
    for name, module in parts.items():
        (folder / name).mkdir()
        if name in model["encoders"]:
            config = dict(module.config.to_dict(), architectures=[type(module).__name__])
            (folder / name / "config.json").write_text(json.dumps(config, default=str))
            write_weights(folder / name / "model.safetensors", module, text=True)
        else:
            module.save_config(folder / name)
            write_weights(folder / name / "diffusion_pytorch_model.safetensors", module)
    EulerDiscreteScheduler(**SCHEDULER, **model.get("scheduler", {})).save_config(folder / "scheduler")
    (folder / "model_index.json").write_text(json.dumps(index))
    # stable-diffusion.cpp asks every folder for a second text encoder, and takes XL's for a part of the first: it gets
    # one without tensors here, and XL's by name (measure.py).
    view = folder / "for_sd_cpp"
    (view / "text_encoder_2").mkdir(parents=True)
    write_file(view / "text_encoder_2" / "model.safetensors", {})
    for name in parts:
        if name != "text_encoder_2":
            (view / name).symlink_to(Path("..") / name)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("kind", choices=tuple(MODELS))
    arguments.add_argument("folder", type=Path, help="is made; must not be there")
    options = arguments.parse_args()
    write_model(options.kind, options.folder)
