"""Dtypes and shapes."""

import ml_dtypes
import numpy as np
import pytest

import gristmill as gm


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float32", gm.float32),
        (np.float32, gm.float32),
        (np.dtype("int64"), gm.int64),
        (float, gm.float32),
        (int, gm.int64),
        (bool, gm.bool),
        (str, gm.string),
        (ml_dtypes.bfloat16, gm.bfloat16),
        (1, gm.float32),
        ("half", gm.float16),
    ],
)
def test_as_dtype_takes_what_stands_for_a_dtype(given, expected):
    assert gm.as_dtype(given) is expected


def test_as_dtype_refuses_other_things():
    with pytest.raises(TypeError, match="Cannot convert"):
        gm.as_dtype("float31")


def test_equality_and_text():
    assert gm.float32 == "float32"
    assert gm.float32 == np.float32
    assert gm.float32 != gm.float64
    assert repr(gm.bfloat16) == "tf.bfloat16"
    assert str(gm.int32) == "<dtype: 'int32'>"
    assert {gm.int8: 1}[gm.int8] == 1


def test_limits():
    assert (gm.uint8.min, gm.uint8.max) == (0, 255)
    assert gm.int16.min == -32768
    assert gm.float16.max == np.finfo(np.float16).max
    assert gm.bool.size == 1
    assert gm.float64.size == 8


def test_shape_behaves_as_tensorflows():
    shape = gm.TensorShape([None, 3])
    assert shape == [None, 3]
    assert shape == (None, 3)
    assert shape.as_list() == [None, 3]
    assert (shape.rank, shape[1], list(shape)) == (2, 3, [None, 3])
    assert str(shape) == "(None, 3)"
    assert repr(shape) == "TensorShape([None, 3])"
    assert shape.concatenate([2]) == [None, 3, 2]
    assert shape[1:] == [3]
    assert shape.is_compatible_with([5, 3])
    assert not shape.is_compatible_with([5, 4])
    assert gm.TensorShape([2, 3]).num_elements() == 6
    assert str(gm.TensorShape(None)) == "<unknown>"
    with pytest.raises(ValueError, match="unknown"):
        gm.TensorShape(None).as_list()


def test_specs_print_as_tensorflows():
    assert (
        repr(gm.TensorSpec((None, 2), gm.float32))
        == "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)"
    )
    assert repr(gm.SparseTensorSpec([None], gm.int64)) == (
        "SparseTensorSpec(TensorShape([None]), tf.int64)"
    )
    assert repr(gm.RaggedTensorSpec([None, None], gm.int32)) == (
        "RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)"
    )
    assert gm.TensorSpec([2]).is_compatible_with(np.zeros(2, np.float32))
    assert not gm.TensorSpec([3]).is_compatible_with(np.zeros(2, np.float32))
