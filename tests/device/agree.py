#!/usr/bin/env python3
"""agree.py FOLDER FOLDER: how far the pictures and losses of two runs of pipeline.sh are apart, and whether what ran twice in
one has the same bytes. Needs numpy and Pillow."""

import json
import sys
from pathlib import Path

import numpy
from PIL import Image

TWICE = (("shapes-flux-balanced.png", "again-flux.png"), ("shapes-sd-fast.png", "again-sd.png"),
         ("trained-f32/model.safetensors", "trained-f32-again/model.safetensors"))


def picture(path):
    return numpy.asarray(Image.open(path).convert("RGB")).astype(float)


def losses(path):
    return [json.loads(line)["loss"] for line in path.read_text().splitlines()]


def main():
    first, second = (Path(folder) for folder in sys.argv[1:3])
    for path in sorted(first.glob("*.png")):
        if path.name in ("flux.png", "sd.png") or not (second / path.name).exists():  # sheets say how long each took
            continue
        apart = abs(picture(path) - picture(second / path.name))
        print(f"{path.name:28} of 255: at most {apart.max():.0f}, {apart.mean():.4f} on average")
    for folder in (first, second):
        for one, other in TWICE:
            if (folder / one).exists() and (folder / other).exists():
                same = (folder / one).read_bytes() == (folder / other).read_bytes()
                print(f"{folder / other}: {'the same bytes' if same else 'OTHER BYTES'} as {one}")
    for path in sorted(first.glob("*.jsonl")):
        if (second / path.name).exists():
            pairs = list(zip(losses(path), losses(second / path.name)))
            worst = max(abs(a - b) / abs(a) for a, b in pairs)
            print(f"{path.name:28} {len(pairs)} losses, the last {pairs[-1][0]:.6f} and {pairs[-1][1]:.6f}, "
                  f"at most {worst:.1e} of themselves apart")


if __name__ == "__main__":
    main()
