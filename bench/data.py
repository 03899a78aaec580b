"""Makes the data that the benchmarks read, from seeds alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import gristmill as gm
import photos

#: Goes up whenever the recipe changes, so that old data are made anew.
RECIPE = 1

RAW_BYTES = 100_000
SHARDS = 4


def sizes(scale: float) -> dict[str, int]:
    """How many records of each kind a scale stands for."""
    return {
        "raw": max(SHARDS, int(2_560 * scale)),
        "small": max(SHARDS, int(200_000 * scale)),
        "photos": max(SHARDS, int(512 * scale)),
    }


def ensure(folder: Path, scale: float) -> dict[str, int]:
    """Makes the data below ``folder`` unless they are there; gives the bytes of each kind."""
    wanted = {"recipe": RECIPE, **sizes(scale)}
    note = folder / "made.json"
    if not note.is_file() or json.loads(note.read_text()) != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
        makers = {"raw": _raw, "small": _small, "photos": _photos}
        for name, maker in makers.items():
            print(f"making {wanted[name]} records of {name}", flush=True)
            _write(folder / name, maker(wanted[name]), wanted[name])
        note.write_text(json.dumps(wanted))
    return {
        name: sum(path.stat().st_size for path in (folder / name).glob("*.tfrecord"))
        for name in sizes(scale)
    }


def _write(folder: Path, records: Iterator[bytes], count: int) -> None:
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.tfrecord"):
        old.unlink()
    for shard in range(SHARDS):
        part = count // SHARDS + (shard < count % SHARDS)
        with gm.io.TFRecordWriter(str(folder / f"{shard:02d}.tfrecord")) as out:
            for _ in range(part):
                out.write(next(records))


def _raw(count: int) -> Iterator[bytes]:
    rng = np.random.default_rng(1)
    for _ in range(count):
        yield rng.bytes(RAW_BYTES)


def _small(count: int) -> Iterator[bytes]:
    """Four integers, 32 floats and a string of 20 bytes each."""
    rng = np.random.default_rng(2)
    train = gm.train
    for _ in range(count):
        feature = {
            f"i{k}": train.Feature(int64_list=train.Int64List(value=[int(v)]))
            for k, v in enumerate(rng.integers(16_384, 2_097_152, 4))
        }
        floats = rng.random(32, np.float32).tolist()
        feature["f"] = train.Feature(float_list=train.FloatList(value=floats))
        letters = rng.integers(97, 123, 20, np.uint8).tobytes()
        feature["s"] = train.Feature(bytes_list=train.BytesList(value=[letters]))
        yield train.Example(features=train.Features(feature=feature)).SerializeToString()


def _photos(count: int) -> Iterator[bytes]:
    train = gm.train
    for label, jpeg in photos.crops(count, seed=3):
        feature = {
            "image": train.Feature(bytes_list=train.BytesList(value=[jpeg])),
            "class": train.Feature(int64_list=train.Int64List(value=[label])),
        }
        yield train.Example(features=train.Features(feature=feature)).SerializeToString()
