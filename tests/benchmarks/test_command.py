#!/usr/bin/env python3
"""benchmarks/run.py --device cuda with programs that stand for precast_cuda_benchmarks, and without a GPU."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import find_gpu
import gpu_report
from with_programs import WithPrograms

NO_DEVICE = "import sys; sys.exit('precast_cuda_benchmarks: CUDA found no device: no driver')"
# Lists two names, and measures the first: the second needs more memory than there is.
TWO_NAMES = """
import json, sys
names = ["gelu/bf16/4608x3072/iterations:50/manual_time", "denoise_step/bf16/4096+512/iterations:5/manual_time"]
if "--benchmark_list_tests" in sys.argv:
    print("\\n".join(names))
else:
    filtered = next(argument for argument in sys.argv if argument.startswith("--benchmark_filter="))
    entries = [{"name": names[0], "seconds": 1e-5, "of_copy": 0.75, "copy_rate": 2e12},
               {"name": names[1], "error_occurred": True, "error_message": "needs about 27.0 GB"}]
    print(json.dumps({"context": {"device": "a made-up device"},
                      "benchmarks": [entry for entry in entries if entry["name"].split("/")[0] in filtered]}))
"""


class Command(WithPrograms):
    def setUp(self):
        super().setUp()
        self.page = self.folder / "page.md"
        self.text = "\n".join(["# Page", *gpu_report.MARKS, ""])
        self.page.write_text(self.text)

    def run_with(self, program):
        return subprocess.run([sys.executable, str(ROOT / "benchmarks" / "run.py"), "--device", "cuda", "--program",
                               str(program), "--no-torch", "--rounds", "2", "--output", str(self.page)],
                              capture_output=True, text=True)

    def test_without_a_device_says_why_and_writes_nothing(self):
        ran = self.run_with(self.program("program", NO_DEVICE))
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stderr, "benchmarks/run.py: precast_cuda_benchmarks: CUDA found no device: no driver\n")
        self.assertEqual(ran.stdout, "")
        self.assertEqual(self.page.read_text(), self.text)

    def test_without_the_program_says_so_and_writes_nothing(self):
        ran = self.run_with(self.folder / "nowhere")
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertIn("does not start", ran.stderr)
        self.assertEqual(self.page.read_text(), self.text)

    def test_leaves_out_what_does_not_run(self):
        ran = self.run_with(self.program("program", TWO_NAMES))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("left out, denoise_step/bf16/4096+512: needs about 27.0 GB", ran.stderr)
        page = self.page.read_text()
        self.assertIn("| gelu 4608x3072 | bf16 0.75 | bf16 – |", page)
        self.assertIn("a made-up device", page)
        self.assertNotIn("| denoise step", page)

    @unittest.skipIf(find_gpu.problem() is None, "there is a GPU here")
    def test_of_dev_without_a_gpu_says_why_and_builds_nothing(self):
        docs = ROOT / "docs" / "benchmarks.md"
        before = docs.read_text()
        ran = subprocess.run([str(ROOT / "dev"), "bench", "--device", "cuda"], capture_output=True, text=True,
                             env=os.environ | {"PRECAST_NO_INSTALL": "1"})
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stderr, f"nothing to measure on: {find_gpu.problem()}\n")
        self.assertEqual(docs.read_text(), before)


if __name__ == "__main__":
    unittest.main()
