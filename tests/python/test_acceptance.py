"""The acceptance scripts print what TensorFlow printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acceptance_runs
from golden import subject


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", acceptance_runs.NAMES)
def test_script_prints_what_tensorflow_printed(name: str, testdata: Path, tmp_path: Path) -> None:
    found = acceptance_runs.run(name, testdata, tmp_path, module=subject.NAME)
    assert found == acceptance_runs.expected(name)
    if name.startswith("a2"):
        _check_cheat_sheet_files(testdata, tmp_path)


def _check_cheat_sheet_files(testdata: Path, work: Path) -> None:
    """Every record of the four shards holds the photo, class, sizes and floats it should."""
    tf = subject.module()
    photos = sorted((testdata / "data" / "flowers").glob("*/*.jpg"))[:60]
    numbers = np.random.default_rng(0)
    for shard in range(4):
        records = acceptance_runs.payloads(work / f"cheat-{shard:02d}.tfrec")
        assert len(records) == len(photos[shard::4])
        for i, (record, photo) in enumerate(zip(records, photos[shard::4], strict=True)):
            floats = numbers.random(i % 5).astype(np.float32)
            assert _features(tf, record) == {
                "image": [photo.read_bytes()],
                "class": [shard],
                "size": [10 + i, 20 + i],
                "float_data": floats.tolist(),
            }


def _features(tf: Any, record: bytes) -> dict[str, list[Any]]:
    features = tf.train.Example.FromString(record).features.feature
    return {
        key: list(getattr(features[key], features[key].WhichOneof("kind")).value)
        for key in features
    }
