"""Bad input: one clear error of TensorFlow's class, later elements, nothing half-written."""

from __future__ import annotations

import functools
import gzip
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gristmill as gm
from gristmill import errors

#: Words of methods and ways that do not exist; no message may send a user there.
NOT_THERE = ("padded_batch", "TODO")


@functools.cache
def commands() -> set[str]:
    """The commands that there are; a message may name no other."""
    call = "from gristmill._tools import main; main(['--help'])"
    told = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    found = set(re.findall(r"(?m)^  ([a-z]+) {2,}[A-Z]", told.stdout))
    assert {"pack", "verify", "salvage"} <= found
    return found


def outcomes(dataset: Any, most: int = 100) -> tuple[list[Any], list[Exception]]:
    """Every element and every error of a pass, going on behind errors."""
    it = iter(dataset)
    found: list[Any] = []
    wrong: list[Exception] = []
    for _ in range(most):
        try:
            found.append(next(it))
        except StopIteration:
            return found, wrong
        except Exception as e:
            wrong.append(e)
    raise AssertionError(f"the pass has no end: {len(found)} elements, {len(wrong)} errors")


def only_error(dataset: Any, kind: type[Exception], *words: str) -> Any:
    """The one error of a pass; it is of that class and has these words."""
    _, wrong = outcomes(dataset)
    assert len(wrong) == 1, wrong
    return check(wrong[0], kind, *words)


def check(e: Exception, kind: type[Exception], *words: str) -> Any:
    """The error, of that class, with these words, and sending nobody to what does not exist."""
    assert isinstance(e, kind), repr(e)
    text = str(e)
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
    for word in NOT_THERE:
        assert word not in text, f"{word!r} is in: {text}"
    for command in re.findall(r"\bgristmill ([a-z]+)\b", text):
        assert command in commands(), f"there is no command {command!r}: {text}"
    assert "panicked" not in text and "internal error" not in text.lower(), text
    return e


def jpeg(seed: int = 0, size: int = 32) -> bytes:
    """A JPEG of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8)
    return bytes(gm.io.encode_jpeg(pixels).numpy())


def records(path: Path, payloads: list[bytes], compression: str = "") -> list[int]:
    """Writes a record file; where each record begins, in bytes before compression."""
    with gm.io.TFRecordWriter(str(path), compression) as writer:
        for payload in payloads:
            writer.write(payload)
    starts, at = [], 0
    for payload in payloads:
        starts.append(at)
        at += len(payload) + 16
    return starts


def flip(path: Path, offset: int) -> None:
    """Turns one bit of a file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(bytes(data))


def numbers(n: int) -> list[bytes]:
    """Payloads with a number each."""
    return [b"record %d" % i for i in range(n)]


# Files that are not there -------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["none/*.jpg", "empty/*", "*.nothing", "empty"])
def test_patterns_without_a_match(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "empty").mkdir()
    full = str(tmp_path / pattern)
    if pattern == "empty":
        assert [p.numpy() for p in gm.data.Dataset.list_files(full)] == [full.encode()]
        return
    with pytest.raises(ValueError) as e:
        gm.data.Dataset.list_files(full)
    check(e.value, errors.InvalidArgumentError, "No files matched pattern", full, "hint:")


@pytest.mark.parametrize("make", [False, True])
def test_folders_of_images_that_are_missing_or_empty(tmp_path: Path, make: bool) -> None:
    folder = tmp_path / "photos"
    if make:
        folder.mkdir()
    with pytest.raises((ValueError, OSError)) as e:
        gm.keras.utils.image_dataset_from_directory(str(folder))
    check(e.value, Exception, str(folder))


def test_missing_files_are_named_and_passed_over(tmp_path: Path) -> None:
    good = tmp_path / "good.tfrecord"
    records(good, numbers(2))
    paths = [str(tmp_path / "none.tfrecord"), str(good)]
    found, wrong = outcomes(gm.data.TFRecordDataset(paths))
    assert [r.numpy() for r in found] == numbers(2)
    assert len(wrong) == 1
    e = check(wrong[0], errors.NotFoundError, paths[0], "No such file or directory")
    assert isinstance(e, FileNotFoundError) and e.path == paths[0]


def test_read_file_of_a_missing_file_names_op_and_line(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"b")
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    ds = gm.data.Dataset.from_tensor_slices(paths).map(lambda p: gm.io.read_file(p))
    found, wrong = outcomes(ds)
    assert [f.numpy() for f in found] == [b"b"]
    e = check(wrong[0], errors.NotFoundError, paths[0], "io.read_file", "test_bad_input.py:")
    assert (len(wrong), e.op) == (1, "io.read_file")


@pytest.mark.parametrize("read", ["record", "file"])
def test_directories_where_files_are_expected(tmp_path: Path, read: str) -> None:
    paths = [str(tmp_path)]
    ds = (
        gm.data.TFRecordDataset(paths)
        if read == "record"
        else gm.data.Dataset.from_tensor_slices(paths).map(gm.io.read_file)
    )
    e = only_error(ds, errors.FailedPreconditionError, str(tmp_path), "Is a directory")
    assert e.path == str(tmp_path)


def test_paths_that_no_system_takes(tmp_path: Path) -> None:
    nul = f"{tmp_path}/a\0b"
    ds = gm.data.TFRecordDataset(nul)
    only_error(ds, errors.InvalidArgumentError, "NUL", "\\0")
    with pytest.raises(errors.InvalidArgumentError, match="NUL"):
        gm.io.TFRecordWriter(nul)
    only_error(gm.data.TFRecordDataset(""), errors.NotFoundError, "''", "No such file")


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    name = bytes(tmp_path) + b"/\xff.tfrecord"
    escaped = name.decode("utf-8", "surrogateescape")
    with gm.io.TFRecordWriter(escaped) as writer:
        writer.write(b"x")
    assert [p.numpy() for p in gm.data.Dataset.list_files(f"{tmp_path}/*")] == [name]
    for path in (name, escaped, [name], [escaped]):
        assert [r.numpy() for r in gm.data.TFRecordDataset(path)] == [b"x"]
    assert len(gm.io.read_file(escaped).numpy()) == 17


@pytest.mark.parametrize("path", ["s3://bucket/x", "gs://bucket/x", "http://host/x"])
def test_schemes_that_are_not_supported(path: str) -> None:
    e = only_error(gm.data.TFRecordDataset(path), errors.UnimplementedError, path, "file://")
    assert e.path == path


# Images -------------------------------------------------------------------------------------------


def decoded(paths: list[Path]) -> Any:
    """The pictures of files, decoded as most tutorials do."""
    ds = gm.data.Dataset.from_tensor_slices([str(p) for p in paths])
    return ds.map(lambda p: gm.io.decode_jpeg(gm.io.read_file(p), channels=3))


def test_text_named_jpg(tmp_path: Path) -> None:
    bad, good = tmp_path / "a.jpg", tmp_path / "b.jpg"
    bad.write_text("these are not the pixels\n")
    good.write_bytes(jpeg())
    found, wrong = outcomes(decoded([bad, good]))
    assert [f.shape for f in found] == [[32, 32, 3]] and len(wrong) == 1
    e = check(
        wrong[0],
        errors.InvalidArgumentError,
        "Unknown image file format",
        str(bad),
        "io.decode_jpeg",
        "test_bad_input.py:",
    )
    assert e.op == "io.decode_jpeg"


def test_png_named_jpg_is_decoded(tmp_path: Path) -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    path = tmp_path / "a.jpg"
    path.write_bytes(gm.io.encode_png(pixels).numpy())
    found, wrong = outcomes(decoded([path]))
    assert not wrong
    np.testing.assert_array_equal(found[0].numpy(), pixels)


@pytest.mark.parametrize("keep", [0, 1, 2, 20, 200, -200, -2])
def test_truncated_jpegs(tmp_path: Path, keep: int) -> None:
    bad, good = tmp_path / "a.jpg", tmp_path / "b.jpg"
    bad.write_bytes(jpeg()[:keep])
    good.write_bytes(jpeg())
    found, wrong = outcomes(decoded([bad, good, bad]))
    if keep == -2 and not wrong:
        # Only the end marker is missing: TensorFlow decodes this too.
        assert len(found) == 3
        return
    assert [f.shape for f in found] == [[32, 32, 3]]
    assert len(wrong) == 2
    for e in wrong:
        check(e, errors.InvalidArgumentError, str(bad), "io.decode_jpeg")


def test_bad_images_can_be_left_out(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.jpg" for i in range(6)]
    for i, path in enumerate(paths):
        path.write_bytes(b"" if i % 2 else jpeg(i))
    batches = list(decoded(paths).ignore_errors().batch(2))
    assert [b.shape for b in batches] == [[2, 32, 32, 3], [1, 32, 32, 3]]
    np.testing.assert_array_equal(
        batches[1].numpy()[0], gm.io.decode_jpeg(jpeg(4), channels=3).numpy()
    )


def test_pictures_that_claim_to_be_huge() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    for side in (100_000, 2**31 - 1):
        head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b""))
        with pytest.raises(errors.InvalidArgumentError) as e:
            gm.io.decode_png(png + chunk(b"IEND", b""))
        check(e.value, errors.InvalidArgumentError, "io.decode_png")
    bmp = b"BM" + struct.pack(
        "<IHHIIiiHHIIiiII", 100, 0, 0, 54, 40, 60_000, 60_000, 1, 24, *[0] * 6
    )
    with pytest.raises(errors.InvalidArgumentError):
        gm.io.decode_bmp(bmp + bytes(50))


# Record files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "words"), [(0, "length"), (9, "length"), (13, "payload")])
def test_one_turned_bit(tmp_path: Path, at: int, words: str) -> None:
    bad, good = tmp_path / "bad.tfrecord", tmp_path / "good.tfrecord"
    starts = records(bad, numbers(5))
    records(good, numbers(2))
    flip(bad, starts[3] + at)
    found, wrong = outcomes(gm.data.TFRecordDataset([str(bad), str(good)]))
    assert [r.numpy() for r in found] == numbers(3) + numbers(2)
    assert len(wrong) == 1
    e = check(
        wrong[0],
        errors.DataLossError,
        "corrupted record at",
        words,
        "file says",
        f"in record 3 at byte {starts[3]}",
        str(bad),
        "hint:",
        "ignore_errors",
    )
    assert (e.path, e.record_index, e.offset) == (str(bad), 3, starts[3])
    stored, computed = re.findall(r"0x[0-9a-f]{8}", str(e))
    assert stored != computed


@pytest.mark.parametrize("cut", [1, 4, 8, 17])
def test_truncated_record_files(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.tfrecord"
    starts = records(path, numbers(3))
    path.write_bytes(path.read_bytes()[:-cut])
    found, wrong = outcomes(gm.data.TFRecordDataset(str(path)))
    assert [r.numpy() for r in found] == numbers(2)
    if cut == 17:
        # Too few bytes for a header: TensorFlow ends the file there.
        assert len(wrong) <= 1
        return
    e = check(
        wrong[0],
        errors.DataLossError,
        f"truncated record at {starts[2]}",
        f"needs 24 bytes, {24 - cut} are left",
        f"in record 2 at byte {starts[2]}",
        str(path),
        "hint:",
    )
    assert (len(wrong), e.record_index, e.offset) == (1, 2, starts[2])


def test_lengths_that_lie_cost_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.tfrecord"
    with gm.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"abc")
    data = path.read_bytes()
    length = struct.pack("<Q", 2**62)
    crc = _masked(length)
    path.write_bytes(data + length + struct.pack("<I", crc) + b"xyz")
    found, wrong = outcomes(gm.data.TFRecordDataset(str(path)))
    assert len(found) == 1 and len(wrong) == 1
    check(wrong[0], errors.DataLossError, "truncated record at 19", str(2**62 + 16))


def _masked(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_text_read_as_records(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_text("name,age\nAda,36\nGrace,85\n")
    ds = gm.data.TFRecordDataset(str(path))
    only_error(ds, errors.DataLossError, "Is this even a TFRecord file?", str(path), "in record 0")


def test_compression_said_wrong(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    records(plain, numbers(2))
    records(packed, numbers(2), "GZIP")
    for kind in ("GZIP", "ZLIB"):
        ds = gm.data.TFRecordDataset(str(plain), compression_type=kind)
        only_error(ds, errors.DataLossError, "inflate() failed", kind, str(plain))
    ds = gm.data.TFRecordDataset(str(packed), compression_type="ZLIB")
    only_error(ds, errors.DataLossError, "inflate() failed", "look like GZIP", str(packed))
    assert [r.numpy() for r in gm.data.TFRecordDataset(str(packed))] == numbers(2)
    with pytest.raises(ValueError) as e:
        gm.data.TFRecordDataset(str(plain), compression_type="LZ4")
    check(e.value, errors.InvalidArgumentError, "compression_type", "LZ4", "GZIP", "ZLIB")


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    records(path, [bytes(np.random.default_rng(i).bytes(2000)) for i in range(20)], "GZIP")
    path.write_bytes(path.read_bytes()[:20_000])
    found, wrong = outcomes(gm.data.TFRecordDataset(str(path)))
    assert 5 <= len(found) < 20 and len(wrong) == 1
    check(wrong[0], errors.DataLossError, str(path), f"in record {len(found)} at byte")
    text = tmp_path / "text.gz"
    text.write_bytes(gzip.compress(b"just text\n" * 50))
    only_error(gm.data.TFRecordDataset(str(text)), errors.DataLossError, "TFRecord", str(text))


def test_damaged_records_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    starts = records(path, numbers(4))
    flip(path, starts[2] + 14)
    ds = gm.data.TFRecordDataset([str(path), str(path)]).ignore_errors()
    assert [r.numpy() for r in ds] == numbers(2) * 2


# Examples -----------------------------------------------------------------------------------------


def examples(path: Path, bad: dict[str, Any] | None) -> list[int]:
    """A record file of three Examples, the second with other features."""
    good = {"label": gm.train.Feature(int64_list=gm.train.Int64List(value=[1, 2]))}
    rows = [good, good if bad is None else bad, good]
    made = [gm.train.Example(features=gm.train.Features(feature=r)) for r in rows]
    return records(path, [m.SerializeToString() for m in made])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({}, ["Feature: label", "required but could not be found"]),
        (
            {"lable": gm.train.Feature(int64_list=gm.train.Int64List(value=[1, 2]))},
            ["required but could not be found", "'lable'"],
        ),
        (
            {"label": gm.train.Feature(float_list=gm.train.FloatList(value=[1, 2]))},
            ["Data types don't match", "int64", "float"],
        ),
        (
            {"label": gm.train.Feature(int64_list=gm.train.Int64List(value=[1, 2, 3]))},
            ["Key: label", "3", "2"],
        ),
    ],
)
def test_features_that_do_not_fit(tmp_path: Path, bad: dict[str, Any], words: list[str]) -> None:
    path = tmp_path / "a.tfrecord"
    starts = examples(path, bad)
    spec = {"label": gm.io.FixedLenFeature([2], gm.int64)}
    ds = gm.data.TFRecordDataset(str(path)).map(lambda r: gm.io.parse_single_example(r, spec))
    found, wrong = outcomes(ds)
    assert [f["label"].numpy().tolist() for f in found] == [[1, 2], [1, 2]]
    assert len(wrong) == 1
    e = check(
        wrong[0],
        errors.InvalidArgumentError,
        *words,
        "in feature 'label'",
        "io.parse_single_example",
        "test_bad_input.py:",
        f"in record 1 at byte {starts[1]}",
        str(path),
    )
    assert (e.path, e.record_index, e.offset) == (str(path), 1, starts[1])


def test_records_that_are_no_examples(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    records(path, [b"\xff\xff\xff"])
    spec = {"label": gm.io.FixedLenFeature([], gm.int64)}
    ds = gm.data.TFRecordDataset(str(path)).map(lambda r: gm.io.parse_single_example(r, spec))
    only_error(ds, errors.InvalidArgumentError, "Could not parse example input", "hint:", str(path))


# Writing ------------------------------------------------------------------------------------------


def left(folder: Path) -> list[str]:
    """Names in a folder."""
    return sorted(p.name for p in folder.iterdir())


def test_writing_where_nothing_may_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError) as e:
        gm.io.TFRecordWriter("/proc/none.tfrecord")
    check(e.value, errors.OpError, "/proc/none.tfrecord")
    missing = str(tmp_path / "none" / "a.tfrecord")
    with pytest.raises(errors.NotFoundError) as f:
        gm.io.TFRecordWriter(missing)
    check(f.value, errors.NotFoundError, missing, "No such file or directory")
    with pytest.raises(errors.FailedPreconditionError) as g:
        gm.io.TFRecordWriter(str(tmp_path))
    check(g.value, errors.FailedPreconditionError, str(tmp_path), "Is a directory")
    assert left(tmp_path) == []


def test_an_exception_while_writing_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), gm.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        writer.write(b"x")
        1 / 0  # noqa: B018
    refused = pytest.raises(TypeError, match="a record is bytes, found int")
    with refused, gm.io.TFRecordWriter(str(tmp_path / "b")) as writer:
        writer.write(3)
    assert left(tmp_path) == []


FULL = """
import resource, signal, sys
import gristmill as gm
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
path, kind, care = sys.argv[1:]
writer = gm.io.TFRecordWriter(path, kind)
import numpy as np
payload = np.random.default_rng(0).bytes(60_000)
try:
    for _ in range(200):
        writer.write(payload)
    writer.close()
except gm.errors.OpError as e:
    print(type(e).__name__, str(e))
if care == "close":
    try:
        writer.close()
    except gm.errors.OpError as e:
        print("closed:", type(e).__name__)
try:
    gm.io.gfile.GFile(path + "2", "w").write("x" * 200_000)
    with gm.io.gfile.GFile(path + "3", "w") as f:
        f.write("x" * 200_000)
except gm.errors.OpError as e:
    print(type(e).__name__, str(e))
"""


@pytest.mark.parametrize("kind", ["", "GZIP"])
@pytest.mark.parametrize("care", ["drop", "close"])
def test_files_that_may_not_grow_leave_nothing(tmp_path: Path, kind: str, care: str) -> None:
    path = tmp_path / "a.tfrecord"
    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(path), kind, care],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "File too large" in ran.stdout and str(path) in ran.stdout
    assert left(tmp_path) == []


def test_a_full_disk_is_named() -> None:
    refused = pytest.raises(errors.ResourceExhaustedError)
    with refused as e, gm.io.TFRecordWriter("/dev/full") as writer:
        writer.write(b"x" * 1_000_000)
    check(e.value, errors.ResourceExhaustedError, "/dev/full", "No space left on device")


# Descriptions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda x: x if x > 1 else -x, "Python bool"),
        (lambda x: np.sin(x), "NumPy's sin"),
        (lambda x: np.add(x, 1), "gm.math"),
        (lambda x: len(gm.reshape(x, [-1])), "len"),
        (lambda x: list(gm.fill([x], x)), "gm.unstack"),
        (lambda x: float(x), "Python float"),
        (lambda x: range(10)[x], "Python index"),
        (lambda x: x.numpy(), "NumPy"),
    ],
)
def test_functions_that_cannot_be_traced(use: Callable[..., Any], words: str) -> None:
    with pytest.raises(TypeError) as e:
        gm.data.Dataset.range(3).map(use)
    kind = errors.OperatorNotAllowedInGraphError
    check(e.value, kind, words, "test_bad_input.py:", "hint:")


def test_arrays_may_stand_on_the_left() -> None:
    ds = gm.data.Dataset.range(3).map(
        lambda x: (np.array([10, 20]) - x, np.int64(2) ** x, np.array([1, 5]) > x)
    )
    last = list(ds)[2]
    assert [t.numpy().tolist() for t in last] == [[8, 18], 4, [False, True]]


@pytest.mark.parametrize(
    ("use", "kind", "words"),
    [
        (lambda x: gm.image.resize(gm.zeros([4, 4, 3]), [2, 2], method="nope"), ValueError, "nope"),
        (lambda x: gm.io.decode_jpeg("", channels=7), ValueError, "channels"),
        (lambda x: gm.io.decode_raw("", gm.string), (ValueError, TypeError), "string"),
        (lambda x: gm.cast(x, "float33"), TypeError, "float33"),
        (lambda x: gm.reshape(x, [2, 3]), ValueError, "6"),
        (lambda x: gm.zeros([3]) + gm.zeros([4]), ValueError, "[3]"),
        (lambda x: gm.matmul(gm.zeros([2, 3]), gm.zeros([4, 5])), ValueError, "3"),
        (lambda x: x + 1.5, (ValueError, TypeError), "int64"),
        (lambda x: gm.image.resize(gm.zeros([4, 4]), [2, 2]), ValueError, "image"),
        (lambda x: None, TypeError, "None"),
        (lambda x: object(), (ValueError, TypeError), "object"),
    ],
)
def test_arguments_that_ops_do_not_take(use: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind) as e:
        gm.data.Dataset.range(3).map(use)
    check(e.value, Exception, words)


def test_arguments_that_do_not_exist() -> None:
    with pytest.raises(TypeError, match="nope"):
        gm.data.Dataset.range(3).batch(2, nope=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nope"):
        gm.io.decode_jpeg(b"", nope=1)  # type: ignore[call-arg]


def test_batches_of_unequal_shapes(tmp_path: Path) -> None:
    for i, side in enumerate([8, 8, 16, 8, 8]):
        (tmp_path / f"{i}.jpg").write_bytes(jpeg(i, side))
    ds = decoded(sorted(tmp_path.iterdir())).batch(2)
    found, wrong = outcomes(ds)
    assert [f.shape for f in found] == [[2, 8, 8, 3], [1, 8, 8, 3]] and len(wrong) == 1
    check(
        wrong[0],
        errors.InvalidArgumentError,
        "number of elements does not match",
        "[16,16,3]",
        "[8,8,3]",
        "hint:",
        "resize",
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda d: d.batch(0), "0"),
        (lambda d: d.batch(2**64), "batch_size"),
        (lambda d: d.shuffle(0), "buffer_size"),
        (lambda d: d.shuffle(2**64), "buffer_size"),
        (lambda d: d.take(-(2**64)), "count"),
        (lambda d: d.batch("2"), "batch_size"),
        (lambda d: d.batch(2.5), "batch_size"),
        (lambda d: d.batch(None), "batch_size"),
        (lambda d: d.shard(0, 0), "num_shards"),
        (lambda d: d.shard(3, 3), "index"),
        (lambda d: d.prefetch("x"), "buffer_size"),
        (lambda d: d.enumerate("x"), "start"),
        (lambda d: d.map(lambda x: x, num_parallel_calls=0), "num_parallel_calls"),
        (lambda d: d.interleave(lambda x: d, cycle_length=0), "cycle_length"),
        (lambda d: d.interleave(lambda x: d, cycle_length=2**64), "cycle_length"),
        (lambda d: d.with_options(None), "options"),
        (lambda d: d.concatenate(5), "int"),
        (lambda d: d.map(5), "int"),
    ],
)
def test_numbers_and_types_that_steps_do_not_take(make: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as e:
        make(gm.data.Dataset.range(3))
    check(e.value, Exception, words)


@pytest.mark.parametrize(
    "group, name", [("threading", "private_threadpool_size"), ("autotune", "ram_budget")]
)
def test_options_that_are_negative(group: str, name: str) -> None:
    options = gm.data.Options()
    setattr(getattr(options, group), name, -3)
    with pytest.raises(ValueError, match=f"{name}.*-3"):
        gm.data.Dataset.range(3).with_options(options)


@pytest.mark.parametrize("state", [b"", b"garbage", b"\x01" * 40, b"\xff" * 40])
def test_states_that_are_none(state: bytes) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="state"):
        gm.data.Dataset.range(3).iterator(state)


def test_states_of_other_pipelines() -> None:
    state = iter(gm.data.Dataset.range(3)).state()
    with pytest.raises(errors.InvalidArgumentError, match="another pipeline") as e:
        gm.data.Dataset.range(4).iterator(state)
    check(e.value, errors.InvalidArgumentError, "hint:")
