"""`Dataset.reduce`: what it gives, what it refuses, and which functions run in the engine."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import gristmill as tf

Dataset = tf.data.Dataset
errors = tf.errors


def test_state_nests_like_the_first_one_whatever_the_function_returns():
    pairs = Dataset.zip((Dataset.range(4), Dataset.range(4).map(lambda x: x * x)))
    state = {"sum": np.int64(0), "scale": np.float32(1)}
    got = pairs.reduce(state, lambda s, x: {"scale": s["scale"] * 2, "sum": s["sum"] + x[0] * x[1]})
    assert {k: v.numpy() for k, v in got.items()} == {"sum": 0 + 1 + 8 + 27, "scale": 16.0}
    swapped = Dataset.range(3).reduce((np.int64(1), np.int64(2)), lambda s, x: [s[1], s[0]])
    assert isinstance(swapped, tuple)
    assert [int(v) for v in swapped] == [2, 1]


def test_an_empty_dataset_gives_the_initial_state():
    assert int(Dataset.range(0).reduce(np.int64(7), lambda s, x: s + x)) == 7


def test_the_state_may_grow():
    start = tf.zeros([2], tf.int64)
    got = Dataset.range(3).reduce(start, lambda s, x: tf.concat([s, [x]], 0))
    assert got.numpy().tolist() == [0, 0, 0, 1, 2]
    grown = Dataset.range(2).reduce(start, lambda s, x: tf.expand_dims(s, 0))
    assert grown.shape == (1, 1, 2)


def test_sparse_states_pass_through():
    state = tf.sparse.from_dense([1, 0, 2])
    got = Dataset.range(3).reduce((state, np.int64(0)), lambda s, x: (s[0], s[1] + x))
    assert tf.sparse.to_dense(got[0]).numpy().tolist() == [1, 0, 2]
    assert int(got[1]) == 3


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda s, x: tf.cast(s, tf.int32), TypeError, "element types .* int64.* got int32"),
        (lambda s, x: 5, TypeError, "element types for the new state"),
        (lambda s, x: (s, x), errors.InvalidArgumentError, r"initial_state=1, output=2"),
        (lambda s, x: None, TypeError, "None"),
        (lambda s: s, TypeError, "positional argument"),
        (lambda s, x: (s.numpy(), x), errors.InvalidArgumentError, r"initial_state=1, output=2"),
        (lambda s, x: np.float32(s.numpy()), TypeError, "int64.* got float32"),
        (lambda s, x: s + np.random.randint(5), TypeError, "draws from np.random"),
        (3, TypeError, "takes a function, found int"),
    ],
)
def test_what_no_state_can_be(function, error, words):
    with pytest.raises(error, match=words):
        Dataset.range(5).reduce(np.int64(0), function)


def test_functions_are_traced_unless_they_need_values():
    calls = []

    def step(s, x):
        calls.append(x)
        return s + x

    assert int(Dataset.range(100).reduce(np.int64(0), step)) == 4950
    assert len(calls) == 1
    seen = []

    def looks(s, x):
        seen.append(int(x))
        return s + x if x > 2 else s

    assert int(Dataset.range(5).reduce(np.int64(0), looks)) == 7
    assert seen == [0, 1, 2, 3, 4]
    twice = Dataset.range(4).reduce(
        np.int64(0), lambda s, x: s + tf.py_function(lambda v: v * 2, [x], tf.int64)
    )
    assert int(twice) == 12


def test_random_ops_draw_anew_for_every_element():
    draws = Dataset.range(50).reduce(
        tf.zeros([0], tf.int32),
        lambda s, x: tf.concat(
            [s, tf.random.uniform([2], maxval=1 << 30, dtype=tf.int32, seed=3)], 0
        ),
    )
    assert len(set(draws.numpy().tolist())) == 100


def test_the_order_is_that_of_the_elements_and_the_first_error_ends_it():
    files = tf.constant(["2", "7", "x", "y"])
    numbers = Dataset.from_tensor_slices(files)
    digits = numbers.take(2).reduce(
        np.int64(0), lambda s, x: s * 10 + tf.strings.to_number(x, tf.int64)
    )
    assert int(digits) == 27
    with pytest.raises(errors.InvalidArgumentError, match="x") as found:
        numbers.reduce(np.int64(0), lambda s, x: s + tf.strings.to_number(x, tf.int64))
    assert "test_reduce.py" in str(found.value)
    with pytest.raises(errors.InvalidArgumentError, match="y"):
        numbers.skip(3).map(lambda x: tf.strings.to_number(x)).reduce(0.0, lambda s, x: s + x)


def test_what_an_assertion_guards_does_not_run_before_it():
    def checked(s, x):
        tf.Assert(tf.strings.length(x) < 2, ["too long"])
        return s + tf.strings.to_number(x, tf.int64)

    texts = Dataset.from_tensor_slices(["1", "xx"])
    with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: .*too long") as found:
        texts.reduce(np.int64(0), checked)
    assert str(found.value).count("assertion failed") == 1


def test_errors_of_python_functions_are_those_of_a_map():
    def bad(x):
        raise ValueError("this one")

    def step(s, x):
        return s + tf.py_function(bad, [x], tf.int64)

    with pytest.raises(errors.InvalidArgumentError, match="ValueError: this one"):
        Dataset.range(3).reduce(np.int64(0), step)

    def stop(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Dataset.range(3).reduce(np.int64(0), lambda s, x: s + tf.py_function(stop, [x], tf.int64))


def test_no_reduction_inside_a_traced_function():
    inner = Dataset.range(3)
    with pytest.raises(TypeError, match="inside a traced function"):
        Dataset.range(2).map(lambda x: inner.reduce(x, lambda s, y: s + y))


def test_each_reduction_is_an_epoch_of_its_own():
    ds = Dataset.range(40).shuffle(40, seed=1)
    start = tf.zeros([0], tf.int64)

    def orders(collect):
        return [collect(), collect()]

    def join(s, x):
        return tf.concat([s, [x + 0]], 0)

    def reduced():
        return ds.reduce(start, join).numpy().tolist()

    got = orders(reduced)
    again = Dataset.range(40).shuffle(40, seed=1)
    assert got == orders(lambda: [int(x) for x in again])
    assert got[0] != got[1]


def test_interrupted_at_once():
    code = """
        import gristmill as tf, numpy as np
        ds = tf.data.Dataset.range(1).repeat()
        print("ready", flush=True)
        ds.reduce(np.int64(0), lambda s, x: s + x)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert b"KeyboardInterrupt" in err


def test_a_predicate_gives_one_tensor():
    with pytest.raises(ValueError, match="predicate"):
        Dataset.range(2).filter(lambda x: [x > 0])
