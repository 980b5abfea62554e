#!/usr/bin/env python3
"""One case of precast bench lm or bench attention in PyTorch, in a process of its own: prints the row of our table as a
JSON object.

    pytorch_case.py lm --size S --context 128 --policy bf16 --variant gpt2 --warmup 5 --steps 10 --batch 4
    pytorch_case.py attention --head-width 64 --context 1024 --policy f32 --attention flash --warmup 1 --steps 10 --batch 8

--device cuda: on a GPU. --compile: by torch.compile, which has compiled before any step is counted.
"""

import argparse
import json
import statistics
import time

import torch

from language_model_work import ATTENTION, AttentionStep, SIZES, VARIANTS, training_step


def measured(options, work):
    """The mean of the seconds of runs, and their standard deviation."""
    seconds = []
    for _ in range(options.warmup + options.steps):
        begin = time.perf_counter()
        work()
        if options.device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    seconds = seconds[options.warmup:]
    return statistics.fmean(seconds), statistics.pstdev(seconds)


def cells(name, timing):
    return {f"{name} avg (sec)": timing[0], f"{name} std (sec)": timing[1]}


def lm(options):
    step = training_step(options.policy, options.size, options.context, options.variant, options.batch)
    if options.compile:
        step = step.compiled()
        step.forward(), step()
    forward, both = measured(options, step.forward), measured(options, step)
    backward = both[0] - forward[0], (both[1] ** 2 + forward[1] ** 2) ** 0.5
    return {**cells("fwd", forward), **cells("back", backward), **cells("fwd & back", both),
            **cells("optimizer", measured(options, step.optimizer))}


def attention(options):
    step = AttentionStep(options.policy, options.attention, options.context, options.head_width, options.batch)
    if options.compile:
        step.attend = torch.compile(step.attend, dynamic=False)
        step.forward(), step.backward()
    return {**cells("fwd", measured(options, step.forward)), **cells("back", measured(options, step.backward)),
            "memory before back (MiB)": step.held_between() / 2 ** 20}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    which = arguments.add_subparsers(required=True)
    model, alone = which.add_parser("lm"), which.add_parser("attention")
    model.set_defaults(run=lm)
    model.add_argument("--size", choices=SIZES, required=True)
    model.add_argument("--variant", choices=VARIANTS, required=True)
    alone.set_defaults(run=attention)
    alone.add_argument("--head-width", type=int, required=True)
    alone.add_argument("--attention", choices=ATTENTION, required=True)
    for command in (model, alone):
        command.add_argument("--policy", required=True)
        for name in ("--context", "--warmup", "--steps", "--batch"):
            command.add_argument(name, type=int, required=True)
        command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        command.add_argument("--threads", type=int)
        command.add_argument("--compile", action="store_true")
    options = arguments.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    torch.set_default_device(options.device)
    row = options.run(options)
    if options.device == "cuda":
        row["memory (MiB)"] = torch.cuda.max_memory_allocated() / 2 ** 20
    print(json.dumps(row))


if __name__ == "__main__":
    main()
