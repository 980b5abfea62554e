"""The tiny Stable Diffusion folders: what each one is, and how it is built."""

import glob
import json
import os
import shutil

import torch
from diffusers import (AutoencoderKL, DDIMScheduler, EulerDiscreteScheduler, LCMScheduler, LatentConsistencyModelPipeline,
                       PNDMScheduler, StableDiffusionInpaintPipeline, StableDiffusionPipeline,
                       StableDiffusionXLImg2ImgPipeline, StableDiffusionXLPipeline, UNet2DConditionModel)
from safetensors.torch import load_file, save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

import models
import tokenizer_files

CROSS, PLAIN = "CrossAttnDownBlock2D", "DownBlock2D"
BETAS = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000)

# Every dimension differs from folder to folder. Of a U-Net, "blocks" are its levels down; the levels up mirror them.
SPECS = {
    "sd15": dict(
        dtype="f32", older=True, pipeline=StableDiffusionPipeline, position_ids=True,
        tokenizer=dict(files="legacy", merges=40, length=77),
        clip=dict(hidden_size=18, intermediate_size=48, num_hidden_layers=2, num_attention_heads=3, projection_dim=18,
                  hidden_act="quick_gelu", legacy_eos=True),
        unet=dict(blocks=(CROSS, PLAIN), block_out_channels=(8, 12), layers_per_block=2, attention_head_dim=2,
                  norm_num_groups=4),
        vae=dict(block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=2),
        scheduler=lambda: PNDMScheduler(skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1, **BETAS)),
    "sd21": dict(
        dtype="bf16", pipeline=StableDiffusionPipeline,
        tokenizer=dict(files="legacy", merges=30, length=77, pad="!"),
        clip=dict(hidden_size=20, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4, projection_dim=14,
                  hidden_act="gelu"),
        unet=dict(blocks=(CROSS, CROSS, PLAIN), block_out_channels=(6, 12, 18), layers_per_block=1,
                  attention_head_dim=(1, 2, 3), norm_num_groups=3, use_linear_projection=True),
        vae=dict(block_out_channels=(6, 6, 12), layers_per_block=2, norm_num_groups=6, scaling_factor=0.18215),
        scheduler=lambda: DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1,
                                        prediction_type="v_prediction", **BETAS)),
    "sdxl": dict(
        dtype="f16", pipeline=StableDiffusionXLPipeline,
        tokenizer=dict(files="legacy", merges=20, length=77),
        tokenizer_2=dict(files="legacy", merges=20, length=77, pad="!"),
        clip=dict(hidden_size=12, intermediate_size=32, num_hidden_layers=3, num_attention_heads=2, projection_dim=12,
                  hidden_act="quick_gelu"),
        clip_2=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=4, num_attention_heads=4, projection_dim=10,
                    hidden_act="gelu"),
        unet=dict(blocks=(PLAIN, CROSS), block_out_channels=(8, 16), layers_per_block=1, attention_head_dim=(2, 4),
                  norm_num_groups=2, use_linear_projection=True, transformer_layers_per_block=(1, 2),
                  addition_embed_type="text_time", addition_time_embed_dim=6,
                  projection_class_embeddings_input_dim=6 * 6 + 10),
        vae=dict(block_out_channels=(3, 6, 9), layers_per_block=1, norm_num_groups=3, scaling_factor=0.13025,
                 force_upcast=True),
        scheduler=lambda: EulerDiscreteScheduler(timestep_spacing="leading", steps_offset=1, **BETAS)),
    "refiner": dict(
        dtype="f16", pipeline=StableDiffusionXLImg2ImgPipeline,
        tokenizer_2=dict(files="legacy", merges=25, length=77, pad="!"),
        clip_2=dict(hidden_size=14, intermediate_size=28, num_hidden_layers=3, num_attention_heads=2, projection_dim=8,
                    hidden_act="gelu"),
        unet=dict(blocks=(PLAIN, CROSS, PLAIN), block_out_channels=(6, 12, 12), layers_per_block=2, attention_head_dim=(1, 3, 4),
                  norm_num_groups=3, use_linear_projection=True, transformer_layers_per_block=2,
                  addition_embed_type="text_time", addition_time_embed_dim=8,
                  projection_class_embeddings_input_dim=5 * 8 + 8),
        vae=dict(block_out_channels=(3, 6, 9), layers_per_block=1, norm_num_groups=3, scaling_factor=0.13025,
                 force_upcast=True),
        scheduler=lambda: EulerDiscreteScheduler(timestep_spacing="leading", steps_offset=1, **BETAS)),
    "inpaint": dict(
        dtype="f16", pipeline=StableDiffusionInpaintPipeline,
        tokenizer=dict(files="json", merges=35, length=77),
        clip=dict(hidden_size=15, intermediate_size=30, num_hidden_layers=1, num_attention_heads=5, projection_dim=15,
                  hidden_act="quick_gelu"),
        unet=dict(blocks=(CROSS, CROSS), block_out_channels=(14, 14), layers_per_block=1, attention_head_dim=2,
                  norm_num_groups=7, in_channels=9),
        vae=dict(block_out_channels=(5, 5, 10, 10), layers_per_block=1, norm_num_groups=5, scaling_factor=0.2),
        scheduler=lambda: DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1, **BETAS)),
    "lcm": dict(
        dtype="bf16", pipeline=LatentConsistencyModelPipeline,
        tokenizer=dict(files="legacy", merges=50, length=77),
        clip=dict(hidden_size=21, intermediate_size=36, num_hidden_layers=2, num_attention_heads=3, projection_dim=21,
                  hidden_act="quick_gelu"),
        unet=dict(blocks=(CROSS, PLAIN), block_out_channels=(10, 15), layers_per_block=1, attention_head_dim=5,
                  norm_num_groups=5, time_cond_proj_dim=10),
        vae=dict(block_out_channels=(4, 8, 8), layers_per_block=1, norm_num_groups=4, scaling_factor=0.18215),
        scheduler=lambda: LCMScheduler(clip_sample=False, set_alpha_to_one=True, steps_offset=1,
                                       original_inference_steps=50, **BETAS)),
}

# What the config of Stable Diffusion 1.5's own folder says; all else are diffusers' defaults.
OLDER_UNET = ("act_fn", "attention_head_dim", "block_out_channels", "center_input_sample", "cross_attention_dim",
              "down_block_types", "downsample_padding", "flip_sin_to_cos", "freq_shift", "in_channels", "layers_per_block",
              "mid_block_scale_factor", "norm_eps", "norm_num_groups", "out_channels", "sample_size", "up_block_types")
OLDER_VAE = ("act_fn", "block_out_channels", "down_block_types", "in_channels", "latent_channels", "layers_per_block",
             "norm_num_groups", "out_channels", "sample_size", "up_block_types")
OLDER_SCHEDULER = ("beta_end", "beta_schedule", "beta_start", "num_train_timesteps", "set_alpha_to_one", "skip_prk_steps",
                   "steps_offset", "trained_betas")
OLDER_ATTENTION = (("to_q", "query"), ("to_k", "key"), ("to_v", "value"), ("to_out.0", "proj_attn"))


def make_unet(spec, context):
  how = dict(spec["unet"])
  down = how.pop("blocks")
  up = tuple(kind.replace("Down", "Up") for kind in reversed(down))
  return UNet2DConditionModel(sample_size=8, down_block_types=down, up_block_types=up, cross_attention_dim=context,
                              out_channels=4, **{"in_channels": 4, "act_fn": "silu", "norm_eps": 1e-5} | how)


def make_vae(spec):
  how = spec["vae"]
  levels = len(how["block_out_channels"])
  return AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels,
                       sample_size=64, latent_channels=4, **{"force_upcast": False} | how)


def make_clip(kind, how, vocabulary, pad):
  how = dict(how)
  eos = 2 if how.pop("legacy_eos", False) else vocabulary[tokenizer_files.END]
  return kind(CLIPTextConfig(vocab_size=len(vocabulary), bos_token_id=vocabulary[tokenizer_files.START], eos_token_id=eos,
                             pad_token_id=vocabulary[pad], max_position_embeddings=77, **how))


def build(folder, name):
  """Writes the folder of one model, complete."""
  spec = SPECS[name]
  shutil.rmtree(folder, ignore_errors=True)
  os.makedirs(folder)
  seed = 50000 + 1000 * list(SPECS).index(name)
  parts, context = {}, 0
  xl = "clip_2" in spec
  for number, suffix in enumerate(("", "_2")):
    if f"clip{suffix}" not in spec:
      parts |= {f"tokenizer{suffix}": None, f"text_encoder{suffix}": None} if xl else {}
      continue
    how = spec[f"tokenizer{suffix}"]
    vocabulary = tokenizer_files.write_clip(f"{folder}/tokenizer{suffix}", how)
    parts[f"tokenizer{suffix}"] = CLIPTokenizer.from_pretrained(f"{folder}/tokenizer{suffix}")
    kind = CLIPTextModelWithProjection if suffix else CLIPTextModel
    encoder = make_clip(kind, spec[f"clip{suffix}"], vocabulary, how.get("pad", tokenizer_files.END))
    parts[f"text_encoder{suffix}"] = models.fill(encoder, seed + 2 + number)
    context += spec[f"clip{suffix}"]["hidden_size"]
  parts["unet"] = models.fill(make_unet(spec, context), seed + 4)
  parts["vae"] = models.fill(make_vae(spec), seed + 1)
  parts["scheduler"] = spec["scheduler"]()
  if name == "refiner":
    parts |= dict(requires_aesthetics_score=True, force_zeros_for_empty_prompt=False)
  elif xl:
    parts |= dict(force_zeros_for_empty_prompt=True, add_watermarker=False)
  else:
    parts |= dict(safety_checker=None, feature_extractor=None, requires_safety_checker=False)
  pipe = spec["pipeline"](**parts)
  for part in ("unet", "vae", "text_encoder", "text_encoder_2"):
    if getattr(pipe, part, None) is not None:
      getattr(pipe, part).to(models.TORCH[spec["dtype"]])
  pipe.save_pretrained(folder)
  # save_pretrained writes tokenizers its own way: put the intended files back.
  for suffix in ("", "_2"):
    if f"tokenizer{suffix}" in spec:
      tokenizer_files.write_clip(f"{folder}/tokenizer{suffix}", spec[f"tokenizer{suffix}"])
  prefix_clip(folder, spec)
  if spec.get("older"):
    look_older(folder)
  keep_unclipped(folder)
  models.tidy(folder)


def prefix_clip(folder, spec):
  """CLIP's keys as the folders that people have name them, whatever this transformers writes."""
  for path in sorted(glob.glob(f"{folder}/text_encoder*/*.safetensors")):
    state = {k.removeprefix("text_model."): v for k, v in load_file(path).items()}
    named = {(k if k.startswith("text_projection") else "text_model." + k): v for k, v in state.items()}
    if spec.get("position_ids"):
      named["text_model.embeddings.position_ids"] = torch.arange(77)[None]
    save_file(named, path, metadata={"format": "pt"})


def look_older(folder):
  """What Stable Diffusion 1.5's folder has: configs of few keys, and the VAE's attention by its first names."""
  for part, kept in (("unet", OLDER_UNET), ("vae", OLDER_VAE), ("scheduler", OLDER_SCHEDULER)):
    path = f"{folder}/{part}/" + ("scheduler_config.json" if part == "scheduler" else "config.json")
    with open(path, encoding="utf-8") as f:
      value = json.load(f)
    value = {k: v for k, v in value.items() if k in kept or k == "_class_name"}
    # Of what was written before 0.9, pipelines take a sample_size under 64 for a mistake.
    value["_diffusers_version"] = "0.9.0" if part == "unet" else "0.6.0"
    with open(path, "w", encoding="utf-8") as f:
      json.dump(value, f, indent=2, sort_keys=True)
      f.write("\n")
  path = f"{folder}/vae/diffusion_pytorch_model.safetensors"
  state = {}
  for name, value in load_file(path).items():
    if ".attentions." in name:
      for new, old in OLDER_ATTENTION:
        name = name.replace(f".{new}.", f".{old}.")
    state[name] = value
  save_file(state, path, metadata={"format": "pt"})


def keep_unclipped(folder):
  """Adds to a scheduler's file what those of Stable Diffusion say beside what their scheduler reads, for whoever runs them
  by another one."""
  path = f"{folder}/scheduler/scheduler_config.json"
  with open(path, encoding="utf-8") as f:
    value = {"clip_sample": False, "set_alpha_to_one": False, "skip_prk_steps": True} | json.load(f)
  with open(path, "w", encoding="utf-8") as f:
    json.dump(value, f, indent=2, sort_keys=True)
    f.write("\n")


def load(folder, pipeline, dtype=torch.float32):
  """The folder as diffusers loads it, run by the pipeline of that class."""
  options = {} if "XL" in pipeline.__name__ else dict(safety_checker=None, requires_safety_checker=False)
  pipe = pipeline.from_pretrained(folder, torch_dtype=dtype, local_files_only=True, **options)
  pipe.set_progress_bar_config(disable=True)
  return pipe
