#!/usr/bin/env python3
"""cases.py PROGRAM NAME JOBS [--own-kernels] [TAGS]: runs each test case in a process of its own, JOBS at a time, since after
an error of CUDA's a process can run nothing more. Writes $OUT/NAME.txt: what failed with all that it printed, then the
seconds of each. Ends with 1 where one failed, or there is none."""

import concurrent.futures
import os
import subprocess
import sys
import time

MOST_SECONDS = 120


def run(program, name, flags):
    """Its name, exit code or "timeout", seconds, and what it printed."""
    spec = name.strip()
    for special in "\\,[":  # which Catch2 reads as parts of a pattern
        spec = spec.replace(special, "\\" + special)
    begin = time.monotonic()
    try:
        ran = subprocess.run([program, spec, *flags, "--warn", "NoTests"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", timeout=MOST_SECONDS)
        code, text = ran.returncode, ran.stdout
    except subprocess.TimeoutExpired as ended:
        code, text = "timeout", (ended.stdout or b"").decode(errors="replace")
    return name, code, time.monotonic() - begin, text


def main():
    program, label, jobs, *rest = sys.argv[1:]
    flags = [word for word in rest if word.startswith("--")]
    tags = [word for word in rest if not word.startswith("--")]
    listed = subprocess.run([program, "--list-test-names-only", *tags], capture_output=True, text=True).stdout
    names = [name for name in listed.splitlines() if name.strip()]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        results = list(pool.map(lambda name: run(program, name, flags), names))
    failed = [result for result in results if result[1] != 0]
    skipped = sum("skipped:" in text[:200] for _, _, _, text in results)
    with open(os.path.join(os.environ.get("OUT", "."), label + ".txt"), "w") as file:
        for name, code, seconds, text in failed:
            file.write(f"=== failed ({code}, {seconds:.1f} s): {name}\n{text[-30000:]}\n")
        for name, code, seconds, _ in sorted(results, key=lambda result: -result[2]):
            file.write(f"{seconds:7.1f} s  {code}  {name}\n")
    print(f"{label}: {len(results)} cases, {len(failed)} failed, {skipped} skipped, {time.monotonic() - begin:.0f} s", flush=True)
    for name, code, _, _ in failed:
        print(f"  {code}  {name}", flush=True)
    return bool(failed) or not results


if __name__ == "__main__":
    sys.exit(main())
