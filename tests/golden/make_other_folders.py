#!/usr/bin/env python3
"""Remakes expected/other_folders.safetensors: what diffusers draws with folders that are unlike those of stable_diffusion/.
Each takes its text encoders from one of those and has a UNet, a scheduler and perhaps a VAE of its own, whose weights are
not kept: both sides make them from the tensors' names (README.md). Square roots are the nearest numbers
(nearest_roots.py).

  python make_other_folders.py
"""

import json
import os
import shutil
import tempfile
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)
HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN, CROSS = "DownBlock2D", "CrossAttnDownBlock2D"
BETAS = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000)
OF_XL = dict(use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=6,
             projection_class_embeddings_input_dim=6 * 6 + 10)

# "base" is the folder whose text encoders they take; "unet", "vae" and "scheduler" are configs, "cases" runs.
FOLDERS = {
    # transformers of other depths in each layer, and others again on the way up; no attention in the middle: SSD-1B, Vega
    "layer_by_layer": dict(
        base="sdxl",
        unet=dict(blocks=(PLAIN, CROSS, CROSS), block_out_channels=(4, 8, 16), layers_per_block=2,
                  attention_head_dim=[1, 2, 4], norm_num_groups=4, transformer_layers_per_block=[1, [2, 1], [3, 2]],
                  reverse_transformer_layers_per_block=[[3, 2, 4], [2, 1, 1], 1], mid_block_type="UNetMidBlock2D", **OF_XL),
        scheduler=("EulerDiscreteScheduler", dict(timestep_spacing="leading", steps_offset=1)),
        cases=[dict(), dict(task="img2img", strength=0.6), dict(task="inpaint", strength=0.7, sampler="dpmpp_2m_karras")]),
    # the same with a middle that attends, which is as deep as the last level's first layer down
    "deep_middle": dict(
        base="sdxl",
        unet=dict(blocks=(CROSS, CROSS), block_out_channels=(6, 12), layers_per_block=[1, 2], attention_head_dim=(1, 3),
                  norm_num_groups=3, transformer_layers_per_block=[1, [3, 1]],
                  reverse_transformer_layers_per_block=[[1, 2, 1], 2], **OF_XL),
        scheduler=("EulerAncestralDiscreteScheduler", dict(timestep_spacing="trailing", steps_offset=1)),
        cases=[dict(guidance=0.0, steps=1, negative=None), dict()]),
    # XL that takes guidance as an input
    "lcm_of_xl": dict(
        base="sdxl",
        unet=dict(blocks=(PLAIN, CROSS), block_out_channels=(8, 16), layers_per_block=1, attention_head_dim=(2, 4),
                  norm_num_groups=2, transformer_layers_per_block=(1, 2), time_cond_proj_dim=14, **OF_XL),
        scheduler=("LCMScheduler", dict(clip_sample=False, set_alpha_to_one=True, steps_offset=1, original_inference_steps=50)),
        cases=[dict(guidance=8.0, negative=None), dict(guidance=3.0, negative=None, task="img2img", strength=0.6)]),
    # no middle, one layer a level: small and tiny SD
    "no_middle": dict(
        base="sd15",
        unet=dict(blocks=(CROSS, CROSS, PLAIN), block_out_channels=(6, 12, 24), layers_per_block=1,
                  attention_head_dim=[2, 3, 4], norm_num_groups=2, mid_block_type=None, upcast_attention=True),
        scheduler=("DPMSolverMultistepScheduler", dict(solver_order=2, algorithm_type="dpmsolver++")),
        cases=[dict(), dict(task="inpaint", strength=0.8), dict(sampler="lcm", guidance=1.0, negative=None)]),
    # means and deviations of latents: Playground 2.5
    "means": dict(
        base="sdxl",
        unet=dict(blocks=(CROSS, PLAIN), block_out_channels=(4, 10), layers_per_block=1, attention_head_dim=2,
                  norm_num_groups=2, **OF_XL),
        vae=dict(block_out_channels=(4, 8), layers_per_block=2, norm_num_groups=2, latent_channels=4, scaling_factor=0.5,
                 latents_mean=[-1.6, 0.2, 0.7, -0.3], latents_std=[8.4, 5.0, 6.0, 7.1], force_upcast=True),
        scheduler=("EulerDiscreteScheduler", dict(timestep_spacing="leading", steps_offset=1)),
        cases=[dict(), dict(task="img2img", strength=0.7)]),
    # sixteen latent channels, a VAE of five levels without quantising convolutions or attention, a shift that is not read
    "sixteen_channels": dict(
        base="sd21", side=128,
        unet=dict(blocks=(PLAIN, CROSS), block_out_channels=(9, 15), layers_per_block=(2, 1), attention_head_dim=(1, 5),
                  norm_num_groups=3, in_channels=16, out_channels=16, use_linear_projection=True, norm_eps=1e-6),
        vae=dict(block_out_channels=(4, 4, 8, 8, 8), layers_per_block=1, norm_num_groups=4, latent_channels=16,
                 use_quant_conv=False, use_post_quant_conv=False, mid_block_add_attention=False, scaling_factor=0.36,
                 shift_factor=0.1159, force_upcast=False),
        scheduler=("DDIMScheduler", dict(clip_sample=False, set_alpha_to_one=False, steps_offset=1,
                                         prediction_type="v_prediction", rescale_betas_zero_snr=True,
                                         timestep_spacing="trailing")),
        cases=[dict(), dict(guidance_rescale=0.7), dict(task="img2img", strength=0.7), dict(sampler="dpmpp_2m")]),
    # schedulers as they were first written: which of their keys diffusers' pipelines correct depends on the task
    "first_pndm": dict(
        base="sd15",
        unet=dict(blocks=(PLAIN, CROSS), block_out_channels=(6, 9), layers_per_block=1, attention_head_dim=3,
                  norm_num_groups=3),
        scheduler=("PNDMScheduler", dict(skip_prk_steps=False, timestep_spacing="leading")),
        cases=[dict(steps=5), dict(task="inpaint", strength=0.8, steps=5), dict(sampler="euler", steps=5)]),
    "first_ddim": dict(
        base="sd15",
        unet=dict(blocks=(CROSS, PLAIN), block_out_channels=(5, 15), layers_per_block=1, attention_head_dim=1,
                  norm_num_groups=5, mid_block_type="UNetMidBlock2D"),
        scheduler=("DDIMScheduler", dict()),
        cases=[dict(), dict(task="img2img", strength=0.7), dict(task="inpaint", strength=0.8), dict(sampler="euler")]),
    # from a level of noise of 4096 down
    "zero_snr": dict(
        base="sd21",
        unet=dict(blocks=(CROSS, CROSS), block_out_channels=(8, 12), layers_per_block=1, attention_head_dim=[1, 3],
                  norm_num_groups=4, use_linear_projection=True),
        scheduler=("EulerDiscreteScheduler", dict(prediction_type="v_prediction", rescale_betas_zero_snr=True,
                                                  timestep_spacing="trailing", steps_offset=1)),
        cases=[dict(), dict(steps=20), dict(sampler="euler_a"), dict(sampler="euler_a", steps=20), dict(sampler="ddim"),
               dict(sampler="dpmpp_2m_karras")]),
    # a scheduler's file that another class wrote than the index names, which is the one that counts; pictures held in a
    # range where diffusers does not correct it
    "other_class": dict(
        base="sd15", index="DDIMScheduler",
        unet=dict(blocks=(CROSS, PLAIN), block_out_channels=(6, 12), layers_per_block=1, attention_head_dim=(2, 3),
                  norm_num_groups=3),
        scheduler=("PNDMScheduler", dict(clip_sample=True, clip_sample_range=1.5, steps_offset=1,
                                         prediction_type="v_prediction")),
        cases=[dict(), dict(task="inpaint", strength=0.8)]),
    # a solver that draws noise at each step
    "stochastic": dict(
        base="sd15",
        unet=dict(blocks=(PLAIN, CROSS), block_out_channels=(8, 12), layers_per_block=1, attention_head_dim=(2, 3),
                  norm_num_groups=4),
        scheduler=("DPMSolverMultistepScheduler", dict(algorithm_type="sde-dpmsolver++", use_karras_sigmas=True,
                                                       steps_offset=1)),
        cases=[dict(steps=6), dict(task="img2img", strength=0.7, steps=6), dict(task="inpaint", strength=0.8, steps=5),
               dict(images=2, steps=3, width=56, height=72)]),
    # what no published model has: attention on one way alone, heads that do not divide channels, sines first, an odd width
    # of embedded sizes, another width of the embedded time; a batch of an odd size
    "crossed": dict(
        base="sdxl",
        unet=dict(blocks=(CROSS, PLAIN, CROSS), up_blocks=("UpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
                  block_out_channels=(10, 15, 5), layers_per_block=(2, 1, 1), attention_head_dim=(3, 4, 2), norm_num_groups=5,
                  norm_eps=1e-3, act_fn="swish", flip_sin_to_cos=False, freq_shift=1, time_embedding_dim=13,
                  transformer_layers_per_block=(1, 2, 1), **OF_XL | dict(
                      addition_time_embed_dim=7, projection_class_embeddings_input_dim=6 * 7 + 10)),
        scheduler=("DPMSolverMultistepScheduler", dict(num_train_timesteps=500, solver_order=3, solver_type="heun",
                                                       prediction_type="v_prediction", timestep_spacing="trailing")),
        cases=[dict(images=2, width=56, height=72, guidance_rescale=0.7), dict(task="img2img", strength=0.8, steps=6)]),
}


def configs(spec, context):
  """The UNet's and the VAE's configs as diffusers takes them."""
  unet = {"sample_size": 8, "in_channels": 4, "out_channels": 4, "cross_attention_dim": context} | spec["unet"]
  down = unet.pop("blocks")
  up = unet.pop("up_blocks", tuple(kind.replace("Down", "Up") for kind in reversed(down)))
  unet |= dict(down_block_types=down, up_block_types=up)
  vae = spec.get("vae")
  if vae:
    levels = len(vae["block_out_channels"])
    vae = vae | dict(down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels,
                     sample_size=64)
  return unet, vae


def build(folder, name, spec):
  """Writes the folder. Returns what C++ needs to write it too."""
  import diffusers
  from make_unets import fill
  shutil.copytree(f"{HERE}/stable_diffusion/{spec['base']}", folder)
  with open(f"{folder}/unet/config.json", encoding="utf-8") as f:
    context = json.load(f)["cross_attention_dim"]
  facts = {"base": spec["base"], "configs": {}, "vae": {}}
  for part, config in zip(("unet", "vae"), configs(spec, context)):
    if config is None:
      continue
    kind = diffusers.UNet2DConditionModel if part == "unet" else diffusers.AutoencoderKL
    model = fill(kind(**config), f"{name}.{part}")
    shutil.rmtree(f"{folder}/{part}")
    model.save_pretrained(f"{folder}/{part}")
    with open(f"{folder}/{part}/config.json", encoding="utf-8") as f:
      facts["configs"][part] = {key: value for key, value in json.load(f).items() if key != "_diffusers_version"}
    if part == "vae":
      facts["vae"] = {key: list(value.shape) for key, value in model.state_dict().items()}
  kind, options = spec["scheduler"]
  scheduler = {"_class_name": kind, "skip_prk_steps": True} | BETAS | options
  facts["configs"]["scheduler"] = scheduler
  with open(f"{folder}/scheduler/scheduler_config.json", "w", encoding="utf-8") as f:
    json.dump(scheduler, f)
  with open(f"{folder}/model_index.json", encoding="utf-8") as f:
    index = json.load(f)
  facts["scheduler"] = spec.get("index", kind)
  index["scheduler"] = ["diffusers", facts["scheduler"]]
  with open(f"{folder}/model_index.json", "w", encoding="utf-8") as f:
    json.dump(index, f)
  return facts


def main():
  import reference_libraries
  reference_libraries.prepare()
  import torch
  import stable_diffusion_cases as runs
  import stable_diffusion_models as folders
  import tensor_file
  from nearest_roots import nearest_roots
  family = ""
  runs.pipeline_for = lambda root, folder, task, dtype: folders.load(f"{root}/{folder}", runs.PIPELINES[(family, task)], dtype)
  tensors, facts = {}, {}
  with tempfile.TemporaryDirectory() as root:
    for name, spec in FOLDERS.items():
      family = "sdxl" if spec["base"] == "sdxl" else "sd"
      facts[name] = build(f"{root}/{name}", name, spec) | {"cases": []}
      side = spec.get("side", 64)
      for number, how in enumerate(spec["cases"]):
        case = dict(folder=name, task="txt2img", sampler=None, steps=4, guidance=5.0, prompt=runs.PROMPT,
                    negative=runs.NEGATIVE, seed=42, width=side, height=side) | how
        with nearest_roots():
          final = runs.run(root, case)[0]
          double = runs.run(root, case, torch.float64)[0]
        case["f32_from_f64"] = runs.relative(final, double)
        facts[name]["cases"].append(case)
        tensors[f"{name}.{number}"] = final.contiguous()
        print(name, how, f"std {float(final.std()):.3g}, f32 from f64 {case['f32_from_f64']:.2g}", flush=True)
    pictures = {spec.get("side", 64) for spec in FOLDERS.values()}
  for side in sorted(pictures):
    size = dict(width=side, height=side)
    tensors[f"picture.{side}x{side}"] = torch.from_numpy(runs.np.array(runs.start_picture(size)))
    tensors[f"mask.{side}x{side}"] = torch.from_numpy(runs.np.array(runs.mask_picture(size)))
  path = f"{HERE}/expected/other_folders.safetensors"
  tensor_file.save(path, tensors, {"folders": json.dumps(facts, sort_keys=True)})
  os.chmod(path, 0o644)


if __name__ == "__main__":
  main()
