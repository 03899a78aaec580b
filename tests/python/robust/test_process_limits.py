"""Passes of another process: its memory, its way to modules, what it leaves alone."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gristmill as gm
from gristmill import _byvalue, _native, _shared
from robust import child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

D = gm.data.Dataset

FEW = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import gristmill as gm
ds = gm.data.Dataset.range(300).map(lambda x: gm.fill([8192], x))
held = list(ds.iterator(process=True))
print([i for i, x in enumerate(held) if x.numpy().min() != i or x.numpy().max() != i])
"""


def test_more_elements_are_held_than_files_may_be_open() -> None:
    assert child.run(FEW) == (0, "[]\n", "")


def test_descriptors_that_do_not_arrive_are_named() -> None:
    values = [_native.Value.from_array(np.arange(4096), "int64")]
    parts, fds = _shared.Writer().element(values)
    try:
        with pytest.raises(gm.errors.ResourceExhaustedError, match=r"file descriptor.*\n.*ulimit"):
            _shared.Reader().element(pickle.loads(pickle.dumps(parts)), [])
    finally:
        for fd in fds:
            os.close(fd)


def test_each_element_takes_one_descriptor() -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    writer, reader = _shared.Writer(), _shared.Reader()
    held = []
    for i in range(10):
        parts, fds = writer.element([_native.Value.from_array(np.full(4096, i), "int64")])
        held.append(reader.element(parts, [os.dup(fd) for fd in fds]))
        for fd in fds:
            os.close(fd)
    assert opened() - before <= 20
    assert [np.asarray(v[0]).max() for v in held] == list(range(10))


def test_a_forked_process_keeps_what_it_holds() -> None:
    ds = D.range(60).map(lambda x: gm.fill([8192], x))
    it = ds.iterator(process=True)
    next(it)
    held = next(it)
    seen, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(go)
            os.read(seen, 1)
            code = 0 if set(held.numpy().tolist()) == {1} else 2
        finally:
            os._exit(code)
    os.close(seen)
    del held
    assert [int(x.numpy().max()) for x in it] == list(range(2, 60))
    os.close(go)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_to_go_on_is_for_the_other_process() -> None:
    seen: list[int] = []

    def f(x: Any) -> Any:
        seen.append(int(x))
        return x

    def make() -> Any:
        ds = D.range(50).map(lambda x: gm.numpy_function(f, [x], gm.int64))
        return ds.shuffle(8, 1, False)

    it = make().iterator()
    for _ in range(9):
        next(it)
    state, rest = it.state(), [int(x) for x in it]
    seen.clear()
    ds = make()
    it = ds.iterator(state, process=True)
    assert it.state() == state
    assert [int(x) for x in it] == rest and seen == []
    with pytest.raises(gm.errors.InvalidArgumentError, match="another pipeline"):
        D.range(3).iterator(state, process=True)


def test_what_refuses_a_state_is_raised_here(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with gm.io.TFRecordWriter(str(path)) as w:
        for i in range(6):
            w.write(b"%d" % i)
    ds = gm.data.TFRecordDataset(str(path)).shuffle(3, 1, False)
    it = ds.iterator()
    for _ in range(4):
        next(it)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(gm.errors.OpError) as plain:
        list(ds.iterator(it.state()))
    again = ds.iterator(it.state(), process=True)
    for _ in range(2):
        with pytest.raises(type(plain.value)) as e:
            next(again)
        assert str(e.value) == str(plain.value)


def test_the_end_of_the_pass_from_within_comes_over() -> None:
    def f(x: Any) -> Any:
        if x == 3 and os.environ.get("GRISTMILL_TEST_ENDS"):
            sys.exit(7)
        return x

    ds = D.range(6).map(lambda x: gm.numpy_function(f, [x], gm.int64)).prefetch(2)
    os.environ["GRISTMILL_TEST_ENDS"] = "1"
    try:
        it, got = ds.iterator(process=True), []
        with pytest.raises(SystemExit) as e:
            for x in it:
                got.append(int(x))
        assert e.value.code == 7 and next(it, None) is None
        state = it.state()
    finally:
        del os.environ["GRISTMILL_TEST_ENDS"]
    assert got + [int(x) for x in ds.iterator(state)] == list(range(6))


START_METHOD = """
import multiprocessing
import gristmill as gm
class C:
    def __call__(self, x): return x + 1
if __name__ == "__main__":
    ds = gm.data.Dataset.range(3).map(lambda x: gm.numpy_function(C(), [x], gm.int64))
    print([int(x) for x in ds.iterator(process=True)])
    print(multiprocessing.get_start_method(allow_none=True))
"""


def test_multiprocessing_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(START_METHOD)
    for how in ([str(path)], ["-m", "script"]):
        done = subprocess.run(
            [sys.executable, *how],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 2, 3]\nNone\n", "")


FLAGS = """
import sys
import numpy as np
import gristmill as gm
def show(_):
    found = sys.flags.optimize, sys._xoptions, sys.warnoptions, sys.path, sys.flags.utf8_mode
    return np.bytes_(repr(found))
ds = gm.data.Dataset.range(1).map(lambda x: gm.numpy_function(show, [x], gm.string))
here, = ds
there, = ds.iterator(process=True)
print(here.numpy() == there.numpy())
"""


def test_the_interpreter_is_started_as_this_one() -> None:
    flags = ["-O", "-X", "utf8", "-W", "ignore::UserWarning"]
    done = subprocess.run(
        [sys.executable, *flags, "-c", FLAGS],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_an_interrupted_report_leaves_none_behind() -> None:
    it = D.range(10).iterator(process=True)
    next(it)
    native: Any = it._native
    # As if the wait for the answer had been interrupted.
    native._tell("report", 0)
    assert it.report()["stages"]
    time.sleep(0.3)
    assert native._reports.empty()
    assert [int(x) for x in it] == list(range(1, 10))


def test_namespaces_stay_apart() -> None:
    spaces: list[dict[str, Any]] = [{"__name__": "nowhere", "K": k} for k in (1, 2)]
    for space in spaces:
        exec("def f():\n    return K\ndef put(k):\n    global K\n    K = k", space)
    a, b, put = spaces[0]["f"], spaces[1]["f"], spaces[0]["put"]
    f, g, change = pickle.loads(_byvalue.dumps([a, b, put])[0])
    assert (f(), g()) == (1, 2)
    # Those of one namespace share it, and no later pickle writes into it.
    change(5)
    assert (f(), g()) == (5, 2)
    spaces[0]["K"] = 7
    (h,) = pickle.loads(_byvalue.dumps([a])[0])
    assert (f(), h()) == (5, 7)


def logged(func: Any) -> Any:
    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        return D, func(*args)

    return wrapper


def test_a_wrapper_looks_its_names_up_where_it_was_made() -> None:
    main: dict[str, Any] = {"__name__": "__main__", "D": 3}
    exec("def f(x):\n    return D + x", main)
    wrapped = logged(main["f"])
    assert wrapped.__module__ == "__main__"
    got = pickle.loads(_byvalue.dumps(wrapped)[0])
    assert got(4) == (D, 7)
    assert got.__module__ == "__main__" and got.__globals__ is globals()


UNPICKLED = """
import sys, pickle
import gristmill as gm
from gristmill import _calls
ds = pickle.loads(bytes.fromhex(sys.argv[1]))
print(_calls._end_with_the_program.cache_info().currsize)
"""


def test_an_unpickled_pipeline_ends_with_the_program() -> None:
    ds = D.range(3).map(lambda x: gm.numpy_function(abs, [x], gm.int64))
    assert child.run(UNPICKLED, pickle.dumps(ds).hex()) == (0, "1\n", "")
