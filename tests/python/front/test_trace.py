"""Tensors in traced functions."""

import ctypes
import threading

import numpy as np
import pytest

import gristmill as gm
from gristmill import _trace
from gristmill.errors import InaccessibleTensorError, OperatorNotAllowedInGraphError


def symbolic(dtype="float32", shape=(None, 3)):
    graph = _trace.FuncGraph([("tensor", dtype, shape)], "f")
    return graph, graph.inputs[0]


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda x: bool(x > 0), "gm.where"),
        (lambda x: 1 if x else 2, "gm.cond"),
        (lambda x: int(x), "Python int"),
        (lambda x: float(x), "Python float"),
        (lambda x: len(x), "gm.shape"),
        (lambda x: list(x), "unknown length"),
        (lambda x: np.asarray(x), "NumPy"),
        (lambda x: x.numpy(), "NumPy"),
        (lambda x: range(10)[x], "Python index"),
    ],
)
def test_what_needs_a_value_is_refused_with_line_and_way_out(use, words):
    graph, x = symbolic()
    with graph, pytest.raises(OperatorNotAllowedInGraphError) as e:
        use(x)
    assert words in str(e.value)
    assert "test_trace.py:" in str(e.value)
    assert "hint:" in str(e.value)


def test_numpy_functions_are_refused():
    graph, x = symbolic()
    with graph:
        with pytest.raises(TypeError):
            np.add(x, 1)
        with pytest.raises(TypeError, match="hashed"):
            hash(x)


def test_shapes_and_dtypes_follow():
    graph, x = symbolic()
    with graph:
        y = gm.cast(x * 2 + 1, gm.int32)
        assert (y.dtype, y.shape) == (gm.int32, [None, 3])
        assert gm.expand_dims(y, 0).shape == [1, None, 3]
        z = x[0]
        assert z.shape == [3]
        assert len(list(z)) == 3


def test_errors_name_the_users_line():
    graph, x = symbolic()
    with graph, pytest.raises(ValueError, match=r"test_trace\.py:\d+"):
        x + gm.constant(1, gm.int32)


def test_constants_stay_values():
    graph, _ = symbolic()
    with graph:
        assert int(gm.constant(2) + 3) == 5


def test_leaked_tensors_are_named():
    graph, x = symbolic()
    with graph:
        pass
    with pytest.raises(InaccessibleTensorError, match="outside it"):
        x + 1


def test_random_ops_are_nodes():
    graph, _ = symbolic()
    with graph:
        assert isinstance(gm.random.uniform([2]), gm.Tensor)
        assert gm.random.uniform([2])._value is None


def test_lists_with_tensors_are_stacked():
    graph, x = symbolic("int32", ())
    with graph:
        t = gm.convert_to_tensor([x, 1, 2])
        assert (t.dtype, t.shape) == (gm.int32, [3])


def test_a_function_is_called_once_inside_map():
    calls = []

    def f(x):
        calls.append(threading.get_ident())
        return x * 2

    ds = gm.data.Dataset.range(1000).map(f, num_parallel_calls=4)
    assert calls == [threading.get_ident()]
    assert ds.element_spec == gm.TensorSpec([], gm.int64)
    for _ in range(2):
        assert sum(int(v) for v in ds.as_numpy_iterator()) == 999_000
    assert len(calls) == 1, "neither a pass nor another transformation calls it again"
    ds.map(f).filter(lambda x: x > 5)
    assert len(calls) == 2


def test_a_pipeline_runs_while_the_interpreter_is_held():
    """A call into C that keeps the interpreter lock keeps no worker from working."""
    hold = ctypes.PyDLL(None).usleep

    def work(i):
        image = gm.zeros([64, 64, 3]) + gm.cast(i, gm.float32)
        return gm.reduce_sum(gm.image.resize(image, [256, 256]))

    ds = gm.data.Dataset.range(1_000_000).map(work, num_parallel_calls=2).prefetch(1_000_000)
    it = iter(ds)
    next(it)

    def made():
        return next(s["elements"] for s in it.report()["stages"] if s["name"] == "map")

    before = made()
    hold(ctypes.c_uint(500_000))
    # Whatever was made meanwhile was made without the lock: this thread held it all the time.
    after = made()
    it.close()
    assert after - before >= 20, (before, after)
