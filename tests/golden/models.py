"""The tiny Flux folders: what each one is, and how it is built."""

import glob
import json
import os
import shutil

import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel
from safetensors.torch import load_file, save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, T5Config, T5EncoderModel, T5TokenizerFast

import tokenizer_files

# Every dimension differs from folder to folder. "dtype" is what lies in the files; "run" is what expected.py runs.
SPECS = {
    "dev_f32": dict(
        dtype="f32", clip_prefix=True, older=True,
        tokenizer=dict(files="legacy", merges=120, length=77),
        tokenizer_2=dict(files="spiece", rule="identity", pieces=400, extra_ids=100, length=512),
        clip=dict(hidden_size=18, intermediate_size=56, num_hidden_layers=2, num_attention_heads=3, projection_dim=18,
                  max_position_embeddings=77, hidden_act="quick_gelu", legacy_eos=True),
        t5=dict(d_model=22, d_kv=8, num_heads=4, num_layers=2, d_ff=48, feed_forward_proj="gated-gelu",
                relative_attention_num_buckets=32, relative_attention_max_distance=128, vocab_size=512),
        transformer=dict(in_channels=16, num_layers=2, num_single_layers=1, attention_head_dim=8, num_attention_heads=2,
                         axes_dims_rope=(2, 2, 4), guidance_embeds=True),
        vae=dict(block_out_channels=(4, 8), layers_per_block=1, latent_channels=4, norm_num_groups=4,
                 scaling_factor=0.3611, shift_factor=0.1159, use_quant_conv=False, use_post_quant_conv=False,
                 mid_block_add_attention=True),
        scheduler=dict(use_dynamic_shifting=True, shift=3.0, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
                       max_image_seq_len=4096),
        run=dict(prompt="A large red circle on a blue background, at the left.", width=40, height=24, steps=4, guidance=3.5,
                 length=48, blocks=True, img2img=[dict(width=57, height=33, strength=0.6, steps=5)]),
    ),
    "schnell_bf16": dict(
        dtype="bf16", clip_prefix=True,
        tokenizer=dict(files="legacy", merges=150, length=77, specials_first=True, pad="!"),
        tokenizer_2=dict(files="spiece", rule="nmt_nfkc", pieces=450, extra_ids=10, length=64),
        clip=dict(hidden_size=32, intermediate_size=40, num_hidden_layers=1, num_attention_heads=2, projection_dim=20,
                  max_position_embeddings=77, hidden_act="gelu"),
        t5=dict(d_model=24, d_kv=10, num_heads=3, num_layers=3, d_ff=36, feed_forward_proj="gated-gelu",
                relative_attention_num_buckets=16, relative_attention_max_distance=64, vocab_size=464),
        transformer=dict(in_channels=32, num_layers=1, num_single_layers=3, attention_head_dim=10, num_attention_heads=3,
                         axes_dims_rope=(2, 4, 4), guidance_embeds=False),
        vae=dict(block_out_channels=(3, 6, 9), layers_per_block=2, latent_channels=8, norm_num_groups=3,
                 scaling_factor=0.18215, shift_factor=-0.05, use_quant_conv=True, use_post_quant_conv=True,
                 mid_block_add_attention=True),
        scheduler=dict(use_dynamic_shifting=False, shift=1.0),
        run=dict(prompt="Der gro\u00dfe B\u00e4r l\u00e4uft \u00fcber die \ufb01ne Stra\u00dfe", width=56, height=40, steps=2,
                 guidance=0.0, length=64, img2img=[dict(width=50, height=70, strength=0.85, steps=4)]),
    ),
    "dev_f16": dict(
        dtype="f16", clip_prefix=False,
        tokenizer=dict(files="json", merges=100, length=77),
        tokenizer_2=dict(files="json", rule="identity", pieces=350, sentences=(0, 30), extra_ids=100, length=512),
        clip=dict(hidden_size=20, intermediate_size=80, num_hidden_layers=3, num_attention_heads=5, projection_dim=20,
                  max_position_embeddings=77, hidden_act="quick_gelu"),
        t5=dict(d_model=20, d_kv=4, num_heads=6, num_layers=1, d_ff=64, feed_forward_proj="gated-gelu",
                relative_attention_num_buckets=8, relative_attention_max_distance=20, vocab_size=460),
        transformer=dict(in_channels=48, num_layers=1, num_single_layers=2, attention_head_dim=8, num_attention_heads=4,
                         axes_dims_rope=(2, 4, 2), guidance_embeds=True),
        vae=dict(block_out_channels=(4, 8, 8, 12), layers_per_block=1, latent_channels=12, norm_num_groups=2,
                 scaling_factor=0.5, shift_factor=0.0, use_quant_conv=False, use_post_quant_conv=True,
                 mid_block_add_attention=False),
        scheduler=dict(use_dynamic_shifting=True, shift=1.0, base_shift=0.3, max_shift=1.4, base_image_seq_len=16,
                       max_image_seq_len=1024),
        run=dict(prompt="\u4e00\u53ea\u7ea2\u8272\u7684\u5c0f\u8239, a small boat & 3 cats", width=64, height=48, steps=3,
                 guidance=2.0, length=512, img2img=[]),
    ),
    "static_sharded": dict(
        dtype="f32", clip_prefix=False, shard_size=40_000, quiet=True,
        tokenizer=dict(files="legacy", merges=60, length=40, sentences=(30, 52)),
        tokenizer_2=dict(files="json", rule="small", pieces=380, extra_ids=5, length=100),
        clip=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=1, projection_dim=512,
                  max_position_embeddings=40, hidden_act="quick_gelu", layer_norm_eps=1e-3),
        t5=dict(d_model=28, d_kv=6, num_heads=2, num_layers=2, d_ff=20, feed_forward_proj="relu", layer_norm_epsilon=1e-3,
                relative_attention_num_buckets=32, relative_attention_max_distance=128, vocab_size=400),
        transformer=dict(in_channels=8, num_layers=3, num_single_layers=4, attention_head_dim=14, num_attention_heads=1,
                         axes_dims_rope=(6, 4, 4), guidance_embeds=False),
        vae=dict(block_out_channels=(4, 4, 8), layers_per_block=1, latent_channels=2, norm_num_groups=1,
                 scaling_factor=1.2, shift_factor=0.3, use_quant_conv=True, use_post_quant_conv=False,
                 mid_block_add_attention=True),
        scheduler=dict(use_dynamic_shifting=False, shift=3.0),
        run=dict(prompt="We've seen 12 BOATS\u2026 at 3\u2103 <extra_id_1> \U0001f642", width=32, height=56, steps=6,
                 guidance=3.5, length=20, img2img=[dict(width=32, height=56, strength=0.3, steps=10)],
                 batch=dict(prompts=["two cats", "a green STAR at the top"], images=2, steps=2)),
    ),
    "dev_fp8": dict(
        dtype="f32", transformer_dtype="fp8_e4m3", t5_dtype="bf16", clip_prefix=True,
        tokenizer=dict(files="legacy", merges=90, length=77),
        tokenizer_2=dict(files="both", rule="small", pieces=300, sentences=(10, 34), extra_ids=20, length=512),
        clip=dict(hidden_size=12, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, projection_dim=12,
                  max_position_embeddings=77, hidden_act="gelu", legacy_eos=True),
        t5=dict(d_model=16, d_kv=12, num_heads=2, num_layers=2, d_ff=40, feed_forward_proj="gated-gelu",
                relative_attention_num_buckets=12, relative_attention_max_distance=40, vocab_size=324),
        transformer=dict(in_channels=24, num_layers=2, num_single_layers=2, attention_head_dim=6, num_attention_heads=5,
                         axes_dims_rope=(2, 2, 2), guidance_embeds=True),
        vae=dict(block_out_channels=(8, 4), layers_per_block=2, latent_channels=6, norm_num_groups=4,
                 scaling_factor=0.7, shift_factor=-0.2, use_quant_conv=False, use_post_quant_conv=False,
                 mid_block_add_attention=False),
        scheduler=dict(use_dynamic_shifting=True, shift=3.0, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
                       max_image_seq_len=4096),
        run=dict(prompt="", width=36, height=20, steps=5, guidance=4.0, length=77, img2img=[]),
    ),
    "one_level": dict(
        dtype="bf16", clip_prefix=True,
        tokenizer=dict(files="json", merges=40, length=77, specials_first=True),
        tokenizer_2=dict(files="spiece", rule="small", pieces=320, sentences=(14, 44), extra_ids=0, length=512),
        clip=dict(hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=4, projection_dim=8,
                  max_position_embeddings=77, hidden_act="quick_gelu"),
        t5=dict(d_model=12, d_kv=3, num_heads=3, num_layers=1, d_ff=16, feed_forward_proj="relu",
                relative_attention_num_buckets=32, relative_attention_max_distance=128, vocab_size=340),
        transformer=dict(in_channels=12, num_layers=1, num_single_layers=0, attention_head_dim=16, num_attention_heads=2,
                         axes_dims_rope=(4, 6, 6), guidance_embeds=False),
        vae=dict(block_out_channels=(6,), layers_per_block=1, latent_channels=3, norm_num_groups=2,
                 scaling_factor=0.9, shift_factor=0.05, use_quant_conv=True, use_post_quant_conv=True,
                 mid_block_add_attention=True),
        scheduler=dict(use_dynamic_shifting=False, shift=0.5),
        run=dict(prompt="a \u1e9e\u0130\u03a3 ring", width=18, height=14, steps=1, guidance=3.5, length=16, img2img=[]),
    ),
}

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "fp8_e4m3": torch.float8_e4m3fn}


def fill(model, seed):
  """Random weights of natural size: what a trained model of this kind would have, so that activations stay near 1."""
  generator = torch.Generator("cpu").manual_seed(seed)
  state = model.state_dict()
  for name in sorted(state):
    value = state[name]
    noise = torch.randn(value.shape, generator=generator)
    norm = "norm" in name.split(".")[-2] or "layer_norm" in name or "group_norm" in name
    modulation = "norm" in name and ".linear." in name
    if modulation:
      value.copy_(0.4 * noise / value.shape[-1] ** 0.5 if value.dim() == 2 else 0.4 * noise)
    elif value.dim() == 1 and norm and name.endswith("weight"):
      value.copy_(1.0 + 0.15 * noise)
    elif value.dim() == 1:
      value.copy_(0.15 * noise)
    elif "relative_attention_bias" in name:
      value.copy_(0.7 * noise)
    elif "position_embedding" in name:
      value.copy_(0.3 * noise)
    elif "token_embedding" in name or "shared" in name:
      value.copy_(noise)
    elif name.endswith("SelfAttention.q.weight"):  # T5 does not divide its scores by sqrt(d_kv)
      heads_by_d_kv, d_model = value.shape
      value.copy_(noise / (d_model * model.config.d_kv) ** 0.5)
    else:
      fan_in = value[0].numel()
      embedder = "timestep_embedder" in name or "guidance_embedder" in name  # keeps guidance from drowning the text
      value.copy_((0.6 if embedder else 1.2) * noise / fan_in ** 0.5)
  model.load_state_dict(state)
  return model.eval()


def build(folder, name, spec):
  """Writes the folder of one model, complete."""
  shutil.rmtree(folder, ignore_errors=True)
  os.makedirs(folder)
  seed = 1000 * (1 + list(SPECS).index(name))
  vocabulary = tokenizer_files.write_clip(f"{folder}/tokenizer", spec["tokenizer"])
  t5_tokens = tokenizer_files.write_t5(f"{folder}/tokenizer_2", spec["tokenizer_2"])
  if t5_tokens > spec["t5"]["vocab_size"]:
    raise ValueError(f"{name}: T5 needs {t5_tokens} tokens")
  clip = dict(spec["clip"])
  end = vocabulary[tokenizer_files.END]
  eos = 2 if clip.pop("legacy_eos", False) else end
  clip_config = CLIPTextConfig(vocab_size=len(vocabulary), bos_token_id=vocabulary[tokenizer_files.START], eos_token_id=eos,
                               pad_token_id=vocabulary[spec["tokenizer"].get("pad", tokenizer_files.END)], **clip)
  t5_config = T5Config(dropout_rate=0.0, **({"layer_norm_epsilon": 1e-6} | spec["t5"]))
  vae = spec["vae"]
  levels = len(vae["block_out_channels"])
  pipe = FluxPipeline(
      scheduler=FlowMatchEulerDiscreteScheduler(**spec["scheduler"]),
      vae=fill(AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels,
                             sample_size=64, force_upcast=True, **vae), seed + 1),
      text_encoder=fill(CLIPTextModel(clip_config), seed + 2),
      tokenizer=CLIPTokenizer.from_pretrained(f"{folder}/tokenizer"),
      text_encoder_2=fill(T5EncoderModel(t5_config), seed + 3),
      tokenizer_2=T5TokenizerFast.from_pretrained(f"{folder}/tokenizer_2"),
      transformer=fill(FluxTransformer2DModel(joint_attention_dim=spec["t5"]["d_model"],
                                              pooled_projection_dim=spec["clip"]["hidden_size"],
                                              **spec["transformer"]), seed + 4))
  if spec.get("quiet"):
    quieten(pipe)
  for part in (pipe.vae, pipe.text_encoder, pipe.text_encoder_2, pipe.transformer):
    part.to(TORCH[spec["dtype"]])
  pipe.save_pretrained(folder, **({"max_shard_size": spec["shard_size"]} if "shard_size" in spec else {}))
  # save_pretrained writes tokenizers its own way: put the intended files back.
  tokenizer_files.write_clip(f"{folder}/tokenizer", spec["tokenizer"])
  tokenizer_files.write_t5(f"{folder}/tokenizer_2", spec["tokenizer_2"])
  clip_keys(folder, spec["clip_prefix"])
  if spec.get("older"):
    look_older(folder)
  if "transformer_dtype" in spec:
    recast(f"{folder}/transformer", TORCH[spec["transformer_dtype"]], lambda key, value: value.dim() == 2)
  if "t5_dtype" in spec:
    recast(f"{folder}/text_encoder_2", TORCH[spec["t5_dtype"]], lambda key, value: True)
  tidy(folder)


def quieten(pipe):
  """Small values before some norms, where a wrong epsilon would show."""
  state = pipe.transformer.state_dict()
  for name, factor in (("x_embedder", 0.03), ("context_embedder", 0.03), ("transformer_blocks.0.attn.to_q", 0.01),
                       ("transformer_blocks.1.attn.add_k_proj", 0.01), ("single_transformer_blocks.0.attn.to_k", 0.01)):
    for kind in ("weight", "bias"):
      state[f"{name}.{kind}"] *= factor
  for part in (pipe.vae.encoder, pipe.vae.decoder):
    for value in part.conv_in.parameters():
      value *= 0.01


def look_older(folder):
  """What folders written by older releases have: other class names and keys, and a buffer among the weights."""
  def edit(path, change):
    with open(path, encoding="utf-8") as f:
      value = json.load(f)
    change(value)
    with open(path, "w", encoding="utf-8") as f:
      json.dump(value, f, indent=2)
      f.write("\n")

  edit(f"{folder}/model_index.json", lambda value: value["tokenizer_2"].__setitem__(1, "T5TokenizerFast"))
  for part in ("text_encoder", "text_encoder_2"):
    edit(f"{folder}/{part}/config.json", lambda value: value.__setitem__("torch_dtype", value.pop("dtype")))
  path = f"{folder}/text_encoder/model.safetensors"
  state = load_file(path)
  positions = state["text_model.embeddings.position_embedding.weight"].shape[0]
  state["text_model.embeddings.position_ids"] = torch.arange(positions)[None]
  save_file(state, path, metadata={"format": "pt"})


def clip_keys(folder, prefix):
  """Names CLIP's tensors with the prefix `text_model.` (older files) or without it (transformers 5)."""
  for path in sorted(glob.glob(f"{folder}/text_encoder/*.safetensors")):
    state = {k.removeprefix("text_model."): v for k, v in load_file(path).items()}
    save_file({("text_model." + k if prefix else k): v for k, v in state.items()}, path, metadata={"format": "pt"})
  for path in glob.glob(f"{folder}/text_encoder/*.index.json"):
    with open(path, encoding="utf-8") as f:
      index = json.load(f)
    stripped = {k.removeprefix("text_model."): v for k, v in index["weight_map"].items()}
    index["weight_map"] = {("text_model." + k if prefix else k): v for k, v in stripped.items()}
    with open(path, "w", encoding="utf-8") as f:
      json.dump(index, f, indent=2, sort_keys=True)


def recast(folder, dtype, chosen):
  """Stores the chosen tensors of a component in another dtype."""
  for path in sorted(glob.glob(f"{folder}/*.safetensors")):
    state = {k: v.to(dtype) if chosen(k, v) else v for k, v in load_file(path).items()}
    save_file(state, path, metadata={"format": "pt"})


def tidy(folder):
  """Takes out of the configs what names this machine's folders."""
  for path in glob.glob(f"{folder}/**/*.json", recursive=True):
    with open(path, encoding="utf-8") as f:
      text = f.read()
    if "_name_or_path" in text:
      value = json.loads(text)
      value.pop("_name_or_path", None)
      with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2, ensure_ascii=False)
        f.write("\n")


def load(folder, dtype=torch.float32):
  """The pipeline as diffusers loads it from the folder."""
  pipe = FluxPipeline.from_pretrained(folder, torch_dtype=dtype, local_files_only=True)
  pipe.set_progress_bar_config(disable=True)
  return pipe
