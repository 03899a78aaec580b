"""What a process with live pipelines does when it is interrupted, forks or ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

ENDLESS = """
import sys
import gristmill as gm
ds = gm.data.Dataset.range(10**15).filter(lambda x: x < 0)
print("ready", flush=True)
next(iter(ds))
"""

LEFT_ALIVE = """
import gristmill as gm
ds = gm.data.Dataset.range(10**9).map(lambda x: x * 2).shuffle(1000).batch(8).prefetch(4)
kept = [iter(ds) for _ in range(3)]
for pass_ in kept:
    next(pass_)
print("done", flush=True)
"""


def start(code):
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_ctrl_c_ends_a_wait():
    child = start(ENDLESS)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    before = time.monotonic()
    child.send_signal(signal.SIGINT)
    try:
        _, err = child.communicate(timeout=30)
    finally:
        child.kill()
    assert time.monotonic() - before < 5
    assert "KeyboardInterrupt" in err
    assert child.returncode != 0


def test_leaving_passes_alive_ends_well():
    child = start(LEFT_ALIVE)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, "done\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_plans_stay_usable_in_a_forked_child():
    import gristmill as gm

    ds = gm.data.Dataset.range(100).map(lambda x: x + 1).batch(10)
    live = iter(ds)
    next(live)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            fresh = sum(int(b.numpy().sum()) for b in ds) == 5050
            try:
                next(live)
            except gm.errors.OpError:
                code = 0 if fresh else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert sum(int(b.numpy().sum()) for b in live) == 5050 - 55
