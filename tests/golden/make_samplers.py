"""expected/samplers.json: what diffusers' schedulers make of tiny latents with a model that is one formula of latents and
timestep, of additions, products and a quotient, so that it has the same bits everywhere. Square roots are the nearest
numbers (nearest_roots.py). Made by itself:

    python make_samplers.py            # torch, diffusers; 10 s
"""

import json
import pathlib
import tempfile

import torch
from diffusers import (DDIMScheduler, DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler,
                       EulerDiscreteScheduler, LCMScheduler, PNDMScheduler)
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import rescale_noise_cfg

from nearest_roots import nearest_roots

SHAPE = (1, 2, 3, 3)
SEED = 11

KINDS = {
    "ddim": (DDIMScheduler, {}),
    "pndm": (PNDMScheduler, {}),
    "euler": (EulerDiscreteScheduler, {}),
    "euler_a": (EulerAncestralDiscreteScheduler, {}),
    "dpmpp_2m": (DPMSolverMultistepScheduler, {"use_karras_sigmas": False}),
    "dpmpp_2m_karras": (DPMSolverMultistepScheduler, {"use_karras_sigmas": True}),
    "dpmpp_2m_sde": (DPMSolverMultistepScheduler, {"use_karras_sigmas": False, "algorithm_type": "sde-dpmsolver++"}),
    "dpmpp_2m_sde_karras": (DPMSolverMultistepScheduler, {"use_karras_sigmas": True, "algorithm_type": "sde-dpmsolver++"}),
    "lcm": (LCMScheduler, {}),
}
CLASSES = {cls.__name__: cls for cls, _ in KINDS.values()}

SD = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "num_train_timesteps": 1000}
ZERO_SNR = {**SD, "_class_name": "DDIMScheduler", "prediction_type": "v_prediction", "rescale_betas_zero_snr": True,
            "timestep_spacing": "trailing", "clip_sample": False, "set_alpha_to_one": False, "steps_offset": 1}
CONFIGS = {
    # As Stable Diffusion 1.5, 2.1, XL and LCM write them.
    "sd15": {**SD, "_class_name": "PNDMScheduler", "clip_sample": False, "set_alpha_to_one": False,
             "skip_prk_steps": True, "steps_offset": 1, "trained_betas": None},
    "sd21": {**SD, "_class_name": "DDIMScheduler", "clip_sample": False, "set_alpha_to_one": False,
             "prediction_type": "v_prediction", "skip_prk_steps": True, "steps_offset": 1, "trained_betas": None},
    "sdxl": {**SD, "_class_name": "EulerDiscreteScheduler", "clip_sample": False, "interpolation_type": "linear",
             "prediction_type": "epsilon", "sample_max_value": 1.0, "set_alpha_to_one": False, "skip_prk_steps": True,
             "steps_offset": 1, "timestep_spacing": "leading", "trained_betas": None, "use_karras_sigmas": False},
    "lcm": {**SD, "_class_name": "LCMScheduler", "clip_sample": False, "clip_sample_range": 1.0,
            "original_inference_steps": 50, "prediction_type": "epsilon", "rescale_betas_zero_snr": False,
            "set_alpha_to_one": True, "steps_offset": 1, "timestep_scaling": 10.0, "timestep_spacing": "leading"},
    "zero_snr": ZERO_SNR,
    "zero_snr_cosine": {**ZERO_SNR, "beta_schedule": "squaredcos_cap_v2", "timestep_spacing": "linspace",
                        "use_karras_sigmas": True},
    # Everything else.
    "bare": {"_class_name": "DDIMScheduler"},
    "linspace": {"_class_name": "DDIMScheduler", "beta_schedule": "linear", "timestep_spacing": "linspace",
                 "clip_sample": True, "clip_sample_range": 0.8, "set_alpha_to_one": True, "skip_prk_steps": True},
    "cosine": {"_class_name": "DDIMScheduler", "beta_schedule": "squaredcos_cap_v2", "timestep_spacing": "trailing",
               "clip_sample": False, "prediction_type": "v_prediction", "skip_prk_steps": True},
    "sample": {**SD, "_class_name": "DDIMScheduler", "prediction_type": "sample", "timestep_spacing": "trailing",
               "clip_sample": True, "clip_sample_range": 0.5},
    "trained": {"_class_name": "EulerDiscreteScheduler", "num_train_timesteps": 40, "skip_prk_steps": True,
                "trained_betas": [round(0.002 + 0.0004 * i + 0.0001 * (i % 3), 6) for i in range(40)],
                "original_inference_steps": 20, "timestep_scaling": 7.0},
    "euler_karras": {**SD, "_class_name": "EulerDiscreteScheduler", "use_karras_sigmas": True, "sigma_min": 0.05,
                     "sigma_max": 11.0, "final_sigmas_type": "sigma_min", "timestep_spacing": "linspace"},
    "euler_karras_leading": {**SD, "_class_name": "EulerDiscreteScheduler", "use_karras_sigmas": True,
                             "timestep_spacing": "leading", "steps_offset": 1},
    "euler_continuous": {**SD, "_class_name": "EulerDiscreteScheduler", "timestep_type": "continuous",
                         "prediction_type": "v_prediction", "timestep_spacing": "trailing"},
    # all timesteps of the training and, by the offset, one beyond them: the first step leads to its own level of noise
    "euler_every_timestep": {"_class_name": "EulerDiscreteScheduler", "num_train_timesteps": 40, "beta_end": 0.4,
                             "timestep_spacing": "leading", "steps_offset": 1},
    "dpm_heun": {**SD, "_class_name": "DPMSolverMultistepScheduler", "solver_type": "heun", "lower_order_final": False,
                 "timestep_spacing": "leading", "steps_offset": 1, "final_sigmas_type": "sigma_min"},
    "dpm_third": {**SD, "_class_name": "DPMSolverMultistepScheduler", "solver_order": 3, "use_karras_sigmas": True,
                  "timestep_spacing": "trailing"},
    "dpm_first": {**SD, "_class_name": "DPMSolverMultistepScheduler", "solver_order": 1, "euler_at_final": True},
    "dpm_exponential": {**SD, "_class_name": "DPMSolverMultistepScheduler", "use_exponential_sigmas": True,
                        "sigma_min": 0.04},
    "euler_exponential": {**SD, "_class_name": "EulerDiscreteScheduler", "use_exponential_sigmas": True, "sigma_max": 12.5},
    "dpm_clipped": {"_class_name": "DPMSolverMultistepScheduler", "beta_schedule": "squaredcos_cap_v2",
                    "lambda_min_clipped": -5.1, "prediction_type": "v_prediction"},
}


def model(latents, timestep):
  t = timestep.to(torch.float32)
  return 1.5 * latents / (1 + latents * latents) + t * 0.0003 - 0.1


def scheduler_for(config, kind):
  """As a pipeline gets it: the folder's file by its own class, another sampler from_config of that."""
  with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "scheduler_config.json").write_text(json.dumps(config))
    own = CLASSES[config["_class_name"]].from_pretrained(folder)
  cls, changes = KINDS[kind]
  return cls.from_config(own.config, **changes)


def numbers(tensor):
  return [float(str(x)) for x in tensor.flatten().to(torch.float32).numpy()]


def run(config, kind, steps, eta=0.0, strength=None, narrows=False, inpaint=False, start=None, end=None):
  scheduler = scheduler_for(CONFIGS[config], kind)
  if narrows:
    scheduler.set_timesteps(steps, strength=strength)
  else:
    scheduler.set_timesteps(steps)
  timesteps = scheduler.timesteps
  train = scheduler.config.num_train_timesteps
  first = 0
  if start is not None:
    first = len(timesteps) - int((timesteps < int(round(train - start * train))).sum())
  elif strength is not None and not narrows:
    first = max(steps - min(int(steps * strength), steps), 0)
  timesteps = timesteps[first:]
  # Pipelines of text to image leave it out, and a scheduler whose first two timesteps round to one then runs past its end.
  if hasattr(scheduler, "set_begin_index"):
    scheduler.set_begin_index(first)
  if end is not None:
    timesteps = timesteps[:int((timesteps >= int(round(train - end * train))).sum())]

  generator = torch.Generator("cpu").manual_seed(SEED)
  clean = torch.randn(SHAPE, generator=generator)
  noise = torch.randn(SHAPE, generator=generator)
  mask = (torch.arange(noise.numel()).reshape(SHAPE) % 3 == 0).to(torch.float32)
  if start is not None:
    latents = clean
  elif strength is not None and not (inpaint and strength == 1.0):
    latents = scheduler.add_noise(clean, noise, timesteps[:1])
  else:
    latents = noise * scheduler.init_noise_sigma
  begun = latents
  more = {"eta": eta} if kind == "ddim" else {}
  if kind != "pndm":
    more["generator"] = generator
  for i, t in enumerate(timesteps):
    predicted = model(scheduler.scale_model_input(latents, t), t)
    latents = scheduler.step(predicted, t, latents, **more, return_dict=False)[0]
    if inpaint:
      around = clean
      if i < len(timesteps) - 1:
        around = scheduler.add_noise(clean, noise, torch.tensor([timesteps[i + 1]]))
      latents = (1 - mask) * around + mask * latents
  drawn = torch.randn(SHAPE, generator=generator).flatten()[0]  # tells how much was drawn
  said = {"eta": eta, "strength": strength, "narrows": narrows, "inpaint": inpaint, "start": start, "end": end}
  return {"config": config, "kind": kind, "steps": steps, **{key: value for key, value in said.items() if value},
          "timesteps": numbers(timesteps), "begun": numbers(begun)[:2], "latents": numbers(latents),
          "next_drawn": numbers(drawn)[0]}


def cases():
  for config in CONFIGS:
    written = CONFIGS[config]
    for kind in KINDS:
      special = config.startswith(("euler", "dpm"))
      if special and not (kind.startswith("dpm") if config.startswith("dpm") else kind == "euler"):
        continue
      if written.get("prediction_type") == "sample" and kind in ("pndm", "euler_a"):
        continue
      runge_kutta = kind == "pndm" and not written.get("skip_prk_steps", False)
      if written.get("use_exponential_sigmas") and kind.endswith("karras"):
        continue
      nan = config == "dpm_heun" and kind.endswith("karras")  # in diffusers: its last step has no length
      for steps in (1,) if nan else (1, 2, 5, 20):
        if (runge_kutta and steps < 4) or (steps == 2 and config not in ("sd15", "zero_snr")):
          continue
        if steps == 20 and config in ("bare", "lcm", "sdxl", "sample") and kind not in ("pndm", "lcm"):
          continue
        yield dict(config=config, kind=kind, steps=steps)
  for config in ("sd15", "sd21", "linspace"):
    yield dict(config=config, kind="ddim", steps=5, eta=1.0)
    yield dict(config=config, kind="ddim", steps=5, eta=0.3)
  yield dict(config="zero_snr", kind="ddim", steps=5, eta=0.5)
  for kind in KINDS:
    yield dict(config="sd15", kind=kind, steps=5, strength=0.6)
    yield dict(config="sd15", kind=kind, steps=6, strength=0.9)
    yield dict(config="sd15", kind=kind, steps=4, strength=1.0)
    yield dict(config="sd21", kind=kind, steps=7, strength=0.5, inpaint=True)
    yield dict(config="sd15", kind=kind, steps=5, strength=1.0, inpaint=True)
    yield dict(config="sdxl", kind=kind, steps=10, end=0.8)
    yield dict(config="sdxl", kind=kind, steps=10, start=0.8)
  yield dict(config="lcm", kind="lcm", steps=4, strength=0.5, narrows=True)
  yield dict(config="bare", kind="pndm", steps=8, strength=0.7)
  yield dict(config="euler_karras", kind="euler", steps=8, strength=0.4)
  yield dict(config="dpm_third", kind="dpmpp_2m", steps=16, strength=0.7)
  yield dict(config="euler_every_timestep", kind="euler", steps=40)
  yield dict(config="euler_every_timestep", kind="euler_a", steps=40)


def guidance():
  generator = torch.Generator("cpu").manual_seed(SEED)
  negative = torch.randn((2, 3, 5), generator=generator)
  positive = torch.randn((2, 3, 5), generator=generator) * 2 + 1
  guided = negative + 7.5 * (positive - negative)
  return {"negative": numbers(negative), "positive": numbers(positive), "scale": 7.5, "guided": numbers(guided),
          "share": 0.7, "rescaled": numbers(rescale_noise_cfg(guided, positive, guidance_rescale=0.7))}


@nearest_roots()
def main():
  torch.set_num_threads(1)
  path = pathlib.Path(__file__).parent / "expected" / "samplers.json"
  with open(path, "w", encoding="utf-8") as f:
    f.write('{"shape": ' + json.dumps(SHAPE) + ', "seed": ' + str(SEED) + ',\n"configs": {\n')
    f.write(",\n".join(json.dumps(name) + ": " + json.dumps(config) for name, config in CONFIGS.items()))
    f.write('},\n"guidance": ' + json.dumps(guidance()) + ',\n"runs": [\n')
    f.write(",\n".join(json.dumps(run(**case)) for case in cases()))
    f.write("\n]}\n")


if __name__ == "__main__":
  main()
