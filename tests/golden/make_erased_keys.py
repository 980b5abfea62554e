#!/usr/bin/env python3
"""Remakes expected/erased_keys.safetensors: what diffusers draws with each folder of stable_diffusion/ of whose configs one key is
erased. README.md beside it says what is in them.

  python make_erased_keys.py
"""

import contextlib
import glob
import io
import json
import os
import shutil
import tempfile
import warnings

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
COMPONENTS = ["unet", "vae", "text_encoder", "text_encoder_2", "scheduler"]
CASE = dict(sampler=None, steps=4, guidance=4.0, strength=0.5, prompt="a cat", negative=None, seed=42, width=32, height=32)


def draw(folder, root, task):
  """Final latents and the picture, or None where diffusers stops or draws weights that no file has."""
  import stable_diffusion_cases as cases
  import torch
  case = CASE | dict(folder=folder, task=task)
  try:
    with contextlib.redirect_stderr(io.StringIO()):
      pipe = cases.pipeline_for(root, folder, task, torch.float32)
      for part in COMPONENTS[:-1]:
        if model := getattr(pipe, part, None):
          _, found = type(model).from_pretrained(f"{root}/{folder}/{part}", output_loading_info=True)
          if found["missing_keys"]:
            return None
      random = lambda: cases.generator(case["seed"])
      options = cases.arguments(pipe, case)
      latents = pipe(**options, generator=random()).images
      image = pipe(**options | dict(output_type="np"), generator=random()).images
  except Exception:  # of every kind: what is asked is whether there is a picture
    return None
  return latents, torch.from_numpy((image[0] * 255).round().astype("uint8"))


def main():
  import reference_libraries
  reference_libraries.prepare()
  import numpy as np
  import stable_diffusion_cases as cases
  import tensor_file
  import torch
  source, outcomes = f"{HERE}/stable_diffusion", {}
  tensors = {"picture.32x32": np.array(cases.start_picture(CASE)), "mask.32x32": np.array(cases.mask_picture(CASE))}
  for folder in sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(f"{source}/*/model_index.json")):
    task = "inpaint" if folder == "inpaint" else "img2img"
    whole = draw(folder, source, task)
    tensors |= {f"{folder}.latents": whole[0], f"{folder}.picture": whole[1]}
    for part in COMPONENTS:
      name = f"{part}/{'scheduler_config' if part == 'scheduler' else 'config'}.json"
      if not os.path.exists(f"{source}/{folder}/{name}"):
        continue
      with open(f"{source}/{folder}/{name}", encoding="utf-8") as f:
        keys = json.load(f)
      for key in sorted(keys):
        with tempfile.TemporaryDirectory() as root:
          shutil.copytree(f"{source}/{folder}", f"{root}/{folder}")
          with open(f"{root}/{folder}/{name}", "w", encoding="utf-8") as f:
            json.dump({k: v for k, v in keys.items() if k != key}, f)
          drawn = draw(folder, root, task)
        label = f"{folder}/{name}/{key}"
        if drawn is None or not torch.isfinite(drawn[0]).all():
          outcomes[label] = "none"
        elif torch.equal(drawn[0], whole[0]) and torch.equal(drawn[1], whole[1]):
          outcomes[label] = "same"
        else:
          outcomes[label] = "another"
          tensors |= {f"{label}.latents": drawn[0], f"{label}.picture": drawn[1]}
        print(label, outcomes[label], flush=True)
  tensor_file.save(f"{HERE}/expected/erased_keys.safetensors", tensors,
                   {"outcomes": json.dumps(outcomes), "case": json.dumps(CASE)})


if __name__ == "__main__":
  main()
