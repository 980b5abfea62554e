"""The folders' weights once more, each as one file with the names of the models' authors (LDM, OpenCLIP)."""

import glob

import torch
from diffusers.loaders.single_file_utils import (convert_ldm_unet_checkpoint, convert_ldm_vae_checkpoint,
                                                 convert_open_clip_checkpoint)
from safetensors.torch import load_file
from transformers import CLIPTextModel, CLIPTextModelWithProjection

import stable_diffusion_models as folders
import tensor_file

FILES = ("sd15", "sd21", "sdxl", "refiner")
RESIDUAL = (("norm1", "in_layers.0"), ("conv1", "in_layers.2"), ("time_emb_proj", "emb_layers.1"), ("norm2", "out_layers.0"),
            ("conv2", "out_layers.3"), ("conv_shortcut", "skip_connection"))
ENDS = (("time_embedding.linear_1", "time_embed.0"), ("time_embedding.linear_2", "time_embed.2"),
        ("add_embedding.linear_1", "label_emb.0.0"), ("add_embedding.linear_2", "label_emb.0.2"),
        ("conv_in", "input_blocks.0.0"), ("conv_norm_out", "out.0"), ("conv_out", "out.2"))
MIDDLE = (("mid_block.resnets.0", "middle_block.0"), ("mid_block.attentions.0", "middle_block.1"),
          ("mid_block.resnets.1", "middle_block.2"))
OPENCLIP = (("layer_norm1", "ln_1"), ("layer_norm2", "ln_2"), ("self_attn.out_proj", "attn.out_proj"), ("mlp.fc1", "mlp.c_fc"),
            ("mlp.fc2", "mlp.c_proj"))


def state_of(folder):
  return load_file(sorted(glob.glob(f"{folder}/*.safetensors"))[0])


def unet_prefixes(levels, layers, attends):
  """(diffusers' prefix, LDM's) of every block of a U-Net: the authors number blocks through, each with what follows it."""
  pairs, number = list(MIDDLE), 1
  for i in range(levels):
    for j in range(layers):
      pairs += [(f"down_blocks.{i}.resnets.{j}", f"input_blocks.{number}.0"),
                (f"down_blocks.{i}.attentions.{j}", f"input_blocks.{number}.1")]
      number += 1
    pairs.append((f"down_blocks.{i}.downsamplers.0.conv", f"input_blocks.{number}.0.op"))
    number += 1
  for i in range(levels):
    for j in range(layers + 1):
      at = f"output_blocks.{i * (layers + 1) + j}"
      pairs += [(f"up_blocks.{i}.resnets.{j}", f"{at}.0"), (f"up_blocks.{i}.attentions.{j}", f"{at}.1")]
    pairs.append((f"up_blocks.{i}.upsamplers.0.conv", f"{at}.{2 if attends[levels - 1 - i] else 1}.conv"))
  return pairs


def renamed(name, pairs):
  """The name with the one prefix that fits replaced by the other side's."""
  for ours, theirs in pairs:
    if name.startswith(ours + "."):
      return theirs + name[len(ours):]
  return None


def ldm_unet(folder, spec):
  blocks = spec["unet"]["blocks"]
  pairs = unet_prefixes(len(blocks), spec["unet"]["layers_per_block"], [kind == folders.CROSS for kind in blocks])
  state = {}
  for name, value in state_of(f"{folder}/unet").items():
    their = renamed(name, ENDS) or renamed(name, pairs)
    if ".resnets." in name:
      head, tail = (".".join(their.split(".")[:3]), ".".join(their.split(".")[3:]))
      if head.startswith("middle_block"):
        head, tail = ".".join(their.split(".")[:2]), ".".join(their.split(".")[2:])
      their = head + "." + renamed(tail, RESIDUAL)
    state[their] = value
  return state


def ldm_vae(folder, spec):
  levels = len(spec["vae"]["block_out_channels"])
  pairs = []
  for i in range(levels):
    pairs += [(f"encoder.down_blocks.{i}.resnets", f"encoder.down.{i}.block"),
              (f"encoder.down_blocks.{i}.downsamplers.0", f"encoder.down.{i}.downsample"),
              (f"decoder.up_blocks.{i}.resnets", f"decoder.up.{levels - 1 - i}.block"),
              (f"decoder.up_blocks.{i}.upsamplers.0", f"decoder.up.{levels - 1 - i}.upsample")]
  for half in ("encoder", "decoder"):
    pairs += [(f"{half}.mid_block.attentions.0", f"{half}.mid.attn_1"), (f"{half}.mid_block.resnets.0", f"{half}.mid.block_1"),
              (f"{half}.mid_block.resnets.1", f"{half}.mid.block_2"), (f"{half}.conv_norm_out", f"{half}.norm_out")]
  attention = (("group_norm", "norm"), ("query", "q"), ("key", "k"), ("value", "v"), ("proj_attn", "proj_out"), ("to_q", "q"),
               ("to_k", "k"), ("to_v", "v"), ("to_out.0", "proj_out"))
  state = {}
  for name, value in state_of(f"{folder}/vae").items():
    their = (renamed(name, pairs) or name).replace("conv_shortcut", "nin_shortcut")
    if ".attn_1." in their:
      head, tail = their.split(".attn_1.")
      their = f"{head}.attn_1.{renamed(tail, attention)}"
      if value.dim() == 2:
        value = value[:, :, None, None]
    state[their] = value
  return state


def openclip(folder, dropped_layer):
  """With the fused products of PyTorch's own attention; where the model leaves out the last layer, with that one too."""
  state = {name.removeprefix("text_model."): value for name, value in state_of(folder).items()}
  out = {"token_embedding.weight": state.pop("embeddings.token_embedding.weight"),
         "positional_embedding": state.pop("embeddings.position_embedding.weight")}
  if "text_projection.weight" in state:
    out["text_projection"] = state.pop("text_projection.weight").T
  for name in list(state):
    if not name.startswith("encoder.layers."):
      out[name.replace("final_layer_norm", "ln_final")] = state[name]
      continue
    _, _, number, tail = name.split(".", 3)
    at = f"transformer.resblocks.{number}."
    if "q_proj" in tail:
      kind = tail.split(".")[-1]
      out[f"{at}attn.in_proj_{kind}"] = torch.cat([state[name.replace("q_proj", f"{x}_proj")] for x in "qkv"])
    elif "k_proj" not in tail and "v_proj" not in tail:
      out[at + renamed(tail, OPENCLIP)] = state[name]
  if dropped_layer:
    count = 1 + max(int(name.split(".")[2]) for name in out if name.startswith("transformer."))
    last = f"transformer.resblocks.{count - 1}."
    out |= {name.replace(last, f"transformer.resblocks.{count}."): value + 1 for name, value in out.items()
            if name.startswith(last)}
  out["logit_scale"] = torch.tensor(4.6, dtype=out["positional_embedding"].dtype)
  return out


def check(name, folder, spec, parts):
  """What diffusers' own readers make of the file is the folder."""
  unet = folders.load(folder, spec["pipeline"]).unet
  found = convert_ldm_unet_checkpoint({f"model.diffusion_model.{k}": v for k, v in parts["unet"].items()}, dict(unet.config))
  same(name, found, unet.state_dict())
  vae = folders.load(folder, spec["pipeline"]).vae
  found = convert_ldm_vae_checkpoint({f"first_stage_model.{k}": v for k, v in parts["vae"].items()}, dict(vae.config))
  same(name, {k: v for k, v in found.items()}, vae.state_dict())
  if "openclip" in parts:
    suffix = "_2" if "clip_2" in spec else ""
    kind = CLIPTextModelWithProjection if suffix else CLIPTextModel
    encoder = kind.from_pretrained(f"{folder}/text_encoder{suffix}", local_files_only=True)
    stored = {k: v for k, v in parts["openclip"].items() if k != "text_projection" or suffix}
    found = convert_open_clip_checkpoint(encoder, {f"p.{k}": v for k, v in stored.items()}, prefix="p.")
    strip = lambda state: {k.removeprefix("text_model."): v for k, v in state.items() if "position_ids" not in k}
    same(name, strip(found), strip(encoder.state_dict()))


def same(name, found, state):
  for key, value in state.items():
    if key not in found or not torch.equal(found[key].float().reshape(value.shape), value.float()):
      raise ValueError(f"{name}: diffusers does not find {key} in the file")


def write(root):
  """stable_diffusion/<folder>.safetensors"""
  for name in FILES:
    spec, folder = folders.SPECS[name], f"{root}/{name}"
    parts = {"unet": ldm_unet(folder, spec), "vae": ldm_vae(folder, spec)}
    prefixes = {"unet": "model.diffusion_model.", "vae": "first_stage_model."}
    if name == "sd15":
      parts["clip"] = state_of(f"{folder}/text_encoder")
      prefixes["clip"] = "cond_stage_model.transformer."
    elif name == "sd21":
      parts["openclip"] = openclip(f"{folder}/text_encoder", True)
      prefixes["openclip"] = "cond_stage_model.model."
    else:
      parts["openclip"] = openclip(f"{folder}/text_encoder_2", False)
      prefixes["openclip"] = f"conditioner.embedders.{0 if name == 'refiner' else 1}.model."
      if name == "sdxl":
        parts["clip"] = state_of(f"{folder}/text_encoder")
        prefixes["clip"] = "conditioner.embedders.0.transformer."
    check(name, folder, spec, parts)
    tensors = {prefixes[part] + key: value for part, state in parts.items() for key, value in state.items()}
    if name == "sd15":
      tensors |= {"alphas_cumprod": torch.linspace(1, 0, 5), "model_ema.decay": torch.tensor(0.9999)}
    tensors = {k: v.to(torch.int32) if v.dtype == torch.int64 else v for k, v in tensors.items()}
    tensor_file.save(f"{root}/{name}.safetensors", tensors, {"format": "pt"})
