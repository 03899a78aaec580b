"""Threads end with their iterators, and several readers may share a dataset."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gristmill as gm
from robust import child


def pipeline(n: int = 10**9) -> Any:
    """A pipeline with every stage that runs ahead."""
    ds = gm.data.Dataset.range(n).map(lambda x: gm.fill([50, 50], gm.cast(x, gm.float32)))
    return ds.shuffle(64, seed=1).batch(8).prefetch(4)


def baseline() -> int:
    """Threads once the workers that all passes share are there."""
    next(iter(pipeline()))
    return child.settled(0, 0.5)


def test_dropped_passes_end_their_threads() -> None:
    before = baseline()
    for _ in range(20):
        it = iter(pipeline())
        next(it)
    del it
    assert child.settled(before) <= before


def test_closed_passes_end_their_threads_and_say_so() -> None:
    before = baseline()
    passes = [iter(pipeline()) for _ in range(5)]
    for it in passes:
        next(it)
    assert child.threads() >= before + 5
    for it in passes:
        it.close()
        it.close()
    assert child.settled(before) <= before
    with pytest.raises(gm.errors.CancelledError, match="closed"):
        next(passes[0])


def test_finished_passes_end_their_threads() -> None:
    before = baseline()
    passes = [iter(pipeline(20)) for _ in range(5)]
    assert [sum(1 for _ in it) for it in passes] == [3] * 5
    assert child.settled(before) <= before


def test_passes_that_are_never_read_do_nothing(tmp_path: Any) -> None:
    missing = gm.data.TFRecordDataset(str(tmp_path / "none")).shuffle(10**9).cache().prefetch(10)
    ds = pipeline()
    before = baseline()
    made = [iter(d) for _ in range(200) for d in (ds, missing)]
    assert child.threads() <= before
    assert all(row["elements"] == 0 for it in made[:2] for row in it.report()["stages"])
    del made
    assert child.settled(before) <= before


def test_private_worker_threads_end_with_their_pass() -> None:
    options = gm.data.Options()
    options.threading.private_threadpool_size = 3
    before = baseline()
    for _ in range(10):
        assert len(list(pipeline(20).with_options(options))) == 3
    assert child.settled(before) <= before


def test_nested_datasets_end_their_threads() -> None:
    before = baseline()
    ds = gm.data.Dataset.range(100).interleave(
        lambda x: gm.data.Dataset.range(10**9).map(lambda y: x + y).prefetch(2), cycle_length=4
    )
    for _ in range(3):
        it = iter(ds.prefetch(2))
        for _ in range(10):
            next(it)
    del it
    assert child.settled(before) <= before


def in_threads(n: int, work: Any) -> list[Any]:
    """Results of ``work(i)`` in n threads at a time."""
    results: list[Any] = [None] * n

    def one(i: int) -> None:
        try:
            results[i] = work(i)
        except Exception as e:
            results[i] = e

    running = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in running:
        t.start()
    for t in running:
        t.join(60)
        assert not t.is_alive()
    return results


def test_a_dataset_may_be_read_by_several_threads_at_once() -> None:
    ds = pipeline(200)
    expected = [b.numpy()[:, 0, 0].tolist() for b in ds.take(10**6)]
    flat = sorted(x for b in expected for x in b)
    for got in in_threads(4, lambda i: [b.numpy()[:, 0, 0].tolist() for b in ds]):
        assert isinstance(got, list), got
        assert sorted(x for b in got for x in b) == flat


def test_a_cache_may_be_filled_by_several_threads_at_once() -> None:
    ds = gm.data.Dataset.range(2000).map(lambda x: x * x).cache()
    expected = [i * i for i in range(2000)]
    for got in in_threads(4, lambda i: [int(x.numpy()) for x in ds]):
        assert got == expected


def test_a_pass_shared_by_threads_gives_each_element_once() -> None:
    it = iter(gm.data.Dataset.range(2000).map(lambda x: x + 1).prefetch(8))
    parts = in_threads(4, lambda i: [int(x.numpy()) for x in it])
    assert sorted(x for p in parts for x in p) == list(range(1, 2001))


def test_closing_while_another_thread_waits() -> None:
    it = iter(gm.data.Dataset.range(10**15).filter(lambda x: x < 0))
    threading.Timer(0.3, it.close).start()
    (got,) = in_threads(1, lambda i: next(it))
    assert isinstance(got, gm.errors.CancelledError), got


def test_a_dataset_is_described_in_several_threads_at_once() -> None:
    def work(i: int) -> list[int]:
        return [int(x.numpy()) for x in gm.data.Dataset.range(50).map(lambda x: x + i)]

    assert in_threads(8, work) == [list(range(i, 50 + i)) for i in range(8)]
