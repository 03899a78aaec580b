"""Passes that another process makes: the same elements, nothing left behind however they end."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gristmill as gm
from robust import child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

D = gm.data.Dataset
SOON = 8.0


def values(it: Any) -> list[Any]:
    return [[np.asarray(x.numpy()).tolist() for x in gm.nest.flatten(e)] for e in it]


def images(n: int = 40) -> Any:
    ds = (
        D.range(n).shuffle(10, seed=2).map(lambda x: (gm.fill([64, 64], gm.cast(x, gm.float32)), x))
    )
    return ds.batch(8)


def gone(pid: int) -> bool:
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        try:
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_the_elements_are_the_same() -> None:
    a, b = images(), images()
    for _ in range(2):
        assert values(a.iterator(process=True)) == values(b)
    mixed = D.from_tensor_slices(([b"a", b"bc"], np.arange(20000).reshape(2, -1)))
    assert values(mixed.iterator(process=True)) == values(mixed)
    sparse = D.from_tensors(gm.sparse.from_dense([0, 3, 0]))
    got = next(sparse.iterator(process=True))
    assert gm.sparse.to_dense(got).numpy().tolist() == [0, 3, 0]
    assert sum(int(x) for x in D.range(2000).iterator(process=True)) == 1999000


def test_batches_lie_over_the_shared_memory_and_stay() -> None:
    it = images(200).iterator(process=True)
    held = [e[0].numpy() for e in it]
    plain = [e[0].numpy() for e in images(200)]
    assert len(held) == 25 and all(np.array_equal(a, b) for a, b in zip(held, plain, strict=True))
    # Writing to one changes no other.
    held[0][:] = -1
    assert np.array_equal(held[1], plain[1])


def test_memory_is_used_again() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    it = images(800).iterator(process=True)
    addresses = set()
    for images_, _label in it:
        addresses.add(images_.numpy().__array_interface__["data"][0])
    assert len(addresses) <= 8
    it.close()
    del it, images_, _label
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_states_go_both_ways() -> None:
    whole = values(images())
    for cut in (0, 1, 3):
        it = images().iterator(process=True)
        for _ in range(cut):
            next(it)
        state = it.state()
        it.close()
        assert values(images().iterator(state)) == whole[cut:]
        assert values(images().iterator(state, process=True)) == whole[cut:]
    state = images().iterator().state()
    assert values(images().iterator(state, process=True)) == whole


def test_epochs_are_those_of_the_dataset() -> None:
    a, b = images(), images()
    got = [values(a.iterator(process=True)), values(a), values(a.iterator(process=True))]
    assert got == [values(b), values(b), values(b)]


def test_errors_take_their_place_and_reports_come() -> None:
    it = D.range(6).map(lambda x: gm.gather([1, 2, 3, 4], x)).iterator(process=True)
    assert [int(next(it)) for _ in range(4)] == [1, 2, 3, 4]
    for _ in range(2):
        with pytest.raises(gm.errors.InvalidArgumentError, match=r"test_process.py:"):
            next(it)
    names = [s["name"] for s in it.report()["stages"]]
    assert "map" in names
    assert next(it, None) is None and next(it, None) is None
    assert [s["name"] for s in it.report()["stages"]] == names


def test_a_dropped_iterator_ends_its_process() -> None:
    it = images(10**6).iterator(process=True)
    next(it)
    pid = it._native.pid  # type: ignore[union-attr]
    before = time.monotonic()
    del it
    assert gone(pid) and time.monotonic() - before < SOON
    it = images(10**6).iterator(process=True)
    it.close()
    with pytest.raises(gm.errors.CancelledError):
        next(it)


def test_the_death_of_the_process_is_an_error() -> None:
    it = images(10**6).iterator(process=True)
    got = values([next(it)])
    os.kill(it._native.pid, signal.SIGKILL)  # type: ignore[union-attr]
    with pytest.raises(gm.errors.UnknownError, match=r"was ended by SIGKILL.*\n.*memory"):
        for _ in range(10):
            got += values([next(it)])
    with pytest.raises(gm.errors.UnknownError, match="SIGKILL"):
        next(it)
    # The pass can be continued from there.
    rest = images(10**6).iterator(it.state())
    got += values([next(rest), next(rest)])
    assert got == values(images(10**6).take(len(got)))


HEAD = """
import os, signal, sys, time
import numpy as np
import gristmill as gm
D = gm.data.Dataset
ds = D.range(10**9).map(lambda x: gm.fill([100, 100], gm.cast(x, gm.float32))).batch(8)
it = ds.iterator(process=True)
next(it)
print(it._native.pid, flush=True)
"""

ENDS = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    "killed while it waits": (
        "D.range(10**12).filter(lambda x: x < 0).iterator(process=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)",
        -9,
    ),
    "terminated": ("os.kill(os.getpid(), signal.SIGTERM)", -15),
    "exit": ("sys.exit(3)", 3),
    "_exit": ("os._exit(4)", 4),
    "end": ("", 0),
    "exception": ("raise KeyError('consumer')", 1),
    "exception in the loop": ("for b in it: raise KeyError('consumer')", 1),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_the_program_ends_the_process(name: str) -> None:
    code, expected = ENDS[name]
    running = child.start(HEAD + code)
    pid = int(running.stdout.readline())
    before = time.monotonic()
    err = child.finish(running, 30)
    assert running.returncode == expected, err
    assert gone(pid) and time.monotonic() - before < SOON
    assert expected == 1 or err == ""


THREAD = """
import threading
made = []
nothing = D.range(10**12).filter(lambda x: x < 0)
def begin():
    made.append(ds.iterator(process=True))
    made.append(nothing.iterator(process=True))
t = threading.Thread(target=begin)
t.start()
t.join()
next(made[0])
print(made[0]._native.pid, made[1]._native.pid, flush=True)
time.sleep(1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_that_a_thread_began_end_with_the_program() -> None:
    code, out, err = child.run(HEAD + THREAD)
    assert (code, err) == (-signal.SIGKILL, "")
    pids = [int(pid) for pid in out.split()]
    assert len(pids) == 3 and all(gone(pid) for pid in pids)


def test_ctrl_c_of_the_whole_group() -> None:
    import subprocess

    code = HEAD + "for b in it: pass"
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    time.sleep(0.3)
    os.killpg(running.pid, signal.SIGINT)
    err = child.finish(running, 30)
    assert "KeyboardInterrupt" in err and err.count("Traceback") == 1, err
    assert gone(pid)


SCRIPT = """
import sys
import numpy as np
import gristmill as gm

def slow(x):
    if x == 3:
        sys.exit(7)
    return np.int64(x) * 2

def pipeline():
    return gm.data.Dataset.range(6).map(lambda x: gm.numpy_function(slow, [x], gm.int64))

{guard}
    for x in pipeline().iterator(process=True):
        print("got", int(x), flush=True)
"""


def test_functions_of_the_script_itself(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("{guard}", "if __name__ == '__main__':"))
    code, out, err = child.run(f"import runpy; runpy.run_path({str(path)!r}, run_name='other')")
    assert (code, out, err) == (0, "", "")
    import subprocess

    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr
    assert [line for line in done.stdout.splitlines() if "got" in line] == [
        "got 0",
        "got 2",
        "got 4",
    ]


FORK = """
pid = os.fork()
if pid == 0:
    code = 1
    try:
        next(it)
    except gm.errors.FailedPreconditionError:
        del it
        code = 0
    os._exit(code)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(status, next(it).shape[0])
it.close()
"""


def test_a_forked_child_leaves_the_process_alone() -> None:
    code, out, err = child.run(HEAD + FORK)
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "0 8"
