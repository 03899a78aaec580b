"""What a consumer does to the memory it was given reaches nobody else."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import gristmill as gm


def images(n: int = 24) -> Any:
    """Pictures with a label."""
    return gm.data.Dataset.range(n).map(
        lambda x: (gm.fill([40, 40], gm.cast(x, gm.float32)), gm.cast(x, gm.int32))
    )


#: What a traced function captures.
CONSTANT = gm.constant(np.ones([200, 200], np.float32))

PIPES = {
    "cache": lambda: images().cache(),
    "cache of batches": lambda: images().batch(4).cache(),
    "batch of cache": lambda: images().cache().batch(4),
    "unbatch of cache": lambda: images().batch(4).cache().unbatch(),
    "tensors": lambda: gm.data.Dataset.from_tensors(np.ones([300, 300], np.float32)).repeat(3),
    "slices": lambda: gm.data.Dataset.from_tensor_slices(np.ones([6, 200, 200], np.float32)),
    "slices in one batch": lambda: gm.data.Dataset.from_tensor_slices(np.ones([6, 90])).batch(6),
    "captured": lambda: gm.data.Dataset.range(5).map(lambda x: CONSTANT),
    "given twice": lambda: images().map(lambda a, b: (a, a, b)),
    "zip with itself": lambda: (lambda d: gm.data.Dataset.zip(d, d))(images().cache()),
    "repeated cache": lambda: images().cache().repeat(2),
    "shuffled cache": lambda: images().cache().shuffle(8, seed=1, reshuffle_each_iteration=False),
}


def leaves(element: Any) -> list[Any]:
    """The tensors of an element."""
    return list(gm.nest.flatten(element)) if isinstance(element, tuple) else [element]


def values(ds: Any) -> list[Any]:
    """Copies of all values of a pass."""
    return [[np.array(t.numpy()) for t in leaves(e)] for e in ds]


def same(a: Any, b: Any) -> None:
    """Fails unless two passes gave equal values."""
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        for s, t in zip(x, y, strict=True):
            np.testing.assert_array_equal(s, t)


def spoil(tensor: Any) -> int:
    """Writes wherever writing is possible; says how often it was."""
    written = 0
    views = [tensor.numpy(), np.asarray(tensor), np.from_dlpack(tensor)]
    with contextlib.suppress(ImportError):
        import torch

        views.append(torch.from_dlpack(tensor).numpy())
    for view in views:
        if isinstance(view, np.ndarray) and view.ndim and view.flags.writeable:
            view[...] = 77
            written += 1
    return written


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", PIPES)
def test_spoiling_one_pass_leaves_the_next_alone(name: str, keep: bool) -> None:
    clean = values(PIPES[name]())
    ds = PIPES[name]()
    kept = []
    for element in ds:
        for tensor in leaves(element):
            spoil(tensor)
        if keep:
            kept.append(element)
    same(values(ds), clean)
    for element in ds.as_numpy_iterator():
        for array in leaves(element):
            if isinstance(array, np.ndarray) and array.ndim:
                assert not array.flags.writeable
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 1
    same(values(ds), clean)


@pytest.mark.parametrize("name", PIPES)
def test_spoiling_an_element_leaves_later_ones_of_the_pass_alone(name: str) -> None:
    clean = values(PIPES[name]())
    got = []
    for element in PIPES[name]():
        tensors = leaves(element)
        got.append([np.array(t.numpy()) for t in tensors])
        for tensor in tensors:
            spoil(tensor)
    same(got, clean)


@pytest.mark.parametrize("name", PIPES)
def test_a_consumer_that_keeps_everything_keeps_its_values(name: str) -> None:
    clean = values(PIPES[name]())
    arrays = [[t.numpy() for t in leaves(e)] for e in PIPES[name]()]
    plain = list(PIPES[name]().as_numpy_iterator())
    same(arrays, clean)
    same([leaves(e) for e in plain], clean)


def test_views_outlive_tensor_pass_and_dataset() -> None:
    ds = images().batch(4)
    it = iter(ds)
    views = [np.from_dlpack(next(it)[0]) for _ in range(3)]
    held = [next(it)[0].numpy() for _ in range(3)]
    del ds, it
    # New batches of the same size would land in recycled memory.
    for _ in images().map(lambda a, b: (a + 1000, b)).batch(4):
        pass
    found = [v[:, 0, 0].tolist() for v in views + held]
    assert found == [[float(4 * i + j) for j in range(4)] for i in range(6)]


def test_arrays_given_to_a_dataset_may_be_changed_afterwards() -> None:
    source = np.arange(12, dtype=np.float32).reshape(4, 3)
    ds = gm.data.Dataset.from_tensor_slices(source)
    source[...] = -1
    assert [x.numpy().tolist() for x in ds][3] == [9.0, 10.0, 11.0]
