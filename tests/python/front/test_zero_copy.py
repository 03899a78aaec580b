"""Strings as views of the engine's memory."""

import gc
import io
import sys

import numpy as np
import pytest

import gristmill as tf

RECORDS = [bytes([i]) * n for i, n in enumerate([0, 1, 3, 5000, 100_000, 7])]


@pytest.fixture
def records(tmp_path):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path) as writer:
        for record in RECORDS:
            writer.write(record)
    return tf.data.TFRecordDataset(path)


def test_records_are_views_with_the_same_bytes(records):
    views = list(records.as_numpy_iterator(zero_copy=True))
    assert all(type(view) is memoryview for view in views)
    assert [bytes(view) for view in views] == RECORDS
    assert [len(view) for view in views] == [len(r) for r in RECORDS]
    assert views == list(records.as_numpy_iterator())
    assert views[4][-1] == 4
    assert np.frombuffer(views[3], np.uint8).sum() == 3 * 5000


def test_views_cannot_be_written_and_outlive_the_pass(records):
    kept = [view for view in records.repeat(3).as_numpy_iterator(zero_copy=True) if len(view) > 5]
    gc.collect()
    # Takes what memory was freed.
    assert len(list(records.repeat(5).batch(2).as_numpy_iterator())) == 15
    assert [bytes(view) for view in kept] == [r for r in RECORDS if len(r) > 5] * 3
    with pytest.raises(TypeError, match="read-only"):
        kept[0][0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        np.asarray(kept[0]).flags.writeable = True


def test_what_a_view_is_of(records):
    views = list(records.as_numpy_iterator(zero_copy=True))
    for view, record in zip(views, RECORDS, strict=True):
        assert (view.format, view.ndim, view.itemsize, view.readonly) == ("B", 1, 1, True)
        assert (view.shape, view.strides, view.contiguous) == ((len(record),), (1,), True)
        assert hash(view) == hash(record)
        again = memoryview(view.obj)
        view.release()
        assert again.tobytes() == record
    exporter = again.obj
    with pytest.raises(TypeError, match="cannot create"):
        type(exporter)()
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"1234567").readinto(exporter)
    del again, views, view
    gc.collect()
    assert bytes(exporter) == RECORDS[-1]


def test_views_leak_neither_objects_nor_types(records):
    def count():
        gc.collect()
        return sys.getrefcount(kind)

    (kept,) = list(records.skip(5).as_numpy_iterator(zero_copy=True))
    kind = type(kept.obj)
    before = count()
    for _ in range(100):
        list(records.as_numpy_iterator(zero_copy=True))
    assert abs(count() - before) < 10


def test_arrays_of_strings_hold_views_and_the_rest_is_as_ever(records):
    ds = tf.data.Dataset.zip((records, tf.data.Dataset.range(6))).batch(2).batch(3)
    ((strings, numbers),) = ds.as_numpy_iterator(zero_copy=True)
    assert strings.shape == (3, 2) and strings.dtype == object
    assert [bytes(view) for view in strings.ravel()] == RECORDS
    assert numbers.tolist() == [[0, 1], [2, 3], [4, 5]]
    one = tf.data.Dataset.from_tensors({"s": ["ab", ""], "none": tf.zeros([0], tf.string)})
    (element,) = one.as_numpy_iterator(zero_copy=True)
    assert [bytes(view) for view in element["s"]] == [b"ab", b""]
    assert element["none"].shape == (0,) and element["none"].dtype == object


def test_views_go_back_in(records, tmp_path):
    views = list(records.as_numpy_iterator(zero_copy=True))
    path = str(tmp_path / "copy")
    with tf.io.TFRecordWriter(path) as writer:
        for view in views:
            writer.write(view)
    assert list(tf.data.TFRecordDataset(path).as_numpy_iterator()) == RECORDS
    assert tf.constant(views[2]).numpy() == RECORDS[2]
    assert tf.constant(views).numpy().tolist() == RECORDS
    array = np.empty(6, object)
    array[:] = views
    assert tf.constant(array).numpy().tolist() == RECORDS
    numbers = memoryview(np.float32([[1, 2], [3, 4]]))
    assert tf.constant(numbers).numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="memoryview"):
        tf.constant([numbers])
    again = tf.data.Dataset.from_tensor_slices(views)
    assert list(again.as_numpy_iterator()) == RECORDS


@pytest.mark.parametrize("zero_copy", [False, True])
def test_no_array_can_be_written(records, zero_copy):
    for array in records.batch(2).as_numpy_iterator(zero_copy=zero_copy):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = b""
