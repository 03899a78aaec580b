"""What is timed: the same code for every module with TensorFlow's names.

A workload has variants, and each yields batches as tuples of columns (arrays, or lists of bytes).
Counts and digests are taken from these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BATCH_SMALL = 1024
BATCH_IMAGES = 64
SIZE = 224
RANGE = 2_000_000

Batches = Iterator[Any]


def _files(data: Path, name: str) -> list[str]:
    return sorted(str(path) for path in (data / name).glob("*.tfrecord"))


def _unordered(tf: Any, ds: Any) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    return ds.with_options(options)


# Records of 100,000 bytes -------------------------------------------------------------------------


def raw_sequential(tf: Any, data: Path) -> Batches:
    for record in tf.data.TFRecordDataset(_files(data, "raw")).as_numpy_iterator():
        yield ([record],)


def raw_parallel(tf: Any, data: Path) -> Batches:
    auto = tf.data.AUTOTUNE
    ds = tf.data.TFRecordDataset(_files(data, "raw"), num_parallel_reads=auto)
    for record in _unordered(tf, ds).prefetch(auto).as_numpy_iterator():
        yield ([record],)


def raw_batched(tf: Any, data: Path) -> Batches:
    auto = tf.data.AUTOTUNE
    ds = tf.data.TFRecordDataset(_files(data, "raw"), num_parallel_reads=auto)
    for records in _unordered(tf, ds).batch(64).prefetch(auto).as_numpy_iterator():
        yield (records,)


# Examples of six features -------------------------------------------------------------------------


def _small_spec(tf: Any) -> dict[str, Any]:
    return {
        **{f"i{k}": tf.io.FixedLenFeature([], tf.int64) for k in range(4)},
        "f": tf.io.FixedLenFeature([32], tf.float32),
        "s": tf.io.FixedLenFeature([], tf.string),
    }


def _small_batches(ds: Any) -> Batches:
    for batch in ds.as_numpy_iterator():
        yield tuple(batch[key] for key in sorted(batch))


def small_batch_then_parse(tf: Any, data: Path) -> Batches:
    auto, spec = tf.data.AUTOTUNE, _small_spec(tf)
    ds = _unordered(tf, tf.data.TFRecordDataset(_files(data, "small"), num_parallel_reads=auto))
    ds = ds.batch(BATCH_SMALL).map(lambda r: tf.io.parse_example(r, spec), auto)
    return _small_batches(ds.prefetch(auto))


def small_batch_then_parse_1_reader(tf: Any, data: Path) -> Batches:
    auto, spec = tf.data.AUTOTUNE, _small_spec(tf)
    ds = tf.data.TFRecordDataset(_files(data, "small"))
    ds = ds.batch(BATCH_SMALL).map(lambda r: tf.io.parse_example(r, spec), auto)
    return _small_batches(ds.prefetch(auto))


def small_interleaved(tf: Any, data: Path) -> Batches:
    auto, spec = tf.data.AUTOTUNE, _small_spec(tf)

    def batches(path: Any) -> Any:
        return tf.data.TFRecordDataset(path).batch(BATCH_SMALL)

    ds = tf.data.Dataset.from_tensor_slices(_files(data, "small"))
    ds = _unordered(tf, ds.interleave(batches, num_parallel_calls=auto))
    return _small_batches(ds.map(lambda r: tf.io.parse_example(r, spec), auto).prefetch(auto))


def small_parse_single(tf: Any, data: Path) -> Batches:
    auto, spec = tf.data.AUTOTUNE, _small_spec(tf)
    ds = _unordered(tf, tf.data.TFRecordDataset(_files(data, "small"), num_parallel_reads=auto))
    ds = ds.map(lambda r: tf.io.parse_single_example(r, spec), auto).batch(BATCH_SMALL)
    return _small_batches(ds.prefetch(auto))


# Photos -------------------------------------------------------------------------------------------


def _images(tf: Any, data: Path, *, parallel: bool, ordered: bool) -> Batches:
    auto = tf.data.AUTOTUNE
    spec = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "class": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record: Any) -> Any:
        example = tf.io.parse_single_example(record, spec)
        image = tf.io.decode_jpeg(example["image"], channels=3)
        return tf.image.resize(image, [SIZE, SIZE]), example["class"]

    ds = tf.data.TFRecordDataset(_files(data, "photos"), num_parallel_reads=auto)
    if not ordered:
        ds = _unordered(tf, ds)
    ds = ds.map(parse, auto).batch(BATCH_IMAGES, num_parallel_calls=auto if parallel else None)
    yield from ds.prefetch(auto).as_numpy_iterator()


def images_ordered(tf: Any, data: Path) -> Batches:
    return _images(tf, data, parallel=False, ordered=True)


def images_unordered(tf: Any, data: Path) -> Batches:
    return _images(tf, data, parallel=False, ordered=False)


def images_parallel_batch(tf: Any, data: Path) -> Batches:
    return _images(tf, data, parallel=True, ordered=False)


# Elements without work ----------------------------------------------------------------------------


def range_batch(tf: Any, data: Path) -> Batches:
    ds = tf.data.Dataset.range(RANGE).batch(1024).prefetch(tf.data.AUTOTUNE)
    return ((batch,) for batch in ds.as_numpy_iterator())


def range_shuffle_batch(tf: Any, data: Path) -> Batches:
    ds = tf.data.Dataset.range(RANGE).shuffle(10_000, seed=1).batch(1024)
    return ((batch,) for batch in ds.prefetch(tf.data.AUTOTUNE).as_numpy_iterator())


WORKLOADS: dict[str, dict[str, Callable[[Any, Path], Batches]]] = {
    "raw": {"sequential": raw_sequential, "parallel": raw_parallel, "batched": raw_batched},
    "small": {
        "batch_then_parse": small_batch_then_parse,
        "batch_then_parse_1_reader": small_batch_then_parse_1_reader,
        "interleaved": small_interleaved,
        "parse_single": small_parse_single,
    },
    "images": {
        "ordered": images_ordered,
        "unordered": images_unordered,
        "parallel_batch": images_parallel_batch,
    },
    "range": {"batch": range_batch},
    "shuffle": {"batch": range_shuffle_batch},
}

#: What one item is, and what its bytes are counted as.
UNITS = {
    "raw": "records of 100,000 bytes, bytes read",
    "small": "Examples, bytes of their record files",
    "images": "photos, bytes of their record files",
    "range": "integers, bytes delivered",
    "shuffle": "integers through a shuffle of 10,000, bytes delivered",
}
