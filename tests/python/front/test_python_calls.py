"""Python functions in pipelines: values, calls, errors. What is asserted TensorFlow does too."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np
import pytest

import gristmill as gm

D = gm.data.Dataset


class Counting:
    """A function that notes what it was called with."""

    def __init__(self, fail: Any = None) -> None:
        self.seen: list[int] = []
        self.fail = fail or {}

    def __call__(self, x: Any) -> Any:
        self.seen.append(int(x))
        if int(x) in self.fail:
            raise self.fail[int(x)].with_traceback(None)
        return np.int64(10) * int(x)


def through(f: Any, n: int = 10) -> Any:
    return D.range(n).map(lambda x: gm.numpy_function(f, [x], gm.int64))


def numbers(ds: Any) -> list[Any]:
    return [np.asarray(x).tolist() for x in ds]


def stages(it: Any) -> dict[str, dict[str, Any]]:
    return {s["name"]: s for s in it.report()["stages"]}


def one(api: str, result: Any, types: Any) -> Any:
    call = getattr(gm, api)
    return next(iter(D.range(1).map(lambda x: call(lambda _: result, [x], types))))


@pytest.mark.parametrize(
    ("api", "result", "dtype", "value"),
    [
        ("numpy_function", 3, gm.int64, 3),
        ("numpy_function", True, gm.bool, True),
        ("numpy_function", np.arange(3, dtype=np.int32), gm.int32, [0, 1, 2]),
        ("numpy_function", "abc", gm.string, b"abc"),
        ("numpy_function", b"a\0b", gm.string, b"a\0b"),
        ("numpy_function", np.array(["ä", "bcd"]), gm.string, ["ä".encode(), b"bcd"]),
        ("numpy_function", np.array([b"a", b"bcd"], object), gm.string, [b"a", b"bcd"]),
        ("numpy_function", gm.constant(2), gm.int32, 2),
        ("numpy_function", np.zeros((2, 3), np.float32)[:, ::2], gm.float32, [[0, 0], [0, 0]]),
        ("py_function", 3, gm.float32, 3.0),
        ("py_function", np.float64(3.5), gm.float32, 3.5),
        ("py_function", np.arange(2, dtype=np.int32), gm.int64, [0, 1]),
        ("py_function", ["abc"], gm.string, b"abc"),
        ("py_function", [[1, 2]], gm.int64, [1, 2]),
    ],
)
def test_results(api: str, result: Any, dtype: Any, value: Any) -> None:
    got = one(api, result, dtype)
    assert got.dtype == dtype
    assert np.asarray(got.numpy()).tolist() == value


@pytest.mark.parametrize("types", [[gm.int64, gm.float32], (gm.int64, gm.float32)])
def test_several_results(types: Any) -> None:
    ds = D.range(3).map(lambda x: tuple(gm.py_function(lambda v: (v + 1, int(v) / 2), [x], types)))
    assert ds.element_spec == (gm.TensorSpec(None, gm.int64), gm.TensorSpec(None, gm.float32))
    assert [(int(a), float(b)) for a, b in ds] == [(1, 0.0), (2, 0.5), (3, 1.0)]


@pytest.mark.parametrize("types", [None, []])
def test_no_result(types: Any) -> None:
    seen: list[int] = []

    def note(x: Any) -> None:
        seen.append(int(x))

    ds = D.range(4).map(lambda x: (gm.py_function(note, [x], types), x)[1])
    assert numbers(ds) == [0, 1, 2, 3]
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("api", "result", "types", "words"),
    [
        ("numpy_function", 3, gm.float32, "0-th value returned by <lambda> is int64, but expects"),
        ("numpy_function", 3.5, gm.float32, "is float64, but expects float32"),
        ("numpy_function", (1, 2.5), [gm.int64, gm.float32], "1-th value returned by <lambda> is"),
        ("numpy_function", [1, 2], gm.int64, "returns 2 values, but expects to see 1 values"),
        ("numpy_function", None, gm.int64, "returns 0 values, but expects to see 1 values"),
        ("numpy_function", object(), gm.int64, "what <lambda> returned cannot become a tensor"),
        ("py_function", "abc", gm.int64, "Cannot convert 'abc' to EagerTensor of dtype int64"),
        (
            "py_function",
            gm.constant(2),
            gm.int64,
            "requested dtype int64 for Tensor with dtype int",
        ),
        ("py_function", (1,), [gm.int64, gm.int64], "returns 1 values, but expects to see 2"),
        ("py_function", None, gm.int64, "returns 0 values, but expects to see 1 values"),
    ],
)
def test_wrong_results(api: str, result: Any, types: Any, words: str) -> None:
    with pytest.raises(gm.errors.InvalidArgumentError) as e:
        one(api, result, types) if not isinstance(types, list) else list(
            D.range(1).map(lambda x: tuple(getattr(gm, api)(lambda _: result, [x], types)))
        )
    assert words in str(e.value)


def test_what_the_function_is_given() -> None:
    element = (np.int64(3), b"ab", np.array([b"a", b"b"]), np.zeros((2, 2), np.float32))
    seen: list[Any] = []

    def look(*x: Any) -> int:
        seen.append([type(v).__name__ for v in x] + [x[3].flags.writeable, x[2].dtype == object])
        x[3][:] = 7
        return 1

    ds = D.from_tensors(element).repeat(2)
    assert numbers(ds.map(lambda *x: gm.numpy_function(look, x, gm.int64))) == [1, 1]
    assert seen == 2 * [["int64", "bytes", "ndarray", "ndarray", True, True]]
    # What a function writes into its input reaches nobody else.
    both = ds.map(lambda *x: (gm.numpy_function(look, x, gm.int64), x[3]))
    assert [float(y.numpy().sum()) for _, y in both] == [0.0, 0.0]

    kinds: list[str] = []
    given = ds.map(
        lambda *x: gm.py_function(lambda *v: kinds.append(type(v[0]).__name__), x, []) or x
    )
    assert len(list(given)) == 2 and kinds == 2 * ["EagerTensor"]


def test_sparse_tensors_are_given_to_py_function_only() -> None:
    sparse = gm.sparse.from_dense([1, 0, 2])
    ds = D.from_tensors(sparse)
    got = ds.map(lambda s: gm.py_function(lambda v: gm.sparse.to_dense(v), [s], gm.int32))
    assert numbers(got) == [[1, 0, 2]]
    with pytest.raises(TypeError, match="numpy_function takes dense tensors, found SparseTensor"):
        ds.map(lambda s: gm.numpy_function(lambda v: v, [s], gm.int32))
    with pytest.raises(NotImplementedError, match="returns dense tensors"):
        ds.map(lambda s: gm.py_function(lambda v: v, [s], gm.SparseTensorSpec([3], gm.int32)))


def test_shapes_are_stated_by_the_user() -> None:
    def rows(x: Any) -> Any:
        return np.full((int(x) + 1, 2), x, np.float32)

    def f(x: Any) -> Any:
        y = gm.numpy_function(rows, [x], gm.float32)
        assert y.shape.rank is None
        y.set_shape([None, 2])
        return y

    ds = D.range(3).map(f)
    assert ds.element_spec == gm.TensorSpec([None, 2], gm.float32)
    assert [tuple(x.shape) for x in ds] == [(1, 2), (2, 2), (3, 2)]

    def g(x: Any) -> Any:
        y = gm.numpy_function(rows, [x], gm.float32)
        y.set_shape([None, 3])
        return y

    with pytest.raises(gm.errors.InvalidArgumentError, match="3"):
        next(iter(D.range(3).map(g)))


def test_decorators_and_partial_functions() -> None:
    @gm.py_function(Tout=gm.int64)  # type: ignore[untyped-decorator]
    def plus(a: Any, b: Any) -> Any:
        return a + b

    assert numbers(D.range(3).map(lambda x: plus(x, x))) == [0, 2, 4]
    times = functools.partial(lambda k, x: np.int64(k * x), 3)
    assert numbers(D.range(3).map(lambda x: gm.numpy_function(times, [x], gm.int64))) == [0, 3, 6]
    with pytest.raises(ValueError, match="Expected func to be callable"):
        D.range(3).map(lambda x: gm.py_function(3, [x], gm.int64))


def test_native_parts_of_a_map_are_maps_of_their_own() -> None:
    f = Counting()

    def mixed(x: Any, name: Any) -> Any:
        y = gm.numpy_function(f, [x * 2 + 1], gm.int64)
        return {"y": y - 1, "x": x, "name": name}

    ds = D.zip((D.range(5), D.from_tensor_slices([b"a", b"b", b"c", b"d", b"e"]))).map(mixed)
    plan = ds.explain().split("plan that runs:")[1]
    lines = [line.strip().split(" →")[0] for line in plan.splitlines() if "map(" in line]
    assert len(lines) == 3 and "numpy_function[Counting]" in lines[1], plan
    assert "numpy_function" not in lines[0] + lines[2]
    got = [(int(e["y"]), int(e["x"]), e["name"].numpy()) for e in ds]
    assert got == [(10 * (2 * i + 1) - 1, i, b"abcde"[i : i + 1]) for i in range(5)]
    assert f.seen == [1, 3, 5, 7, 9]


def test_two_calls_in_one_map_go_element_by_element() -> None:
    order: list[str] = []

    def a(x: Any) -> Any:
        order.append(f"a{x}")
        return x

    def b(x: Any) -> Any:
        order.append(f"b{x}")
        if x == 1:
            raise ValueError
        return x

    def f(x: Any) -> Any:
        y = gm.numpy_function(a, [x], gm.int64)
        return gm.numpy_function(b, [y + 1], gm.int64)

    assert numbers(D.range(4).map(f).ignore_errors().batch(4)) == [[2, 3, 4]]
    assert order == ["a0", "b1", "a1", "b2", "a2", "b3", "a3", "b4"]


def asked(ds: Any, n: int) -> None:
    it = iter(ds)
    for _ in range(n):
        next(it)
    it.close()


@pytest.mark.parametrize(
    ("name", "steps", "elements", "calls"),
    [
        ("plain", lambda d: d, 3, 3),
        ("batch", lambda d: d.batch(4), 2, 8),
        ("take", lambda d: d.take(2), 2, 2),
        ("skip", lambda d: d.skip(3), 1, 4),
        ("shard", lambda d: d.shard(3, 1), 2, 5),
        ("shuffle", lambda d: d.shuffle(10, seed=1), 1, 10),
        ("native filter", lambda d: d.filter(lambda x: x > 50), 1, 7),
        ("native map", lambda d: d.map(lambda x: x + 1).batch(4).map(lambda x: x * 2), 2, 8),
        ("zip", lambda d: D.zip((D.range(100), d)), 3, 3),
        ("repeat", lambda d: d.repeat(), 12, 12),
        ("unbatch", lambda d: d.batch(4).unbatch(), 5, 8),
        ("interleave", lambda d: D.range(3).interleave(lambda _: d, cycle_length=2), 3, 3),
        ("flat_map", lambda d: D.range(3).flat_map(lambda _: d), 3, 3),
    ],
)
def test_calls_are_made_for_what_is_asked_for(
    name: str, steps: Any, elements: int, calls: int
) -> None:
    f = Counting()
    asked(steps(through(f, 100)), elements)
    assert len(f.seen) == calls
    if name not in ("interleave",):
        assert f.seen == [i % 100 for i in range(calls)]


@pytest.mark.parametrize("parallel", [None, 1, 4, gm.data.AUTOTUNE])
@pytest.mark.parametrize("deterministic", [None, False])
def test_parallel_calls_keep_the_order(parallel: Any, deterministic: Any) -> None:
    f = Counting()
    ds = D.range(100).map(
        lambda x: gm.numpy_function(f, [x + 1], gm.int64) - 10, parallel, deterministic
    )
    assert numbers(ds.batch(50)) == [[*range(0, 500, 10)], [*range(500, 1000, 10)]]
    assert f.seen == list(range(1, 101))


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_prefetch_runs_as_far_ahead_as_it_says(ahead: int) -> None:
    f = Counting()
    it = iter(through(f, 100).prefetch(ahead))
    next(it)
    threading.Event().wait(0.3)
    assert len(f.seen) == 1 + ahead
    next(it)
    threading.Event().wait(0.3)
    assert f.seen == list(range(2 + ahead))


def test_a_cache_calls_once_per_element() -> None:
    f = Counting()
    ds = through(f, 6).cache()
    assert numbers(ds.take(2)) == [0, 10]
    assert numbers(ds) == numbers(ds) == [0, 10, 20, 30, 40, 50]
    assert f.seen == [0, 1, 2, 3, 4, 5]


def test_a_shuffle_stays_behind_the_calls() -> None:
    count = iter(range(100))
    ds = D.range(8).map(lambda x: gm.numpy_function(lambda _: next(count), [x], gm.int64))
    plain = numbers(D.range(8).shuffle(4, seed=3))
    assert numbers(ds.shuffle(4, seed=3)) == plain


def test_the_lock_is_taken_once_per_block() -> None:
    f = Counting()
    it = iter(through(f, 100).batch(25))
    assert len(list(it)) == 4
    stage = stages(it)["map (numpy_function)"]
    assert (stage["foreign_calls"], stage["foreign_holds"], stage["elements"]) == (100, 4, 100)
    # A native map behind the call makes no difference.
    it = iter(through(f, 100).map(lambda x: gm.fill([50, 50], x)).batch(25))
    assert len(list(it)) == 4
    assert stages(it)["map (numpy_function)"]["foreign_holds"] == 4
    text = through(f, 100).batch(25).profile()
    assert "map (numpy_function): 100 calls of Python functions" in text
    assert "lock was taken 4 times" in text


@pytest.mark.parametrize("parallel", [None, 2])
def test_slow_native_steps_before_it_make_no_more_crossings(parallel: Any) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (600, 600, 3), np.uint8)
    photo = gm.io.encode_jpeg(pixels).numpy()
    f = Counting()

    def load(x: Any, jpeg: Any) -> Any:
        image = gm.io.decode_jpeg(jpeg)
        return gm.numpy_function(f, [x + gm.cast(image[0, 0, 0], gm.int64) * 0], gm.int64)

    for shift in (0, 1):
        f.seen.clear()
        ds = D.zip((D.range(40), D.from_tensors(photo).repeat())).map(load, parallel)
        it = iter((ds.map(lambda x: x + 1) if shift else ds).batch(10))
        assert numbers(it) == [[10 * i + shift for i in range(a, a + 10)] for a in (0, 10, 20, 30)]
        stage = stages(it)["map (numpy_function)"]
        assert (stage["foreign_calls"], stage["foreign_holds"]) == (40, 4)
        assert f.seen == list(range(40))


def test_filter_and_cond_and_interleave() -> None:
    f = Counting()
    kept = D.range(10).filter(lambda x: gm.numpy_function(lambda v: v % 3 == 0, [x], gm.bool))
    assert numbers(kept.batch(2)) == [[0, 3], [6, 9]]
    ds = D.range(6).map(
        lambda x: gm.cond(x % 2 == 0, lambda: gm.numpy_function(f, [x], gm.int64), lambda: x)
    )
    assert numbers(ds) == [0, 1, 20, 3, 40, 5]
    assert f.seen == [0, 2, 4]
    counts = D.range(3).flat_map(
        lambda x: D.range(gm.numpy_function(lambda v: v + 1, [x], gm.int64))
    )
    assert numbers(counts) == [0, 0, 1, 0, 1, 2]


@pytest.mark.parametrize("api", ["numpy_function", "py_function"])
@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("v"), "InvalidArgumentError"),
        (TypeError("t"), "InvalidArgumentError"),
        (StopIteration("s"), "InvalidArgumentError"),
        (MemoryError("m"), "ResourceExhaustedError"),
        (NotImplementedError("n"), "UnimplementedError"),
        (KeyError("k"), "UnknownError"),
        (OSError(2, "gone"), "UnknownError"),
        (ZeroDivisionError("z"), "UnknownError"),
        (gm.errors.NotFoundError("nf"), "UnknownError"),
    ],
)
def test_exceptions_take_the_place_of_the_element(api: str, raised: Exception, kind: str) -> None:
    f = Counting({1: raised})
    ds = D.range(3).map(lambda x: getattr(gm, api)(f, [x], gm.int64))
    it = iter(ds)
    assert int(next(it)) == 0
    with pytest.raises(gm.errors.OpError) as e:
        next(it)
    assert type(e.value).__name__ == kind
    text = str(e.value)
    assert type(raised).__name__ in text
    assert "test_python_calls.py" in text and "raise self.fail[int(x)].with_traceback(None)" in text
    assert f"while running {api} (test_python_calls.py:" in text and f"in map ({api})" in text
    assert "gristmill/_calls.py" not in text
    assert e.value.__cause__ is raised
    assert int(next(it)) == 20 and next(it, None) is None
    assert f.seen == [0, 1, 2]
    f.seen.clear()
    assert numbers(ds.ignore_errors().batch(2)) == [[0, 20]]
    assert f.seen == [0, 1, 2]


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize(
    "steps", ["plain", "batch", "ignore_errors", "prefetch", "cache", "filter"]
)
def test_what_is_meant_for_the_program_ends_the_pass(raised: BaseException, steps: str) -> None:
    f = Counting({3: raised})
    ds = through(f, 100)
    ds = {
        "plain": lambda d: d,
        "batch": lambda d: d.batch(10),
        "ignore_errors": lambda d: d.ignore_errors().shuffle(5, seed=1),
        "prefetch": lambda d: d.prefetch(2),
        "cache": lambda d: d.cache(),
        "filter": lambda d: d.filter(lambda x: x >= 0),
    }[steps](ds)
    it = iter(ds)
    with pytest.raises(type(raised)) as e:
        for _ in it:
            pass
    assert e.value is raised
    assert f.seen == [0, 1, 2, 3]
    assert next(it, None) is None
    # The next pass begins anew, a cache where it was.
    f.fail = {}
    if steps == "cache":
        assert numbers(ds) == list(range(0, 1000, 10))
        assert f.seen == [0, 1, 2, 3, *range(3, 100)]


def test_states_go_on_without_calling_again() -> None:
    f = Counting()
    ds = through(f, 20).shuffle(5, 1, False).batch(3).repeat(2)
    whole = numbers(ds)
    calls = len(f.seen)
    for cut in range(len(whole)):
        f.seen.clear()
        it = ds.iterator()
        for _ in range(cut):
            next(it)
        again = ds.iterator(it.state())
        before = len(f.seen)
        assert numbers(again) == whole[cut:]
        # What lay in the buffer of the shuffle is computed again, nothing else.
        assert len(f.seen) - before <= calls - before + 5 + 3


def test_a_plain_state_calls_nothing_twice() -> None:
    f = Counting()
    ds = through(f, 20).batch(4)
    it = ds.iterator()
    next(it)
    next(it)
    assert numbers(ds.iterator(it.state())) == [
        [80, 90, 100, 110],
        [120, 130, 140, 150],
        [160, 170, 180, 190],
    ]
    assert f.seen == list(range(20))


def test_a_state_knows_the_function() -> None:
    def make(f: Any) -> Any:
        return D.range(9).map(lambda x: gm.numpy_function(f, [x], gm.int64))

    def f(x: Any) -> Any:
        return x + 1

    old = f
    state = make(f).iterator().state()
    assert numbers(make(f).iterator(state)) == list(range(1, 10))

    def f(x: Any) -> Any:  # type: ignore[no-redef]
        return x + 2

    assert f.__qualname__ == old.__qualname__
    with pytest.raises(gm.errors.InvalidArgumentError, match="made by another pipeline"):
        make(f).iterator(state)


def test_eager_calls_run_at_once() -> None:
    assert gm.numpy_function(lambda a: a * 2, [np.arange(3)], gm.int64).numpy().tolist() == [
        0,
        2,
        4,
    ]
    assert gm.py_function(lambda a: None, [1], []) == []
    with pytest.raises(KeyError):
        gm.py_function(lambda a: dict[int, int]()[1], [1], gm.int64)
