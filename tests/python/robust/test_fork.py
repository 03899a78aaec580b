"""Forks in the middle of a batch."""

from __future__ import annotations

import os

import pytest

from robust import child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORKS = """
import os, signal, sys, time
import gristmill as gm

KIND, TIMES = sys.argv[1], int(sys.argv[2])
ds = gm.data.Dataset.range(4000).map(lambda x: gm.fill([64, 64], gm.cast(x, gm.float32)))
if KIND == "cache":
    ds = ds.cache()
ds = ds.shuffle(50, seed=1).batch(8).prefetch(4)
fresh = gm.data.Dataset.range(100).map(lambda x: gm.fill([100, 100], x)).batch(10)


def in_child(live):
    signal.alarm(20)
    for use in (lambda: next(live), live.state, live.report):
        try:
            use()
            return 3
        except gm.errors.FailedPreconditionError as e:
            if "does not survive fork()" not in str(e) or "hint:" not in str(e):
                return 4
    if sum(int(b.numpy()[:, 0, 0].sum()) for b in fresh) != 4950:
        return 5
    mine = iter(ds)
    first = [next(mine).numpy()[0, 0, 0] for _ in range(3)]
    if len(first) != 3:
        return 6
    del live, mine
    return 0


passed = 0
live = iter(ds)
for i in range(TIMES):
    if next(live, None) is None:
        live = iter(ds)
        next(live)
    passed += 1
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = in_child(live)
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        print(f"fork {i}: child ended with {status}")
        sys.exit(1)
rest = sum(1 for _ in live)
print("forks", passed, "rest", rest > 0)
"""


@pytest.mark.parametrize(("kind", "times"), [("plain", 200), ("cache", 60)])
def test_forks_in_the_middle_of_a_batch(kind: str, times: int) -> None:
    code, out, err = child.run(FORKS, kind, str(times), timeout=150)
    assert (code, out, err) == (0, f"forks {times} rest True\n", "")


FORKS_WHILE_ANOTHER_THREAD_WAITS = """
import os, signal, sys, threading
import gristmill as gm

ds = gm.data.Dataset.range(10**15).filter(lambda x: x < 0)
live = iter(ds)
threading.Thread(target=lambda: next(live, None), daemon=True).start()
import time
time.sleep(0.3)
for i in range(10):
    pid = os.fork()
    if pid == 0:
        signal.alarm(5)
        code = 1
        try:
            next(live)
        except gm.errors.FailedPreconditionError:
            live.close()
            code = 0
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        print("child ended with", status)
        os._exit(1)
print("done", flush=True)
os._exit(0)
"""


def test_forks_while_another_thread_waits_for_an_element() -> None:
    assert child.run(FORKS_WHILE_ANOTHER_THREAD_WAITS, timeout=60) == (0, "done\n", "")


POOLS = """
import multiprocessing as mp
import gristmill as gm

ds = gm.data.Dataset.range(1000).map(lambda x: x * 2).shuffle(100, seed=3).batch(10)


def total(_):
    return sum(int(b.numpy().sum()) for b in ds)


if __name__ == "__main__":
    live = iter(ds)
    next(live)
    with mp.get_context("fork").Pool(2) as pool:
        print(set(pool.map(total, range(6))))
    print(sum(1 for _ in live))
"""


def test_worker_processes_use_the_dataset_of_their_parent() -> None:
    assert child.run(POOLS, timeout=60) == (0, "{999000}\n99\n", "")
