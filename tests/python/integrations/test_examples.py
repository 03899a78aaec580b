"""The examples run as they stand, on drawn photos and on folders, and do what they say."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gristmill as gm

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def run(name, *args, needs=()):
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install {package} to run {name}")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, args)],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Class folders and record files of drawn flowers."""
    spec = importlib.util.spec_from_file_location("synthetic", EXAMPLES / "synthetic.py")
    synthetic = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(synthetic)
    folder = tmp_path_factory.mktemp("drawn")
    synthetic.write_folders(folder / "photos", 7)
    synthetic.write_records(folder / "records", 30)
    return folder


def test_flowers_keras_learns():
    out, err = run("flowers_keras.py", "--epochs", 6, needs=["jax", "keras"])
    assert "6 epochs" in out
    accuracy = float(re.search(r"validation accuracy ([\d.]+)", out)[1])
    assert accuracy > 0.5  # of five classes
    assert "GRISTMILL_SILENCE" not in err


def test_flowers_keras_takes_record_files(drawn):
    pattern = drawn / "records" / "*.tfrec"
    arguments = ["--records", pattern, "--epochs", 1, "--size", 24]
    out, _ = run("flowers_keras.py", *arguments, needs=["jax", "keras"])
    assert "1 epochs" in out


def test_flowers_jax_splits_each_batch_over_eight_devices(drawn):
    pattern = drawn / "records" / "*.tfrec"
    arguments = ["--records", pattern, "--size", 16]
    out, err = run("flowers_jax_8_devices.py", *arguments, needs=["jax"])
    assert "one batch: bfloat16[1024, 16, 16, 3]" in out
    rows = re.findall(r"rows (\d+) to (\d+)", out)
    assert [(int(a), int(b)) for a, b in rows] == [(128 * i, 128 * i + 127) for i in range(8)]
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", out)]
    assert losses[-1] < losses[0] - 0.2
    assert "GRISTMILL_SILENCE" not in err


def test_pack_folder_writes_what_it_reads(drawn, tmp_path):
    out, err = run("pack_folder.py", drawn / "photos", "--out", tmp_path, "--size", 48)
    assert "wrote 35 images" in out and "into 32 files" in out
    assert "7 daisy, 7 dandelion, 7 roses, 7 sunflowers, 7 tulips" in out
    assert "GRISTMILL_SILENCE" not in err
    files = sorted(tmp_path.iterdir())
    assert [f.name for f in files] == [f"photos-{i:05d}-of-00032.tfrecord" for i in range(32)]
    counts = [sum(1 for _ in gm.data.TFRecordDataset(str(f))) for f in files]
    assert counts == [2, 2, 2, *[1] * 29]
    out, _ = run("pack_folder.py", "--per-class", 2, "--size", 32)
    assert "2 daisy, 2 dandelion, 2 roses, 2 sunflowers, 2 tulips" in out


def test_the_demos_training_tells_apart_and_says_where_time_went(drawn, tmp_path):
    features = {
        "image": gm.io.FixedLenFeature([], gm.string),
        "class": gm.io.FixedLenFeature([], gm.int64),
    }
    for i, path in enumerate(sorted((drawn / "records").iterdir())):
        with gm.io.TFRecordWriter(str(tmp_path / f"{i}.tfrecord")) as writer:
            for record in gm.data.TFRecordDataset(str(path)):
                found = gm.io.parse_single_example(record, features)
                example = gm.train.Example()
                example.features.feature["image"].bytes_list.value.append(found["image"].numpy())
                example.features.feature["label"].int64_list.value.append(int(found["class"]))
                writer.write(example.SerializeToString())
    tool = EXAMPLES.parent / "tools" / "demo_train.py"
    arguments = [tmp_path / "*.tfrecord", "--classes", "a,b,c,d,e", "--epochs", 6]
    out, err = run(tool, *arguments, needs=["jax", "keras"])
    assert "training on 112 photos with Keras on JAX, 38 held back" in out
    accuracy, chance = re.search(r"validation accuracy ([\d.]+), by chance ([\d.]+)", out).groups()
    assert float(accuracy) > 2 * float(chance) and 0.2 <= float(chance) < 0.3
    assert re.search(r"576 photos in [\d.]+ s: [\d.]+ s in the network, [\d.]+ s \(\d+ %\)", out)
    assert "GRISTMILL_SILENCE" not in err
