"""Small budgets of memory never stop a pipeline, and many passes never grow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import gristmill as gm
from robust import child

MEGABYTE = 1 << 20


def small(ds: Any, budget: int = MEGABYTE) -> Any:
    """The dataset with a budget of bytes for work ahead."""
    options = gm.data.Options()
    options.autotune.ram_budget = budget
    return ds.with_options(options)


def pictures(n: int, side: int = 256) -> Any:
    """Pictures of 256 KiB each."""
    return gm.data.Dataset.range(n).map(lambda x: gm.fill([side, side], gm.cast(x, gm.float32)))


def corners(batches: Any) -> list[float]:
    """The number that each picture shows."""
    return [float(v) for b in batches for v in b.numpy()[:, 0, 0]]


@pytest.mark.parametrize("budget", [0, 1, MEGABYTE])
def test_a_consumer_that_keeps_everything(budget: int) -> None:
    kept = list(small(pictures(64).batch(8).prefetch(16), budget))
    assert corners(kept) == [float(i) for i in range(64)]


@pytest.mark.parametrize("budget", [0, MEGABYTE])
def test_a_shuffle_larger_than_the_budget(budget: int) -> None:
    def made() -> Any:
        return pictures(64).shuffle(48, seed=1).batch(8)

    got = corners(small(made(), budget))
    assert got == corners(made())
    assert sorted(got) == [float(i) for i in range(64)]


def test_a_batch_larger_than_the_budget() -> None:
    assert corners(small(pictures(32).batch(16).prefetch(4))) == [float(i) for i in range(32)]


def test_a_cache_larger_than_the_budget() -> None:
    ds = small(pictures(32).cache().batch(8))
    assert corners(ds) == corners(ds) == [float(i) for i in range(32)]


def test_a_slow_and_a_fast_branch() -> None:
    fast = pictures(40).prefetch(40)
    slow = gm.data.Dataset.range(40 * 5_000).filter(lambda x: x % 5_000 == 0).prefetch(2)
    got = list(small(gm.data.Dataset.zip(fast, slow, fast.shuffle(30, seed=1)).batch(5)))
    assert corners(b[0] for b in got) == [float(i) for i in range(40)]
    assert [int(v) for b in got for v in b[1].numpy()] == [i * 5_000 for i in range(40)]
    assert sorted(corners(b[2] for b in got)) == [float(i) for i in range(40)]


def test_many_branches_with_prefetches_of_their_own() -> None:
    ds = gm.data.Dataset.range(6).interleave(
        lambda x: pictures(6).map(lambda p: p + gm.cast(x, gm.float32)).prefetch(8),
        cycle_length=3,
        num_parallel_calls=3,
    )
    assert len(corners(small(ds.batch(4).prefetch(8)))) == 36


GROWTH = {
    "pictures": lambda: pictures(32, 64).shuffle(16).batch(8).prefetch(2),
    "cache": lambda: pictures(32, 64).cache().shuffle(16).batch(8),
    "strings": lambda: gm.data.Dataset.range(500).map(gm.strings.as_string).shuffle(100).batch(50),
    "nested": lambda: gm.data.Dataset.range(20).flat_map(
        lambda x: gm.data.Dataset.range(10).map(lambda y: gm.fill([500], x + y))
    ),
    "errors": lambda: (
        gm.data.Dataset.range(100).map(lambda x: gm.gather([1, 2], x % 4)).ignore_errors()
    ),
}


@pytest.mark.parametrize("name", GROWTH)
def test_memory_stays_bounded_over_many_epochs(name: str) -> None:
    ds = GROWTH[name]()

    def epochs(n: int) -> None:
        for _ in range(n):
            for _ in ds:
                pass

    epochs(30)
    before = child.resident()
    epochs(120)
    grown = child.resident() - before
    assert grown < 24 * MEGABYTE, f"{grown / MEGABYTE:.1f} MB"


def test_memory_stays_bounded_over_one_long_pass() -> None:
    it = iter(pictures(10**9, 64).shuffle(64).repeat().batch(8))
    # The pool of free batches fills first, up to its limit.
    for _ in range(12_000):
        next(it)
    before = child.resident()
    for _ in range(12_000):
        next(it)
    assert child.resident() - before < 64 * MEGABYTE


def test_memory_stays_bounded_when_passes_are_left_early() -> None:
    ds = pictures(10**9).shuffle(8).batch(4)
    for _ in range(10):
        next(iter(ds))
    before = child.resident()
    for _ in range(60):
        next(iter(ds))
    assert child.resident() - before < 48 * MEGABYTE


HUGE = """
import gristmill as gm
D = gm.data.Dataset
for use in (
    lambda: gm.zeros([10**13]),
    lambda: gm.one_hot([1], 10**14),
    lambda: next(iter(D.range(3).map(lambda x: gm.fill([10**14], x)))),
    lambda: next(iter(D.range(3).map(lambda x: gm.fill([10**13], x)).batch(2))),
    lambda: next(iter(D.range(10**15).batch(10**14))),
):
    try:
        use()
        print("no error")
    except gm.errors.ResourceExhaustedError as e:
        print(isinstance(e, MemoryError), "bytes" in str(e))
print(gm.zeros([3]).numpy().tolist())
"""


def test_values_that_cannot_be_held_are_an_error() -> None:
    expected = "True True\n" * 5 + "[0.0, 0.0, 0.0]\n"
    assert child.run(HUGE) == (0, expected, "")


STREAM = """
import resource, sys
import gristmill as gm

path, budget, mapped, times = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
functions = {"length": gm.strings.length, "bytes": lambda r: gm.io.decode_raw(r, gm.uint8)}
options = gm.data.Options()
options.autotune.ram_budget = budget
ds = gm.data.TFRecordDataset([path] * times).shuffle(500, seed=1)
ds = ds.map(functions[mapped]).batch(32).prefetch(4).with_options(options)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before, records = peak(), 0
for batch in ds:
    records += batch.shape[0]
print(records, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in other units elsewhere")
@pytest.mark.parametrize(("mapped", "times"), [("length", 100), ("bytes", 20)])
def test_ten_gigabytes_stream_within_a_budget(tmp_path: Path, mapped: str, times: int) -> None:
    budget, overhead = 256_000_000, 64_000_000
    path = str(tmp_path / "part.tfrecord")
    with gm.io.TFRecordWriter(path) as out:
        for i in range(1_000):
            out.write(i.to_bytes(4, "little") * 25_000)
    status, said, errors = child.run(STREAM, path, str(budget), mapped, str(times), timeout=240)
    assert (status, errors) == (0, "")
    records, grown = map(int, said.split())
    assert records == 1_000 * times
    assert grown < budget + overhead, f"{grown / 1e6:.0f} MB"


SHORT_OF_ADDRESSES = """
import os, resource, sys
import numpy as np
import gristmill as gm

path, left = sys.argv[1], int(sys.argv[2]) << 20
resident = lambda: int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
gm.fill([1000], 1).numpy()
resource.setrlimit(resource.RLIMIT_AS, (resident() + left, resource.RLIM_INFINITY))
D = gm.data.Dataset
for use in (
    lambda: sum(int(b.numpy().sum()) for b in D.range(100_000).batch(1024)),
    lambda: sum(int(v) for v in D.range(1000).map(gm.strings.as_string).map(gm.strings.length)),
    lambda: sum(len(r.numpy()) for r in gm.data.TFRecordDataset([path] * 2).shuffle(10)),
    lambda: gm.verify([path])["records"],
):
    for _ in range(2):
        try:
            print(use())
        except (gm.errors.ResourceExhaustedError, MemoryError):
            print("exhausted")
"""


# 20 and 40 are too little for the stack of the thread that makes elements ahead.
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("megabytes", [20, 40, 400])
def test_without_room_for_threads_there_is_a_result_or_an_error(
    tmp_path: Path, megabytes: int
) -> None:
    path = str(tmp_path / "part.tfrecord")
    with gm.io.TFRecordWriter(path) as out:
        for _ in range(100):
            out.write(b"x" * 50_000)
    status, said, errors = child.run(SHORT_OF_ADDRESSES, path, str(megabytes), timeout=60)
    assert (status, errors) == (0, "")
    results = ["4999950000", "2890", "10000000", "100"]
    assert len(said.split()) == 8
    for i, line in enumerate(said.split()):
        assert line in (results[i // 2], "exhausted")
