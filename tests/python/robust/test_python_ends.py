"""Ends of programs whose pipelines are in Python functions."""

from __future__ import annotations

import os
import signal
import time

import pytest

from robust import child

#: Seconds in which such a program has to end. The machine may be busy.
SOON = 6.0

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import gristmill as gm
D = gm.data.Dataset
inside = threading.Event()
def slow(x):
    if x >= 3:
        inside.set()
        time.sleep(60)
    return x
def loop(x):
    while x >= 3:
        inside.set()
    return x
def leave(x):
    if x == 3: sys.exit(5)
    return x
def through(f):
    return D.range(10**6).map(lambda x: gm.numpy_function(f, [x], gm.int64))
def opened(f):
    return D.range(10**6).flat_map(lambda x: D.from_tensors(gm.numpy_function(f, [x], gm.int64)))
"""

ENDS = {
    "sys.exit in the function": ("for x in through(leave): pass", 5, ""),
    "sys.exit in the function, batched": ("for x in through(leave).batch(8): pass", 5, ""),
    "sys.exit in the function, ahead": ("for x in through(leave).prefetch(4): pass", 5, ""),
    "sys.exit in the filter": (
        "for x in D.range(9).filter(\n"
        "    lambda x: gm.numpy_function(lambda v: leave(v) >= 0, [x], gm.bool)): pass",
        5,
        "",
    ),
    "exit while it sleeps": (
        "it = iter(through(slow).prefetch(5))\nnext(it)\ninside.wait()\nsys.exit(3)",
        3,
        "",
    ),
    "exit while it loops": (
        "it = iter(through(loop).prefetch(5))\nnext(it)\ninside.wait()\nsys.exit(3)",
        3,
        "",
    ),
    "exit while a flat_map sleeps": (
        "it = iter(opened(slow).prefetch(5))\nnext(it)\ninside.wait()\nsys.exit(3)",
        3,
        "",
    ),
    "exit while a flat_map loops": (
        "it = iter(opened(loop).prefetch(5))\nnext(it)\ninside.wait()\nsys.exit(3)",
        3,
        "",
    ),
    "exit with busy flat_maps": (
        "its = [iter(opened(lambda x: x).prefetch(1000)) for _ in range(5)]\nfor i in its: next(i)",
        0,
        "",
    ),
    "exit with a live iterator": ("it = iter(through(lambda x: x))\nnext(it)", 0, ""),
    "exit with busy iterators": (
        "its = [iter(through(lambda x: x).prefetch(1000)) for _ in range(5)]\n"
        "for i in its: next(i)",
        0,
        "",
    ),
    "exit in a reading thread": (
        "def read():\n    for x in through(lambda x: x): pass\n"
        "threading.Thread(target=read, daemon=True).start()\ntime.sleep(0.5)",
        0,
        "",
    ),
    "dropped while it sleeps": (
        "it = iter(through(slow).prefetch(5))\nnext(it)\ninside.wait()\ndel it\nprint('dropped')",
        0,
        "",
    ),
    "dropped in a cycle": (
        "class C: pass\nc = C(); c.c = c; c.it = iter(through(slow).prefetch(5)); next(c.it)\n"
        "inside.wait()\ndel c\nimport gc; gc.collect()",
        0,
        "",
    ),
    "atexit reads on": (
        "it = iter(through(lambda x: x + 1))\nimport atexit\n"
        "atexit.register(lambda: print(int(next(it))))",
        0,
        "",
    ),
    "exception of the consumer": (
        "for x in through(slow).prefetch(5):\n    inside.wait()\n    raise KeyError('consumer')",
        1,
        "KeyError: 'consumer'",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_program_is_swift(name: str) -> None:
    code, expected, words = ENDS[name]
    running = child.start(HEAD + "\nprint('begun', flush=True)\n" + code)
    assert running.stdout.readline() == "begun\n"
    before = time.monotonic()
    err = child.finish(running, 30)
    assert time.monotonic() - before < SOON
    assert running.returncode == expected, err
    assert words in err
    assert "panicked" not in err and "fatal" not in err.lower() and (expected == 1 or err == "")


@pytest.mark.parametrize("f", ["slow", "loop"])
@pytest.mark.parametrize("steps", ["", ".batch(8)", ".prefetch(2).map(lambda x: x + 1)"])
def test_ctrl_c_ends_a_wait(f: str, steps: str) -> None:
    code = f"\nit = iter(through({f}){steps})\nprint('begun', flush=True)\nfor x in it: pass"
    running = child.start(HEAD + code)
    assert running.stdout.readline() == "begun\n"
    time.sleep(0.7)
    before = time.monotonic()
    running.send_signal(signal.SIGINT)
    err = child.finish(running, 30)
    assert time.monotonic() - before < SOON
    assert "KeyboardInterrupt" in err and "panicked" not in err and "fatal" not in err.lower()
    assert running.returncode == -signal.SIGINT


FORKS = """
ds = through(lambda x: x + 1).prefetch(50)
live = iter(ds)
for i in range(30):
    next(live)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        code = 1
        try:
            try:
                next(live)
            except gm.errors.FailedPreconditionError:
                mine = iter(ds)
                code = 0 if [int(next(mine)) for _ in range(5)] == [1, 2, 3, 4, 5] else 2
                del live, mine
                if i % 2:
                    sys.exit(code)
        finally:
            sys.stdout.flush()
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        print(f"fork {i}: child ended with {status}")
        sys.exit(1)
print("forked", int(next(live)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forks_while_functions_run() -> None:
    assert child.run(HEAD + FORKS, timeout=90) == (0, "forked 31\n", "")
