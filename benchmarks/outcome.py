"""What a program printed, and what it took."""

import os
import subprocess
import tempfile
import time


class NothingMeasured(Exception):
    """Why nothing can be measured, in one line."""


def outcome(command):
    """What a program printed, its seconds, those of the processor, and the most bytes that it held."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        try:
            process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=err)
        except OSError as reason:
            raise NothingMeasured(f"{command[0]} does not start: {reason.strerror}")
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        out.seek(0)
        err.seek(0)
        printed, said = out.read(), err.read()
    if process.returncode != 0:
        last = (said.strip() or printed.strip() or "it failed").splitlines()[-1]
        raise NothingMeasured(f"{command[0]}: {last}")
    return printed + said, seconds, use.ru_utime + use.ru_stime, 1024 * use.ru_maxrss
