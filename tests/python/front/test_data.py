"""Datasets as Python sees them: structures, templates, state, errors, hand-over."""

import collections
import contextlib
import gc
from pathlib import Path

import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset

Pair = collections.namedtuple("Pair", ["left", "right"])


def values(dataset):
    return list(dataset.as_numpy_iterator())


def test_structures_come_back_as_they_were():
    ds = Dataset.from_tensor_slices({"b": [1, 2], "a": Pair(np.array([3.0, 4.0]), ["x", "y"])})
    first = next(iter(ds))
    assert list(first) == ["b", "a"]
    assert isinstance(first["a"], Pair)
    assert (int(first["b"]), float(first["a"].left), first["a"].right.numpy()) == (1, 3.0, b"x")
    assert ds.element_spec == {
        "b": gm.TensorSpec([], gm.int32),
        "a": Pair(gm.TensorSpec([], gm.float64), gm.TensorSpec([], gm.string)),
    }
    mapped = ds.map(lambda e: {"z": e["b"] + 1, "y": (e["a"].right, e["a"])})
    assert list(next(iter(mapped))) == ["z", "y"]
    assert isinstance(next(iter(mapped))["y"][1], Pair)


def test_tuples_are_several_arguments_and_lists_inside_become_tensors():
    ds = Dataset.from_tensor_slices(([1, 2], [10, 20]))
    assert values(ds.map(lambda a, b: [a, b, a + b])) == [(1, 10, 11), (2, 20, 22)]
    inside = ds.map(lambda a, b: {"x": [a, b, a + b]})
    assert [v["x"].tolist() for v in values(inside)] == [[1, 10, 11], [2, 20, 22]]


def test_none_has_no_component():
    ds = Dataset.from_tensors((1, None))
    assert values(ds) == [(1, None)]


def test_sparse_and_ragged_elements():
    ds = Dataset.from_tensor_slices(["a b", "c"]).map(lambda s: gm.strings.split([s]))
    assert [r.to_list() for r in ds] == [[[b"a", b"b"]], [[b"c"]]]
    batched = Dataset.from_tensors(gm.SparseTensor([[1]], [5], [3])).repeat(2).batch(2)
    assert gm.sparse.to_dense(next(iter(batched))).numpy().tolist() == [[0, 5, 0], [0, 5, 0]]


def test_flat_map_and_interleave_bind_their_parameters():
    ds = Dataset.range(1, 4).flat_map(lambda n: Dataset.range(n).map(lambda i: n * 10 + i))
    assert values(ds) == [10, 20, 21, 30, 31, 32]
    ds = Dataset.range(3).interleave(
        lambda n: Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2
    )
    assert values(ds) == [0, 0, 1, 1, 0, 1, 2, 2, 2]


def test_templates_may_be_nested():
    ds = Dataset.range(1, 3).flat_map(
        lambda a: Dataset.range(a).flat_map(
            lambda b: Dataset.from_tensor_slices([1, 2]).map(
                lambda c: a * 100 + b * 10 + gm.cast(c, gm.int64)
            )
        )
    )
    assert values(ds) == [101, 102, 201, 202, 211, 212]


def test_a_dataset_of_a_symbolic_tensor_needs_flat_map():
    with pytest.raises(TypeError, match=r"test_data\.py:\d+.*\n.*flat_map"):
        Dataset.range(3).map(lambda n: (Dataset.range(n), n)[1])
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        Dataset.range(3).flat_map(lambda n: n)


def test_cond_chooses_per_element():
    ds = Dataset.range(4).map(lambda n: gm.cond(n % 2 == 0, lambda: n * 10, lambda: n + 100))
    assert values(ds) == [0, 101, 20, 103]


def test_errors_name_line_and_go_on():
    pass_ = iter(Dataset.from_tensor_slices(["1", "x", "3"]).map(gm.strings.to_number))
    assert float(next(pass_)) == 1
    with pytest.raises(gm.errors.InvalidArgumentError, match="could not correctly convert") as e:
        next(pass_)
    assert e.value.op == "strings.to_number"
    assert float(next(pass_)) == 3
    with pytest.raises(StopIteration):
        next(pass_)


def test_missing_files_are_found_missing(tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        list(gm.data.TFRecordDataset(str(tmp_path / "none.tfrecord")))
    assert e.value.path == str(tmp_path / "none.tfrecord")


def test_records_are_written_and_read(tmp_path):
    paths = []
    for shard in range(3):
        paths.append(str(tmp_path / f"{shard}.tfrecord"))
        with gm.io.TFRecordWriter(paths[-1], "GZIP" if shard == 1 else None) as writer:
            for i in range(4):
                writer.write(b"%d-%d" % (shard, i))
    assert values(gm.data.TFRecordDataset(paths))[3:6] == [b"0-3", b"1-0", b"1-1"]
    turns = gm.data.TFRecordDataset(paths, num_parallel_reads=2)
    assert values(turns)[:4] == [b"0-0", b"1-0", b"0-1", b"1-1"]
    by_file = Dataset.from_tensor_slices(paths).interleave(
        gm.data.TFRecordDataset, cycle_length=3, num_parallel_calls=2
    )
    assert values(by_file)[:3] == [b"0-0", b"1-0", b"2-0"]


def test_a_failed_with_leaves_no_file(tmp_path):
    path = tmp_path / "a.tfrecord"
    with pytest.raises(RuntimeError), gm.io.TFRecordWriter(path) as writer:
        writer.write(b"x")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_state_goes_on_where_it_was():
    ds = Dataset.range(50).shuffle(10, seed=3).map(lambda x: x * 2).repeat(2).batch(7)
    whole = [b.tolist() for b in values(ds)]
    assert len(whole) == 15

    def fresh():
        return Dataset.range(50).shuffle(10, seed=3).map(lambda x: x * 2).repeat(2).batch(7)

    for cut in (0, 1, 8, 14):
        pass_ = iter(fresh())
        for _ in range(cut):
            next(pass_)
        rest = [b.numpy().tolist() for b in fresh().iterator(pass_.state())]
        assert rest == whole[cut:], cut


def test_epochs_are_taken_when_a_pass_is_made():
    def orders(skip):
        ds = Dataset.range(20).shuffle(20, seed=1)
        for _ in range(skip):
            iter(ds)
        return values(ds)

    assert orders(0) != orders(1)
    assert orders(1) == orders(1)


def test_global_seed_gives_op_seeds():
    def order():
        gm.random.set_seed(5)
        made = values(Dataset.range(20).shuffle(20)), values(Dataset.range(20).shuffle(20))
        gm.random.set_seed(None)
        return made

    first = order()
    assert first == order()
    assert first[0] != first[1]


def test_mutating_what_was_received_changes_nothing():
    source = np.arange(40000, dtype=np.float32).reshape(4, 10000)
    ds = Dataset.from_tensor_slices(source).cache().batch(2)
    for batch in ds:
        batch.numpy()[:] = -1
    again = np.concatenate(values(ds))
    np.testing.assert_array_equal(again, source)
    unbatched = Dataset.from_tensor_slices(source).cache()
    for row in unbatched:
        row.numpy()[:] = -1
    np.testing.assert_array_equal(np.stack(values(unbatched)), source)


def test_numpy_iterators_give_what_cannot_be_written():
    batch = next(Dataset.range(10).batch(5).as_numpy_iterator())
    assert not batch.flags.writeable
    assert isinstance(next(Dataset.range(3).as_numpy_iterator()), np.int64)


def test_batches_own_their_memory():
    batches = list(Dataset.from_tensor_slices(np.ones((8, 50000), np.float32)).batch(4))
    arrays = [b.numpy() for b in batches]
    del batches
    gc.collect()
    arrays[0][:] = 5
    assert arrays[1].sum() == 200000


def test_sizes_and_texts():
    ds = Dataset.range(10)
    assert len(ds.batch(3)) == 4
    assert int(ds.repeat().cardinality()) == gm.data.INFINITE_CARDINALITY
    with pytest.raises(TypeError, match="infinite"):
        len(ds.repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(ds.filter(lambda x: x > 3))
    assert "range" in ds.map(lambda x: x + 1).explain()
    assert repr(ds) == (
        "<range dataset element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>"
    )
    assert "bottleneck" in ds.map(lambda x: x + 1).batch(2).profile()


def test_small_methods():
    ds = Dataset.range(6)
    assert values(ds.enumerate(5).take(2)) == [(5, 0), (6, 1)]
    assert values(ds.shard(3, 1)) == [1, 4]
    assert values(ds.skip(4).concatenate(ds.take(1))) == [4, 5, 0]
    assert values(Dataset.zip(ds.take(2), {"x": ds})) == [(0, {"x": 0}), (1, {"x": 1})]
    assert values(ds.batch(4).unbatch()) == [0, 1, 2, 3, 4, 5]
    assert int(ds.reduce(np.int64(0), lambda s, x: s + x)) == 15
    assert int(ds.take(1).get_single_element()) == 0
    assert values(ds.apply(lambda d: d.take(2))) == [0, 1]
    with pytest.raises(gm.errors.InvalidArgumentError, match="more than one"):
        ds.get_single_element()
    options = gm.data.Options()
    options.experimental_deterministic = False
    assert ds.with_options(options).options().deterministic is False


def test_options_are_kept_by_what_follows():
    ds, options, other = Dataset.range(6), gm.data.Options(), gm.data.Options()
    options.deterministic, other.deterministic, other.image_decode = False, True, "exact"
    one, two = ds.with_options(options), ds.with_options(other)
    followers = {
        "batch": one.shuffle(3).repeat(2).batch(2).prefetch(1),
        "map": one.map(lambda x: x + 1),
        "filter": one.filter(lambda x: x > 1),
        "flat_map": one.flat_map(lambda x: two.take(x)),
        "interleave": one.interleave(lambda x: two.take(x)),
        "enumerate": one.enumerate(),
        "concatenate": two.concatenate(one),
        "zip": Dataset.zip(two, one),
    }
    assert [name for name, d in followers.items() if d.options().deterministic is not False] == []
    # Of several inputs the later ones win, where they say something.
    assert followers["zip"].options().image_decode == "exact"
    assert one.concatenate(two).options().deterministic is True
    assert Dataset.zip({"a": one, "b": two}).options().deterministic is True
    assert ds.options().deterministic is None


def test_options_merge_all_that_they_have():
    one, two = gm.data.Options(), gm.data.Options()
    one.experimental_slack, one.dataset_name = True, "one"
    one.experimental_distribute.num_devices = 4
    one.threading.private_threadpool_size = 3
    two.dataset_name, two.threading.max_intra_op_parallelism = "two", 1
    both = one.merge(two)
    assert (both.experimental_slack, both.dataset_name) == (True, "two")
    assert both.experimental_distribute.num_devices == 4
    assert both.threading.private_threadpool_size == 3
    assert both.threading.max_intra_op_parallelism == 1
    assert two.merge(one).dataset_name == "one" and one.dataset_name == "one"


def test_list_files_sorts_and_shuffles(tmp_path):
    for name in ("img10.jpg", "img2.jpg", "b.jpg"):
        (tmp_path / name).touch()
    ordered = values(Dataset.list_files(str(tmp_path / "*.jpg"), shuffle=False))
    assert [p.decode().rsplit("/", 1)[1] for p in ordered] == ["b.jpg", "img10.jpg", "img2.jpg"]
    assert sorted(values(Dataset.list_files(str(tmp_path / "*.jpg"), seed=1))) == ordered
    with pytest.raises(gm.errors.InvalidArgumentError, match="No files matched"):
        Dataset.list_files(str(tmp_path / "*.png"))


def _prefetchers() -> set[str]:
    """The system's numbers of the threads that work ahead for a pass."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            if (task / "comm").read_text().startswith("gristmill-pref"):
                found.add(task.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are looked up in /proc")
def test_dropping_a_pass_stops_its_threads():
    before = _prefetchers()
    pass_ = iter(Dataset.range(10**9).map(lambda x: x * 2).batch(1000).prefetch(10))
    next(pass_)
    made = _prefetchers() - before
    assert made
    del pass_
    gc.collect()
    assert not made & _prefetchers()


def test_iterating_inside_a_function_is_refused():
    inner = Dataset.range(3)
    with pytest.raises(TypeError, match=r"test_data\.py"):
        Dataset.range(2).map(lambda x: x + sum(inner))


def _words(*words: bytes) -> bytes:
    feature = {"n": gm.train.Feature(bytes_list=gm.train.BytesList(value=words))}
    return gm.train.Example(features=gm.train.Features(feature=feature)).SerializeToString()


def test_a_default_of_strings_may_be_a_part_of_others() -> None:
    two = gm.io.FixedLenFeature([2], gm.string)
    parsed = gm.io.parse_example([_words(b"a", b"b"), _words(b"c", b"d")], {"n": two})
    default = gm.io.FixedLenFeature([2], gm.string, default_value=parsed["n"][1])
    found = gm.io.parse_example([_words(b"x"), _words(b"y")], {"w": default})
    assert found["w"].numpy().tolist() == [[b"c", b"d"], [b"c", b"d"]]
