#!/usr/bin/env python3
"""Remakes all golden data: tests/golden/models and tests/golden/expected. See README.md beside it.

  python make_goldens.py            everything
  python make_goldens.py --only formats randn
"""

import argparse
import glob
import json
import os
import time
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)
HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ["models", "pipelines", "tokenizers", "randn", "schedules", "formats", "ops"]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="which parts to remake")
  parser.add_argument("--folder", nargs="+", help="which model folders (default: all)")
  parser.add_argument("--output", default=HERE, help="where models/ and expected/ go")
  options = parser.parse_args()

  import reference_libraries
  reference_libraries.prepare()
  import torch
  torch.manual_seed(0)
  import expected
  import formats
  import models
  import ops
  import randoms
  import schedules
  import tokens

  os.makedirs(f"{options.output}/expected", exist_ok=True)
  results = f"{options.output}/expected"
  chosen = options.folder or list(models.SPECS)

  def timed(label, work):
    start = time.time()
    result = work()
    print(f"{label}: {time.time() - start:.1f} s", flush=True)
    return result

  for name in chosen:
    folder, spec = f"{options.output}/models/{name}", models.SPECS[name]
    if "models" in options.only:
      timed(f"models/{name}", lambda: models.build(folder, name, spec))
    if "pipelines" in options.only:
      errors = timed(f"expected/{name}", lambda: expected.write(folder, name, spec, f"{results}/{name}.safetensors"))
      print("  " + json.dumps(errors))
  writers = {"tokenizers": lambda: tokens.write(f"{options.output}/models", f"{results}/tokenizers.json"),
             "randn": lambda: randoms.write(f"{results}/randn.safetensors"),
             "schedules": lambda: schedules.write(f"{results}/schedules.json"),
             "formats": lambda: formats.write(f"{results}/formats.safetensors"),
             "ops": lambda: ops.write(f"{results}/ops.safetensors")}
  for part, writer in writers.items():
    if part in options.only:
      timed(part, writer)
  for path in glob.glob(f"{options.output}/models/**", recursive=True) + glob.glob(f"{results}/*"):
    if os.path.isfile(path):
      os.chmod(path, 0o644)


if __name__ == "__main__":
  main()
