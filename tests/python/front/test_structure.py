"""Structures of elements, and NumPy's views of their leaves."""

import collections
import gc

import numpy as np
import pytest

import gristmill as tf
from gristmill import _native
from gristmill.data import _structure as st

Pair = collections.namedtuple("Pair", "b a")

# Leaves are numbered in ascending order of keys, dicts keep the order of their keys.
STRUCTURES = [
    (0, "A"),
    ((0,), ("A",)),
    ((0, 0), ("A", "B")),
    ({"b": 0, "a": 0}, {"b": "B", "a": "A"}),
    ({"only": 0}, {"only": "A"}),
    ({}, {}),
    ((), ()),
    (Pair(0, 0), Pair("A", "B")),
    ((0, None, 0), ("A", None, "B")),
    (None, None),
    (
        {"z": (0, {"y": 0, "x": 0}), "a": Pair(0, (0,)), "m": None},
        {"z": ("C", {"y": "E", "x": "D"}), "a": Pair("A", ("B",)), "m": None},
    ),
    (collections.OrderedDict(q=0, c=(0, 0)), collections.OrderedDict(q="C", c=("A", "B"))),
]


@pytest.mark.parametrize(("structure", "wanted"), STRUCTURES, ids=str)
def test_leaves_go_to_their_places(structure, wanted):
    leaves = list("ABCDE"[: len(st.flatten(structure))])
    for packed in (st.packer(structure)(leaves), st.pack(structure, iter(leaves))):
        assert packed == wanted
        assert type(packed) is type(wanted)
        if isinstance(wanted, dict):
            assert list(packed) == list(wanted)
            assert [type(v) for v in packed.values()] == [type(v) for v in wanted.values()]


DTYPES = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4), (1,) * 8])
def test_numpy_sees_what_there_is(dtype, shape):
    given = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    value = _native.Value.from_array(given, dtype)

    view = np.asarray(value)
    assert (view.dtype, view.shape, view.flags.c_contiguous) == (given.dtype, shape, True)
    assert view.flags.aligned
    np.testing.assert_array_equal(view, given)
    (found,) = tf.data.Dataset.from_tensors(given).as_numpy_iterator()
    assert (found.dtype, found.shape) == (given.dtype, shape)
    np.testing.assert_array_equal(found, given)
    assert not found.flags.writeable


def test_a_view_keeps_the_memory_and_is_written_only_alone():
    value = _native.Value.from_array(np.arange(1000), "int64")
    view = np.asarray(value)
    assert view.flags.writeable
    del value
    gc.collect()
    assert view.sum() == 499_500
    batch = next(tf.data.Dataset.range(1000).batch(1000).as_numpy_iterator())
    assert not batch.flags.writeable
    gc.collect()
    assert batch.sum() == 499_500


def test_strings_and_bfloat16_are_no_plain_arrays():
    strings = _native.Value.from_strings([2], [b"a", b"b"])
    assert not hasattr(strings, "__array_struct__")
    half = next(iter(tf.data.Dataset.from_tensors(tf.constant([1.0, 2.0], tf.bfloat16))))
    assert half.numpy().dtype == tf.bfloat16.as_numpy_dtype
    np.testing.assert_array_equal(half.numpy().astype(np.float32), [1, 2])
    ds = tf.data.Dataset.from_tensors((tf.constant([1.0, 2.0], tf.bfloat16), [b"a", b"b"], b"c"))
    ((half, strings, one),) = ds.as_numpy_iterator()
    assert half.dtype == tf.bfloat16.as_numpy_dtype and not half.flags.writeable
    assert strings.dtype == object and strings.tolist() == [b"a", b"b"] and one == b"c"
