"""Programs of their own: started, watched, and killed when they take too long."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def start(code: str, *args: str) -> Any:
    """Starts a Python program."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, *args: str, timeout: float = 60) -> tuple[int, str, str]:
    """Runs a program to its end; exit status, output, errors.

    Raises:
        AssertionError: If it takes longer than ``timeout`` seconds.
    """
    child = start(code, *args)
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(f"no end after {timeout} s; it said {out!r} {err!r}") from None
    return child.returncode, out, err


def finish(running: Any, timeout: float) -> str:
    """Waits for a started program; what it wrote to its errors.

    Raises:
        AssertionError: If it takes longer than ``timeout`` seconds.
    """
    try:
        _, err = running.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        running.kill()
        running.communicate()
        raise AssertionError(f"no end after {timeout} s") from None
    assert isinstance(err, str)
    return err


def threads() -> int:
    """Threads of this process."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def settled(most: int, seconds: float = 5) -> int:
    """Threads once there are at most so many, or after that time."""
    end = time.monotonic() + seconds
    gc.collect()
    while (n := threads()) > most and time.monotonic() < end:
        time.sleep(0.02)
    return n


def resident() -> int:
    """Resident bytes of this process."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
