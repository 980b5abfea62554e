#!/usr/bin/env python3
"""precast_cuda_benchmarks --tiny in the emulator, whose clock gives every piece of work a millisecond.

test_suite.py PROGRAM. With a Python in PRECAST_PYTHON that has torch and diffusers, PyTorch's side runs too, on the CPU.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import gpu_report

PROGRAM = sys.argv.pop(1)
# Rows, columns and heads of the tiny sizes (benchmarks/cuda/sizes.hpp).
LARGEST = 2 * 16 * 24 * 32
WIDTH, TOKENS = 128, 12
ONE_BLOCK = 24 * TOKENS * WIDTH * WIDTH + 4 * TOKENS * TOKENS * WIDTH
# Of latents 4 x 4 x 16 and 32 channels everywhere: the first convolution, two residual blocks with attention between them,
# three blocks of the first level, whose picture is doubled, three of the second, and the last convolution.
CONV, DOUBLED = 9 * 32 * 32 * 4 * 4, 9 * 32 * 32 * 8 * 8
TINY_DECODER = 2 * (9 * 16 * 32 * 4 * 4 + 2 * 2 * CONV + 4 * 32 * 32 * 4 * 4 + 2 * (4 * 4) ** 2 * 32 + 3 * 2 * CONV + DOUBLED +
                    3 * 2 * DOUBLED + 9 * 32 * 3 * 8 * 8)


def has_torch(python):
    return python and subprocess.run([python, "-c", "import torch, diffusers"], capture_output=True).returncode == 0


class Suite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ran = subprocess.run([PROGRAM, "--tiny", "--benchmark_format=json"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=True)
        found = json.loads(ran.stdout)
        cls.facts = found["context"]
        cls.results = {re.sub(r"/iterations:.*", "", entry["name"]): entry for entry in found["benchmarks"]}

    def test_every_benchmark_runs(self):
        self.assertEqual(self.facts["device"], "emulator")
        for name, entry in self.results.items():
            self.assertFalse(entry.get("error_occurred"), f"{name}: {entry.get('error_message')}")
            self.assertEqual(entry["seconds"], 1e-3, name)

    def test_every_kind_and_dtype_is_there(self):
        kinds = {name.split("/")[0] for name in self.results}
        self.assertEqual(kinds, set(gpu_report.WITH_BASELINE) | {"linear_tiled"} |
                         {f"linear_{dtype}{way}" for dtype in ("q8_0", "q4_k") for way in ("", "_tiles", "_panels")})
        for kind in gpu_report.MODEL_PARTS:
            self.assertEqual({name.split("/")[1] for name in self.results if name.startswith(kind + "/")},
                             {"f32", "bf16", "f16"})
        self.assertEqual({name.split("/")[1] for name in self.results if name.startswith("attention/")},
                         {"f32", "tf32", "bf16", "bf16_plain", "bf16_in_f32_flash", "f16", "f16_flash", "f16_in_f32_flash"})

    def test_shares_count_the_bytes_and_operations_of_the_shapes(self):
        moved = {"copy/f32/4x3072": 2 * 4 * 3072 * 4, "cast/f32_to_fp8_e4m3/3x3072": 3 * 3072 * 5,
                 "gelu/bf16/3x3072": 2 * 3 * 3072 * 2, "gated_add/f16/3x3072": 3 * 3 * 3072 * 2,
                 "rotary/bf16/3x3072": 2 * 3 * 3072 * 2 + 2 * 3 * 128 * 4, "norm_modulate/f32/3x3072": 2 * 3 * 3072 * 4,
                 "group_norm/bf16/4x4x128": 2 * 4 * 4 * 128 * 2, "linear/bf16/1x128x384": 128 * 384 * 2,
                 "linear_q8_0/bf16/1x256x128": 128 * 256 // 32 * 34, "linear_q4_k/bf16/1x256x128": 128 * 144}
        for name, count in moved.items():
            self.assertAlmostEqual(self.results[name]["bytes_per_second"], count * 1e3, msg=name)
            self.assertEqual(self.results[name]["of_copy"], 1, name)
        multiplied = {"linear/tf32/12x128x256": 2 * 12 * 128 * 256, "linear_tiled/bf16/12x128x256": 2 * 12 * 128 * 256,
                      "linear/bf16/16x24x32": LARGEST, "linear_q4_k_tiles/bf16/12x256x128": 2 * 12 * 256 * 128,
                      "linear_q8_0_panels/bf16/12x256x128": 2 * 12 * 256 * 128, "vae_decode/bf16/8x8": TINY_DECODER, "attention/bf16/20": 4 * 20 * 20 * WIDTH,
                      "double_block/bf16/9+3": ONE_BLOCK, "single_block/f32/9+3": ONE_BLOCK,
                      "denoise_step/bf16/9+3": 2 * ONE_BLOCK}
        for name, count in multiplied.items():
            self.assertAlmostEqual(self.results[name]["flops"], count * 1e3, msg=name)
            self.assertAlmostEqual(self.results[name]["share"], count / LARGEST, msg=name)

    def test_a_model_holds_little_beside_its_weights(self):
        for kind in ("denoise_step", "double_block", "single_block"):
            for policy in ("f32", "bf16", "f16"):
                memory = self.results[f"{kind}/{policy}/9+3"]["memory"]
                self.assertGreater(memory, 1)
                self.assertLess(memory, 1.2)

    def test_a_step_says_how_many_kernels_its_graph_launches(self):
        # Of a double block, of a single one, and around them. test_launches.cpp lists them, and two more around them: the
        # sampler's step, which is not in the graph, and the rounding of the prompt, whose three rows here need none.
        self.assertEqual(self.results["denoise_step/bf16/9+3"]["launches"], 28 + 12 + 18)

    def test_a_step_says_what_memory_it_needs_before_it_takes_any(self):
        ran = subprocess.run([PROGRAM, "--benchmark_filter=^denoise_step/", "--benchmark_format=json"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                             env=os.environ | {"PRECAST_EMULATED_FREE_MEMORY": "10000000000"})
        said = {entry["name"].split("/")[1]: entry.get("error_message", "")
                for entry in json.loads(ran.stdout)["benchmarks"]}
        for policy, needed in {"bf16": "25.9", "f16": "34.1", "f32": "51.8"}.items():  # as docs/benchmarks.md says
            self.assertEqual(said[policy], f"needs about {needed} GB of the device's memory, and 10.0 GB are free: end "
                                           "what holds the rest, or leave this out with --filter")

    def report(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            ran = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "run.py"), "--device", "cuda", "--tiny",
                                  "--program", PROGRAM, "--rounds", "1", "--output", str(page), *options],
                                 capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertNotIn("left out", ran.stderr)
            return page.read_text(), ran.stderr

    def test_the_command_reports_it(self):
        page, _ = self.report("--no-torch", "--filter", "bf16")
        self.assertIn("emulator; no PyTorch;", page)
        self.assertIn("| denoise step, 9+3 | bf16 | 1.00 |", page)
        self.assertIn("| norm modulate 3x3072 | bf16 1.00 | bf16 – |", page)

    @unittest.skipUnless(has_torch(os.environ.get("PRECAST_PYTHON")), "PRECAST_PYTHON names no Python with torch")
    def test_pytorch_knows_every_name(self):
        page, said = self.report("--filter", "/(f32|tf32|bf16|bf16_plain|f32_to_bf16)/")
        self.assertNotRegex(said, r"PyTorch, \S+: [A-Z]\w*(Error|Exception)")
        self.assertNotIn("gave no answer", said)
        for line in page.splitlines():
            if re.match(r"\| .*(9\+3|16x16|8x8) \|", line):
                self.assertRegex(line, r"\((eager|compiled)\)")


if __name__ == "__main__":
    unittest.main()
