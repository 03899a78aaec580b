"""Datasets that are pickled: the same elements, orders and states on the other side."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gristmill as gm

D = gm.data.Dataset


class Pair(NamedTuple):
    """A named tuple of this module."""

    a: Any
    b: Any


def times_three(x: Any) -> Any:
    """A function of this module."""
    return np.int64(3) * x


class Add:
    """An object of a class of this module."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, x: Any) -> Any:
        return x + self.n


def leaves(element: Any) -> list[Any]:
    flat = gm.nest.flatten(element)
    dense = [gm.sparse.to_dense(x) if isinstance(x, gm.SparseTensor) else x for x in flat]
    dense = [x.to_tensor() if isinstance(x, gm.RaggedTensor) else x for x in dense]
    return [(x.dtype.name, np.asarray(x.numpy()).tolist()) for x in dense]


def elements(ds: Any) -> list[Any]:
    return [leaves(e) for e in ds]


def _cases() -> dict[str, Callable[[], Any]]:
    r = D.range
    return {
        "range": lambda: r(3, 20, 4),
        "tensors": lambda: D.from_tensors({"b": (1, [2.5, 3.5]), "a": "text"}),
        "slices": lambda: D.from_tensor_slices((np.arange(6).reshape(3, 2), [b"x", b"yy", b""])),
        "named": lambda: D.from_tensor_slices(Pair([1, 2], [3.0, 4.0])),
        "sparse": lambda: D.from_tensors(gm.sparse.from_dense([[0, 1], [2, 0]])),
        "ragged": lambda: D.from_tensors(gm.ragged.constant([[1], [2, 3]])),
        "map": lambda: r(5).map(lambda x: (x * 2, gm.cast(x, gm.float32) / 3), 2, True),
        "attributes": lambda: r(4).map(
            lambda x: gm.reshape(gm.one_hot(x, 4, on_value=2.5, off_value=-1.0), [2, -1])
        ),
        "cond": lambda: r(6).map(lambda x: gm.cond(x % 2 == 0, lambda: x, lambda: -x)),
        "captures": lambda: r(3).flat_map(lambda x: r(x).map(lambda y: x * 10 + y)),
        "filter": lambda: r(20).filter(lambda x: x % 3 == 1),
        "interleave": lambda: r(4).interleave(lambda x: r(x, x + 3), 2, 2),
        "shuffle": lambda: r(20).shuffle(7, seed=3),
        "shuffle of no seed": lambda: r(20).shuffle(7),
        "shuffles": lambda: r(8).shuffle(3, 1).repeat(2).shuffle(4, 2, False),
        "cache": lambda: r(5).shuffle(5, 1).cache().repeat(2),
        "batch": lambda: r(10).batch(4, drop_remainder=True),
        "map and batch": lambda: r(10).map(lambda x: gm.fill([3], x)).batch(4),
        "unbatch": lambda: r(10).batch(4).unbatch(),
        "take, skip, shard": lambda: r(50).skip(3).take(40).shard(3, 1),
        "prefetch": lambda: r(5).prefetch(2).map(lambda x: x + 1).prefetch(-1),
        "zip": lambda: D.zip((r(3), {"k": r(5).enumerate(7)})),
        "concatenate": lambda: r(3).concatenate(r(2)),
        "errors": lambda: r(5).map(lambda x: gm.gather([1, 2, 3], x)).ignore_errors(),
        "random": lambda: r(5).map(lambda x: (x, gm.random.uniform([2]))),
        "options": lambda: r(5).with_options(_options()).batch(2),
        "py_function": lambda: r(5).map(lambda x: gm.numpy_function(times_three, [x], gm.int64)),
        "object": lambda: r(5).map(lambda x: gm.py_function(Add(7), [x], [gm.int64])[0]),
    }


def _options() -> Any:
    options = gm.data.Options()
    options.deterministic = True
    return options


CASES = _cases()


@pytest.mark.parametrize("name", [name for name in CASES if name != "random"])
def test_a_pickled_dataset_is_the_same(name: str) -> None:
    ds = CASES[name]()
    again = pickle.loads(pickle.dumps(ds))
    assert again.element_spec == ds.element_spec
    assert again.explain() == ds.explain()
    assert int(again.cardinality()) == int(ds.cardinality())
    assert elements(again) == elements(ds)
    # Epochs go on alike, and a state of the one goes on in the other.
    it = ds.iterator()
    next(it)
    state = it.state()
    assert elements(again.iterator(state)) == elements(it)


def test_random_values_are_those_of_the_state() -> None:
    ds = CASES["random"]()
    state = ds.iterator().state()
    again = pickle.loads(pickle.dumps(ds))
    assert elements(again.iterator(state)) == elements(ds.iterator(state))


def test_files(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with gm.io.TFRecordWriter(path) as w:
        for i in range(5):
            w.write(b"record %d" % i)
    ds = D.list_files(str(tmp_path / "*.tfrecord"), shuffle=False).interleave(
        gm.data.TFRecordDataset
    )
    spec = {"x": gm.io.FixedLenFeature([], gm.int64, 3), "y": gm.io.VarLenFeature(gm.float32)}
    parsed = D.from_tensors(b"").map(lambda x: gm.io.parse_single_example(x, spec))
    for one in (ds, gm.data.TFRecordDataset(path, "")), (parsed,):
        for d in one:
            assert elements(pickle.loads(pickle.dumps(d))) == elements(d)


def test_shared_parts_stay_shared() -> None:
    shuffled = D.range(10).shuffle(5, seed=1)
    both = pickle.loads(pickle.dumps(D.zip((shuffled, shuffled))))
    fresh = D.range(10).shuffle(5, seed=1)
    assert elements(both) == elements(D.zip((fresh, fresh)))


def test_epochs_so_far_are_kept() -> None:
    ds = D.range(10).shuffle(5, seed=1)
    first = elements(ds)
    again = pickle.loads(pickle.dumps(ds))
    second = elements(ds)
    assert elements(again) == second != first


def test_what_does_not_pickle_says_so() -> None:
    ds = D.range(3).map(lambda x: gm.py_function(lambda v: v, [x], gm.int64))
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(ds)


@pytest.mark.parametrize("nodes", [[], [("x", (), [], 0)], [("take", (), [3], 0)], [1]])
def test_damaged_plans_are_refused(nodes: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        gm._native.Plan.unpacked(nodes)
