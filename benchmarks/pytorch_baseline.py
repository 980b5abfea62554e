#!/usr/bin/env python3
"""The work of precast_benchmarks in PyTorch, with the modules of diffusers and transformers themselves.

    pytorch_baseline.py NAME...    prints one JSON object a line for each NAME
    pytorch_baseline.py            the same for the names on stdin, until it ends

NAME is a benchmark's: double_block/f32/256+512, single_block/bf16/1024+512, t5_layer/f32/512,
vae_decode/f32/512x512, attention/bf16/1536, linear/f32/768x3072x3072, language_model/f32/S+512, and with --device cuda those of
precast_cuda_benchmarks. What the last names needed is kept, so that they can be asked for again and again, in turn
with ours. The object has the seconds of "eager", of "compiled" (torch.compile) and, on a GPU, of "graph" (the
last of them recorded as a CUDA graph), whichever could be had, and "skipped" with the reason for one that could not.

PRECAST_COMPILE_SECONDS: how long torch.compile may take for one name (default 240; 0: eager only).
"""

import argparse
import collections
import gc
import json
import os
import signal
import statistics
import sys
import time

import torch

from pytorch_work import FLUX, TINY, Work

COMPILE_SECONDS = int(os.environ.get("PRECAST_COMPILE_SECONDS", "240"))


class OutOfTime(Exception):
    pass


def within(seconds, work):
    def ring(*_):
        raise OutOfTime(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        return work()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Cpu:
    """How things are measured on the CPU."""
    device = "cpu"
    cases_kept = 2
    graphed = ()
    # One op alone has nothing to fuse.
    compiled = ("double_block", "single_block", "t5_layer", "language_model", "unet_step", "unet_xl_step", "vae_decode")

    def runs(self, kind):
        if kind in ("vae_decode", "denoise_step", "unet_step", "unet_xl_step"):
            return 1
        return 3 if kind in self.compiled else 9

    def prepare(self, policy):
        pass

    def warm(self, run):
        pass

    def seconds(self, run):
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    def forget(self):
        gc.collect()


class Cuda:
    """How things are measured on a GPU: as benchmarks/cuda/measure.hpp does, with the L2 cache overwritten."""
    device = "cuda"
    cases_kept = 8
    graphed = ("double_block", "single_block", "denoise_step", "unet_step", "unet_xl_step", "vae_decode")
    compiled = graphed + ("gelu", "gated_add", "rotary", "norm_modulate", "rms_norm", "rms_norm_heads",
                          "group_norm", "cast")

    def __init__(self):
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        self.evicting = torch.empty(max(8 * cache, 512 << 20), dtype=torch.int8, device="cuda")
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def runs(self, kind):
        return 5 if kind == "denoise_step" else 10 if kind in self.graphed else 30

    def prepare(self, policy):
        allowed = policy == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed

    def warm(self, run):
        done, runs = 0.0, 0
        while runs < 3 or done < 0.2:
            done += self.seconds(run)
            runs += 1

    def seconds(self, run):
        self.evicting.zero_()
        self.start.record()
        run()
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) / 1000

    def forget(self):
        gc.collect()
        torch.cuda.empty_cache()


def recorded(run):
    """A CUDA graph of a run, as something to run."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):  # what is made once must not be recorded
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def eagerly(module, inputs):
    with torch.compiler.set_stance("force_eager"):
        module(**inputs)


class Case:
    """A piece of work, and the ways to run it."""

    def __init__(self, name, work, meter):
        kind, self.policy, size = name.split("/")
        self.meter, self.runs = meter, meter.runs(kind)
        meter.prepare(self.policy)
        module, inputs = work.make(kind, self.policy, size)
        self.ways, self.skipped = {"eager": lambda: module(**inputs)}, {}
        self.ways["eager"]()
        if kind in meter.compiled and COMPILE_SECONDS:
            try:
                self.compile(module, inputs)
            except Exception as reason:  # without a compiler, or out of time: eager counts
                self.skipped["compiled"] = first_line(reason)
        if kind in meter.graphed:
            try:
                self.ways["graph"] = recorded(self.ways.get("compiled", self.ways["eager"]))
            except Exception as reason:
                self.skipped["graph"] = first_line(reason)
        for run in self.ways.values():
            meter.warm(run)

    def compile(self, module, inputs):
        if hasattr(module, "compiled"):  # a step with its backward pass, whose model is compiled
            faster = module.compiled()
        elif hasattr(module, "transformer"):  # many blocks that are alike: block by block, in place
            module.transformer.compile_repeated_blocks(dynamic=False)
            self.ways["eager"] = lambda: eagerly(module, inputs)
            faster = module
        else:
            faster = torch.compile(module, dynamic=False)
        within(COMPILE_SECONDS, lambda: faster(**inputs))
        faster(**inputs)
        self.ways["compiled"] = lambda: faster(**inputs)

    def measure(self):
        self.meter.prepare(self.policy)
        times = {way: [] for way in self.ways}
        for _ in range(self.runs):
            for way, run in self.ways.items():
                times[way].append(self.meter.seconds(run))
        return {way: statistics.median(seconds) for way, seconds in times.items()}


def first_line(reason):
    return f"{type(reason).__name__}: {(str(reason).splitlines() or [''])[0][:200]}"


def names(listed):
    if listed:
        yield from listed
    else:
        for line in sys.stdin:
            if line.strip():
                yield line.strip()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    arguments.add_argument("--tiny", action="store_true", help="the model of precast_cuda_benchmarks --tiny")
    options = arguments.parse_args()
    torch.set_num_threads(int(os.environ.get("PRECAST_BASELINE_THREADS", os.cpu_count() or 2)))
    torch.manual_seed(1)
    meter = Cuda() if options.device == "cuda" else Cpu()
    work = Work(options.device, TINY if options.tiny else FLUX)
    cases = collections.OrderedDict()
    with torch.inference_mode():
        for name in names(options.names):
            try:
                if name not in cases:
                    while len(cases) >= meter.cases_kept:
                        cases.popitem(last=False)
                    meter.forget()
                    cases[name] = Case(name, work, meter)
                cases.move_to_end(name)
                answer = {"name": name, **cases[name].measure(), "skipped": cases[name].skipped}
            except Exception as reason:
                cases.pop(name, None)
                answer = {"name": name, "error": f"{type(reason).__name__}: {reason}"}
            if name.startswith("denoise_step/"):  # too large to be kept
                cases.pop(name, None)
                meter.forget()
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
