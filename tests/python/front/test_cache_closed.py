"""A cache keeps nothing that a closed pass left unfinished: short batches, half-filled buffers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gristmill as gm

D = gm.data.Dataset


def odd(x: Any) -> Any:
    return x % 2 == 1


def square(x: Any) -> Any:
    return gm.numpy_function(lambda a: a * a, [x], gm.int64)


PLANS: dict[str, Callable[[], Any]] = {
    "filtered batches": lambda: D.range(60_000).filter(odd).batch(500),
    "shuffled": lambda: D.range(20_000).filter(odd).shuffle(5_000, seed=3),
    "batches behind a shuffle": lambda: D.range(20_000).shuffle(7_000, seed=3).batch(64),
    "Python functions": lambda: D.range(400).map(square),
    "interleaved": lambda: D.range(40).interleave(lambda x: D.range(x * 10).filter(odd).batch(9)),
    "prefetched": lambda: D.range(30_000).filter(odd).batch(100).prefetch(3),
}


def values(ds: Any) -> list[list[int]]:
    return [np.asarray(x).reshape(-1).tolist() for x in ds]


@pytest.mark.parametrize("name", PLANS)
def test_passes_that_are_closed_early(name: str) -> None:
    expected = values(PLANS[name]())
    for taken in range(12):
        cached = PLANS[name]().cache()
        pass_ = iter(cached.prefetch(2))
        for _ in range(taken % 4):
            next(pass_)
        pass_.close()
        assert values(cached) == expected
        assert values(cached) == expected


@pytest.mark.parametrize("name", PLANS)
def test_a_pass_that_reads_through_one_that_is_closed(name: str) -> None:
    expected = values(PLANS[name]())
    cached = PLANS[name]().cache()
    first, second = iter(cached), iter(cached)
    got = values([next(first)])
    assert values([next(second)]) == got
    first.close()
    assert got + values(second) == expected
    assert values(cached) == expected
