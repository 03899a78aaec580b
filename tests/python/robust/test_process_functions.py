"""Python functions in a process of their own: those of no module, errors, several readers."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gristmill as gm
from gristmill import _byvalue
from robust import child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

D = gm.data.Dataset
SOON = 8.0
OFFSET = 100


def through(f: Any, n: int = 6, **options: Any) -> Any:
    return D.range(n).map(lambda x: gm.numpy_function(f, [x], gm.int64), **options)


def numbers(it: Any) -> list[int]:
    return [int(x) for x in it]


def fails(x: Any) -> Any:
    if x == 2:
        raise KeyError("no such thing")
    return x


class Own(Exception):
    """An exception that cannot be made of its arguments."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def fails_oddly(x: Any) -> Any:
    raise Own(1, 2)


def test_functions_inside_functions() -> None:
    factor, seen = 3, 0

    def helper(n: int) -> int:
        return 1 if n < 2 else n * helper(n - 1)

    def count(x: Any, *, plus: int = 7) -> Any:
        nonlocal seen
        seen += 1
        return np.int64(factor * helper(int(x)) + plus + seen * OFFSET)

    def again(x: Any) -> Any:
        return np.int64(x * 0 + seen)

    def both(x: Any) -> Any:
        y = gm.numpy_function(count, [x], gm.int64)
        return gm.stack([y, gm.numpy_function(again, [y], gm.int64)])

    want = [[3 * math.factorial(i) + 7 + (i + 1) * 100, i + 1] for i in range(5)]
    got = [x.numpy().tolist() for x in D.range(5).map(both).iterator(process=True)]
    assert got == want
    # The process counted for itself.
    assert seen == 0
    ds = through(lambda x: x + factor)
    assert numbers(ds.iterator(process=True)) == [3, 4, 5, 6, 7, 8]
    it = ds.iterator(process=True)
    assert numbers([next(it), next(it)]) == [3, 4]
    assert numbers(ds.iterator(it.state())) == numbers(ds.iterator(it.state(), process=True))
    assert numbers(it) == [5, 6, 7, 8]


def test_functions_by_value_are_as_they_were() -> None:
    import pickle

    def f(a: int, b: int = 2, *, c: int = 3) -> list[int]:
        """Says so."""
        return [a, b, c, OFFSET]

    f.mark = [f]  # type: ignore[attr-defined]
    data, script = _byvalue.dumps([f, f, math, fails])
    one, two, module, found = pickle.loads(data)
    assert not script and one is two and one is not f and module is math and found is fails
    assert one(1) == [1, 2, 3, 100] and one(0, c=1) == [0, 2, 1, 100] and one.mark == [one]
    assert (one.__doc__, one.__qualname__, one.__module__) == (
        f.__doc__,
        f.__qualname__,
        f.__module__,
    )

    def empty() -> Any:
        return later

    data, _ = _byvalue.dumps(empty)
    with pytest.raises(NameError):
        pickle.loads(data)()
    later = 4
    assert pickle.loads(_byvalue.dumps(empty)[0])() == later


SCRIPT = """
import math
import sys
import gristmill as gm
print("runs", flush=True)
FACTOR = 2
def helper(x):
    return int(math.sqrt(x)) * FACTOR
{more}
ds = gm.data.Dataset.range(30).map(lambda x: gm.numpy_function({f}, [x], gm.int64))
print([int(x) for x in ds.batch(30).iterator(process=True).__next__()])
"""


def inner(x: Any) -> Any:
    ds = through(lambda y: y + 1, int(x) + 2)
    return np.int64(sum(numbers(ds.iterator(process=True))))


def test_functions_may_begin_such_a_pass_themselves() -> None:
    assert numbers(through(inner, 2).iterator(process=True)) == [3, 6]


@pytest.mark.parametrize("how", ["file", "-c"])
def test_a_script_needs_no_guard(tmp_path: Path, how: str) -> None:
    code = SCRIPT.format(more="import numpy as np", f="lambda v: np.int64(helper(v))")
    path = tmp_path / "script.py"
    path.write_text(code)
    command = [str(path)] if how == "file" else ["-c", code]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    # The script ran once only.
    assert done.stdout.splitlines() == ["runs", str([2 * math.isqrt(i) for i in range(30)])]


def test_classes_of_a_script_need_one(tmp_path: Path) -> None:
    more = "class C:\n    def __call__(self, x): return x"
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(more=more, f="C()"))
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "UnknownError: the process of the pipeline failed: RuntimeError" in done.stderr
    assert "the script has no guard\n  hint: if __name__ == '__main__':" in done.stderr


def test_what_cannot_travel() -> None:
    lock = threading.Lock()

    def f(x: Any) -> Any:
        with lock:
            return x

    with pytest.raises(TypeError, match=r"sent to another process: cannot pickle '_thread.lock'"):
        through(f).iterator(process=True)
    with pytest.raises(TypeError, match=r"\n  hint: what its Python functions close over"):
        through(f).iterator(process=True)


def test_what_was_raised_is_the_cause() -> None:
    for process in (False, True):
        it = through(fails).iterator(process=process)
        assert numbers([next(it), next(it)]) == [0, 1]
        with pytest.raises(gm.errors.UnknownError, match="KeyError: 'no such thing'") as e:
            next(it)
        assert type(e.value.__cause__) is KeyError
        assert e.value.__cause__.args == ("no such thing",)
        assert 'raise KeyError("no such thing")' in str(e.value)
        assert numbers(it) == [3, 4, 5]
    it = through(fails_oddly).iterator(process=True)
    with pytest.raises(gm.errors.UnknownError, match="Own: 1 and 2") as e:
        next(it)
    assert e.value.__cause__ is None


def test_several_threads_read_one_pass() -> None:
    it = through(lambda x: x * 2, 400).iterator(process=True)
    found: list[list[int]] = [[], [], []]
    threads = [threading.Thread(target=lambda f=f: f.extend(numbers(it))) for f in found]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    assert sorted(x for f in found for x in f) == list(range(0, 800, 2))
    assert all(f == sorted(f) for f in found)


def test_reports_and_ends_while_a_thread_waits() -> None:
    it = D.range(10**12).filter(lambda x: x < 0).iterator(process=True)
    raised: list[BaseException] = []

    def read() -> None:
        try:
            next(it)
        except BaseException as e:
            raised.append(e)

    t = threading.Thread(target=read)
    t.start()
    time.sleep(1)
    assert "filter" in [s["name"] for s in it.report()["stages"]]
    it.close()
    t.join(SOON)
    assert not t.is_alive()
    assert [type(e) for e in raised] == [gm.errors.CancelledError]
    with pytest.raises(gm.errors.CancelledError):
        it.report()


def keeps_a_child(x: Any) -> Any:
    if x > 0:
        return x
    # Not Python's fork, which would close the socket in the child.
    pid = ctypes.CDLL(None).fork()
    if pid == 0:
        ctypes.CDLL(None).sleep(60)
        os._exit(0)
    return np.int64(pid)


def test_a_death_is_seen_while_others_hold_the_socket() -> None:
    it = through(keeps_a_child, 10**6).iterator(process=True)
    grandchild = int(next(it))
    try:
        os.kill(it._native.pid, signal.SIGKILL)  # type: ignore[union-attr]
        before = time.monotonic()
        with pytest.raises(gm.errors.UnknownError, match="SIGKILL"):
            for _ in range(10):
                next(it)
        assert time.monotonic() - before < SOON
    finally:
        os.kill(grandchild, signal.SIGKILL)


SLOW = """
import signal, time
import gristmill as gm
def slow(x):
    time.sleep(60)
    return x
ds = gm.data.Dataset.range(9).map(lambda x: gm.numpy_function(slow, [x], gm.int64))
it = ds.iterator(process=True)
print(it._native.pid, flush=True)
next(it)
"""


def test_ctrl_c_while_the_process_is_in_a_function() -> None:
    running = child.start(SLOW)
    pid = int(running.stdout.readline())
    time.sleep(1.5)
    before = time.monotonic()
    running.send_signal(signal.SIGINT)
    err = child.finish(running, 30)
    assert time.monotonic() - before < SOON
    assert "KeyboardInterrupt" in err and running.returncode == -signal.SIGINT
    assert not Path(f"/proc/{pid}").exists()
