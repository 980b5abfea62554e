#!/usr/bin/env python3
"""Remakes expected/unets.safetensors: what diffusers' UNet2DConditionModel makes of tiny UNets, each of which differs
from the others in every dimension. Weights are not kept: both sides make them from the tensors' names (README.md).

  python make_unets.py
"""

import json
import os
import warnings

import numpy as np
import torch

import tensor_file

warnings.filterwarnings("ignore", category=FutureWarning)
HERE = os.path.dirname(os.path.abspath(__file__))
DRAWS = 3  # inputs of a case: one run's error in bf16 and f16 is luck

CROSS, DOWN = "CrossAttnDownBlock2D", "DownBlock2D"
CROSS_UP, UP = "CrossAttnUpBlock2D", "UpBlock2D"

# "size" is that of the latents, "tokens" those of the prompt, "pictures" the conditionings that are run as one batch.
CASES = {
    # heads by one number, convolutions around transformers: Stable Diffusion 1.x
    "sd15": dict(size=(8, 8), tokens=7, config=dict(
        block_out_channels=(16, 32, 32), down_block_types=(CROSS, CROSS, DOWN), up_block_types=(UP, CROSS_UP, CROSS_UP),
        layers_per_block=2, attention_head_dim=4, cross_attention_dim=24, norm_num_groups=8, sample_size=8)),
    # heads by level, linear layers around transformers, an odd picture: 2.x
    "sd21": dict(size=(9, 7), tokens=11, config=dict(
        block_out_channels=(8, 24, 16), down_block_types=(CROSS, CROSS, CROSS), up_block_types=(CROSS_UP, CROSS_UP, CROSS_UP),
        layers_per_block=(1, 2, 3), attention_head_dim=(1, 3, 2), cross_attention_dim=20, norm_num_groups=4,
        use_linear_projection=True, upcast_attention=True, norm_eps=1e-3)),
    # transformers of several depths, pooled text and six time ids: XL
    "sdxl": dict(size=(10, 6), tokens=5, pooled=14, time_ids=(64, 72, 0, 8, 64, 72), pictures=2, config=dict(
        block_out_channels=(12, 24, 36), down_block_types=(DOWN, CROSS, CROSS), up_block_types=(CROSS_UP, CROSS_UP, UP),
        layers_per_block=2, attention_head_dim=(2, 4, 6), cross_attention_dim=(18, 18, 18), norm_num_groups=6,
        transformer_layers_per_block=[1, 2, 3], use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=8, projection_class_embeddings_input_dim=62)),
    # five time ids, four levels, the last ones without attention: XL's refiner
    "refiner": dict(size=(16, 11), tokens=9, pooled=10, time_ids=(128, 88, 0, 0, 6), config=dict(
        block_out_channels=(6, 12, 18, 24), down_block_types=(DOWN, CROSS, CROSS, DOWN),
        up_block_types=(UP, CROSS_UP, CROSS_UP, UP), layers_per_block=1, attention_head_dim=[1, 2, 3, 4],
        cross_attention_dim=10, norm_num_groups=3, transformer_layers_per_block=2, use_linear_projection=True,
        addition_embed_type="text_time", addition_time_embed_dim=6, projection_class_embeddings_input_dim=40)),
    # a mask and a masked picture beside the latents
    "inpaint": dict(size=(6, 13), tokens=77, config=dict(
        in_channels=9, block_out_channels=(20, 40), down_block_types=(CROSS, DOWN), up_block_types=(UP, CROSS_UP),
        layers_per_block=1, attention_head_dim=5, cross_attention_dim=16, norm_num_groups=5, norm_eps=1e-6)),
    # an embedded guidance of an odd width, whose last value is 0: latent consistency models
    "lcm": dict(size=(7, 8), tokens=6, guidance=7.5, config=dict(
        block_out_channels=(14, 28), down_block_types=(CROSS, CROSS), up_block_types=(CROSS_UP, CROSS_UP),
        layers_per_block=2, attention_head_dim=7, cross_attention_dim=12, norm_num_groups=7, time_cond_proj_dim=11)),
    # what no released model has: sines first, shifted frequencies, heads that do not divide channels, attention on one
    # way alone, another width of the embedded time, a middle without attention, another number of channels out
    "unlike": dict(size=(5, 6), tokens=4, config=dict(
        in_channels=3, out_channels=5, block_out_channels=(10, 22, 12), down_block_types=(DOWN, CROSS, DOWN),
        up_block_types=(CROSS_UP, UP, CROSS_UP), layers_per_block=[2, 1, 2], attention_head_dim=[3, 4, 5],
        cross_attention_dim=9, norm_num_groups=2, transformer_layers_per_block=[2, 1, 3], flip_sin_to_cos=False,
        freq_shift=1, time_embedding_dim=26, mid_block_type="UNetMidBlock2D")),
    # one level, no middle, two pictures
    "one_level": dict(size=(3, 5), tokens=3, pictures=2, config=dict(
        block_out_channels=(18,), down_block_types=(CROSS,), up_block_types=(CROSS_UP,), layers_per_block=1,
        attention_head_dim=2, cross_attention_dim=30, norm_num_groups=9, mid_block_type=None)),
}


def hash_of(text):
  """64-bit FNV-1a."""
  value = 0xcbf29ce484222325
  for byte in text.encode():
    value = ((value ^ byte) * 0x100000001b3) % 2**64
  return value


def generated(name, count):
  """Values in [-1, 1), the same in tests/support/generated_weights.hpp: 24 bits of SplitMix64 each."""
  with np.errstate(over="ignore"):
    z = np.uint64(hash_of(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    z = z ^ (z >> np.uint64(31))
  return ((z >> np.uint64(40)).astype(np.int64) - 2**23).astype(np.float32) * np.float32(2**-23)


def fill(model, case):
  """Weights that keep activations near 1."""
  state = model.state_dict()
  for name, value in state.items():
    values = torch.from_numpy(generated(f"{case}.{name}", value.numel())).reshape(value.shape)
    if value.dim() > 1:  # uniform values have a third of the variance
      value.copy_(values * np.float32(np.sqrt(3.0 / value[0].numel())))
    elif "norm" in name and name.endswith("weight"):
      value.copy_(values * np.float32(0.25) + np.float32(1))
    else:
      value.copy_(values * np.float32(0.25))
  model.load_state_dict(state)
  return model.eval()


def guidance_waves(guidance, dim):
  """As LatentConsistencyModelPipeline embeds it."""
  from diffusers import LatentConsistencyModelPipeline
  scale = torch.tensor([guidance - 1])
  return LatentConsistencyModelPipeline.get_guidance_scale_embedding(None, scale, embedding_dim=dim)


def relative(value, reference):
  value, reference = value.double(), reference.double()
  return float((value - reference).norm() / reference.norm())


def main():
  torch.set_num_threads(1)
  torch.set_grad_enabled(False)
  import diffusers
  from diffusers import UNet2DConditionModel
  diffusers.utils.logging.set_verbosity_error()
  tensors, facts = {}, {}
  for case, spec in CASES.items():
    model = fill(UNet2DConditionModel(**spec["config"]), case)
    config = {key: value for key, value in json.loads(model.to_json_string()).items() if not key.startswith("_")}
    config["_class_name"] = "UNet2DConditionModel"
    if config["mid_block_type"] == "UNetMidBlock2DCrossAttn":
      del config["mid_block_type"]  # as the files of older releases
    pictures = spec.get("pictures", 1)
    facts[case] = {"config": config, "timesteps": [], "time_ids": list(spec.get("time_ids", ())),
                   "parameters": sum(value.numel() for value in model.parameters()),
                   "errors": {"f32_from_f64": [], "bf16_from_f32": [], "f16_from_f32": []}}
    if "guidance" in spec:
      facts[case]["guidance"] = spec["guidance"]
    for draw in range(DRAWS):
      place = f"{case}.{draw}"
      made = lambda name, *shape: torch.from_numpy(2 * generated(f"{place}.{name}", int(np.prod(shape)))).reshape(shape)
      inputs = {"latents": made("latents", 1, config["in_channels"], *spec["size"]),
                "context": made("context", pictures, spec["tokens"], np.max(config["cross_attention_dim"]))}
      if "pooled" in spec:
        inputs["pooled"] = made("pooled", pictures, spec["pooled"])
      timestep = [999.0, 481.0, 20.25][draw]
      facts[case]["timesteps"].append(timestep)
      outputs = {}
      for dtype, kind in (("f64", torch.float64), ("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
        model.to(kind)
        cast = {name: value.to(kind) for name, value in inputs.items()}
        added = {}
        if "pooled" in spec:
          added = {"text_embeds": cast["pooled"],
                   "time_ids": torch.tensor([spec["time_ids"]] * pictures, dtype=kind)}
        waves = guidance_waves(spec["guidance"], config["time_cond_proj_dim"]).to(kind) if "guidance" in spec else None
        outputs[dtype] = model(cast["latents"].expand(pictures, -1, -1, -1), torch.tensor(timestep), cast["context"],
                               timestep_cond=waves, added_cond_kwargs=added).sample
        fill(model.to(torch.float32), case)  # casting to f16 and back has rounded the weights
      for dtype, reference in (("f32", "f64"), ("bf16", "f32"), ("f16", "f32")):
        facts[case]["errors"][f"{dtype}_from_{reference}"].append(relative(outputs[dtype], outputs[reference]))
      tensors |= {f"{place}.{name}": value for name, value in inputs.items()}
      tensors |= {f"{place}.{dtype}": outputs[dtype].contiguous() for dtype in ("f32", "bf16", "f16")}
    print(case, facts[case]["parameters"], {k: [f"{e:.2g}" for e in v] for k, v in facts[case]["errors"].items()}, flush=True)
  path = f"{HERE}/expected/unets.safetensors"
  tensor_file.save(path, tensors, {"cases": json.dumps(facts, sort_keys=True)})
  os.chmod(path, 0o644)


if __name__ == "__main__":
  main()
