"""The sigmas and timesteps that FluxPipeline steps through."""

import json

import numpy as np
import torch
from diffusers import FlowMatchEulerDiscreteScheduler
from diffusers.pipelines.flux.pipeline_flux import calculate_shift, retrieve_timesteps

CONFIGS = {
    "dev": dict(use_dynamic_shifting=True, shift=3.0, base_shift=0.5, max_shift=1.15, base_image_seq_len=256,
                max_image_seq_len=4096),
    "dev_other": dict(use_dynamic_shifting=True, shift=1.0, base_shift=0.3, max_shift=1.4, base_image_seq_len=16,
                      max_image_seq_len=1024),
    "schnell": dict(use_dynamic_shifting=False, shift=1.0),
    "static": dict(use_dynamic_shifting=False, shift=3.0),
    "static_half": dict(use_dynamic_shifting=False, shift=0.5),
}


def write(path):
  """expected/schedules.json"""
  found = []
  for name, config in CONFIGS.items():
    dynamic = config["use_dynamic_shifting"]
    for tokens in ((64, 256, 300, 1024, 4096) if name == "dev" else (64, 1000) if dynamic else (256,)):
      for steps in (1, 4, 20, 28, 50) if name in ("dev", "static") else (1, 2, 3, 4, 20):
        scheduler = FlowMatchEulerDiscreteScheduler(**config)
        c = scheduler.config
        mu = calculate_shift(tokens, c.base_image_seq_len, c.max_image_seq_len, c.base_shift, c.max_shift)
        retrieve_timesteps(scheduler, steps, torch.device("cpu"), sigmas=np.linspace(1.0, 1 / steps, steps), mu=mu)
        number = lambda tensor: [float(str(np.float32(x))) for x in tensor]
        found.append({"config": name, "image_tokens": tokens, "steps": steps, "mu": mu,
                      "sigmas": number(scheduler.sigmas), "timesteps": number(scheduler.timesteps)})
  with open(path, "w", encoding="utf-8") as f:
    f.write('{"configs": ' + json.dumps(CONFIGS) + ',\n"schedules": [\n')
    f.write(",\n".join(json.dumps(entry) for entry in found))
    f.write("\n]}\n")
