#!/usr/bin/env python3
"""Whether the CUDA driver finds a GPU. Says in one line why not, and then fails."""

import ctypes
import sys


def problem():
    """Why there is no GPU to use, or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no CUDA driver here (libcuda.so.1)"

    def failed(call, *arguments):
        code = getattr(driver, call)(*arguments)
        if code == 0:
            return None
        reason = ctypes.c_char_p()
        driver.cuGetErrorString(code, ctypes.byref(reason))
        return f"{call}: {(reason.value or b'error %d' % code).decode()}"

    count = ctypes.c_int()
    reason = failed("cuInit", 0) or failed("cuDeviceGetCount", ctypes.byref(count))
    if reason:
        return f"the CUDA driver finds no GPU ({reason})"
    return None if count.value else "the CUDA driver finds no GPU"


if __name__ == "__main__":
    reason = problem()
    if reason:
        sys.exit(f"nothing to measure on: {reason}")
