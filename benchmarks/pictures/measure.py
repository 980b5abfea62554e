#!/usr/bin/env python3
"""Makes whole pictures with precast, stable-diffusion.cpp and diffusers in turn, and writes how their times and their
memory compare to docs/benchmarks.md.

    PRECAST_PYTHON=venv/bin/python ./dev bench --pictures --sd-cpp build/bin/sd-cli
    ./dev bench --pictures --filter 'sd15/bf16/256' --steps 4 --output -
    ./dev bench --pictures --busy --no-torch --sd-cpp build/bin/sd-cli --output -

The weights are random and of full size, and made once: 2.1 GB for sd15, 7 GB for sdxl. Each number is the median of
rounds of neighbours; of a program's ways the fastest of the first round is the one that counts.
"""

import argparse
import collections
import datetime
import json
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import run as benchmarks
from outcome import outcome
from tables import marks_of, table, write

PRESETS = {"f32": "balanced", "bf16": "fast", "f16": "memory"}
TITLES = {"sd15": "SD 1.5", "sdxl": "SDXL"}
NAMES = [f"sd15/{precision}/{side}" for side in (256, 512) for precision in PRESETS]
NAMES += [f"sdxl/{precision}/512" for precision in PRESETS]
PROMPT, NEGATIVE, GUIDANCE = "a red circle", "blue", "7.5"
MEASURES = {"step": "step", "decode": "decode", "total": "picture", "peak": "memory"}
# What issue 12 asks: how many times as fast as another, or how many times less memory.
REQUIRED = {("step", "sd.cpp"): 2.5, ("decode", "sd.cpp"): 3.0, ("step", "PyTorch"): 1.0, ("decode", "PyTorch"): 1.0,
            ("peak", "sd.cpp"): 1.0, ("peak", "PyTorch"): 1.0}


class Ours:
    """precast generate, whose JSON has what is wanted."""
    name, ways = "ours", {"": []}

    def __init__(self, program):
        self.program = program

    def command(self, model, precision, side, steps, threads, output):
        return [self.program, "generate", "--model", model, "--preset", PRESETS[precision], "--device", "cpu", "--prompt",
                PROMPT, "--negative", NEGATIVE, "--guidance", GUIDANCE, "--sampler", "euler", "--steps", steps, "--width",
                side, "--height", side, "--threads", threads, "--quiet", "--json", "--output", output]

    def values(self, printed, steps):
        seconds = json.loads(printed)["seconds"]
        return {key: seconds[key] for key in ("step", "decode", "total")}


class SdCpp:
    """stable-diffusion.cpp's sd-cli, which prints the time of each stage."""
    name = "sd.cpp"
    ways = {"": [], "flash": ["--diffusion-fa"], "direct": ["--diffusion-conv-direct", "--vae-conv-direct"]}

    def __init__(self, program):
        self.program = program

    def command(self, model, precision, side, steps, threads, output):
        second = Path(model) / "text_encoder_2" / "model.safetensors"
        return [self.program, "-m", Path(model) / "for_sd_cpp", *(["--clip_g", second] if second.exists() else []),
                "--type", precision, "-p", PROMPT, "-n", NEGATIVE, "--cfg-scale", GUIDANCE, "--sampling-method", "euler",
                "--steps", steps, "-W", side, "-H", side, "-t", threads, "-o", output]

    def values(self, printed, steps):
        taken = dict(re.findall(r"(sampling|decode_first_stage) completed, taking ([0-9.]+)s", printed))
        return {"step": float(taken["sampling"]) / steps, "decode": float(taken["decode_first_stage"])}


class PyTorch:
    """pytorch_picture.py."""
    name = "PyTorch"

    def __init__(self, python, compiled):
        self.python = python
        self.ways = {"eager": [], "compiled": ["--compile"]} if compiled else {"eager": []}

    def command(self, model, precision, side, steps, threads, output):
        return [self.python, Path(__file__).with_name("pytorch_picture.py"), model, "--precision", precision, "--side",
                side, "--steps", steps, "--threads", threads]

    def values(self, printed, steps):
        found = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
        return {key: found[key] for key in ("step", "decode", "total")}


def read_files(folder):
    """Reads a model's files, which all programs share: else the first one alone waits for the disk."""
    for file in folder.rglob("*.safetensors"):
        with open(file, "rb", buffering=0) as opened:
            while opened.read(1 << 24):
                pass


def picture(program, way, work, steps, threads):
    """Seconds of a step, of decoding and of all, and the peak, of one run."""
    read_files(work[0])
    with tempfile.TemporaryDirectory() as scratch:
        command = program.command(*work, steps, threads, str(Path(scratch) / "picture.png")) + program.ways[way]
        printed, seconds, processor_seconds, peak = outcome(command)
    return {"total": seconds, **program.values(printed, steps), "peak": peak, "processor": processor_seconds}


def on_busy_machine(program, way, work, steps):
    """The same by the processor's time, on one thread: of a step, what two more of them take."""
    few, more = picture(program, way, work, 1, 1), picture(program, way, work, 3, 1)
    step = (more["processor"] - few["processor"]) / 2
    return {"step": step, "total": few["processor"] + (steps - 1) * step, "peak": more["peak"]}


def measure(programs, names, options):
    """name -> program -> measure -> one value for each round; and name -> program -> way."""
    samples = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    chosen = collections.defaultdict(dict)
    for name in names:
        kind, precision, side = name.split("/")
        work = (options.models / kind, precision, side)
        for number in range(options.rounds):
            benchmarks.say(f"{name}, round {number + 1}")
            for program in programs:
                if program.name == "PyTorch" and precision == "f16":
                    continue  # a thousandth of its speed in f32 where a CPU has no unit for it
                if number and program.name not in chosen[name]:
                    continue  # it failed in every way
                ways = [chosen[name][program.name]] if number else program.ways
                found = {}
                for way in ways:
                    try:
                        if options.busy:
                            found[way] = on_busy_machine(program, way, work, options.steps)
                        else:
                            found[way] = picture(program, way, work, options.steps, options.threads)
                    except benchmarks.NothingMeasured as reason:
                        benchmarks.say(f"  left out: {reason}")
                if not found:
                    continue
                for way, values in found.items():
                    seconds = ", ".join(f"{key} {values[key]:.2f} s" for key in ("step", "decode", "total") if key in values)
                    benchmarks.say(f"  {program.name} {way}: {seconds}, {values['peak'] / 1e9:.2f} GB")
                way = min(found, key=lambda way: found[way]["step"])
                chosen[name][program.name] = way
                for key in MEASURES:
                    if key in found[way]:
                        samples[name][program.name][key].append(found[way][key])
    return samples, chosen


def ratio(samples, name, other, key):
    """How many times as much another takes, from neighbours; None where that was not measured."""
    pairs = list(zip(samples[name][other].get(key, []), samples[name]["ours"].get(key, [])))
    return statistics.median(theirs / ours for theirs, ours in pairs) if pairs else None


def report(samples, chosen, names, others, facts):
    rows, misses = [], []
    for name in names:
        kind, precision, side = name.split("/")
        own = {key: statistics.median(values) for key, values in samples[name]["ours"].items()}
        row = [f"{TITLES[kind]}, {side}x{side}", precision, f"{own['step']:.2f}", f"{own['peak'] / 1e9:.2f}"]
        for other in others:
            way = chosen[name].get(other)
            for key in MEASURES:
                value = ratio(samples, name, other, key)
                text = "–" if value is None else f"{value:.2f}"
                limit = REQUIRED.get((key, other))
                if value is not None and limit and value < limit:
                    misses.append(f"{name}: {MEASURES[key]} {text} times {other}'s, required {limit:.1f}")
                    text = f"**{text}**"
                row.append(f"{text} ({way})" if key == "step" and way else text)
        rows.append(row)
    header = ["picture", "precision", "seconds a step", "peak, GB"]
    header += [f"{title}, {other}" for other in others for title in MEASURES.values()]
    lines = [f"### On {benchmarks.cpu()}", "", facts, "", *table(header, rows), ""]
    lines.append("Required and missed: " + ("; ".join(misses) if misses else "nothing of what was measured") + ".")
    return lines


def models_there(names, options):
    """Makes the models that are not there yet."""
    for kind in sorted({name.split("/")[0] for name in names}):
        if not (options.models / kind / "model_index.json").exists():
            benchmarks.say(f"making random weights: {options.models / kind}")
            outcome([options.python, Path(__file__).with_name("random_models.py"), kind, options.models / kind])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", type=Path, default=ROOT / "build/release/precast", help="precast")
    arguments.add_argument("--sd-cpp", type=Path, metavar="PROGRAM", help="stable-diffusion.cpp's sd-cli (default: without)")
    arguments.add_argument("--python", default=os.environ.get("PRECAST_PYTHON", sys.executable),
                           help="a Python with torch, diffusers and transformers (or PRECAST_PYTHON)")
    arguments.add_argument("--no-torch", action="store_true", help="without PyTorch's pictures")
    arguments.add_argument("--compile", action="store_true", help="PyTorch's UNet through torch.compile as well")
    arguments.add_argument("--models", type=Path, default=ROOT / "build/models", metavar="FOLDER",
                           help="where the random weights are or come to be (default: build/models)")
    arguments.add_argument("--filter", default=".", help="measure the names that this regular expression finds, of "
                           "MODEL/PRECISION/SIDE such as sd15/bf16/256; default: all")
    arguments.add_argument("--steps", type=int, default=20, help="of a picture; default 20")
    arguments.add_argument("--rounds", type=int, default=3, help="default 3")
    arguments.add_argument("--threads", type=int, default=os.cpu_count(), help="default: the CPU's")
    arguments.add_argument("--busy", action="store_true", help="for a machine that others work on: one thread, and the "
                           "processor's time of runs of 1 and 3 steps; says nothing of decoding")
    arguments.add_argument("--output", type=Path, default=ROOT / "docs/benchmarks.md", help="- for stdout")
    options = arguments.parse_args()
    names = [name for name in NAMES if re.search(options.filter, name)]
    if not names:
        arguments.error(f"no picture matches {options.filter!r}: there are {' '.join(NAMES)}")
    programs = [Ours(options.program)]
    if options.sd_cpp:
        programs.append(SdCpp(options.sd_cpp))
    if not options.no_torch:
        programs.append(PyTorch(options.python, options.compile))
    load = os.getloadavg()[0]
    models_there(names, options)
    samples, chosen = measure(programs, names, options)
    names = [name for name in names if samples[name]["ours"]]
    if not names:
        raise benchmarks.NothingMeasured("nothing could be measured")
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    clock = "processor time on one thread" if options.busy else f"{options.threads} threads"
    facts = (f"{when}; {benchmarks.processor()}; {clock}; `./dev bench --pictures {' '.join(sys.argv[1:])}`; medians of "
             f"{options.rounds} rounds; load of the machine before: {load:.1f}.")
    lines = report(samples, chosen, names, [program.name for program in programs[1:]], facts)
    if str(options.output) == "-":
        print("\n".join(lines))
    else:
        write(options.output, marks_of(f"pictures, {benchmarks.cpu()}"), lines)


if __name__ == "__main__":
    try:
        main()
    except benchmarks.NothingMeasured as reason:
        sys.exit(f"benchmarks/pictures/measure.py: {reason}")
