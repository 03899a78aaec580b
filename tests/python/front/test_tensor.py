"""Tensors that have values."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import gristmill as gm


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, gm.int32, ()),
        (2**40, gm.int64, ()),
        (1.5, gm.float32, ()),
        (True, gm.bool, ()),
        ("ü", gm.string, ()),
        ([[1, 2], [3, 4]], gm.int32, (2, 2)),
        ([1, 2.5], gm.float32, (2,)),
        ([], gm.float32, (0,)),
        ([b"a", "b"], gm.string, (2,)),
        (np.float64([1, 2]), gm.float64, (2,)),
        (np.uint8(3), gm.uint8, ()),
        (np.array(["a", "bc"]), gm.string, (2,)),
        (range(3), gm.int32, (3,)),
    ],
)
def test_dtype_inference_is_tensorflows(value, dtype, shape):
    t = gm.constant(value)
    assert (t.dtype, tuple(t.shape)) == (dtype, shape)


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        (1.5, gm.int32, TypeError),
        ("a", gm.int32, TypeError),
        (1, gm.string, TypeError),
        ([[1], [2, 3]], None, ValueError),
        ([1, "a"], None, ValueError),
        (None, None, ValueError),
        (300, gm.uint8, TypeError),
    ],
)
def test_values_that_do_not_fit_are_refused(value, dtype, error):
    with pytest.raises(error):
        gm.constant(value, dtype)


@pytest.mark.parametrize("dtype", [d for d in gm.dtypes._ALL if d is not gm.string], ids=str)
def test_every_dtype_goes_to_numpy_and_back(dtype):
    array = np.array([[0, 1], [1, 0]]).astype(dtype.as_numpy_dtype)
    t = gm.constant(array)
    assert t.dtype is dtype
    assert t.numpy().dtype == array.dtype
    np.testing.assert_array_equal(t.numpy(), array)
    np.testing.assert_array_equal(gm.constant(t.numpy()).numpy(), array)


def test_bfloat16_is_ml_dtypes():
    t = gm.constant([1.5, 2.5], gm.bfloat16)
    assert t.numpy().dtype == ml_dtypes.bfloat16
    assert t.numpy().tolist() == [1.5, 2.5]


def test_strided_and_big_endian_arrays_are_copied_right():
    a = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(gm.constant(a[:, ::2, ::-1]).numpy(), a[:, ::2, ::-1])
    np.testing.assert_array_equal(gm.constant(np.array([1, 2], ">i4")).numpy(), [1, 2])


def test_text_is_tensorflows():
    assert repr(gm.constant(1)) == "<tf.Tensor: shape=(), dtype=int32, numpy=1>"
    assert repr(gm.constant([1, 2])) == (
        "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )
    assert str(gm.constant(1.5)) == "tf.Tensor(1.5, shape=(), dtype=float32)"
    assert repr(gm.constant("a")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"
    assert f"{gm.constant(3.14159):.2f}" == "3.14"


def test_python_protocols():
    t = gm.constant([[1, 2], [3, 4]])
    assert len(t) == 2
    assert [r.numpy().tolist() for r in t] == [[1, 2], [3, 4]]
    assert int(gm.constant(3)) == 3
    assert float(gm.constant(1.5)) == 1.5
    assert list("abcd")[gm.constant(2)] == "c"
    assert bool(gm.constant(True))
    assert np.asarray(t).sum() == 10
    assert np.add(t.numpy(), 1).tolist() == [[2, 3], [4, 5]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(t)
    assert t.ref() == t.ref()
    assert t.ref().deref() is t
    assert pickle.loads(pickle.dumps(t)).numpy().tolist() == [[1, 2], [3, 4]]
    assert copy.deepcopy(t).numpy().tolist() == [[1, 2], [3, 4]]


def test_numpy_may_be_written_and_never_aliases_shared_memory():
    t = gm.constant(np.zeros((100, 100), np.float32))
    row = t[0]
    a = t.numpy()
    a[:] = 7
    assert row.numpy().sum() == 0
    assert t.numpy().sum() == 0


def test_numpy_shares_memory_that_nobody_else_holds():
    t = gm.constant(np.zeros(1000, np.float32))
    a = t.numpy()
    assert a.flags.writeable
    assert a.__array_interface__["data"] == np.asarray(t._value).__array_interface__["data"]
    del t
    a[:] = 3
    assert a.sum() == 3000


def test_dlpack_goes_to_numpy():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = gm.constant(a)
    b = np.from_dlpack(t)
    np.testing.assert_array_equal(b, a)
    assert t.__dlpack_device__() == (1, 0)
    assert "dltensor" in repr(t.__dlpack__())
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError):
        gm.constant("a").__dlpack__()


def test_constant_takes_a_shape():
    assert gm.constant(0, shape=[2, 2]).numpy().tolist() == [[0, 0], [0, 0]]
    assert gm.constant([1, 2, 3, 4], shape=[2, 2]).numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="unsupported shape"):
        gm.constant([1, 2, 3], shape=[2, 2])


def test_sparse_tensor():
    s = gm.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])
    assert s.indices.numpy().tolist() == [[0, 1], [1, 0]]
    assert s.values.numpy().tolist() == [5, 6]
    assert s.dense_shape.numpy().tolist() == [2, 3]
    assert (s.dtype, s.shape) == (gm.int32, [2, 3])
    with pytest.raises(ValueError, match="indices"):
        gm.SparseTensor([[0, 1]], [5, 6], [2, 3])
    assert pickle.loads(pickle.dumps(s)).values.numpy().tolist() == [5, 6]


def test_ragged_tensor():
    r = gm.ragged.constant([[1, 2], [], [3]])
    assert r.to_list() == [[1, 2], [], [3]]
    assert repr(r) == "<tf.RaggedTensor [[1, 2], [], [3]]>"
    assert r.row_splits.numpy().tolist() == [0, 2, 2, 3]
    assert r.flat_values.numpy().tolist() == [1, 2, 3]
    assert r.shape == [3, None]
    assert r[0].numpy().tolist() == [1, 2]
    assert r[-1].numpy().tolist() == [3]
    assert [row.numpy().tolist() for row in r] == [[1, 2], [], [3]]
    assert r[1:].to_list() == [[], [3]]
    deep = gm.ragged.constant([[["a"], ["b", "c"]], []])
    assert deep.ragged_rank == 2
    assert deep.values.to_list() == [[b"a"], [b"b", b"c"]]
    with pytest.raises(ValueError, match="row splits"):
        gm.RaggedTensor.from_row_splits([1, 2], [0, 3, 2])
