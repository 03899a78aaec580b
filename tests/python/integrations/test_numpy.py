"""NumPy's array interface and DLPack's two capsules over the memory of tensors."""

import ctypes
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset

PLAIN = [
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "float32", "float64"),
]


def tensor(dtype, shape=(2, 3)):
    """A tensor that nobody else holds, with the values 0, 1, 2, …."""
    count = int(np.prod(shape))
    return gm.reshape(gm.cast(gm.range(count), gm.as_dtype(dtype)), shape) + gm.zeros(shape, dtype)


def values(dtype, shape=(2, 3)):
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)


def fresh(array):
    return gm.constant(array)


def capsule_name(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4), (3, 0, 2)])
def test_array_interface_and_dlpack_share_memory_and_agree(dtype, shape):
    want = values(dtype, shape)
    t = fresh(want)
    array = np.asarray(t._value)
    assert array.dtype == want.dtype and array.shape == shape and (array == want).all()
    interface = np.asarray(t._value).__array_interface__
    assert interface["version"] == 3 and interface["shape"] == shape
    other = np.from_dlpack(fresh(want))
    assert other.dtype == want.dtype and other.shape == shape and (other == want).all()


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_nothing_is_copied(dtype):
    t = fresh(values(dtype, (64, 3)))
    address = np.asarray(t._value).__array_interface__["data"][0]
    assert t.numpy().__array_interface__["data"][0] == address
    assert np.asarray(t).__array_interface__["data"][0] == address
    assert np.from_dlpack(t).__array_interface__["data"][0] == address


def test_both_kinds_of_capsules():
    t = fresh(values("float32"))
    assert capsule_name(t.__dlpack__()) == b"dltensor"
    assert capsule_name(t.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert capsule_name(t.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    assert capsule_name(t.__dlpack__(max_version=(1, 3), copy=True)) == b"dltensor_versioned"
    assert t.__dlpack_device__() == (1, 0)


def test_what_dlpack_cannot_do_is_a_buffer_error():
    t = fresh(values("float32"))
    with pytest.raises(BufferError, match="stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="device"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="strings"):
        gm.constant(["a"]).__dlpack__()
    held = t.__dlpack__()
    with pytest.raises(BufferError, match="copy"):
        t.__dlpack__(copy=False)
    del held
    assert capsule_name(t.__dlpack__(copy=False)) == b"dltensor"


def test_memory_outlives_the_tensor():
    t = fresh(values("float32", (1000,)))
    by_interface, by_dlpack = np.asarray(t), np.from_dlpack(fresh(values("int32", (1000,))))
    del t
    gc.collect()
    noise = [fresh(np.full(1000, 7, np.float32)) for _ in range(50)]
    assert (by_interface == np.arange(1000)).all() and (by_dlpack == np.arange(1000)).all()
    del noise


def test_exclusive_memory_may_be_written_and_shared_memory_not():
    t = fresh(values("float32"))
    assert t._value.exclusive and np.asarray(t._value).flags.writeable
    row = t[0]
    shared = np.asarray(row._value)
    assert not shared.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        shared[0] = 5
    # numpy() gives memory to write in any case: a copy here.
    mine = row.numpy()
    mine[0] = 5
    assert t.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    # DLPack has no read-only memory that everybody takes: shared memory is handed over as a copy.
    taken = np.from_dlpack(row)
    assert taken.__array_interface__["data"][0] != shared.__array_interface__["data"][0]
    assert taken.tolist() == [0, 1, 2]


def test_array_protocol_arguments():
    t = fresh(values("int32"))
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert np.array(t).tolist() == [[0, 1, 2], [3, 4, 5]]
    alone = np.array(t, copy=True)
    assert (
        alone.__array_interface__["data"][0] != np.asarray(t._value).__array_interface__["data"][0]
    )
    assert (
        t.__array__(copy=False).__array_interface__["data"][0]
        == (np.asarray(t._value).__array_interface__["data"][0])
    )
    assert np.array(t, dtype=np.int32, copy=False).tolist() == [[0, 1, 2], [3, 4, 5]]
    for impossible in (
        lambda: t.__array__(dtype=np.float32, copy=False),
        lambda: t[0].__array__(copy=False),
        lambda: gm.constant(["a"]).__array__(copy=False),
    ):
        with pytest.raises(ValueError, match="copy"):
            impossible()


def test_strings_are_objects():
    t = gm.constant([[b"a", b"bc"], [b"", b"d"]])
    assert np.asarray(t).dtype == object
    assert np.asarray(t).tolist() == [[b"a", b"bc"], [b"", b"d"]]


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_bfloat16(shape):
    want = values("float32", shape).astype(ml_dtypes.bfloat16)
    t = fresh(want)
    array = np.asarray(t)
    assert array.dtype == ml_dtypes.bfloat16 and array.shape == shape
    assert (array == want).all()
    assert np.asarray(t._value).__array_interface__["typestr"] == "<u2"
    assert (np.asarray(t, dtype=np.float32) == want.astype(np.float32)).all()
    if shape == (2, 3):
        assert (
            t.numpy().__array_interface__["data"][0]
            == (np.asarray(t._value).__array_interface__["data"][0])
        )
    # NumPy knows no bfloat16 of DLPack's: it says so rather than to guess.
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(fresh(want))


def test_batches_are_aligned_and_cannot_be_written():
    ds = Dataset.range(100).map(lambda i: gm.fill([16], gm.cast(i, gm.float32))).batch(10)
    for batch in ds.as_numpy_iterator():
        assert batch.__array_interface__["data"][0] % 64 == 0
        assert not batch.flags.writeable
    for batch in ds:
        assert batch.numpy().flags.writeable


def test_cached_elements_are_safe_from_writers():
    ds = Dataset.range(4).map(lambda i: gm.fill([3], i)).batch(2).cache()
    for batch in ds:
        batch.numpy()[:] = -1
        np.from_dlpack(batch)[:] = -1
    assert [b.numpy()[:, 0].tolist() for b in ds] == [[0, 1], [2, 3]]


def test_pickle_keeps_the_values():
    for dtype in (*PLAIN, "bfloat16"):
        t = fresh(values("float32").astype(gm.as_dtype(dtype).as_numpy_dtype))
        again = pickle.loads(pickle.dumps(t))
        assert again.dtype == t.dtype and (np.asarray(again) == np.asarray(t)).all()
