#!/usr/bin/env python3
"""benchmarks/beside_pytorch.py with programs that stand for precast and for a Python with PyTorch; and what run.py asks of a
step beside PyTorch."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import run
from with_programs import WithPrograms

ROW = """
def row(fwd):
    cells = {"status": "ok", "memory before back (MiB)": 3.0}
    for part, mean in (("fwd", fwd), ("back", 2 * fwd), ("fwd & back", 3 * fwd), ("optimizer", 0.5)):
        cells |= {part + " avg (sec)": mean, part + " std (sec)": mean / 10}
    return cells
"""
OURS = ROW + """
import json, sys
from pathlib import Path
named = dict(zip(sys.argv[3::1], sys.argv[4::1]))
assert sys.argv[1] == "bench" and named["--steps"] == "7" and named["--batch"] == "2"
if named.get("--sizes") == "XL":
    sys.exit("precast: error: needs 12.0 GiB, and 2.0 GiB are free")
Path(named["--json"]).write_text(json.dumps({"rows": [row(0.25)]}))
"""
# Twice the time; forward half that again where it is compiled.
PYTHON = ROW + """
import json, sys
named = dict(zip(sys.argv[3::1], sys.argv[4::1]))
assert sys.argv[1].endswith("pytorch_case.py") and named["--steps"] == "7" and named["--batch"] == "2"
assert ("--head-width" in named) == (sys.argv[2] == "attention")
print(json.dumps(row(0.125 if "--compile" in sys.argv else 0.5)))
"""


class BesidePyTorch(WithPrograms):
    def run_with(self, name, *more, python=PYTHON):
        return subprocess.run([sys.executable, str(ROOT / "benchmarks/beside_pytorch.py"), name, "--program",
                               str(self.program("ours", OURS)), "--python", str(self.program("python", python)), "--steps",
                               "7", "--batch", "2", *more], capture_output=True, text=True)

    def test_has_a_row_for_each_case_and_way_with_all_parts(self):
        kept = self.folder / "rows.json"
        ran = self.run_with("lm", "--sizes", "S", "--contexts", "128", "--policies", "bf16", "--warmup", "0,5", "--compile",
                            "--rounds", "2", "--json", str(kept))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = [line for line in ran.stdout.splitlines() if line.startswith("| bf16 |")]
        self.assertEqual(len(rows), 8)  # two variants, two warm-ups, eager and compiled
        self.assertIn("| bf16 | llama | S | 128 | 0 | eager | 250 ± 25 / 500 ± 50 = 2.00 | 500 ± 50 / 1000 ± 1e+02 = 2.00 | "
                      "750 ± 75 / 1500 ± 1.5e+02 = 2.00 | 500 ± 50 / 500 ± 50 = 1.00 |", rows[0])
        self.assertIn("| compiled | 250 ± 25 / 125 ± 12 = 0.50 |", rows[1])
        self.assertEqual(len(json.loads(kept.read_text())[0]["rows"]["ours"]), 2)

    def test_has_the_grid_of_attention(self):
        ran = self.run_with("attention", "--contexts", "256", "--head-widths", "16,64", "--policies", "f16")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("| f16 | flash | 64 | 256 | 1 | eager | 250 ± 25 / 500 ± 50 = 2.00 | 500 ± 50 / 1000 ± 1e+02 = 2.00 | "
                      "3 / 3 |", ran.stdout)

    def test_who_fails_is_left_out_and_said(self):
        ran = self.run_with("lm", "--sizes", "XL", "--contexts", "128", "--policies", "f32", "--variant", "llama")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("left out, ours, f32 llama XL 128 5: ", ran.stderr)
        self.assertIn("needs 12.0 GiB, and 2.0 GiB are free", ran.stderr)
        self.assertIn("| – / 500 ± 50 |", ran.stdout)

    def test_where_nothing_runs_it_says_so(self):
        ran = self.run_with("lm", "--sizes", "XL", "--contexts", "128", "--policies", "f32", "--variant", "llama",
                            python="import sys; sys.exit(\"No module named 'torch'\")")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stderr.splitlines()[-1], "benchmarks/beside_pytorch.py: nothing could be measured")
        self.assertIn("No module named 'torch'", ran.stderr)


class Baseline(WithPrograms):
    def test_a_python_that_is_killed_as_it_starts_is_one_without_pytorch(self):
        python = self.program("python", "import os; os.kill(os.getpid(), 9)")
        self.assertIsNone(run.Baseline(str(python), 10).measure("a"))

    def test_one_that_ended_after_an_answer_is_gone_on_without(self):
        # It says its version, then answers once.
        python = self.program("python", """
import sys
if sys.argv[1] == "-c":
    print("2.0")
else:
    sys.stdin.readline()
    print('{"eager": 2.0, "compiled": 1.0}', flush=True)
""")
        baseline = run.Baseline(str(python), 10)
        self.assertEqual(baseline.measure("a"), (1.0, "compiled"))
        baseline.process.wait()
        self.assertIsNone(baseline.measure("b"))
        self.assertFalse(baseline.answers)


class Required(unittest.TestCase):
    def asked(self, policy, share, times):
        name = f"language_model/{policy}/M+128"
        return run.required({name: {"share_all": [share], "pytorch": [times]}}, name, "pytorch")

    def test_of_a_step_depends_on_whether_pytorch_is_at_the_products_rate(self):
        for policy in ("f32", "bf16", "amp-bf16"):
            self.assertEqual(self.asked(policy, 0.9, 2.0), (">=", 1.2))
            self.assertEqual(self.asked(policy, 0.9, 1.05), (">=", 1.0))  # PyTorch at 0.86 of oneDNN's rate
            self.assertEqual(self.asked(policy, 0.9, 1.1), (">=", 1.2))  # at 0.82


if __name__ == "__main__":
    unittest.main()
