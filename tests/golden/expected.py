"""What diffusers makes of each folder, stage by stage."""

import contextlib
import json

import numpy as np
import torch
from diffusers import FluxImg2ImgPipeline
from diffusers.pipelines.flux.pipeline_flux import calculate_shift, retrieve_timesteps
from PIL import Image
from transformers.models.t5.modeling_t5 import T5LayerNorm

import models
import tensor_file

SEED = 42
SEEDS = [42, 43, 44]


def relative(value, reference):
  """L2 error of value over the L2 norm of reference."""
  value, reference = value.double(), reference.double()
  return float((value - reference).norm() / reference.norm())


def generator(seed=SEED):
  return torch.Generator("cpu").manual_seed(seed)


def arguments(run, seed=SEED):
  return dict(prompt=run["prompt"], width=run["width"], height=run["height"], num_inference_steps=run["steps"],
              guidance_scale=run["guidance"], max_sequence_length=run["length"], generator=generator(seed))


def draw(pipe, width, height, seed=SEED):
  """The first noise of the pipeline, packed, in f32."""
  noise, _ = pipe.prepare_latents(1, pipe.transformer.config.in_channels // 4, height, width, torch.float32,
                                  torch.device("cpu"), generator(seed))
  return noise


def schedule(pipe, tokens, steps):
  config = pipe.scheduler.config
  mu = calculate_shift(tokens, config.base_image_seq_len, config.max_image_seq_len, config.base_shift, config.max_shift)
  retrieve_timesteps(pipe.scheduler, steps, torch.device("cpu"), sigmas=np.linspace(1.0, 1 / steps, steps), mu=mu)
  return pipe.scheduler.sigmas.clone(), pipe.scheduler.timesteps.clone()


@contextlib.contextmanager
def double_precision():
  """Inside, what diffusers and transformers do in f32 is done in f64."""
  to_float, norm = torch.Tensor.float, T5LayerNorm.forward

  def norm_in_double(self, hidden_states):
    variance = hidden_states.pow(2).mean(-1, keepdim=True)
    return self.weight * (hidden_states * torch.rsqrt(variance + self.variance_epsilon))

  torch.Tensor.float = lambda self: self.double() if self.is_floating_point() else to_float(self)
  T5LayerNorm.forward = norm_in_double
  try:
    yield
  finally:
    torch.Tensor.float, T5LayerNorm.forward = to_float, norm


def run_in_double(folder, run, seed):
  """The same text to image run in f64, with the f32 schedule and the f32 noise."""
  pipe = models.load(folder)
  noise = draw(pipe, run["width"], run["height"], seed).double()
  for part in (pipe.text_encoder, pipe.text_encoder_2, pipe.transformer):
    part.double()
  with double_precision():
    embeds, pooled, text_ids = pipe.encode_prompt(run["prompt"], max_sequence_length=run["length"])
    scale = pipe.vae_scale_factor * 2
    image_ids = pipe._prepare_latent_image_ids(1, run["height"] // scale, run["width"] // scale, "cpu", torch.float64)
    sigmas, timesteps = schedule(pipe, noise.shape[1], run["steps"])
    guidance = torch.full([1], run["guidance"], dtype=torch.float64) if pipe.transformer.config.guidance_embeds else None
    latents = noise
    for i, t in enumerate(timesteps):
      flow = pipe.transformer(hidden_states=latents, timestep=t.double().expand(1) / 1000, guidance=guidance,
                              pooled_projections=pooled, encoder_hidden_states=embeds, txt_ids=text_ids, img_ids=image_ids,
                              return_dict=False)[0]
      if flow.dtype != torch.float64:
        raise TypeError("the f64 run fell back to another dtype")
      latents = latents + (sigmas[i + 1] - sigmas[i]).double() * flow
  return latents


def picture(width, height):
  """A picture to start from: smooth colours and a hard edge."""
  y, x = np.mgrid[0:height, 0:width]
  red = 127 + 120 * np.sin(x * 0.21 + y * 0.05)
  green = 255 * y / max(1, height - 1)
  blue = np.where((x - width * 0.4) ** 2 + (y - height * 0.5) ** 2 < (min(width, height) * 0.3) ** 2, 230, 30)
  return np.stack([red, green, blue], -1).round().astype(np.uint8)


def text_stages(pipe, run, out):
  clip = pipe.tokenizer(run["prompt"], padding="max_length", max_length=pipe.tokenizer.model_max_length, truncation=True,
                        return_tensors="pt").input_ids
  t5 = pipe.tokenizer_2(run["prompt"], padding="max_length", max_length=run["length"], truncation=True,
                        return_tensors="pt").input_ids
  state = pipe.text_encoder(clip)
  out["clip_ids"], out["t5_ids"] = clip.int(), t5.int()
  out["clip_hidden"], out["clip_pooled"] = state.last_hidden_state, state.pooler_output
  out["t5_embeds"] = pipe.text_encoder_2(t5)[0]


def transformer_stage(pipe, run, out):
  """One forward pass at an odd timestep; after each block if the folder is the chosen one."""
  hooks, blocks = [], {}
  if run.get("blocks"):
    for kind, label in (("transformer_blocks", "double"), ("single_transformer_blocks", "single")):
      for i, block in enumerate(getattr(pipe.transformer, kind)):
        def keep(module, inputs, output, key=f"forward.{label}.{i}"):
          blocks[key + ".text"], blocks[key + ".image"] = output
        hooks.append(block.register_forward_hook(keep))
  tokens_high, tokens_wide = (run[side] // (pipe.vae_scale_factor * 2) for side in ("height", "width"))
  timestep = torch.tensor([0.4375])
  guidance = torch.tensor([run["guidance"]]) if pipe.transformer.config.guidance_embeds else None
  out["forward.output"] = pipe.transformer(
      hidden_states=out["noise"], timestep=timestep, guidance=guidance, pooled_projections=out["clip_pooled"],
      encoder_hidden_states=out["t5_embeds"], txt_ids=torch.zeros(run["length"], 3),
      img_ids=pipe._prepare_latent_image_ids(1, tokens_high, tokens_wide, "cpu", torch.float32), return_dict=False)[0]
  out["forward.timestep"] = timestep
  out["forward.guidance"] = torch.tensor([run["guidance"]])
  for hook in hooks:
    hook.remove()
  out.update(blocks)


def check_same(final, steps):
  if not torch.equal(final, steps[-1]):
    raise ValueError("the last step is not the result")


def denoise_stage(pipe, run, out):
  sigmas, timesteps = schedule(pipe, out["noise"].shape[1], run["steps"])
  out["sigmas"], out["timesteps"] = sigmas, timesteps

  def keep(pipeline, i, t, values):
    out[f"latents.{i}"] = values["latents"].clone()
    return {}

  final = pipe(**arguments(run), output_type="latent", callback_on_step_end=keep).images
  check_same(final, [out[f"latents.{run['steps'] - 1}"]])


def vae_stage(pipe, run, out, out_u8):
  latents = pipe._unpack_latents(out[f"latents.{run['steps'] - 1}"], run["height"], run["width"], pipe.vae_scale_factor)
  image = pipe.vae.decode(latents / pipe.vae.config.scaling_factor + pipe.vae.config.shift_factor, return_dict=False)[0]
  out["image"] = image
  final = pipe(**arguments(run), output_type="np").images[0]
  out_u8["image_u8"] = torch.from_numpy((final * 255).round().astype(np.uint8))
  check = pipe.image_processor.postprocess(image, output_type="np")[0]
  if not np.array_equal(check, final):
    raise ValueError("the decoded image is not the pipeline's")
  source = run["img2img"][0] if run["img2img"] else dict(width=run["width"] + 7, height=run["height"] + 10)
  start = picture(source["width"], source["height"])
  out_u8["encode.image_u8"] = torch.from_numpy(start)
  resized = pipe.image_processor.resize(Image.fromarray(start), run["height"], run["width"])
  out_u8["encode.resized_u8"] = torch.from_numpy(np.array(resized))
  pixels = pipe.image_processor.preprocess(Image.fromarray(start), height=run["height"], width=run["width"])
  if not torch.equal(pixels, 2.0 * (out_u8["encode.resized_u8"].permute(2, 0, 1)[None].float() / 255.0) - 1.0):
    raise ValueError("the preprocessing is not what README.md says")
  moments = pipe.vae.encode(pixels).latent_dist
  out["encode.mean"], out["encode.logvar"] = moments.mean, moments.logvar


def img2img_stage(pipe, run, out):
  other = FluxImg2ImgPipeline(**{k: v for k, v in pipe.components.items() if k not in ("image_encoder", "feature_extractor")})
  other.set_progress_bar_config(disable=True)
  for k, how in enumerate(run["img2img"]):
    start = Image.fromarray(picture(how["width"], how["height"]))
    options = arguments(run) | dict(num_inference_steps=how["steps"], strength=how["strength"], image=start)
    steps = []

    def keep(pipeline, i, t, values):
      steps.append(values["latents"].clone())
      return {}

    final = other(**options, output_type="latent", callback_on_step_end=keep).images
    check_same(final, steps)
    out[f"img2img.{k}.latents"] = final
    out[f"img2img.{k}.first_step"] = steps[0]


def write(folder, name, spec, path):
  """expected/<name>.safetensors"""
  run = spec["run"]
  pipe = models.load(folder)
  out, exact = {}, {}
  out["noise"] = draw(pipe, run["width"], run["height"])
  text_stages(pipe, run, out)
  transformer_stage(pipe, run, out)
  denoise_stage(pipe, run, out)
  vae_stage(pipe, run, out, exact)
  img2img_stage(pipe, run, out)
  facts = {k: run[k] for k in ("prompt", "width", "height", "steps", "guidance")}
  facts |= {"seed": SEED, "max_sequence_length": run["length"], "img2img": run["img2img"], "seeds": SEEDS}
  if "batch" in run:
    batch = run["batch"]
    options = arguments(run) | dict(prompt=batch["prompts"], num_images_per_prompt=batch["images"],
                                    num_inference_steps=batch["steps"])
    out["batch.latents"] = pipe(**options, output_type="latent").images
    facts["batch"] = batch
  errors = {key: [] for key in ("f32_from_f64", "bf16_from_f32", "f16_from_f32")}
  for seed in SEEDS:
    reference = pipe(**arguments(run, seed), output_type="latent").images
    out[f"seeds.{seed}.f32"] = reference
    double = run_in_double(folder, run, seed)
    if seed == SEED:
      exact["latents_f64"] = double
    errors["f32_from_f64"].append(relative(reference, double))
  for label in ("bf16", "f16"):
    rounded = models.load(folder, models.TORCH[label])
    for seed in SEEDS:
      noise = draw(pipe, run["width"], run["height"], seed)  # f32: a bf16 draw differs in its tail
      latents = rounded(**arguments(run, seed), latents=noise, output_type="latent").images
      exact[f"seeds.{seed}.{label}"] = latents
      errors[f"{label}_from_f32"].append(relative(latents, out[f"seeds.{seed}.f32"]))
  facts["errors"] = errors
  tensors = {k: (v if v.dtype == torch.int32 else v.float()).contiguous().clone() for k, v in out.items()}
  tensors |= {k: v.contiguous().clone() for k, v in exact.items()}
  for key, value in tensors.items():
    if value.is_floating_point() and not torch.isfinite(value.double()).all():
      raise ValueError(f"{name}: {key} is not finite")
  tensor_file.save(path, tensors, {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)
                                     for k, v in facts.items()})
  return errors
