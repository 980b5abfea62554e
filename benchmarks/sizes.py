#!/usr/bin/env python3
"""What each preset's program weighs and takes to build; writes docs/sizes.md.

    sizes.py [--presets fast,memory] [--backends host,cuda] [--quant none] [--folder build/sizes]

Builds precast_program of each preset in a folder of its own, without ccache, host alone and with CUDA for one
architecture (sm_80, without PTX for later ones), and counts its bytes, its kernels and the CPU time of the
compilers. Rows of presets that are not asked for stay as the document has them."""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
document = root / "docs" / "sizes.md"
header = "| preset | backends | program, MB | stripped, MB | host kernels | CUDA kernels | CPU seconds to build | commit |"
rule = "|---|---|---|---|---|---|---|---|"


def run(*command):
    """Runs a command; says what it printed where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sizes.py: {' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def compiler_seconds():
    """CPU time of the children that have ended."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def measure(preset, cuda, quant, folder):
    """A row of the table."""
    shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "-S", root, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DPRECAST_PRESET={preset}",
        f"-DPRECAST_CUDA={'on' if cuda else 'off'}", f"-DPRECAST_QUANT={quant}", "-DPRECAST_CUDA_ARCHITECTURES=80-real", "-DPRECAST_CCACHE=",
        "-DPRECAST_BUILD_TESTS=OFF", "-DPRECAST_BUILD_EXAMPLES=OFF", "-DPRECAST_BUILD_BENCHMARKS=OFF")
    before = compiler_seconds()
    run("cmake", "--build", folder, "--target", "precast_program", "--parallel", os.cpu_count() or 2)
    seconds = compiler_seconds() - before
    program = folder / "precast"
    names = set(re.findall(r"precast::host::[a-z_]+<[^\n]*", run("nm", "-C", "--defined-only", program)))
    of_device = 0
    if cuda:
        listed = run(sys.executable, root / "kernels" / "cuda" / "resources.py", "--names", program)
        of_device = len({line for line in listed.split("\n") if line})
    stripped = folder / "stripped"
    run("strip", "-o", stripped, program)
    megabytes = [f"{path.stat().st_size / 1e6:.1f}" for path in (program, stripped)]
    formats = "" if quant == "all" else f", block formats: {quant}"
    return (f"| `{preset}` | {'host, sm_80' if cuda else 'host'}{formats} | {megabytes[0]} | {megabytes[1]} | {len(names)} | "
            f"{of_device} | {seconds:.0f} | {run('git', '-C', root, 'rev-parse', '--short=7', 'HEAD').strip()} |")


def main():
    """Builds, measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", default="quality,balanced,fast,memory,all")
    parser.add_argument("--backends", default="host,cuda" if shutil.which("nvcc") else "host")
    parser.add_argument("--quant", default="all", help="block formats, as PRECAST_QUANT takes them")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build" / "sizes")
    options = parser.parse_args()
    rows = {}
    if document.exists():
        for line in document.read_text().split("\n"):
            if line.startswith("| `"):
                rows[tuple(cell.strip() for cell in line.split("|")[1:3])] = line
    for backend in options.backends.split(","):
        for preset in options.presets.split(","):
            line = measure(preset, backend == "cuda", options.quant, options.folder / f"{preset}_{backend}")
            rows[tuple(cell.strip() for cell in line.split("|")[1:3])] = line
            print(line, flush=True)
    document.write_text("\n".join([
        "# What each preset weighs", "",
        "Made by `python3 benchmarks/sizes.py`: programs of `PRECAST_PRESET`, built from scratch without ccache. CPU time is that of",
        "all compilers together, on the machine at hand. Host kernels are instances of `precast::host` templates; CUDA kernels are the",
        "entries of the program's cubins. Each row was measured at the commit that it names, on that day's machine, so CPU times can be",
        "compared only within one commit.", "", header, rule, *rows.values(), ""]))


if __name__ == "__main__":
    main()
