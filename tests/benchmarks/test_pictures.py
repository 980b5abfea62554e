#!/usr/bin/env python3
"""benchmarks/pictures/measure.py with programs that stand for precast and stable-diffusion.cpp."""

import subprocess
import sys
import unittest
from pathlib import Path

from with_programs import WithPrograms

ROOT = Path(__file__).resolve().parent.parent.parent

# Steps of half a second, and a decoder that takes two.
OURS = """
import json, sys
steps = int(sys.argv[sys.argv.index("--steps") + 1])
assert sys.argv[1] == "generate" and "--guidance" in sys.argv
print(json.dumps({"seconds": {"step": 0.5, "decode": 2.0, "total": 0.5 * steps + 3}}))
"""
# Its steps take a second, with flash attention 0.8 of one, which is not 2.5 times ours; its decoder takes eight.
SD_CPP = """
import sys
from pathlib import Path
steps = int(sys.argv[sys.argv.index("--steps") + 1])
assert (Path(sys.argv[sys.argv.index("-m") + 1]) / "here").exists()
if "--diffusion-conv-direct" in sys.argv:
    sys.exit("no such way")
step = 0.8 if "--diffusion-fa" in sys.argv else 1.0
print(f"[INFO ] sampling completed, taking {step * steps:.2f}s")
print("[INFO ] decode_first_stage completed, taking 8.00s")
"""
FAILS = "import sys; sys.exit('there is no memory for that')"


class Pictures(WithPrograms):
    def setUp(self):
        super().setUp()
        (self.folder / "models/sd15/for_sd_cpp").mkdir(parents=True)
        (self.folder / "models/sd15/model_index.json").touch()
        (self.folder / "models/sd15/for_sd_cpp/here").touch()

    def run_with(self, ours, other, *more):
        return subprocess.run([sys.executable, str(ROOT / "benchmarks/pictures/measure.py"), "--program", str(ours),
                               "--sd-cpp", str(other), "--no-torch", "--models", str(self.folder / "models"), "--filter",
                               "sd15/bf16/256", "--rounds", "2", "--output", "-", *more], capture_output=True, text=True)

    def test_compares_with_the_fastest_way_and_marks_what_misses(self):
        ran = self.run_with(self.program("ours", OURS), self.program("other", SD_CPP), "--steps", "4")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        row = next(line for line in ran.stdout.splitlines() if line.startswith("| SD 1.5, 256x256 | bf16 | 0.50 |"))
        self.assertIn("| **1.60** (flash) | 4.00 |", row)
        self.assertIn("sd15/bf16/256: step 1.60 times sd.cpp's, required 2.5", ran.stdout)
        self.assertNotIn("decode 4.00", ran.stdout)
        self.assertIn("no such way", ran.stderr)

    def test_goes_on_without_what_fails(self):
        ran = self.run_with(self.program("ours", OURS), self.program("other", FAILS))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("left out: " + str(self.folder / "other") + ": there is no memory for that", ran.stderr)
        self.assertIn("| SD 1.5, 256x256 | bf16 | 0.50 |", ran.stdout)

    def test_without_ours_says_why_in_one_line(self):
        ran = self.run_with(self.program("ours", FAILS), self.program("other", FAILS))
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stderr.splitlines()[-1], "benchmarks/pictures/measure.py: nothing could be measured")

    def test_on_a_busy_machine_counts_the_processor(self):
        works = ("import sys, time\nsteps = int(sys.argv[sys.argv.index('--steps') + 1])\n"
                 "assert sys.argv[sys.argv.index('{}') + 1] == '1'\n"
                 "end = time.process_time() + {} * steps\nwhile time.process_time() < end: pass\n")
        ours = works.format("--threads", 0.05) + 'print(\'{"seconds": {"step": 9, "decode": 9, "total": 9}}\')'
        other = works.format("-t", 0.5) + ('print("sampling completed, taking 9.00s")\n'
                                           'print("decode_first_stage completed, taking 9.00s")')
        ran = self.run_with(self.program("ours", ours), self.program("other", other), "--busy", "--rounds", "1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        row = next(line for line in ran.stdout.splitlines() if line.startswith("| SD 1.5"))
        step = float(row.split("|")[5].split("(")[0])
        self.assertGreater(step, 5)
        self.assertLess(step, 20)
        self.assertEqual(row.split("|")[6].strip(), "–")

    def test_an_unknown_name_is_refused(self):
        ran = self.run_with(self.program("ours", OURS), self.program("other", FAILS), "--filter", "sd16")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("no picture matches 'sd16': there are sd15/f32/256", ran.stderr)


if __name__ == "__main__":
    unittest.main()
