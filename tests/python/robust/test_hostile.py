"""Descriptions, states and numbers that nobody should give: an error, never a crash or a hang."""

from __future__ import annotations

import random
from typing import Any

import pytest

import gristmill as gm
from robust import child

HEAD = """
import sys
import gristmill as gm
D = gm.data.Dataset
try:
    {use}
except (gm.errors.OpError, RecursionError, MemoryError, ValueError, TypeError) as e:
    assert not isinstance(e, gm.errors.InternalError), e
    print("refused")
"""

DEEP = {
    "concatenate": "d.concatenate(D.range(1))",
    "zip": "D.zip(d, d2).map(lambda a, b: a)",
    "batch": "d.batch(1).unbatch()",
    "map": "d.map(lambda x: x + 1)",
    "filter": "d.filter(lambda x: x > -1)",
    "shuffle": "d.shuffle(2, seed=1)",
    "prefetch": "d.prefetch(1)",
    "cache": "d.cache()",
    "repeat": "d.repeat(1)",
    "flat_map": "d.flat_map(lambda x: D.from_tensors(x))",
    "take": "d.take(10).skip(0)",
}


#: How often a step is put on itself where it is not 300 times.
STEPS = {"concatenate": 3000, "batch": 3000, "filter": 3000, "repeat": 3000, "flat_map": 20}


@pytest.mark.parametrize("name", DEEP)
def test_deep_plans_run_or_are_refused(name: str) -> None:
    steps = STEPS.get(name, 300)
    use = (
        f"d = d2 = D.range(3)\n    for _ in range({steps}): d = {DEEP[name]}\n"
        "    n = sum(1 for _ in d)\n    assert n >= 3\n    print('ran')"
    )
    code, out, err = child.run(HEAD.format(use=use), timeout=60)
    assert (code, err) == (0, "") and out in ("ran\n", "refused\n")


HUGE = {
    "private threads": "o = gm.data.Options(); o.threading.private_threadpool_size = 10**9; "
    "print(len(list(D.range(3).map(lambda x: x * 2).with_options(o))))",
    "cycle": "print(len(list(D.range(4).interleave(lambda x: D.range(1), cycle_length=2**62))))",
    "block": "print(len(list(D.range(4).interleave(lambda x: D.range(1), cycle_length=2, "
    "block_length=2**62))))",
    "calls": "print(len(list(D.range(3).map(lambda x: x, num_parallel_calls=2**62))))",
    "reads": "print(len(list(gm.data.TFRecordDataset([], num_parallel_reads=2**62))))",
    "batch": "print(len(list(D.range(3).batch(2**62))))",
    "shuffle": "print(len(list(D.range(3).shuffle(2**63 - 1))))",
    "prefetch": "print(len(list(D.range(3).prefetch(2**62))))",
    "nested": "x = 1\n    for _ in range(5000): x = (x,)\n    D.from_tensors(x)",
    "itself": "x = []; x.append(x); D.from_tensors(x)",
    "doubled": "d = D.range(1)\n    for _ in range(10): d = d.concatenate(d)\n"
    "    print(len(list(d)))",
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_numbers_run_or_are_refused(name: str) -> None:
    code, out, err = child.run(HEAD.format(use=HUGE[name]), timeout=30)
    assert (code, err) == (0, "") and out


def test_cardinalities_do_not_overflow() -> None:
    most = 2**63 - 1
    full = gm.data.Dataset.range(most)
    for ds in (
        full.concatenate(full),
        full.concatenate(full).concatenate(full),
        full.repeat(most),
        full.enumerate().repeat(3),
    ):
        assert int(ds.cardinality()) == most
    assert int(gm.data.Dataset.range(-(2**63), most).cardinality()) == most
    ends = [int(x) for x in gm.data.Dataset.range(2**63 - 3, most)]
    assert ends == [2**63 - 3, 2**63 - 2]


def rich() -> Any:
    """A pipeline whose state has many parts."""
    ds = gm.data.Dataset.range(50).shuffle(7, seed=1).map(lambda x: x * 2)
    ds = gm.data.Dataset.zip(ds.batch(3), gm.data.Dataset.range(100).cache().prefetch(2))
    return ds.repeat(3)


def test_damaged_states_are_refused_or_harmless() -> None:
    ds = rich()
    it = iter(ds)
    for _ in range(9):
        next(it)
    state = it.state()
    rng = random.Random(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(state)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.2:
            damaged = damaged[: rng.randrange(len(damaged))]
        try:
            again = ds.iterator(bytes(damaged))
            for _ in range(3):
                next(again, None)
        except gm.errors.InvalidArgumentError:
            refused += 1
    assert refused > 250
    assert len(list(ds.iterator(state))) == 3 * 17 - 9


def test_strings_keep_every_byte() -> None:
    odd = [b"", b"\0", b"a\0b\0", bytes(range(256)), "äß€😀".encode()]
    ds = gm.data.Dataset.from_tensor_slices(odd).map(lambda s: (s, gm.strings.length(s)))
    assert [(s.numpy(), int(n)) for s, n in ds] == [(s, len(s)) for s in odd]
    assert list(gm.data.Dataset.from_tensor_slices(odd).as_numpy_iterator()) == odd
    assert gm.constant(odd).numpy().tolist() == odd


@pytest.mark.parametrize("shape", [(5, 0), (5, 0, 3), (5, 3, 0), (0, 3), (0,)])
def test_empty_shapes_go_through_every_step(shape: tuple[int, ...]) -> None:
    def made() -> Any:
        return gm.data.Dataset.from_tensor_slices(gm.zeros(shape))

    n, row = shape[0], list(shape[1:])
    assert [x.shape.as_list() for x in made()] == [row] * n
    for ds in (made().shuffle(3), made().cache(), made().map(lambda x: x + 1), made().prefetch(1)):
        sizes = [min(2, n - i) for i in range(0, n, 2)]
        assert [b.shape.as_list() for b in ds.batch(2)] == [[k, *row] for k in sizes]
        assert len(list(ds.batch(2).unbatch())) == n
    sums = [float(x) for x in made().map(lambda x: gm.reduce_sum(x))] if row else []
    assert sums == [0.0] * len(sums)


def test_finished_and_closed_passes_stay_so() -> None:
    it = iter(gm.data.Dataset.range(1))
    next(it)
    assert [next(it, None) for _ in range(3)] == [None] * 3
    assert list(gm.data.Dataset.range(1).iterator(it.state())) == []
    with pytest.raises(gm.errors.OutOfRangeError, match="End of sequence"):
        it.get_next()
    it.close()
    for use in (lambda: next(it), it.state, it.report):
        with pytest.raises(gm.errors.CancelledError, match="closed"):
            use()


def test_functions_that_misbehave_while_traced() -> None:
    ds = gm.data.Dataset.range(3)

    def endless(x: Any) -> Any:
        return endless(x)

    with pytest.raises(RecursionError):
        ds.map(endless)
    with pytest.raises(ZeroDivisionError):
        ds.map(lambda x: 1 // 0)
    with pytest.raises(TypeError, match="iterated inside a traced function"):
        ds.map(lambda x: next(iter(ds)))
    leaked: list[Any] = []
    ds.map(lambda x: (leaked.append(x), x)[1])
    with pytest.raises(gm.errors.InaccessibleTensorError, match="outside it"):
        leaked[0] + 1
    with pytest.raises(SystemExit):
        ds.map(lambda x: (_ for _ in ()).throw(SystemExit))
    assert [int(x) for x in ds.map(lambda x: x + 1)] == [1, 2, 3]
