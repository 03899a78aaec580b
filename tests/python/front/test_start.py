"""What the first steps of a program cost it."""

import subprocess
import sys
import textwrap
import time

import numpy as np

import gristmill as tf


def test_numpy_is_loaded_when_it_is_first_needed(tmp_path):
    code = """
        import sys
        import gristmill as tf

        path = sys.argv[1]
        with tf.io.TFRecordWriter(path) as writer:
            writer.write(b"one")
            writer.write(b"two")
        ds = tf.data.TFRecordDataset([path, path], num_parallel_reads=tf.data.AUTOTUNE)
        assert list(ds.as_numpy_iterator()) == [b"one", b"two"] * 2
        assert ds.reduce(0, lambda count, record: count + 1).shape == ()
        assert tf.verify([path])["records"] == 2
        assert "numpy" not in sys.modules
        assert next(ds.map(tf.strings.length).batch(4).as_numpy_iterator()).tolist() == [3] * 4
        assert "numpy" in sys.modules
    """
    path = str(tmp_path / "records")
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), path], check=True)


def test_warnings_go_where_logging_would_put_them():
    code = """
        import sys
        from gristmill._log import warn

        warn("before")
        assert "logging" not in sys.modules
        import logging

        warn("beside")
        logging.getLogger("gristmill").addHandler(logging.StreamHandler(sys.stdout))
        warn("behind")
        sys.stderr = None
        del sys.modules["logging"]
        warn("nowhere")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("behind\n", "before\nbeside\n")


def test_a_prefetch_of_costly_elements_is_filled_up_again():
    photo = tf.io.encode_jpeg(np.zeros((2000, 2000, 3), np.uint8))
    photos = tf.data.Dataset.from_tensors(photo).repeat(100)
    found = photos.map(lambda p: tf.reduce_sum(tf.cast(tf.io.decode_jpeg(p), tf.int64))).prefetch(8)
    elements = iter(found)

    def made():
        stages = {stage["name"]: stage["elements"] for stage in elements.report()["stages"]}
        return stages["map"]

    def wait_for(count):
        end = time.monotonic() + 60
        while made() < count and time.monotonic() < end:
            time.sleep(0.005)
        assert made() >= count

    next(elements)
    wait_for(9)
    # Less than half of what lies ready is taken.
    for _ in range(3):
        next(elements)
    wait_for(10)
