"""Jobs on record files from Python, and the console command of the wheel."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gristmill as gm


def example(i: int) -> bytes:
    feature = {
        "label": gm.train.Feature(int64_list=gm.train.Int64List(value=[i % 3])),
        "score": gm.train.Feature(float_list=gm.train.FloatList(value=[i / 2, 1.0])),
        "text": gm.train.Feature(bytes_list=gm.train.BytesList(value=[b"x"] * (i % 2))),
    }
    return gm.train.Example(features=gm.train.Features(feature=feature)).SerializeToString()


def write(path: Path, count: int, compression: str = "") -> str:
    with gm.io.TFRecordWriter(str(path), compression) as writer:
        for i in range(count):
            writer.write(example(i))
    return str(path)


def damage(path: str, record: int, count: int) -> int:
    """Flips a bit in the payload of a record; gives the offset of its frame."""
    data = bytearray(Path(path).read_bytes())
    offset = 0
    for _ in range(record):
        offset += 16 + struct.unpack_from("<Q", data, offset)[0]
    data[offset + 12] ^= 1
    Path(path).write_bytes(data)
    return offset


def command(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    code = "import sys; from gristmill._tools import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=120, **more
    )


def test_infer_spec_parses_what_it_saw(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 6)
    spec = gm.infer_spec(path)
    assert spec == {
        "label": gm.io.FixedLenFeature([], gm.int64),
        "score": gm.io.FixedLenFeature([2], gm.float32),
        "text": gm.io.VarLenFeature(gm.string),
    }
    rows = gm.data.TFRecordDataset(path).map(lambda r: gm.io.parse_single_example(r, spec))
    seen = list(rows.as_numpy_iterator())
    assert [int(row["label"]) for row in seen] == [0, 1, 2, 0, 1, 2]
    np.testing.assert_array_equal(seen[3]["score"], [1.5, 1.0])


def test_printed_code_runs(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", 5, "GZIP")
    done = command("info", path, "--spec")
    assert done.returncode == 0, done.stderr
    scope: dict[str, object] = {}
    exec(done.stdout, scope)
    assert len(list(scope["dataset"])) == 5  # type: ignore[call-overload]


def test_sequences_have_two_specs(tmp_path: Path) -> None:
    steps = gm.train.FeatureList(
        feature=[gm.train.Feature(int64_list=gm.train.Int64List(value=[7]))] * 3
    )
    context = {"id": gm.train.Feature(int64_list=gm.train.Int64List(value=[1]))}
    record = gm.train.SequenceExample(
        context=gm.train.Features(feature=context),
        feature_lists=gm.train.FeatureLists(feature_list={"steps": steps}),
    )
    with gm.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        writer.write(record.SerializeToString())
    spec = gm.infer_spec(tmp_path / "a")
    assert spec == (
        {"id": gm.io.FixedLenFeature([], gm.int64)},
        {"steps": gm.io.FixedLenSequenceFeature([], gm.int64)},
    )


def test_verify_and_salvage(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 10)
    assert gm.verify(path)["ok"]
    offset = damage(path, 4, 10)
    report = gm.verify([path], decode=True)
    assert (report["ok"], report["records"], report["problem_count"]) == (False, 9, 1)
    problem = report["files"][0]["problems"][0]
    assert (problem["kind"], problem["record"], problem["offset"]) == (
        "payload_checksum",
        4,
        offset,
    )
    saved = gm.salvage(path, tmp_path / "b")
    assert (saved["output"]["records"], saved["lost"][0]["start"]) == (9, offset)
    assert len(list(gm.data.TFRecordDataset(str(tmp_path / "b")))) == 9
    with pytest.raises(gm.errors.AlreadyExistsError, match="exists already"):
        gm.salvage(path, tmp_path / "b")
    with pytest.raises(gm.errors.InvalidArgumentError, match="is an input too"):
        gm.salvage(path, path, overwrite=True)
    with pytest.raises(gm.errors.NotFoundError):
        gm.verify(tmp_path / "none")


def test_index(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 3)
    report = gm.index(path)
    assert report["files"][0]["index"] == path + ".idx"
    lines = Path(path + ".idx").read_text().splitlines()
    size = 16 + len(example(0))
    assert (len(lines), lines[0]) == (3, f"0 {size}")
    gz = write(tmp_path / "a.gz", 3, "GZIP")
    with pytest.raises(gm.errors.InvalidArgumentError, match="this one is GZIP"):
        gm.index(gz)


def photos(root: Path) -> Path:
    for label, name in enumerate(["blue", "red"]):
        (root / name).mkdir(parents=True)
        for i in range(4):
            image = np.full([6, 8, 3], 40 * i + label, np.uint8)
            (root / name / f"{i}.png").write_bytes(gm.io.encode_png(image).numpy())
    return root


def test_pack(tmp_path: Path) -> None:
    source = photos(tmp_path / "photos")
    report = gm.pack(source, tmp_path / "out", shards=2, seed=3)
    assert (report["records"], report["class_names"]) == (8, ["blue", "red"])
    assert not report["complete_before"]
    files = sorted(str(p) for p in (tmp_path / "out").glob("*.tfrecord"))
    assert len(files) == 2
    spec = {
        "image": gm.io.FixedLenFeature([], gm.string),
        "label": gm.io.FixedLenFeature([], gm.int64),
        "filename": gm.io.FixedLenFeature([], gm.string),
    }
    rows = gm.data.TFRecordDataset(files).map(lambda r: gm.io.parse_single_example(r, spec))
    seen = {row["filename"]: row for row in rows.as_numpy_iterator()}
    assert seen[b"red/2.png"]["label"] == 1
    pixels = gm.io.decode_png(seen[b"red/2.png"]["image"]).numpy()
    assert pixels.shape == (6, 8, 3) and (pixels == 81).all()
    assert gm.pack(source, tmp_path / "out", shards=2, seed=3)["complete_before"]
    assert gm.verify(tmp_path / "out", decode=True)["images"] == 8
    with pytest.raises(gm.errors.AlreadyExistsError):
        gm.pack(source, tmp_path / "out", shards=2, seed=4)
    with pytest.raises(ValueError, match="fit must be 'stretch' or 'crop'"):
        gm.pack(source, tmp_path / "new", fit="wide")
    (source / "red" / "bad.jpg").write_bytes(b"no image")
    with pytest.raises(gm.errors.DataLossError, match=r"red/bad\.jpg"):
        gm.pack(source, tmp_path / "new")


def test_pack_with_restart_indexes(tmp_path: Path) -> None:
    source = photos(tmp_path / "photos")
    image = np.random.default_rng(1).integers(0, 256, [90, 120, 3]).astype(np.uint8)
    (source / "red" / "noise.jpg").write_bytes(gm.io.encode_jpeg(image).numpy())
    gm.pack(source, tmp_path / "a", shards=1, restart_index=True)
    done = command("pack", str(source), str(tmp_path / "b"), "--shards", "1", "--restart-index")
    assert done.returncode == 0, done.stderr
    name = "photos-00000-of-00001.tfrecord"
    file = tmp_path / "a" / name
    assert file.read_bytes() == (tmp_path / "b" / name).read_bytes()
    spec = gm.infer_spec(file)
    assert spec["restart_index"] == gm.io.FixedLenFeature([], gm.string)  # type: ignore[index]
    indexed = 0
    for record in gm.data.TFRecordDataset(str(file)):
        example = gm.io.parse_single_example(record, spec)
        contents, index = example["image"], example["restart_index"]
        if not index.numpy():
            continue
        indexed += 1
        assert index.numpy() == gm.io.jpeg_restart_index(contents).numpy()
        part = gm.io.decode_and_crop_jpeg(contents, [70, 5, 10, 20], restart_index=index)
        whole = gm.io.decode_and_crop_jpeg(contents, [70, 5, 10, 20])
        np.testing.assert_array_equal(part.numpy(), whole.numpy())
    assert indexed == 1
    report = gm.verify(file, decode=True)
    assert (report["ok"], report["images"]) == (True, 9)


def test_the_console_command(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 6)
    done = command("head", path, "-n", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["features"]["score"]["values"] == [0.0, 1.0]
    assert command("verify", str(tmp_path / "none")).returncode == 3
    assert command("nonsense").returncode == 2
    damage(path, 2, 6)
    assert command("verify", path).returncode == 1


def test_ctrl_c_stops_a_job_and_tidies_up(tmp_path: Path) -> None:
    path = tmp_path / "a"
    # What does not compress takes seconds to try.
    noise = random.Random(1).randbytes(1 << 20)
    with gm.io.TFRecordWriter(str(path)) as writer:
        for _ in range(200):
            writer.write(noise)
    code = (
        "import sys, gristmill as gm; gm.salvage(sys.argv[1], sys.argv[2], compression_type='GZIP')"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
    )
    begun = time.monotonic()
    while len(list(tmp_path.iterdir())) < 2:
        assert child.poll() is None and time.monotonic() < begun + 60
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_while_python_starts_is_no_traceback(tmp_path: Path) -> None:
    # The console script as installers write it, with an import that takes its time.
    script = tmp_path / "gristmill"
    script.write_text("import sys\nfrom gristmill._tools import main\nsys.exit(main())\n")
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "struct.py").write_text("import time\nprint('slow', flush=True)\ntime.sleep(60)\n")
    path = os.pathsep.join([str(slow), str(Path(gm.__file__).parent.parent)])
    child = subprocess.Popen(
        [sys.executable, str(script), "--version"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert child.stdout is not None and child.stdout.readline() == "slow\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=30) == ("", "")
    assert child.returncode == -signal.SIGINT
