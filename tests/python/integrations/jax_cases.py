"""`Dataset.to_jax` over eight virtual devices; started by test_frameworks.py."""

import gc
import os
import socket
import subprocess
import sys
import threading
import time

import jax
import ml_dtypes
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import gristmill as gm
from gristmill.data import Dataset, _lints
from gristmill.errors import InvalidArgumentError


@pytest.fixture(scope="module")
def split():
    assert len(jax.devices()) == 8
    return NamedSharding(Mesh(np.array(jax.devices()), ("batch",)), PartitionSpec("batch"))


def rows(count, batch, width=16):
    ds = Dataset.range(count).map(
        lambda i: (gm.fill([width], gm.cast(i, gm.float32)), gm.cast(i, gm.int32))
    )
    return ds.batch(batch)


def addresses(array):
    return [shard.data.unsafe_buffer_pointer() for shard in array.addressable_shards]


def test_a_batch_is_one_global_array_over_eight_devices(split):
    batches = list(rows(48, 16).to_jax(split))
    assert len(batches) == 3
    x, y = batches[1]
    assert isinstance(x, jax.Array) and x.sharding == split and x.shape == (16, 16)
    assert np.asarray(y).tolist() == list(range(16, 32))
    assert [float(shard.data[0, 0]) for shard in x.addressable_shards] == [
        16.0 + 2 * i for i in range(8)
    ]
    assert float(jax.jit(lambda v: v.sum())(x)) == 16.0 * sum(range(16, 32))


@pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")
@pytest.mark.parametrize("spread", [False, True])
def test_batches_of_another_process_stay_as_they_are(split, spread):
    """Arrays over shared memory are not written to as long as somebody has them."""
    ds = rows(30 * 16, 16, width=2048)
    held = list(ds.to_jax(split if spread else None, process=True))
    assert len(held) == 30
    for i, (x, y) in enumerate(held):
        assert np.asarray(y).tolist() == list(range(16 * i, 16 * i + 16))
        assert np.array_equal(np.asarray(x), np.repeat(np.asarray(y), 2048).reshape(16, 2048))
    it = ds.to_jax(process=True)
    next(it)
    state = it.state()
    it.close()
    again = [int(y[0]) for _, y in ds.to_jax(state=state, process=True)]
    assert again == list(range(16, 30 * 16, 16))


def test_the_shards_lie_in_the_pipelines_memory(split):
    """All eight parts are where the batch was made: nothing was copied."""
    host = []
    ds = rows(16, 16)
    it = ds.to_jax(split)
    put = it._placed.put
    it._placed.put = lambda batch: (host.append(batch), put(batch))[1]
    x, _ = next(it)
    start = host[0][0].__array_interface__["data"][0]
    assert start % 64 == 0
    assert addresses(x) == [start + i * 2 * 16 * 4 for i in range(8)]


def test_one_device_takes_the_memory_too():
    host = []
    it = rows(16, 16).to_jax()
    put = it._placed.put
    it._placed.put = lambda batch: (host.append(batch), put(batch))[1]
    x, y = next(it)
    assert x.unsafe_buffer_pointer() == host[0][0].__array_interface__["data"][0]
    assert x.devices() == {jax.devices()[0]} and y.dtype == np.int32


def test_memory_is_not_used_again_while_an_array_lives(split):
    kept, values = [], []
    for x, _ in rows(64 * 40, 64).prefetch(2).to_jax(split):
        kept.append(x)
        values.append(float(x[0, 0]))
        gc.collect()
    assert len({addresses(x)[0] for x in kept}) == 40
    assert [float(np.asarray(x)[0, 0]) for x in kept] == values == [64.0 * i for i in range(40)]
    # A view outlives batch, iterator and dataset.
    view = np.asarray(kept[7])
    del kept, x
    gc.collect()
    assert view[:, 0].tolist() == [64.0 * 7 + i for i in range(64)]


def test_bfloat16(split):
    ds = Dataset.range(1024).map(lambda i: gm.cast(i, gm.bfloat16)).batch(1024)
    (x,) = ds.to_jax(split)
    assert x.dtype == ml_dtypes.bfloat16
    want = np.arange(1024).astype(ml_dtypes.bfloat16)
    assert (np.asarray(x) == want).all()


def test_dicts_and_nested_tuples_keep_their_structure(split):
    ds = Dataset.range(16).map(
        lambda i: {"image": gm.fill([4], i), "meta": (i, gm.cast(i, gm.bool))}
    )
    (batch,) = ds.batch(16).to_jax(split)
    assert set(batch) == {"image", "meta"} and isinstance(batch["meta"], tuple)
    assert np.asarray(batch["meta"][1]).tolist() == [False] + [True] * 15
    assert batch["image"].shape == (16, 4)


def test_a_sharding_per_component(split):
    whole = NamedSharding(split.mesh, PartitionSpec())
    (batch,) = rows(16, 16).to_jax((split, whole))
    assert batch[0].sharding == split and batch[1].sharding == whole
    with pytest.raises(TypeError, match="a structure of them like"):
        rows(16, 16).to_jax({"x": split})


def test_64_bits_become_32():
    (x,) = Dataset.range(8).batch(8).to_jax()
    assert x.dtype == np.int32 and np.asarray(x).tolist() == list(range(8))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda i: {"n": i, "name": gm.strings.as_string(i)}, r"component \['name'\] is a string"),
        (lambda i: (i, (gm.strings.as_string(i), i)), r"component 1\[0\] is a string"),
        (lambda i: gm.strings.as_string(i), "the element is a string"),
    ],
)
def test_strings_are_refused_by_name(make, words):
    with pytest.raises(TypeError, match=words):
        Dataset.range(4).map(make).batch(2).to_jax()


def test_a_last_batch_that_does_not_divide_names_the_fix(split):
    it = rows(20, 16).to_jax(split)
    next(it)
    with pytest.raises(InvalidArgumentError, match="component 0 has 4 rows") as error:
        next(it)
    assert "8 devices" in str(error.value) and "drop_remainder=True" in str(error.value)
    assert list(it) == []
    assert len(list(rows(20, 16).to_jax())) == 2


def test_state_goes_on_after_the_last_batch_given(split):
    ds = rows(160, 16).shuffle(4, seed=3)
    want = [np.asarray(y).tolist() for _, y in ds.to_jax(split)]
    fresh = rows(160, 16).shuffle(4, seed=3)
    it = fresh.to_jax(split)
    assert [np.asarray(next(it)[1]).tolist() for _ in range(4)] == want[:4]
    time.sleep(0.05)  # the thread has the fifth batch by now
    state = it.state()
    rest = [np.asarray(y).tolist() for _, y in fresh.to_jax(split, state=state)]
    assert rest == want[4:]


def test_the_next_batch_is_made_while_this_one_is_used():
    it = rows(64, 16).to_jax()
    assert it.report()["stages"] == [] or it.report()["stages"][0]["elements"] == 0
    next(it)
    until = time.monotonic() + 10
    while not it._next.done() and time.monotonic() < until:
        time.sleep(0.01)
    x, y = it._next.result()[0]
    assert isinstance(x, jax.Array) and np.asarray(y).tolist() == list(range(16, 32))
    assert next(it)[0] is x


def test_dropping_an_iterator_stops_its_threads(split):
    # Threads of earlier iterators may still be about to end.
    before = set(threading.enumerate())
    it = Dataset.range(64).repeat().batch(64).to_jax(split)
    next(it)
    (made,) = set(threading.enumerate()) - before
    assert made.name.startswith("gristmill-jax")
    del it
    gc.collect()
    made.join(10)
    assert not made.is_alive()
    it = Dataset.range(64).batch(64).to_jax(split)
    it.close()
    assert list(it) == []


def test_a_program_ends_while_a_batch_is_on_its_way():
    code = (
        "from gristmill.data import Dataset\n"
        "it = Dataset.range(1 << 40).batch(1 << 10).to_jax()\n"
        "print(int(next(it)[5]), int(next(it)[0]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5 1024\n", "")


def test_two_processes_make_one_array():
    """Each process gives its own rows; the sum over all is right in both."""
    code = """
import sys
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import gristmill as gm
me = int(sys.argv[2])
jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", 2, me)
split = NamedSharding(Mesh(np.array(jax.devices()), ("batch",)), PartitionSpec("batch"))
ds = gm.data.Dataset.range(64).shard(jax.process_count(), jax.process_index()).batch(16)
total = jax.jit(lambda x: x.sum())
for x in ds.to_jax(split):
    mine = [np.asarray(s.data).tolist() for s in x.addressable_shards]
    print(x.shape, mine[0], int(total(x)), flush=True)
"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(port), str(me)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for me in range(2)
    ]
    try:
        ended = [child.communicate(timeout=100) for child in started]
    finally:
        for child in started:
            child.kill()
    assert [child.returncode for child in started] == [0, 0], ended
    for me, (out, _) in enumerate(ended):
        # Gloo prints lines of its own.
        lines = [line for line in out.splitlines() if line.startswith("(")]
        assert lines == [
            f"(32,) [{me}, {me + 2}, {me + 4}, {me + 6}] {sum(range(32))}",
            f"(32,) [{me + 32}, {me + 34}, {me + 36}, {me + 38}] {sum(range(32, 64))}",
        ]


def test_a_failing_element_is_told_and_the_pass_goes_on():
    ds = Dataset.range(4).map(lambda i: 6 // (i - 1)).batch(1)
    it = ds.to_jax()
    assert np.asarray(next(it)).tolist() == [-6]
    with pytest.raises(InvalidArgumentError, match="zero"):
        next(it)
    behind = it.state()
    assert [np.asarray(x).tolist() for x in it] == [[6], [3]]
    assert [np.asarray(x).tolist() for x in ds.to_jax(state=behind)] == [[6], [3]]


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32"),
        "bfloat16",
    ],
)
@pytest.mark.parametrize("shape", [(8, 16), (), (0, 4)])
def test_jax_takes_tensors_by_dlpack(dtype, shape):
    want = np.arange(int(np.prod(shape))).reshape(shape).astype(gm.as_dtype(dtype).as_numpy_dtype)
    t = gm.constant(want)
    address = np.asarray(t._value).__array_interface__["data"][0]
    x = jax.dlpack.from_dlpack(t)
    assert x.dtype == want.dtype and x.shape == shape and (np.asarray(x) == want).all()
    if want.nbytes >= 64 and address % 64 == 0:
        assert x.unsafe_buffer_pointer() == address
    del t
    gc.collect()
    assert (np.asarray(x) == want).all()


def test_a_short_last_batch_is_remarked_on(caplog, monkeypatch):
    monkeypatch.setattr(_lints, "_told", set())
    rows(32, 16).to_jax()
    rows(20, 16).batch(2).to_jax()
    rows(20, 16).take(1).to_jax()
    assert caplog.records == []
    for _ in range(2):
        rows(20, 16).to_jax()
    assert [record.lint for record in caplog.records] == ["partial-batch"]
    assert "4 rows and the others 16" in caplog.text
    assert "batch(16, drop_remainder=True)" in caplog.text and "jax_cases.py" in caplog.text
