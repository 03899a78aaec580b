"""Python functions in pipelines: passes that are ended from within, and where states go on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gristmill as gm
from gristmill import _calls

D = gm.data.Dataset
ENDS: list[BaseException] = [KeyboardInterrupt(), SystemExit(3)]


class Calls:
    """A function that notes what it was called with, and raises what it is told to."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.fail: dict[int, BaseException] = {}
        self.seconds = 0.0

    def __call__(self, x: Any) -> Any:
        self.seen.append(int(x))
        time.sleep(self.seconds)
        if int(x) in self.fail:
            raise self.fail[int(x)].with_traceback(None)
        return np.int64(10) * int(x)


def through(f: Any, n: int) -> Any:
    return D.range(n).map(lambda x: gm.numpy_function(f, [x], gm.int64))


def numbers(ds: Any) -> list[Any]:
    return [np.asarray(x).tolist() for x in ds]


def keep(f: Any, d: Any) -> Any:
    return d.filter(lambda x: gm.numpy_function(lambda v: f(v) >= 0, [x], gm.bool))


RESUMED: dict[str, Callable[[Any], Any]] = {
    "shuffle": lambda f: through(f, 50).shuffle(5, 1, False),
    "filter": lambda f: keep(f, D.range(50)).shuffle(5, 1, False),
    "cache": lambda f: through(f, 50).cache(),
    "interleave": lambda f: D.range(50).interleave(
        lambda x: D.from_tensors(gm.numpy_function(f, [x], gm.int64)).repeat(4), 2
    ),
}


@pytest.mark.parametrize("raised", ENDS)
@pytest.mark.parametrize("name", RESUMED)
def test_an_end_while_resuming_is_raised_as_it_is(raised: BaseException, name: str) -> None:
    f, make = Calls(), RESUMED[name]
    it = make(f).iterator()
    for _ in range(3):
        next(it)
    state, rest = it.state(), numbers(it)
    f.fail = dict.fromkeys(range(50), raised)
    with pytest.raises(type(raised)) as e:
        make(f).iterator(state)
    assert e.value is raised
    f.fail = {}
    assert numbers(make(f).iterator(state)) == rest


@pytest.mark.parametrize("raised", ENDS)
@pytest.mark.parametrize("steps", ["plain", "batch", "prefetch", "shuffle", "interleave", "cache"])
def test_the_state_after_an_end_begins_with_what_was_not_made(
    raised: BaseException, steps: str
) -> None:
    f = Calls()

    def make() -> Any:
        return {
            "plain": lambda d: d,
            "batch": lambda d: d.batch(4),
            "prefetch": lambda d: d.prefetch(3),
            "shuffle": lambda d: d.shuffle(4, 1, False),
            "interleave": lambda d: d.interleave(lambda x: D.range(x, x + 3), 2),
            "cache": lambda d: d.cache(),
        }[steps](through(f, 30))

    whole = numbers(make())
    f.fail = {11: raised}
    it, got = iter(make()), []
    with pytest.raises(type(raised)):
        for x in it:
            got.append(np.asarray(x).tolist())
    assert next(it, None) is None
    f.fail = {}
    assert got and got + numbers(make().iterator(it.state())) == whole


@pytest.mark.parametrize("raised", ENDS)
@pytest.mark.parametrize("alive", [False, True])
def test_a_cache_loses_nothing_to_an_end(raised: BaseException, alive: bool) -> None:
    f = Calls()
    ds = through(f, 10).cache()
    first = iter(ds)
    assert [int(next(first)), int(next(first))] == [0, 10]
    if not alive:
        first.close()
    f.fail = {5: raised}
    second, got = iter(ds), []
    with pytest.raises(type(raised)) as e:
        for x in second:
            got.append(int(x))
    assert e.value is raised and got == [0, 10, 20, 30, 40]
    assert next(second, None) is None
    f.fail = {}
    assert numbers(ds) == numbers(ds) == list(range(0, 100, 10))
    assert f.seen == [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9]


def test_a_state_in_a_cache_makes_no_more_than_it_needs() -> None:
    f = Calls()
    it = through(f, 5000).cache().iterator()
    for _ in range(3):
        next(it)
    f.seen.clear()
    again = through(f, 5000).cache().iterator(it.state())
    assert f.seen == [0, 1, 2]
    assert int(next(again)) == 30 and f.seen == [0, 1, 2, 3]


@pytest.mark.parametrize("read", [1, 2])
def test_a_slow_function_is_called_for_what_is_asked_for(read: int) -> None:
    f = Calls()
    f.seconds = 0.35
    it = iter(through(f, 9))
    for _ in range(read):
        next(it)
    threading.Event().wait(0.5)
    assert f.seen == list(range(read))


def test_prefetch_of_nothing_is_for_functions_only() -> None:
    # One element at a time from thread to thread would be 50000 runs of the map.
    it = iter(D.range(50_000).map(lambda x: x + 1).prefetch(0))
    assert sum(int(x) for x in it) == 1_250_025_000
    assert next(s for s in it.report()["stages"] if s["name"] == "map")["runs"] < 25_000
    f = Calls()
    it = iter(through(f, 9).prefetch(0))
    next(it)
    threading.Event().wait(0.3)
    assert f.seen == [0]


def test_pipelines_as_deep_as_they_may_be() -> None:
    def plus(x: Any) -> Any:
        return gm.numpy_function(lambda v: v + 1, [x + 1], gm.int64) - 1

    ds = D.range(2)
    for _ in range(420):
        ds = ds.map(plus)
    assert numbers(ds) == [420, 421]
    assert ds.explain().count("\n") > 420


def test_random_values_around_a_call_are_the_same_with_and_without_rules() -> None:
    def step(x: Any) -> Any:
        before = gm.random.uniform([2], 0, 100, gm.int64)
        called = gm.numpy_function(lambda a, b: a + b, [x, before], gm.int64)
        return before, called, gm.random.uniform([2], seed=7) + gm.cast(called, gm.float32)

    found = []
    for optimize in (True, False):
        gm.random.set_seed(3)
        options = gm.data.Options()
        options.experimental_optimization.apply_default_optimizations = optimize
        ds = D.range(20).map(step).shuffle(6, 2).batch(5).with_options(options)
        assert ("split_foreign" in ds.explain()) is optimize
        found.append([[np.asarray(v).tolist() for v in e] for e in ds])
        gm.random.set_seed(None)
    assert found[0] == found[1] and len(found[0]) == 4


def test_sets_in_constants_have_no_order() -> None:
    def f(x: Any) -> Any:
        return x in {"one", "two", "three", ("four", 5)}

    code = "from gristmill import _calls\ndef f(x): return x in {'a', 'b', 'c', 'd', ('e', 'g')}\n"
    code += "f.__code__ = f.__code__.replace(co_consts=(f.__code__.co_consts, (1, f.__code__)))\n"
    code = code.replace("(1, f.__code__)", "(2, frozenset('hijk'))")
    code += "print(_calls.identity(f).hex())"
    found = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert _calls.identity(f) != _calls.identity(lambda x: x in {"one"})
