"""Remarks on plans: each fires with line and fix, stays silent beside it, and comes once."""

import logging
import os
import random
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset, TFRecordDataset, _lints

JPEG = gm.io.encode_jpeg(np.full((8, 8, 3), 200, np.uint8)).numpy()


@pytest.fixture(autouse=True)
def told(caplog, monkeypatch):
    """The names of the remarks made so far."""
    monkeypatch.setattr(_lints, "_told", set())
    monkeypatch.setattr(_lints, "_peeked", set())
    monkeypatch.setattr(_lints, "_unmatched", [])
    monkeypatch.delenv(_lints.SILENCE, raising=False)
    caplog.set_level(logging.WARNING, "gristmill")
    return lambda: [getattr(record, "lint", None) for record in caplog.records]


def numbers(n=10):
    return Dataset.range(n)


def test_every_lint_has_a_message_and_a_fix():
    for name, lint in _lints.LINTS.items():
        assert name == lint.name and lint.message[0].islower() and lint.fix
        assert not lint.message.endswith(".") and not lint.fix.endswith(".")


# shuffle-split ------------------------------------------------------------------------------------


def test_a_split_after_shuffle_is_remarked_on_once(told, caplog):
    for _ in range(2):
        ds = numbers().shuffle(10)
        train, held = ds.skip(3), ds.take(3)
    assert told() == ["shuffle-split"]
    assert "test_lints.py:" in caplog.text
    assert "reshuffle_each_iteration=False" in caplog.text
    # The remark is right: in the second epoch some of the held elements are trained on.
    del train, held


def test_a_split_is_seen_through_map_and_cache_of_the_parts(told):
    ds = numbers().shuffle(10).map(lambda x: x + 1)
    train = ds.take(7)
    assert told() == []
    held = ds.skip(7).map(lambda x: x)
    assert told() == ["shuffle-split"]
    del train, held


def test_shards_of_one_shuffled_dataset_are_remarked_on(told, caplog):
    ds = numbers().shuffle(10)
    parts = [ds.shard(2, i) for i in range(2)]
    assert told() == ["shuffle-split"]
    assert "there are shard 0 and shard 1 of one dataset" in caplog.text
    del parts


def test_the_shard_of_one_host_and_shards_before_shuffle_are_not(told):
    numbers().shuffle(10).shard(2, 1)
    for i in range(2):
        numbers().shard(2, i).shuffle(10)
    assert told() == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: [numbers().shuffle(10, reshuffle_each_iteration=False)] * 2,
        lambda: [numbers(), numbers()],
        lambda: [numbers().shuffle(10), numbers().shuffle(10)],
    ],
    ids=["one order", "no shuffle", "two datasets"],
)
def test_a_sound_split_is_not(told, make):
    a, b = make()
    a.take(3)
    b.skip(3)
    assert told() == []


def test_part_of_a_shuffled_dataset_is_not(told):
    ds = numbers().shuffle(10)
    ds.take(3)
    ds.take(5)
    ds.skip(2).take(3)
    assert told() == ["shuffle-split"]  # ds.take and ds.skip are parts of one pass


def test_a_window_of_a_shuffled_dataset_is_not(told):
    numbers().shuffle(10).skip(2).take(3)
    numbers().shuffle(10).take(3)
    assert told() == []


# repeat-before-shuffle ----------------------------------------------------------------------------


def test_repeat_before_shuffle(told, caplog):
    for _ in range(2):
        numbers().repeat().map(lambda x: x).shuffle(10)
    assert told() == ["repeat-before-shuffle"]
    assert "put shuffle before repeat" in caplog.text


def test_shuffle_before_repeat_and_a_single_pass_are_not(told):
    numbers().shuffle(10).repeat()
    numbers().repeat(1).shuffle(10)
    assert told() == []


# float-image-dtype --------------------------------------------------------------------------------


def images():
    return Dataset.from_tensors(JPEG)


def test_converting_a_resized_image_is_remarked_on(told, caplog):
    def f(data):
        image = gm.image.resize(gm.io.decode_jpeg(data, channels=3), [4, 4])
        image = gm.image.random_flip_left_right(image)
        return gm.image.convert_image_dtype(image, gm.float32)

    for _ in range(2):
        (image,) = images().map(f)
    assert told() == ["float-image-dtype"]
    assert "uint8 image, before resize" in caplog.text and "divide by 255" in caplog.text
    assert image.numpy().max() > 100  # it is indeed not scaled


def test_it_is_seen_through_two_maps_and_a_batch(told):
    ds = images().map(lambda d: gm.image.resize(gm.io.decode_jpeg(d, channels=3), [4, 4]))
    ds.batch(1).map(lambda x: gm.image.convert_image_dtype(x, gm.bfloat16))
    assert told() == ["float-image-dtype"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: gm.image.resize(gm.image.convert_image_dtype(x, gm.float32), [4, 4]),
        lambda x: gm.image.convert_image_dtype(
            gm.image.resize(gm.image.convert_image_dtype(x, gm.float32), [4, 4]), gm.bfloat16
        ),
        lambda x: gm.image.convert_image_dtype(gm.image.resize(x, [4, 4]) / 255.0, gm.float32),
        lambda x: gm.image.convert_image_dtype(
            gm.image.resize(x, [4, 4], method="nearest"), gm.float32
        ),
        lambda x: gm.image.convert_image_dtype(gm.cast(x, gm.float32) / 255, gm.float32),
    ],
)
def test_converting_before_resize_or_after_a_division_is_not(told, f):
    images().map(lambda d: f(gm.io.decode_jpeg(d, channels=3)))
    Dataset.from_tensors(np.ones((4, 4, 3), np.float32)).map(
        lambda x: gm.image.convert_image_dtype(x, gm.float32)
    )
    assert told() == []


# absent-feature -----------------------------------------------------------------------------------


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "a.tfrecord"
    with gm.io.TFRecordWriter(str(path)) as writer:
        for i in range(40):
            feature = {"label": gm.train.Feature(int64_list=gm.train.Int64List(value=[i]))}
            if i == 5:
                feature["rare"] = gm.train.Feature(int64_list=gm.train.Int64List(value=[i]))
            example = gm.train.Example(features=gm.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return str(path)


def parse(**features):
    return lambda record: gm.io.parse_single_example(record, features)


FIXED = gm.io.FixedLenFeature([], gm.int64, default_value=0)


def test_a_declared_feature_that_no_record_has(told, caplog, records):
    ds = TFRecordDataset(records).map(parse(lable=FIXED))
    assert told() == []  # nothing is read before the pass
    assert [int(e["lable"]) for e in ds] == [0] * 40
    list(ds)
    assert told() == ["absent-feature"]
    assert "feature 'lable'" in caplog.text and "did you mean 'label'?" in caplog.text
    assert f"none of the 40 records looked at in {records} has it" in caplog.text


@pytest.mark.parametrize(
    "source",
    [
        lambda path: TFRecordDataset([path]).shuffle(4).repeat(2),
        lambda path: TFRecordDataset(Dataset.list_files(path)),
        lambda path: Dataset.list_files(path).interleave(TFRecordDataset, cycle_length=2),
        lambda path: TFRecordDataset([path, path], num_parallel_reads=2),
    ],
    ids=["shuffled", "files", "interleave", "parallel"],
)
def test_it_is_seen_behind_other_steps(told, records, source):
    next(iter(source(records).map(parse(colour=gm.io.VarLenFeature(gm.string))).take(1)))
    assert told() == ["absent-feature"]


def test_it_is_seen_in_batches_of_records(told, records):
    ds = TFRecordDataset(records).batch(8)
    list(ds.map(lambda record: gm.io.parse_example(record, {"lable": FIXED})))
    assert told() == ["absent-feature"]


def test_a_feature_that_some_record_has_is_not(told, records):
    list(TFRecordDataset(records).map(parse(label=FIXED, rare=FIXED)))
    assert told() == []


def written(path, feature, records):
    with gm.io.TFRecordWriter(str(path)) as writer:
        for i in range(records):
            value = gm.train.Feature(int64_list=gm.train.Int64List(value=[i]))
            example = gm.train.Example(features=gm.train.Features(feature={feature(i): value}))
            writer.write(example.SerializeToString())
    return str(path)


def test_a_feature_of_a_later_file_is_none_that_is_absent(told, tmp_path):
    paths = [
        written(tmp_path / f"{k:02}", lambda i, k=k: "rare" if k == 19 else "label", 3)
        for k in range(20)
    ]
    list(TFRecordDataset(paths).map(parse(label=FIXED, rare=FIXED)))
    assert told() == []
    # Only those among the paths are looked at that do not have it.
    list(TFRecordDataset(paths).map(parse(lable=FIXED)))
    assert told() == ["absent-feature"]


def test_a_feature_that_comes_after_many_records_is_none_that_is_absent(told, tmp_path):
    path = written(tmp_path / "a", lambda i: "late" if i == 100 else "label", 101)
    list(TFRecordDataset(path).map(parse(late=FIXED)))
    assert told() == []


def test_a_required_feature_is_an_error_of_the_pass_instead(told, records):
    required = gm.io.FixedLenFeature([], gm.int64)
    with pytest.raises(gm.errors.InvalidArgumentError, match="lable"):
        list(TFRecordDataset(records).map(parse(lable=required)))
    assert told() == []


def test_looking_does_not_move_the_order(told, records):
    def order(feature):
        ds = TFRecordDataset(records).shuffle(40, seed=3).map(parse(label=FIXED, **feature))
        return [[int(e["label"]) for e in ds] for _ in range(2)]

    assert order({}) == order({"lable": FIXED})
    assert told() == ["absent-feature"]


def test_a_pipe_is_not_looked_into(told, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _lints.peek([_lints.Parse((str(pipe),), ("lable",), "here.py:1")])
    assert told() == []


def test_a_damaged_file_is_told_by_the_pass(told, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(b"no record file at all, but long enough")
    with pytest.raises(gm.errors.DataLossError):
        list(TFRecordDataset(str(path)).map(parse(lable=FIXED)))
    assert told() == []


# random-while-tracing -----------------------------------------------------------------------------

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x + np.random.randint(3), "np.random"),
        (lambda x: gm.cast(x, gm.float64) + np.random.normal(), "np.random"),
        (lambda x: x if random.random() > 0.5 else x + 1, "random"),
        (lambda x: x + int(RNG.integers(5)), "RNG"),
    ],
)
def test_foreign_randomness_in_a_traced_function_is_an_error(f, name):
    with pytest.raises(TypeError, match=rf"draws from {name}: .*once") as error:
        numbers().map(f)
    assert "test_lints.py:" in str(error.value) and "gm.random" in str(error.value)
    with pytest.raises(TypeError, match="draws from"):
        numbers().filter(lambda x: x > np.random.randint(3))


@pytest.mark.parametrize(
    ("module", "draw", "name"),
    [
        ("numpy.random", "np.random.randint(3)", "np.random"),
        ("random", "__import__('random').randrange(3)", "random"),
    ],
)
def test_a_module_that_the_function_itself_loads_is_seen(module, draw, name):
    code = f"""
        import sys
        import numpy as np
        import gristmill as gm
        data = gm.data.Dataset.range(3).map(lambda x: x + 1)
        assert {module!r} not in sys.modules
        try:
            data.map(lambda x: x + {draw})
        except TypeError as e:
            print(e)
    """
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert f"draws from {name}:" in shown.stdout


def test_a_generator_of_the_enclosing_function_is_seen():
    rng = random.Random(1)
    with pytest.raises(TypeError, match="draws from rng"):
        numbers().map(lambda x: x + rng.randrange(9))


def test_randomness_of_gristmill_and_outside_of_the_function_is_not():
    shift = int(np.random.randint(3)) + random.randrange(3)
    ds = numbers().map(lambda x: x + shift + gm.random.uniform([], 0, 2, gm.int64))
    assert len(list(ds)) == 10


def test_another_threads_draws_do_not_fail_a_trace():
    def draw_once(x):
        # Stands for a thread that draws while the function happens to be traced.
        if not drawn:
            other = threading.Thread(target=lambda: drawn.append(np.random.randint(3)))
            other.start()
            other.join()
        return x + 1

    drawn, stay = [], threading.Event()
    waiting = threading.Thread(target=stay.wait)
    waiting.start()
    try:
        assert [int(x) for x in numbers(3).map(draw_once)] == [1, 2, 3]
        with pytest.raises(TypeError, match=r"draws from np\.random"):
            numbers().map(lambda x: x + np.random.randint(3))
    finally:
        stay.set()
        waiting.join()


# cache-after-random -------------------------------------------------------------------------------


def test_cache_after_a_random_op(told, caplog):
    for _ in range(2):
        ds = numbers().map(lambda x: gm.random.uniform([], seed=1)).batch(5).cache()
    assert told() == ["cache-after-random"]
    assert "put cache before the map that augments" in caplog.text
    first = [b.numpy().tolist() for b in ds]
    assert first == [b.numpy().tolist() for b in ds]  # as the remark says


def test_a_random_op_in_a_branch_counts(told):
    numbers().map(
        lambda x: gm.cond(x > 3, lambda: gm.random.uniform([]), lambda: gm.constant(0.0))
    ).cache()
    assert told() == ["cache-after-random"]


def test_cache_before_the_random_op_and_seeded_stateless_ones_are_not(told):
    numbers().cache().map(lambda x: gm.random.uniform([]))
    numbers().map(lambda x: gm.random.stateless_uniform([], seed=[1, 2])).cache()
    numbers().shuffle(4).cache()
    assert told() == []


# glob-no-match ------------------------------------------------------------------------------------


def test_a_glob_without_a_match(told, caplog, tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "a.tfrecord").touch()
    pattern = str(tmp_path / "shards" / "*.tfrec")
    assert gm.io.gfile.glob(pattern) == []
    assert told() == []
    assert list(TFRecordDataset(gm.io.gfile.glob(pattern))) == []
    assert told() == ["glob-no-match"]
    assert f"'{pattern}' matched none" in caplog.text
    assert "shards', holds 1 entries (a.tfrecord)" in caplog.text
    with pytest.raises(gm.errors.InvalidArgumentError, match="nearest folder that exists") as error:
        Dataset.list_files(str(tmp_path / "no" / "such" / "*.tfrec"))
    assert str(tmp_path) in str(error.value)


def test_a_glob_with_a_match_is_not(told, records):
    assert len(list(TFRecordDataset(gm.io.gfile.glob(records)))) == 40
    TFRecordDataset([])
    assert told() == []


# silencing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["repeat-before-shuffle", "other, repeat-before-shuffle", "all"])
def test_a_remark_is_silenced_by_name(told, monkeypatch, names):
    monkeypatch.setenv(_lints.SILENCE, names)
    numbers().repeat().shuffle(10)
    assert told() == []


def test_another_name_does_not_silence_it(told, monkeypatch, caplog):
    monkeypatch.setenv(_lints.SILENCE, "shuffle-split")
    numbers().repeat().shuffle(10)
    assert told() == ["repeat-before-shuffle"]
    assert "GRISTMILL_SILENCE=repeat-before-shuffle" in caplog.text


def test_a_filter_of_logging_sees_the_name(caplog):
    logger = logging.getLogger("gristmill")

    def keep(record):
        return getattr(record, "lint", None) != "repeat-before-shuffle"

    logger.addFilter(keep)
    try:
        numbers().repeat().shuffle(10)
    finally:
        logger.removeFilter(keep)
    assert caplog.records == []
