#!/usr/bin/env python3
"""The tables of a GPU from made-up samples, and the page that they are written to."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "benchmarks"))
import gpu_report
import run
import tables


class Tables(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.samples = json.loads((HERE / "recorded_samples.json").read_text())

    def test_of_a_gpu(self):
        lines, misses = gpu_report.report(self.samples, list(self.samples), ["A device."])
        self.assertEqual("\n".join(lines) + "\n", (HERE / "recorded_tables.md").read_text())
        self.assertEqual(misses, [])

    def test_of_a_part_of_the_names(self):
        for name in self.samples:
            lines, _ = gpu_report.report({name: self.samples[name]}, [name], [])
            self.assertTrue(any(name.split("/")[2] in line for line in lines), name)

    def test_of_steps_of_language_models(self):
        samples = {"language_model/f32/S+512": {"share": [0.8, 0.7, 0.9], "share_all": [0.83], "share_arranged": [0.6],
                                                "pytorch": [1.5], "way": ["compiled"]},
                   "language_model/bf16/S+512": {"share": [0.74], "pytorch": [0.9], "way": ["eager"], "of_f32": [1.8]},
                   "language_model/amp-bf16/M+128": {"share": [0.5]}}
        lines, misses = run.report(samples, list(samples), [])
        rows = [line for line in lines if line.startswith(("| S", "| M"))]
        self.assertEqual(rows, ["| S+512 | f32 | 0.80 | 0.83 | 0.60 | 1.50 (compiled) | – |",
                                "| S+512 | bf16 | **0.74** | – | – | **0.90** (eager) | 1.80 |",
                                "| M+128 | amp-bf16 | 0.50 | – | – | – | – |"])
        self.assertEqual([miss.split(":")[0] for miss in misses], ["language_model/bf16/S+512"] * 2)
        titles = [line for line in lines if line.startswith("###")]
        self.assertEqual(titles, ["### Steps of language models"])  # of what was not measured there is no table

    def test_of_one_device_leave_the_others_alone(self):
        page = "\n".join(["# Page", "<!-- measured: begin -->", "of a CPU", "<!-- measured: end -->", "between",
                          *gpu_report.MARKS, "after", ""])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text(page)
            tables.write(path, gpu_report.MARKS, ["of a GPU"])
            begin, end = gpu_report.MARKS
            self.assertEqual(path.read_text(), page.replace(end, "of a GPU\n" + end))
            tables.write(path, gpu_report.MARKS, [])
            self.assertNotIn("of a GPU", path.read_text().split(begin)[1].split(end)[0])

    def test_of_another_cpu_come_after_those_that_are_there(self):
        first, second = tables.marks_of("one CPU"), tables.marks_of("another CPU")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text("\n".join(["# Page", *first, "", tables.MORE_CPUS, "after", ""]))
            for _ in range(2):
                tables.write(path, second, ["of another CPU"])
            self.assertEqual(path.read_text(), "\n".join(["# Page", *first, "", second[0], "of another CPU", second[1],
                                                          "", tables.MORE_CPUS, "after", ""]))

    def test_have_their_places_in_the_docs(self):
        page = (HERE.parent.parent / "docs" / "benchmarks.md").read_text()
        for mark in (*gpu_report.MARKS, tables.MORE_CPUS):
            self.assertEqual(page.count(mark), 1)


class Machine(unittest.TestCase):
    def test_is_told_from_the_programs_facts(self):
        facts = {"device": "NVIDIA Example", "compute_capability": "9.0", "memory_gb": "141", "cache_mib": "50",
                 "cuda_of_driver": "13.0", "cuda_runtime": "13.0", "cublaslt": "130000"}
        told = gpu_report.machine(facts)
        self.assertIn("NVIDIA Example (compute capability 9.0, 141 GB, 50 MiB", told)
        self.assertIn("(CUDA 13.0), CUDA runtime 13.0, cuBLASLt 130000", told)


if __name__ == "__main__":
    unittest.main()
