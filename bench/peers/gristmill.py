"""This package as a peer of a harness that times many input pipelines side by side.

Each function ``wN__variant(c)`` is one row of workload N and returns an iterator over what the
workload asks for; ``c`` names the files and sizes.
"""

import os
import pathlib
import sys
import time

import gristmill as tf


def _load_numpy():
    """Loads NumPy and waits until its threads sleep.

    What gives arrays loads it when the first is made; a program that uses them has loaded it
    before. The threads of its OpenBLAS spin for some 0.1 s after they start, on one of two cores:
    within that time these workloads would be half done. A peer that takes longer to import comes
    too late to meet them, so here they are waited for, half a second at most.
    """
    import numpy  # noqa: F401

    def busy():
        used = os.times()
        return used.user + used.system

    for _ in range(25):
        before = busy()
        time.sleep(0.02)
        if busy() == before:
            break


# One that packs photos has no need of it.
if not any(word.startswith("w5") for word in sys.argv):
    _load_numpy()

AUTO = tf.data.AUTOTUNE

_SMALL = {
    **{f"i{k}": tf.io.FixedLenFeature([], tf.int64) for k in range(4)},
    "f": tf.io.FixedLenFeature([32], tf.float32),
    "s": tf.io.FixedLenFeature([], tf.string),
}
_IMAGE = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "class": tf.io.FixedLenFeature([], tf.int64),
}


def _unordered(ds):
    options = tf.data.Options()
    options.deterministic = False
    return ds.with_options(options)


# Raw records --------------------------------------------------------------------------------------


def w1__engine(c):
    ds = tf.data.TFRecordDataset(c.files("opaque"), num_parallel_reads=AUTO)
    zero = tf.constant(0, tf.int64)
    count, size = ds.reduce(
        (zero, zero),
        lambda state, record: (
            state[0] + 1,
            state[1] + tf.cast(tf.strings.length(record), tf.int64),
        ),
    )
    yield int(count), int(size)


def w1__python(c):
    return tf.data.TFRecordDataset(c.files("opaque")).as_numpy_iterator()


def w1__python_zero_copy(c):
    return tf.data.TFRecordDataset(c.files("opaque")).as_numpy_iterator(zero_copy=True)


def w1__python_autotune_zero_copy(c):
    ds = tf.data.TFRecordDataset(c.files("opaque"), num_parallel_reads=AUTO)
    return ds.as_numpy_iterator(zero_copy=True)


def w1__python_autotune(c):
    return tf.data.TFRecordDataset(c.files("opaque"), num_parallel_reads=AUTO).as_numpy_iterator()


def w1__python_autotune_batched(c):
    ds = tf.data.TFRecordDataset(c.files("opaque"), num_parallel_reads=AUTO)
    return _unordered(ds).batch(64).prefetch(AUTO).as_numpy_iterator()


# Small Examples -----------------------------------------------------------------------------------


def w2__batch_then_parse(c):
    ds = _unordered(tf.data.TFRecordDataset(c.small_files(), num_parallel_reads=AUTO))
    ds = ds.batch(c.small_batch).map(lambda r: tf.io.parse_example(r, _SMALL), AUTO)
    return ds.prefetch(AUTO).as_numpy_iterator()


def w2__parse_single(c):
    ds = _unordered(tf.data.TFRecordDataset(c.small_files(), num_parallel_reads=AUTO))
    ds = ds.map(lambda r: tf.io.parse_single_example(r, _SMALL), AUTO).batch(c.small_batch)
    return ds.prefetch(AUTO).as_numpy_iterator()


def w2__plain(c):
    """As a user types it who has read no guide: no AUTOTUNE, no prefetch, order kept."""
    ds = tf.data.TFRecordDataset(c.small_files())
    ds = ds.map(lambda r: tf.io.parse_single_example(r, _SMALL)).batch(c.small_batch)
    return ds.as_numpy_iterator()


# Images -------------------------------------------------------------------------------------------


def _images(c, ordered=False):
    def parse(record):
        example = tf.io.parse_single_example(record, _IMAGE)
        image = tf.io.decode_jpeg(example["image"], channels=3)
        return tf.image.resize(image, [c.size, c.size]), example["class"]

    ds = tf.data.TFRecordDataset(c.files(c.img), num_parallel_reads=None if ordered else AUTO)
    ds = (ds if ordered else _unordered(ds)).repeat(c.epochs)
    return ds.map(parse, AUTO).batch(c.batch).prefetch(AUTO).as_numpy_iterator()


def w3__autotune(c):
    return _images(c)


def w3__ordered(c):
    return _images(c, ordered=True)


def _train_images(c, dtype):
    """Random resized crop, random flip, normalised: what training on photos reads."""
    mean, std = tf.constant([123.68, 116.78, 103.94]), tf.constant([58.4, 57.12, 57.38])

    def parse(record):
        example = tf.io.parse_single_example(record, _IMAGE)
        photo = example["image"]
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(photo),
            tf.zeros([1, 0, 4]),
            min_object_covered=0.0,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        y, x, _ = tf.unstack(begin)
        height, width, _ = tf.unstack(size)
        image = tf.io.decode_and_crop_jpeg(photo, tf.stack([y, x, height, width]), channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(image, [c.size, c.size]))
        return tf.cast((image - mean) / std, dtype), example["class"]

    ds = _unordered(tf.data.TFRecordDataset(c.files(c.img), num_parallel_reads=AUTO))
    return ds.repeat(c.epochs).map(parse, AUTO).batch(c.batch).prefetch(AUTO).as_numpy_iterator()


def w4__float32(c):
    return _train_images(c, tf.float32)


def w4__bfloat16(c):
    return _train_images(c, tf.bfloat16)


# Packing ------------------------------------------------------------------------------------------


def _pack(c, **options):
    """Packs the class folders of photos into 16 shards in a folder of their own."""
    out = pathlib.Path(c.tmp())
    tf.pack(pathlib.Path(c.data) / "jpeg", out, shards=16, **options)
    # The harness walks every file of the folder as records.
    (out / "dataset.json").unlink()
    return {"folder": str(out)}


def w5__copy_bytes(c):
    return _pack(c)


def w5__resize_reencode(c):
    return _pack(c, resize=(192, 192), fit="crop")


# Elements without work ----------------------------------------------------------------------------


def w6__range_shuffle_batch(c):
    ds = tf.data.Dataset.range(c.range_n).shuffle(c.shuffle, seed=c.seed).batch(1024)
    return ds.prefetch(AUTO).as_numpy_iterator()


def w6__range_batch(c):
    return tf.data.Dataset.range(c.range_n).batch(1024).prefetch(AUTO).as_numpy_iterator()


# Start --------------------------------------------------------------------------------------------


def w7__first_batch(c):
    """Time from the call to the first batch of images, in seconds."""
    batches = _images(c)
    start = time.perf_counter()
    next(iter(batches))
    return {"items": 1, "bytes": 1, "first_s": time.perf_counter() - start}
