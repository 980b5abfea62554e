#!/usr/bin/env python3
"""What nvcc takes for a user's file with one op, beside a file that only includes CUB's DeviceReduce; writes
docs/compile_time.md.

    compile_time.py [--rounds 5] [--nvcc nvcc] [--arch sm_90]

The files are compiled in turn, several rounds of them, without a flag but -std, -arch and -I. Seconds are the CPU's in
user mode, of nvcc and all that it starts; each number is the median of its rounds, and a ratio that of the rounds'
ratios, because a busy machine's speed changes from one to the next."""

import argparse
import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "compile_time.md"
POLICY = "precast::Policy<precast::Storage<precast::bf16>, precast::Flash>"
BESIDE = "`cub/device/device_reduce.cuh`, included"


def user_of(op, includes, result):
    """A file that calls one op."""
    lines = [f"#include <precast/{header}.hpp>" for header in (*includes, "policy/policy")]
    return "\n".join([*lines, f"precast::Tensor<precast::{result}> user(const precast::Tensor<precast::bf16>& x) {{",
                      f"  return {op};", "}", ""])


FILES = {
    "nothing": "",
    BESIDE: "#include <cub/device/device_reduce.cuh>\n",
    "`softmax<P>`": user_of(f"precast::softmax<{POLICY}>(x)", ["ops/softmax"], "f32"),
    "`attention<P, HeadWidths<64>, WithoutBias>`": user_of(
        f"precast::attention<{POLICY}, precast::HeadWidths<64>, precast::WithoutBias>(x, x, x, {{.heads = 4}})",
        ["ops/attention"], "bf16"),
    "`attention<P, HeadWidths<64, 128>>`": user_of(
        f"precast::attention<{POLICY}, precast::HeadWidths<64, 128>>(x, x, x, {{.heads = 4}})", ["ops/attention"],
        "bf16"),
    "`attention<P>`": user_of(f"precast::attention<{POLICY}>(x, x, x, {{.heads = 4}})", ["ops/attention"], "bf16"),
}


def run(*command):
    """Runs a command; says what it printed where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compile_time.py: {' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def user_seconds(*command):
    """CPU time in user mode of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(*command)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    """Compiles, measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    if not shutil.which(options.nvcc):
        sys.exit(f"compile_time.py: {options.nvcc} was not found; name it with --nvcc")
    version = re.search(r"release ([\d.]+)", run(options.nvcc, "--version")).group(1)
    seconds = {title: [] for title in FILES}
    sizes, headers = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        command = [options.nvcc, "-std=c++20", f"-arch={options.arch}", "-I", ROOT / "include"]
        sources = {title: pathlib.Path(folder) / f"file_{i}.cu" for i, title in enumerate(FILES)}
        for title, source in sources.items():
            source.write_text(FILES[title])
            headers[title] = len(set(re.findall(r"include/precast/(\S+)", run(*command, "-M", source))))
        for _ in range(options.rounds):
            for title, source in sources.items():
                to = source.with_suffix(".o")
                seconds[title].append(user_seconds(*command, "-c", source, "-o", to))
                sizes[title] = to.stat().st_size
                print(f"{seconds[title][-1]:6.2f} s  {title}", flush=True)
    rows = []
    for title, taken in seconds.items():
        ratio = statistics.median(one / other for one, other in zip(taken, seconds[BESIDE]))
        rows.append(f"| {title} | {statistics.median(taken):.1f} | {ratio:.2f} | {sizes[title] / 1e6:.2f} | "
                    f"{headers[title]} |")
    DOCUMENT.write_text("\n".join([
        "# What a user's file takes to compile", "",
        f"Made by `python3 benchmarks/compile_time.py --rounds {options.rounds} --arch {options.arch}` with nvcc {version} on "
        f"{platform.machine()}. Each",
        "file calls one op under `P` = `Policy<Storage<bf16>, Flash>` and is compiled by `nvcc -std=c++20 -arch=... -I include -c`.",
        "Seconds are user-mode CPU time, the median of several rounds in turn; the ratio is the median of the rounds' ratios. Headers are",
        "Precast's own. `tests/cuda_build` checks headers, bytes and kernels; no test checks the seconds.", "",
        "| file | CPU seconds | of CUB's | object, MB | headers |", "|---|---|---|---|---|", *rows, ""]))


if __name__ == "__main__":
    main()
