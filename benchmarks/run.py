#!/usr/bin/env python3
"""Runs precast_benchmarks, or on a GPU precast_cuda_benchmarks, and the same work in PyTorch in turn with it, and writes
the ratios to docs/benchmarks.md.

The machine's speed changes from minute to minute, so both take turns, several rounds of them, and only ratios of
neighbours count: each number in the tables is the median of its rounds. Without PyTorch (name a Python that has it with
--python or PRECAST_PYTHON) only what needs none of it is measured. Without a GPU --device cuda says why there is none,
and writes nothing.
"""

import argparse
import collections
import dataclasses
import datetime
import json
import os
import platform
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import gpu_report
from outcome import NothingMeasured
from tables import marks_of, mid, policy_title, table, write

ROOT = Path(__file__).resolve().parent.parent
PARTS_WITH_BASELINE = ("double_block", "single_block", "t5_layer", "unet_step", "unet_xl_step", "vae_decode")
STEPS = ("language_model",)
MODEL_PARTS = PARTS_WITH_BASELINE + ("transformer",)
COUNTERS = ("seconds", "share", "share_all", "share_arranged", "memory", "resident", "of_copy", "flops", "onednn_flops")
BLOCKS = ("double_block", "single_block")
WITH_BASELINE = PARTS_WITH_BASELINE + STEPS + ("attention", "linear")
TITLES = {"double_block": "double block", "single_block": "single block", "t5_layer": "T5-XXL layer",
          "unet_step": "UNet of SD 1.5", "unet_xl_step": "UNet of SDXL", "vae_decode": "VAE decode",
          "transformer": "transformer, 2 + 4 blocks"}


def say(text):
    print(text, file=sys.stderr, flush=True)


class Ours:
    """The program, which is given no names that it does not list. `notes` has what it could not measure and why."""

    def __init__(self, program, options=(), skips=False):
        self.program, self.skips, self.notes, self.facts = [str(Path(program).resolve()), *options], skips, {}, {}

    def names(self):
        try:
            listed = subprocess.run([*self.program, "--benchmark_list_tests"], capture_output=True, text=True)
        except OSError as reason:
            raise NothingMeasured(f"{self.program[0]} does not start: {reason.strerror}")
        if listed.returncode != 0:
            raise NothingMeasured((listed.stderr.splitlines() or [f"{self.program[0]} failed"])[-1])
        return [re.sub(r"/iterations:.*", "", line) for line in listed.stdout.split()]

    def measure(self, names):
        """The counters of each name, from one run of the program."""
        either = "|".join(re.escape(name) for name in names)
        command = [*self.program, f"--benchmark_filter=^({either})/iterations", "--benchmark_format=json"]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            raise NothingMeasured(f"{'|'.join(names)}: {(ran.stderr.splitlines() or ['the program failed'])[-1]}")
        found = json.loads(ran.stdout)
        self.facts = found["context"]
        results = {}
        for entry in found["benchmarks"]:
            name = re.sub(r"/iterations:.*", "", entry["name"])
            if not entry.get("error_occurred"):
                results[name] = entry
            elif self.skips:
                self.notes[name] = entry["error_message"]
            else:
                raise RuntimeError(f"{entry['name']}: {entry['error_message']}")
        return results


class Baseline:
    """pytorch_baseline.py, which is told names and answers with seconds. Absent where that Python has no PyTorch. `apart`: it
    runs while it is asked alone, and makes what a name needs anew each time."""

    def __init__(self, python, seconds, options=(), apart=False):
        self.process, self.seconds, self.version, self.notes, self.apart = None, seconds, None, {}, apart
        self.answers = False
        self.command = [python, str(ROOT / "benchmarks" / "pytorch_baseline.py"), *options]
        gpu = "assert torch.cuda.is_available(), 'it finds no GPU'; " if "cuda" in options else ""
        try:
            found = subprocess.run([python, "-c", f"import torch, diffusers; {gpu}print(torch.__version__)"],
                                   capture_output=True, text=True)
        except OSError:
            return
        if found.returncode != 0:
            say(f"without PyTorch, which {python} does not have: {(found.stderr.splitlines() or ['it failed'])[-1]}")
            return
        self.version, self.answers = found.stdout.strip(), True

    def measure(self, name):
        """Seconds of its fastest way and that way's name, or None."""
        if not self.answers:
            return None
        if not self.process:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:  # it ended after its last answer
            line = ""
        if not line:
            say(f"  PyTorch gave no answer for {name}: going on without it")
            self.close()
            self.answers = False
            return None
        if self.apart:
            self.close()
        answer = json.loads(line)
        for way, reason in answer.get("skipped", {}).items():
            self.notes[name] = f"{way}: {reason}"
        if "error" in answer:
            self.notes[name] = answer["error"]
            say(f"  PyTorch, {name}: {answer['error']}")
            return None
        ways = {way: answer[way] for way in ("eager", "compiled", "graph") if way in answer}
        way = min(ways, key=ways.get)
        return ways[way], way

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def speed(counters, name):
    """For f16, whose mark is oneDNN's f32 as f32's is, held against that mark; else by the clock alone."""
    return counters["share"] if "/f16" in name and "share" in counters else 1 / counters["seconds"]


def measure_all(suite, ours, baseline, names, rounds):
    """name -> counter -> one value for each round."""
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    groups = collections.defaultdict(list)
    for name in names:
        parts = name.split("/")
        kind, size = parts[0], parts[2] if len(parts) > 2 else ""
        groups[kind, size].append(name)
    for (kind, size), members in groups.items():
        say(f"{kind} {size}")
        for _ in range(rounds):
            found = {}
            alternates = kind in suite.with_baseline and baseline.answers
            apart = kind in suite.apart or (suite.baseline_apart and alternates)
            for batch in [[name] for name in members] if apart else [members]:
                found.update(ours.measure(batch))
                for name in batch:
                    if alternates and name in found and suite.has_baseline(name.split("/")[1]):
                        answer = baseline.measure(name)
                        if answer:
                            samples[name]["pytorch"].append(answer[0] / found[name]["seconds"])
                            samples[name]["way"].append(answer[1])
            in_f32 = found.get(f"{kind}/f32/{size}") if suite.against_f32 else None
            for name, counters in found.items():
                for key in suite.counters:
                    if key in counters:
                        samples[name][key].append(counters[key])
                if in_f32 and not name.startswith(f"{kind}/f32/"):
                    samples[name]["of_f32"].append(speed(counters, name) / speed(in_f32, name))
    return samples


def at_product_rate(samples, name):
    """Whether PyTorch multiplies as fast as oneDNN does: then 1.2 times its speed would be beyond oneDNN's own rate. The
    share of that rate that PyTorch has is ours over how many times as fast we are."""
    share, times = mid(samples, name, "share_all"), mid(samples, name, "pytorch")
    return bool(share and times and share / times > 1 / 1.2)


def required(samples, name, key):
    """What is required of a value: (at least or at most, limit), or None. docs/benchmarks.md says why."""
    kind, policy = name.split("/")[:2]
    if kind in BLOCKS:
        if key == "share" and policy in ("f32", "bf16"):
            return ">=", 0.80
        if key == "pytorch":
            return ">=", {"f32": 1.5, "bf16": 1.2}[policy]
        if key == "of_f32" and policy.startswith("f16"):
            return ">=", 0.80
    if kind in STEPS:
        if key == "share" and name.endswith("/S+512"):
            return ">=", 0.75
        if key == "pytorch":
            return ">=", 1.0 if at_product_rate(samples, name) else 1.2
    if kind in ("transformer", "double_block", "t5_layer") and key == "memory":
        return "<=", 1.20
    return None


def cell(samples, misses, name, key, digits=2):
    value = mid(samples, name, key)
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    rule = required(samples, name, key)
    if rule:
        sign, limit = rule
        met = value >= limit if sign == ">=" else value <= limit
        if not met:
            misses.append(f"{name}: {key} {text}, required {sign} {limit:.2f}")
            text = f"**{text}**"
    return text


def against_pytorch(samples, misses, name):
    """How many times PyTorch's speed, and by which of its ways."""
    ways = collections.Counter(samples[name].get("way", []))
    text = cell(samples, misses, name, "pytorch")
    return f"{text} ({ways.most_common(1)[0][0]})" if ways else text


def step_row(samples, misses, name):
    _, policy, size = name.split("/")
    return [size, policy, cell(samples, misses, name, "share"), cell(samples, misses, name, "share_all"),
            cell(samples, misses, name, "share_arranged"), against_pytorch(samples, misses, name),
            cell(samples, misses, name, "of_f32")]


def report(samples, names, machine):
    misses = []
    rows = []
    for name in names:
        kind, policy, *size = name.split("/")
        if kind not in MODEL_PARTS:
            continue
        against = against_pytorch(samples, misses, name)
        rows.append([f"{TITLES[kind]}, {size[0]}", policy_title(policy), cell(samples, misses, name, "share"),
                     cell(samples, misses, name, "share_all"), against, cell(samples, misses, name, "of_f32"),
                     cell(samples, misses, name, "memory"), cell(samples, misses, name, "resident")])
    lines = [f"## On {cpu()}", ""] + machine
    if rows:
        lines += ["", "### Parts of models", ""]
        lines += table(["part", "policy", "share of oneDNN's rate", "with attention's products", "times PyTorch's speed",
                        "times our f32 speed", "peak / weights", "resident / weights"], rows)
    steps = [name for name in names if name.split("/")[0] in STEPS]
    if steps:
        lines += ["", "### Steps of language models", "",
                  "Forward and backward of SIZE+CONTEXT, four windows of random tokens, without the optimiser.", ""]
        lines += table(["step", "policy", "share of oneDNN's rate", "with attention's products",
                        "of its rate with operands arranged before", "times PyTorch's speed", "times our f32 speed"],
                       [step_row(samples, misses, name) for name in steps])
    rows = []
    for name in names:
        kind, policy, *size = name.split("/")
        if kind in ("linear", "attention"):
            rows.append([f"{kind} {size[0]}", policy_title(policy), cell(samples, misses, name, "share"),
                         cell(samples, misses, name, "pytorch"), cell(samples, misses, name, "of_f32")])
    if rows:
        lines += ["", "### Layers alone", ""]
        lines += table(["layer", "policy", "share of oneDNN's rate", "times PyTorch's speed", "times our f32 speed"], rows)
    by_op = collections.defaultdict(dict)
    for name in names:
        kind, what = name.split("/")[:2]
        if samples[name].get("of_copy"):
            by_op[kind][what] = cell(samples, misses, name, "of_copy")
    rows = [[kind, ", ".join(f"{what.replace('_to_', ' to ')} {value}" for what, value in values.items())]
            for kind, values in by_op.items()]
    if rows:
        lines += ["", "### Memory-bound ops", "", "The share of the rate at which memory is copied.", ""]
        lines += table(["op", "share of the copy's rate"], rows)
    lines.append("")
    lines.append("Required and missed: " + ("; ".join(misses) if misses else "nothing of what was measured") + ".")
    return lines, misses


def cpu_fields():
    text = Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    return dict(re.findall(r"^(model name|cpu family|model|flags)\s*:\s*(.*)$", text, re.M))


def cpu():
    """A CPU's name. Virtual machines shorten it; family and model still tell one kind from another."""
    fields = cpu_fields()
    name = re.sub(r"\((R|TM)\)| Processor", "", fields.get("model name", platform.processor() or "unknown CPU"))
    return f"{name}, family {fields.get('cpu family', '?')}, model {fields.get('model', '?')}"


def processor():
    present = cpu_fields().get("flags", "").split()
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in present]
    return f"{cpu()}, {os.cpu_count()} cores ({' '.join(flags)})"


def machine_lines(machine, baseline, rounds, load):
    command = "./dev bench " + " ".join(sys.argv[1:])
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    torch = f"PyTorch {baseline.version}" if baseline.version else "no PyTorch"
    return [f"{when}; {machine}; {torch}; `{command.strip()}`; medians of "
            f"{rounds} rounds; load of the machine before: {load:.1f}."]


@dataclasses.dataclass(frozen=True)
class Suite:
    """What is measured on one kind of device, and how it is told."""
    program: str
    marks: tuple
    with_baseline: tuple             # kinds that PyTorch does too
    has_baseline: Callable[[str], bool]  # whether it does them under this policy
    counters: tuple
    machine: Callable[[dict], str]   # in words, from what the program says of its device
    report: Callable
    apart: tuple = ()                # kinds whose names run in a process each
    baseline_apart: bool = False     # the same of all that alternate with PyTorch
    against_f32: bool = False
    skips: bool = False              # what does not run is left out of the tables, and said


SUITES = {
    "cpu": Suite(program="build/release/benchmarks/precast_benchmarks", marks=marks_of(cpu()), with_baseline=WITH_BASELINE,
                 has_baseline=lambda policy: policy in ("f32", "bf16", "amp-bf16"),
                 counters=COUNTERS,
                 machine=lambda facts: processor(), report=report, apart=MODEL_PARTS + STEPS, baseline_apart=True,
                 against_f32=True),
    "cuda": Suite(program="build/cuda/benchmarks/cuda/precast_cuda_benchmarks", marks=gpu_report.MARKS,
                  with_baseline=gpu_report.WITH_BASELINE, has_baseline=lambda policy: True, counters=gpu_report.COUNTERS,
                  machine=gpu_report.machine, report=gpu_report.report, apart=gpu_report.APART, skips=True),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--device", choices=tuple(SUITES), default="cpu")
    arguments.add_argument("--program", type=Path, help="the benchmarks (default: where ./dev bench builds them)")
    arguments.add_argument("--filter", default=".", help="measure the names that this regular expression finds")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--tiny", action="store_true",
                           help="with --device cuda: a few rows of everything, to see whether it runs; PyTorch on the CPU")
    arguments.add_argument("--python", default=os.environ.get("PRECAST_PYTHON", sys.executable),
                           help="a Python with torch, diffusers and transformers (or PRECAST_PYTHON)")
    arguments.add_argument("--no-torch", action="store_true")
    arguments.add_argument("--baseline-seconds", type=float, default=900, help="how long PyTorch may take for an answer")
    arguments.add_argument("--apart", action="store_true",
                           help="let no model of PyTorch's lie in memory while ours runs: it is made anew for each round")
    arguments.add_argument("--samples", type=Path, metavar="FILE",
                           help="keep every round's values in this JSON file; what it holds already of names that "
                                "are not measured now goes into the tables too")
    arguments.add_argument("--output", type=Path, default=ROOT / "docs/benchmarks.md", help="- for stdout")
    options = arguments.parse_args()
    if options.tiny and options.device != "cuda":
        arguments.error("--tiny is for --device cuda")
    if options.tiny and str(options.output) == str(ROOT / "docs/benchmarks.md"):
        arguments.error("--tiny measures nothing worth a page: name another --output, - for stdout")

    suite = SUITES[options.device]
    tiny = ("--tiny",) if options.tiny else ()
    ours = Ours(options.program or ROOT / suite.program, tiny, suite.skips)
    names = [name for name in ours.names() if re.search(options.filter, name)]
    if not names:
        arguments.error(f"no benchmark matches {options.filter!r}")
    load = os.getloadavg()[0]
    if load > 1.5:
        say(f"something else is running (load {load:.1f}): ratios will scatter")
    baseline = Baseline("/nonexistent" if options.no_torch else options.python, options.baseline_seconds,
                tiny or ("--device", options.device), options.apart)
    begin = time.monotonic()
    try:
        samples = measure_all(suite, ours, baseline, names, options.rounds)
        for name, note in baseline.notes.items():
            say(f"PyTorch, {name}: {note}")
        for name, note in ours.notes.items():
            say(f"left out, {name}: {note}")
        if not samples:
            raise NothingMeasured("nothing could be measured")
        if options.samples:
            if options.samples.exists():
                samples = json.loads(options.samples.read_text()) | samples
            options.samples.write_text(json.dumps(samples, indent=1))
        names = [name for name in ours.names() if name in samples]
        machine = machine_lines(suite.machine(ours.facts), baseline, options.rounds, load)
        lines, misses = suite.report(samples, names, machine)
    finally:
        baseline.close()
    if str(options.output) == "-":
        print("\n".join(lines))
    else:
        write(options.output, suite.marks, lines)
    for miss in misses:
        say(f"missed: {miss}")
    say(f"done in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except NothingMeasured as reason:
        sys.exit(f"benchmarks/run.py: {reason}")
