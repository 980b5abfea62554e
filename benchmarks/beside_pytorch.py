#!/usr/bin/env python3
"""Measures the cases of precast bench lm, or of bench attention, and the same in PyTorch, and prints one table.

    PRECAST_PYTHON=venv/bin/python ./dev bench --beside-pytorch lm --sizes S,M --contexts 128,512 --output lm.md
    PRECAST_PYTHON=venv/bin/python ./dev bench --beside-pytorch attention --head-widths 64 --contexts 256,1024

Options are those of the command. Each case runs in a process of its own, ours and PyTorch's in turn, so that one is
never in memory beside the other. Cells have "ours / PyTorch = how many times PyTorch's speed": means of the steps with
their deviations, in milliseconds, or medians of these where there are rounds.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from outcome import NothingMeasured, outcome
from run import ROOT, processor, say
from tables import table

PEAK = "peak (MiB)"
# Of a command: its options of several values and their defaults, what PyTorch's process calls them, and its parts.
COMMANDS = {
    "lm": ({"policies": "f32,bf16,amp-bf16", "variant": "llama,gpt2", "sizes": "S,M", "contexts": "128,512", "warmup": "5"},
           {"policies": "policy", "sizes": "size", "contexts": "context"}, ("fwd", "back", "fwd & back", "optimizer"), 4),
    "attention": ({"policies": "f32,bf16,f16", "attention": "plain,flash", "head-widths": "16,32,64,128",
                   "contexts": "256,1024,4096", "warmup": "1"},
                  {"policies": "policy", "contexts": "context", "head-widths": "head-width"}, ("fwd", "back"), 8),
}


def ours(options, case):
    """The row of the case, and its peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "case.json"
        command = [options.program, "bench", options.name, "--device", options.device, "--quiet", "--json", result]
        command += [part for name, value in case.items() for part in (f"--{name}", value)] + fixed(options)
        _, _, _, peak = outcome(command)
        row = json.loads(result.read_text())["rows"][0]
    if row["status"] != "ok":
        raise NothingMeasured(row["status"])
    return row | peak_of(options, row, peak)


def peak_of(options, row, process_peak):
    """Of the process's memory, or of the GPU's, as each counts its own."""
    return {PEAK: row["memory (MiB)"] if options.device == "cuda" else process_peak / 2 ** 20}


def pytorch(options, case, compiled):
    names = COMMANDS[options.name][1]
    command = [options.python, ROOT / "benchmarks" / "pytorch_case.py", options.name, "--device", options.device]
    command += [part for name, value in case.items() for part in (f"--{names.get(name, name)}", value)] + fixed(options)
    printed, _, _, peak = outcome(command + ["--compile"] * compiled)
    row = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    return row | peak_of(options, row, peak)


def fixed(options):
    values = {"steps": options.steps, "batch": options.batch, "threads": options.threads}
    return [part for name, value in values.items() if value for part in (f"--{name}", value)]


def measured(options, case):
    """Who -> the rows of the rounds. Who fails is left out of the rounds that follow, and said."""
    ways = {"ours": lambda: ours(options, case), "eager": lambda: pytorch(options, case, False)}
    if options.compile:
        ways["compiled"] = lambda: pytorch(options, case, True)
    rows = {who: [] for who in ways}
    for _ in range(options.rounds):
        for who in list(ways):
            try:
                rows[who].append(ways[who]())
            except NothingMeasured as reason:
                del ways[who]
                say(f"left out, {who}, {' '.join(case.values())}: {reason}")
    return rows


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


def both(cell, times):
    return f"{cell[0]} / {cell[1]}" + (f" = {times:.2f}" if times else "")


def beside(mine, theirs, part):
    """A cell of the table."""
    mean, deviation = f"{part} avg (sec)", f"{part} std (sec)"
    told = [f"{1e3 * middle(rows, mean):.4g} ± {1e3 * middle(rows, deviation):.2g}" if rows else "–"
            for rows in (mine, theirs)]
    return both(told, mine and theirs and statistics.median(b[mean] / a[mean] for a, b in zip(mine, theirs)))


def memory(mine, theirs, key):
    return both([f"{middle(rows, key):.4g}" if rows else "–" for rows in (mine, theirs)], None)


def table_of(options, results):
    parts, between = COMMANDS[options.name][2], "memory before back (MiB)"
    rows = []
    for case, found in results:
        for way in [way for way in found if way != "ours"]:
            cells = [beside(found["ours"], found[way], part) for part in parts]
            if options.name == "attention":
                cells.append(memory(found["ours"], found[way], between))
            rows.append(list(case.values()) + [way] + cells + [memory(found["ours"], found[way], PEAK)])
    lists, names = COMMANDS[options.name][:2]
    header = [names.get(name, name) for name in lists] + ["PyTorch's way"] + [f"{part} (ms)" for part in parts]
    return table(header + [between] * (options.name == "attention") + [PEAK], rows)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = arguments.add_subparsers(dest="name", required=True, metavar="lm|attention")
    for name, (lists, _, _, batch) in COMMANDS.items():
        command = which.add_parser(name)
        for option, usual in lists.items():
            command.add_argument(f"--{option}", default=usual, metavar="A,...", help=f"default {usual}")
        command.add_argument("--steps", type=int, default=10, help="by the clock, of each part; default 10")
        command.add_argument("--batch", type=int, default=batch, help=f"default {batch}")
        command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        command.add_argument("--threads", type=int)
        command.add_argument("--rounds", type=int, default=1, help="how often each case is measured; default 1")
        command.add_argument("--compile", action="store_true", help="by torch.compile too, which takes it minutes")
        command.add_argument("--program", type=Path, default=ROOT / "build/release/precast")
        command.add_argument("--python", default=os.environ.get("PRECAST_PYTHON", sys.executable),
                             help="a Python with torch (or PRECAST_PYTHON)")
        command.add_argument("--json", type=Path, metavar="FILE", help="for every row of every round")
        command.add_argument("--output", type=Path, metavar="FILE", help="for the table, which is printed else")
    options = arguments.parse_args()
    lists = [vars(options)[name.replace("-", "_")].split(",") for name in COMMANDS[options.name][0]]
    results = []
    for values in itertools.product(*lists):
        case = dict(zip(COMMANDS[options.name][0], values))
        say(" ".join(values))
        results.append((case, measured(options, case)))
        if options.json:
            options.json.write_text(json.dumps([{"case": case, "rows": rows} for case, rows in results], indent=1) + "\n")
    if not any(any(rows.values()) for _, rows in results):
        raise NothingMeasured("nothing could be measured")
    lines = [f"{processor()}; {options.steps} steps, batch {options.batch}, rounds {options.rounds}.", ""]
    text = "\n".join(lines + table_of(options, results)) + "\n"
    if options.output:
        options.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    try:
        main()
    except NothingMeasured as reason:
        sys.exit(f"benchmarks/beside_pytorch.py: {reason}")
