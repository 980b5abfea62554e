#!/usr/bin/env python3
"""Makes a picture with diffusers on the CPU and prints its seconds as JSON: pytorch_picture.py FOLDER [OPTIONS]."""

import argparse
import json
import os
import resource
import time

import torch
from diffusers import StableDiffusionPipeline, StableDiffusionXLPipeline

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder")
    arguments.add_argument("--precision", choices=tuple(DTYPES), required=True)
    arguments.add_argument("--side", type=int, required=True)
    arguments.add_argument("--steps", type=int, required=True)
    arguments.add_argument("--threads", type=int, default=os.cpu_count())
    arguments.add_argument("--compile", action="store_true", help="the UNet through torch.compile, not counted")
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    with open(f"{options.folder}/model_index.json") as file:
        xl = "XL" in json.load(file)["_class_name"]
    begin = time.perf_counter()
    if xl:
        pipeline = StableDiffusionXLPipeline.from_pretrained(options.folder, torch_dtype=DTYPES[options.precision],
                                                             add_watermarker=False)
    else:
        pipeline = StableDiffusionPipeline.from_pretrained(options.folder, torch_dtype=DTYPES[options.precision],
                                                           safety_checker=None, requires_safety_checker=False)
    pipeline.set_progress_bar_config(disable=True)
    pipeline.unet.to(memory_format=torch.channels_last)
    pipeline.vae.to(memory_format=torch.channels_last)
    loaded = time.perf_counter()
    if options.compile:
        pipeline.unet = torch.compile(pipeline.unet, dynamic=False)
        pipeline("a", height=options.side, width=options.side, num_inference_steps=1, output_type="latent")
    start, ends = time.perf_counter(), []

    def note(pipeline, step, timestep, values):
        ends.append(time.perf_counter())
        return values

    pipeline("a red circle", negative_prompt="blue", height=options.side, width=options.side,
             num_inference_steps=options.steps, guidance_scale=7.5, callback_on_step_end=note)
    end = time.perf_counter()
    # The text is encoded before the first step: its time is that of the others.
    step = (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else ends[0] - start
    print(json.dumps({"load": loaded - begin, "step": step, "decode": end - ends[-1],
                      "total": end - start + loaded - begin,
                      "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main()
