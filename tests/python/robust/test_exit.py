"""Ends of programs with live pipelines: sys.exit, exceptions, Ctrl-C."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from robust import child

#: Seconds in which a program with live pipelines has to end. The machine may be busy.
SOON = 5.0

HEAD = """
import os, sys, threading, time
import gristmill as gm
D = gm.data.Dataset
ds = D.range(10**12).map(lambda x: gm.fill([100, 100], gm.cast(x, gm.float32)))
ds = ds.shuffle(500).batch(16).prefetch(8)
it = iter(ds)
next(it)
"""

ENDS = {
    "sys.exit": ("sys.exit(3)", 3, ""),
    "exception": ("raise KeyError('consumer')", 1, "KeyError: 'consumer'"),
    "exception in the loop": ("for b in ds:\n    1 / 0", 1, "ZeroDivisionError"),
    "exit in the loop": ("for b in ds:\n    sys.exit(4)", 4, ""),
    "end of program": ("x = [iter(ds) for _ in range(5)]\nfor y in x: next(y)", 0, ""),
    "in a thread": (
        "def loop():\n    for b in ds: pass\n"
        "threading.Thread(target=loop, daemon=True).start()\ntime.sleep(0.5)",
        0,
        "",
    ),
    "cycle": ("class C: pass\nc = C(); c.c = c; c.it = it; del it, c", 0, ""),
    "global of a module": (
        "sys.modules['keeper'] = type(sys)('keeper')\nsys.modules['keeper'].it = it",
        0,
        "",
    ),
    "atexit": ("import atexit\natexit.register(lambda: print(next(it).shape[0]))", 0, ""),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_program_is_swift(name: str) -> None:
    code, expected, words = ENDS[name]
    begin = "\nprint('begun', flush=True)\n"
    running = child.start(HEAD + begin + code)
    assert running.stdout.readline() == "begun\n"
    before = time.monotonic()
    err = child.finish(running, 30)
    assert time.monotonic() - before < SOON
    assert running.returncode == expected
    assert words in err
    assert "panicked" not in err and (expected == 1 or err == "")


WAITS = {
    "shuffle fills": "D.range(10**12).shuffle(10**10)",
    "shuffle fills slowly": (
        "D.range(10**12).map(lambda x: gm.fill([3], gm.gather([1], x * 0))).shuffle(10**9)"
    ),
    "filter finds nothing": "D.range(10**15).filter(lambda x: x < 0)",
    "skip": "D.range(10**15).filter(lambda x: x >= 0).skip(10**15)",
    "repeat skips": "D.range(5).repeat().skip(10**15)",
    "repeat of nothing": "D.range(3).filter(lambda x: x < 0).repeat(10**12)",
    "flat_map of nothing": "D.range(10**15).flat_map(lambda x: D.range(0))",
    "interleave of nothing": "D.range(10**15).interleave(lambda x: D.range(0), cycle_length=4)",
    "cache fills": "D.range(10**12).cache().filter(lambda x: x < 0)",
    "nested": "D.range(10**12).flat_map(lambda x: D.range(10**12).filter(lambda y: y < 0))",
    "errors": "D.range(10**12).map(lambda x: gm.gather([1], x + 1)).ignore_errors()",
    "reduce": "D.range(10**12)",
}

WAIT = """
import sys
import gristmill as gm
D = gm.data.Dataset
ds = {dataset}
print("ready", flush=True)
{use}
"""


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_ends_a_wait(name: str) -> None:
    use = "ds.reduce(0, lambda a, b: a)" if name == "reduce" else "next(iter(ds))"
    running = child.start(WAIT.format(dataset=WAITS[name], use=use))
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.7)
    before = time.monotonic()
    running.send_signal(signal.SIGINT)
    err = child.finish(running, 30)
    took = time.monotonic() - before
    assert "KeyboardInterrupt" in err and "panicked" not in err
    assert running.returncode == -signal.SIGINT
    assert took < SOON


GOES_ON = """
import signal, sys, threading, time, os
import gristmill as gm
ds = gm.data.Dataset.range(200_000).filter(lambda x: x % 199_999 == 199_998)
it = iter(gm.data.Dataset.range(10**12).shuffle(3 * 10**7).batch(2))
timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.start()
try:
    next(it)
    timer.cancel()
    timer.join()
    print("no interrupt")
except KeyboardInterrupt:
    print("interrupted")
print(next(it).shape[0])
print(int(next(iter(ds)).numpy()))
"""


def test_after_ctrl_c_the_pass_can_go_on() -> None:
    code, out, err = child.run(GOES_ON, timeout=60)
    assert (code, err) == (0, "")
    assert out in ("interrupted\n2\n199998\n", "no interrupt\n2\n199998\n")


PIPE = """
import sys
import gristmill as gm
print("ready", flush=True)
next(iter(gm.data.TFRecordDataset(sys.argv[1])))
"""


def test_ctrl_c_ends_a_wait_for_a_pipe_that_nobody_writes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    running = child.start(PIPE, str(path))
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    err = child.finish(running, SOON)
    assert "KeyboardInterrupt" in err
