"""The runs of the tiny Stable Diffusion folders: what is asked, and what diffusers answers."""

import contextlib
import json

import numpy as np
import torch
from diffusers import (DDIMScheduler, DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler, EulerDiscreteScheduler,
                       LCMScheduler, LatentConsistencyModelImg2ImgPipeline, LatentConsistencyModelPipeline, PNDMScheduler,
                       StableDiffusionImg2ImgPipeline, StableDiffusionInpaintPipeline, StableDiffusionPipeline,
                       StableDiffusionXLImg2ImgPipeline, StableDiffusionXLInpaintPipeline, StableDiffusionXLPipeline)
from PIL import Image

import models
import stable_diffusion_models as folders
import tensor_file
from expected import generator, picture, relative

SAMPLERS = {
    "ddim": (DDIMScheduler, {}),
    "pndm": (PNDMScheduler, {"skip_prk_steps": True}),
    "euler": (EulerDiscreteScheduler, {"use_karras_sigmas": False}),
    "euler_a": (EulerAncestralDiscreteScheduler, {}),
    "dpmpp_2m": (DPMSolverMultistepScheduler, {"use_karras_sigmas": False}),
    "dpmpp_2m_karras": (DPMSolverMultistepScheduler, {"use_karras_sigmas": True}),
    "lcm": (LCMScheduler, {}),
}
PIPELINES = {
    ("sd", "txt2img"): StableDiffusionPipeline,
    ("sd", "img2img"): StableDiffusionImg2ImgPipeline,
    ("sd", "inpaint"): StableDiffusionInpaintPipeline,
    ("sdxl", "txt2img"): StableDiffusionXLPipeline,
    ("sdxl", "img2img"): StableDiffusionXLImg2ImgPipeline,
    ("sdxl", "inpaint"): StableDiffusionXLInpaintPipeline,
    ("lcm", "txt2img"): LatentConsistencyModelPipeline,
    ("lcm", "img2img"): LatentConsistencyModelImg2ImgPipeline,
}
MORE_SEEDS = range(43, 50)  # of rounded cases, for their errors alone
PROMPT, NEGATIVE = "A large red circle on a blue background!", "blurry, two cats"
SIDES = {"sd15": (64, 64), "sd21": (72, 56), "sdxl": (48, 64), "refiner": (48, 64), "inpaint": (72, 56), "lcm": (56, 48)}


def all_cases():
  """Every case, complete: a dictionary of settings by the case's name."""
  cases = {}

  def add(folder, task, sampler, steps, guidance, **others):
    width, height = SIDES[folder]
    case = dict(folder=folder, task=task, sampler=sampler, steps=steps, guidance=guidance, prompt=PROMPT, negative=None,
                seed=42, width=width, height=height) | others
    label = case.pop("label", None)
    name = "_".join(part for part in (folder, task, sampler or "own", label) if part)
    if name in cases:
      raise ValueError(f"two cases are called {name}")
    cases[name] = case

  negative = dict(negative=NEGATIVE)
  # One seed is luck: these run in bf16 and f16 too, and are counted together.
  rounded = dict(rounded=True)
  add("sd15", "txt2img", None, 4, 1.0, label="unguided")
  add("sd15", "txt2img", None, 5, 7.5, **negative, **rounded)
  add("sd15", "txt2img", None, 1, 7.5, label="one_step")
  # The layer before the usual one; the number is that of other programs, counted from the last.
  add("sd15", "txt2img", None, 3, 5.0, label="clip_skip", clip_skip=2, **negative)
  for sampler in SAMPLERS:
    add("sd15", "txt2img", sampler, 4, 1.0 if sampler == "lcm" else 6.0, **negative, **rounded)
  add("sd15", "txt2img", "ddim", 3, 5.0, eta=1.0, label="eta", **negative)
  add("sd15", "txt2img", "ddim", 3, 5.0, eta=0.4, label="odd", width=72, height=56)
  add("sd15", "txt2img", "euler_a", 3, 5.0, label="odd", width=72, height=56)
  add("sd15", "txt2img", "lcm", 3, 5.0, label="odd", width=72, height=56)
  add("sd15", "txt2img", "dpmpp_2m", 2, 4.0, label="batch", images=2)
  add("sd15", "txt2img", "euler_a", 2, 4.0, label="batch", images=2, width=72, height=56)
  for sampler in SAMPLERS:
    add("sd15", "img2img", sampler, 5, 1.0 if sampler == "lcm" else 5.0, strength=0.7, **negative,
        **(rounded if sampler == "ddim" else {}))
  add("sd15", "img2img", None, 5, 5.0, strength=1.0, label="whole")
  add("sd15", "img2img", "euler_a", 5, 5.0, strength=0.45, label="odd", width=72, height=56)
  for sampler in SAMPLERS:
    add("sd15", "inpaint", sampler, 4, 1.0 if sampler == "lcm" else 5.0, strength=0.8, **negative)
  add("sd15", "inpaint", "euler", 3, 5.0, strength=1.0, label="whole", width=72, height=56)

  add("sd21", "txt2img", None, 4, 6.0, **negative, **rounded)
  add("sd21", "txt2img", None, 4, 6.0, guidance_rescale=0.7, label="rescaled", **negative)
  for sampler in ("pndm", "euler", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "lcm"):
    add("sd21", "txt2img", sampler, 3, 4.0, **negative, **(rounded if sampler == "euler" else {}))
  add("sd21", "img2img", "dpmpp_2m_karras", 6, 4.0, strength=0.6, **negative)
  add("sd21", "inpaint", None, 3, 3.0, strength=0.7, **negative)
  for sampler in SAMPLERS:
    if sampler != "dpmpp_2m_karras":
      add("sd21", "img2img", sampler, 4, 1.5, strength=0.9, **negative)
    add("sd21", "inpaint", sampler, 4, 1.5, strength=0.9, **negative)

  add("sdxl", "txt2img", None, 4, 5.0, label="no_negative", **rounded)
  add("sdxl", "txt2img", None, 4, 5.0, **negative, **rounded)
  add("sdxl", "txt2img", None, 3, 1.0, label="unguided")
  add("sdxl", "txt2img", None, 3, 5.0, label="odd", negative="", width=72, height=56)
  for sampler in ("ddim", "pndm", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "lcm"):
    add("sdxl", "txt2img", sampler, 3, 5.0, **negative)
  add("sdxl", "txt2img", None, 3, 5.0, guidance_rescale=0.5, label="rescaled", **negative)
  add("sdxl", "txt2img", None, 3, 5.0, label="clip_skip", clip_skip=3, **negative)
  add("sdxl", "img2img", None, 5, 5.0, strength=0.6, **negative, **rounded)
  add("sdxl", "inpaint", None, 4, 5.0, strength=0.75, **negative)
  add("sdxl", "inpaint", "dpmpp_2m", 4, 5.0, strength=1.0, label="whole")
  for sampler in ("ddim", "pndm", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "lcm"):
    add("sdxl", "img2img", sampler, 4, 5.0, strength=0.6, **negative)
    add("sdxl", "inpaint", sampler, 4, 5.0, strength=0.75, **negative)
  add("sdxl", "txt2img", None, 5, 5.0, refiner_start=0.6, label="refined", **negative, **rounded)
  add("sdxl", "txt2img", "dpmpp_2m", 6, 5.0, refiner_start=0.8, label="refined")
  add("sdxl", "txt2img", "ddim", 5, 5.0, refiner_start=0.5, label="refined", **negative)
  add("sdxl", "img2img", None, 8, 5.0, strength=0.6, refiner_start=0.7, label="refined", **negative)
  add("sdxl", "img2img", "euler_a", 6, 5.0, strength=1.0, refiner_start=0.5, label="refined")
  add("sdxl", "inpaint", None, 8, 5.0, strength=0.75, refiner_start=0.6, label="refined", **negative)
  add("sdxl", "inpaint", "euler_a", 5, 5.0, strength=1.0, refiner_start=0.5, label="refined", images=2)

  add("refiner", "img2img", None, 6, 5.0, strength=0.5, **negative, **rounded)
  add("refiner", "img2img", "euler_a", 5, 5.0, strength=0.4, label="scores", aesthetic_score=7.5,
      negative_aesthetic_score=1.0)

  add("inpaint", "inpaint", None, 4, 5.0, strength=1.0, label="whole", **negative, **rounded)
  add("inpaint", "inpaint", None, 5, 5.0, strength=0.6, **negative)
  for sampler in ("pndm", "euler", "euler_a", "dpmpp_2m", "dpmpp_2m_karras", "lcm"):
    add("inpaint", "inpaint", sampler, 4, 1.0 if sampler == "lcm" else 5.0, strength=0.8, width=64, height=64)
  add("inpaint", "inpaint", "euler_a", 3, 5.0, strength=1.0, label="whole", **negative)

  add("lcm", "txt2img", None, 4, 8.5, **rounded)
  add("lcm", "txt2img", None, 1, 3.0, label="one_step", width=64, height=64)
  add("lcm", "img2img", None, 6, 8.5, strength=0.5)
  return cases


def start_picture(case):
  return Image.fromarray(picture(case["width"], case["height"]))


def mask_picture(case):
  """A disc with a soft edge, off the centre: values on both sides of one half, none of them at it."""
  width, height = case["width"], case["height"]
  y, x = np.mgrid[0:height, 0:width]
  distance = np.hypot(x - 0.6 * width, y - 0.45 * height)
  return Image.fromarray(np.uint8(np.clip(200 - 9 * (distance - 0.3 * min(width, height)), 0, 255)), mode="L")


@contextlib.contextmanager
def recorded_draws(draws):
  """Keeps the shapes of what a generator draws, in order, and draws f32 always, rounded after: what other dtypes draw
  differs in its tail."""
  randn = torch.randn

  def recorded(*args, generator=None, dtype=None, **options):
    if generator is None:
      return randn(*args, dtype=dtype, **options)
    value = randn(*args, generator=generator, dtype=torch.float32, **options)
    draws.append(list(value.shape))
    return value.to(dtype or torch.float32)

  torch.randn = recorded
  try:
    yield
  finally:
    torch.randn = randn


def pipeline_for(root, folder, task, dtype):
  family = "lcm" if folder == "lcm" else "sdxl" if folder in ("sdxl", "refiner") else "sd"
  return folders.load(f"{root}/{folder}", PIPELINES[(family, task)], dtype)


def choose_sampler(pipe, sampler):
  if sampler:
    kind, options = SAMPLERS[sampler]
    known = {k: v for k, v in options.items()}
    pipe.scheduler = kind.from_config(pipe.scheduler.config, **known)


def arguments(pipe, case):
  options = dict(prompt=case["prompt"], guidance_scale=case["guidance"], num_inference_steps=case["steps"],
                 output_type="latent")
  if "LatentConsistency" not in type(pipe).__name__:
    options["negative_prompt"] = case["negative"]
  if case["task"] == "txt2img":
    options |= dict(width=case["width"], height=case["height"])
  else:
    options |= dict(image=start_picture(case), strength=case["strength"])
  if case["task"] == "inpaint":
    options |= dict(mask_image=mask_picture(case), width=case["width"], height=case["height"])
  if "images" in case:
    options["num_images_per_prompt"] = case["images"]
  if "clip_skip" in case:  # which diffusers counts from the layer that is usual for the family
    is_xl = "XL" in type(pipe).__name__
    options["clip_skip"] = case["clip_skip"] - (2 if is_xl else 1)
    # Of negative prompts it takes the usual layer; other programs take the same as of prompts.
    encoded = pipe.encode_prompt(prompt=options.pop("negative_prompt"), device="cpu", num_images_per_prompt=1,
                                 do_classifier_free_guidance=False, clip_skip=options["clip_skip"])
    options["negative_prompt_embeds"] = encoded[0]
    if is_xl:
      options["negative_pooled_prompt_embeds"] = encoded[2]
  for key in ("eta", "guidance_rescale", "aesthetic_score", "negative_aesthetic_score"):
    if key in case:
      options[key] = case[key]
  return options


def run(root, case, dtype=torch.float32):
  """What is left when the run ends: its latents, those after its first step, the timesteps, the shapes of its draws."""
  pipe = pipeline_for(root, case["folder"], case["task"], dtype)
  choose_sampler(pipe, case["sampler"])
  steps, times, draws = [], [], []

  def keep(pipeline, i, t, values):
    steps.append(values["latents"].clone())
    times.append(float(t))
    return {}

  if "clip_skip" in case and not hasattr(pipe.text_encoder, "text_model"):
    # diffusers 0.42 looks for the final norm where transformers 4 had it.
    object.__setattr__(pipe.text_encoder, "text_model", pipe.text_encoder)
  random = generator(case["seed"])
  options = arguments(pipe, case) | dict(generator=random, callback_on_step_end=keep)
  with recorded_draws(draws):
    if "refiner_start" not in case:
      final = pipe(**options).images
    else:
      half = pipe(**options, denoising_end=case["refiner_start"]).images
      task = "inpaint" if case["task"] == "inpaint" else "img2img"
      refiner = pipeline_for(root, "refiner", task, dtype)
      choose_sampler(refiner, case["sampler"])
      more = {}
      if task == "inpaint":
        more = dict(mask_image=mask_picture(case), width=case["width"], height=case["height"])
      if "images" in case:
        more["num_images_per_prompt"] = case["images"]
      final = refiner(prompt=case["prompt"], negative_prompt=case["negative"], image=half, generator=random,
                      guidance_scale=case["guidance"], num_inference_steps=case["steps"],
                      denoising_start=case["refiner_start"], output_type="latent", callback_on_step_end=keep,
                      **more).images
  if not torch.equal(final, steps[-1]):
    raise ValueError("the last step is not the result")
  return final, steps[0], times, draws


def stages(root, name, tensors):
  """The parts of a folder alone: text encoders, a prediction of the U-Net, both halves of the VAE."""
  task = "img2img" if name == "refiner" else "txt2img"
  pipe = pipeline_for(root, name, task, torch.float32)
  for suffix in ("", "_2"):
    tokenizer, encoder = getattr(pipe, f"tokenizer{suffix}", None), getattr(pipe, f"text_encoder{suffix}", None)
    if encoder is None:
      continue
    ids = tokenizer(PROMPT, padding="max_length", max_length=77, truncation=True, return_tensors="pt").input_ids
    out = encoder(ids, output_hidden_states=True)
    tensors[f"{name}.text{suffix}.ids"] = ids.to(torch.int32)
    tensors[f"{name}.text{suffix}.last"] = out.last_hidden_state
    tensors[f"{name}.text{suffix}.penultimate"] = out.hidden_states[-2]
    pooled = out.text_embeds if hasattr(out, "text_embeds") else out.pooler_output
    tensors[f"{name}.text{suffix}.pooled"] = pooled
  unet = pipe.unet.config
  random = generator(7)
  draw = lambda *shape: torch.randn(shape, generator=random)
  latents, context = draw(1, unet.in_channels, 9, 7), draw(1, 77, unet.cross_attention_dim)
  tensors |= {f"{name}.unet.latents": latents, f"{name}.unet.context": context}
  more = {}
  if unet.addition_embed_type:
    pooled = draw(1, spec_of(name)["clip_2"]["projection_dim"])
    ids = torch.tensor([[64.0, 48.0, 0.0, 0.0, 64.0, 48.0] if name == "sdxl" else [64.0, 48.0, 0.0, 0.0, 6.0]])
    tensors |= {f"{name}.unet.pooled": pooled, f"{name}.unet.time_ids": ids}
    more["added_cond_kwargs"] = dict(text_embeds=pooled, time_ids=ids)
  if unet.time_cond_proj_dim:
    more["timestep_cond"] = pipe.get_guidance_scale_embedding(torch.tensor([7.5]), embedding_dim=unet.time_cond_proj_dim)
    tensors[f"{name}.unet.guidance_embedding"] = more["timestep_cond"]  # of guidance 8.5
  tensors[f"{name}.unet.output"] = pipe.unet(latents, torch.tensor(481), encoder_hidden_states=context, **more).sample
  code = draw(1, 4, 5, 3)
  tensors[f"{name}.vae.latents"] = code
  tensors[f"{name}.vae.image"] = pipe.vae.decode(code).sample
  side = pipe.vae_scale_factor
  start = torch.from_numpy(picture(3 * side, 5 * side))
  tensors[f"{name}.vae.image_u8"] = start
  moments = pipe.vae.encode(start.permute(2, 0, 1)[None].float() / 255 * 2 - 1).latent_dist
  tensors |= {f"{name}.vae.mean": moments.mean, f"{name}.vae.logvar": moments.logvar}
  tensors[f"{name}.vae.sample"] = moments.sample(generator(11)) * pipe.vae.config.scaling_factor


def errors_of_seed(root, case, seed):
  """The errors of a case in lower precisions, with another seed than its own."""
  other = case | dict(seed=seed)
  exact = run(root, other)[0]
  return {label: relative(run(root, other, models.TORCH[label])[0], exact) for label in ("bf16", "f16")}


def spec_of(name):
  return folders.SPECS[name]


def write(root, path, chosen=None):
  """<path>.safetensors and <path>.json: results, and the cases that they are of."""
  tensors, cases = {}, all_cases()
  for name in folders.SPECS:
    stages(root, name, tensors)
  for name, case in cases.items():
    if chosen and name not in chosen:
      continue
    final, first, times, draws = run(root, case)
    tensors |= {f"{name}.latents": final, f"{name}.first_step": first}
    case |= dict(timesteps=times, draws=draws)
    case["errors"] = {"f32": relative(final, run(root, case, torch.float64)[0])}
    if case.get("rounded"):
      for label in ("bf16", "f16"):
        value = run(root, case, models.TORCH[label])[0]
        tensors[f"{name}.{label}"] = value
        case["errors"][label] = relative(value, final)
      case["seeds"] = {str(seed): errors_of_seed(root, case, seed) for seed in MORE_SEEDS}
    spread = float(final.float().std())
    print(f"{name}: std {spread:.3g}, errors {case['errors']}", flush=True)
    if not torch.isfinite(final).all():
      raise ValueError(f"{name} is not finite")
  sizes = sorted({(case["width"], case["height"]) for case in cases.values() if case["task"] != "txt2img"})
  for width, height in sizes:
    size = dict(width=width, height=height)
    tensors[f"picture.{width}x{height}"] = torch.from_numpy(np.array(start_picture(size)))
    tensors[f"mask.{width}x{height}"] = torch.from_numpy(np.array(mask_picture(size)))
  tensor_file.save(path + ".safetensors", {k: v.contiguous().clone() for k, v in tensors.items()}, {})
  with open(path + ".json", "w", encoding="utf-8") as f:
    f.write("{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items()) + "\n}\n")
