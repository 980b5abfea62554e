#!/usr/bin/env python3
"""Remakes the tiny Stable Diffusion models and what diffusers draws with them. README.md beside it says what is in them.

  python make_stable_diffusion.py                  everything
  python make_stable_diffusion.py --only folders   models, cases or files
"""

import argparse
import glob
import os
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)
HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ["folders", "cases", "files"]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="which parts to remake")
  parser.add_argument("--cases", nargs="+", help="which cases alone (nothing is written of the others)")
  parser.add_argument("--output", default=HERE, help="where stable_diffusion/ and expected/ go")
  options = parser.parse_args()

  import reference_libraries
  reference_libraries.prepare()
  import stable_diffusion_cases
  import stable_diffusion_models

  root = f"{options.output}/stable_diffusion"
  os.makedirs(f"{options.output}/expected", exist_ok=True)
  if "folders" in options.only:
    for name in stable_diffusion_models.SPECS:
      stable_diffusion_models.build(f"{root}/{name}", name)
  if "cases" in options.only:
    stable_diffusion_cases.write(root, f"{options.output}/expected/stable_diffusion", options.cases)
  if "files" in options.only:
    import stable_diffusion_files
    stable_diffusion_files.write(root)
  for path in glob.glob(f"{root}/**", recursive=True) + glob.glob(f"{options.output}/expected/stable_diffusion*"):
    if os.path.isfile(path):
      os.chmod(path, 0o644)


if __name__ == "__main__":
  main()
