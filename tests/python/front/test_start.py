"""What the first steps of a program cost it."""

import subprocess
import sys
import textwrap


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
