"""What tests of the benchmarks' scripts share: a folder of a test's own, with made-up programs in it."""

import sys
import tempfile
import unittest
from pathlib import Path


class WithPrograms(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def program(self, name, source):
        program = self.folder / name
        program.write_text(f"#!{sys.executable}\n{source}")
        program.chmod(0o755)
        return program
