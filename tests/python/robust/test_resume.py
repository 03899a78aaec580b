"""A state written in one process goes on in another, exactly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gristmill as gm
from robust import child

PROGRAM = """
import hashlib, json, pickle, sys
import gristmill as gm

folder, mode, state_file, count = sys.argv[1:]
gm.random.set_seed(5)


def load(path):
    image = gm.io.decode_jpeg(gm.io.read_file(path), channels=3)
    image = gm.image.resize(image, [24, 24])
    image = gm.image.random_flip_left_right(image)
    return gm.image.random_brightness(image, 20.0), gm.strings.length(path)


ds = gm.data.Dataset.list_files(folder + "/*.jpg", seed=3)
ds = ds.map(load, num_parallel_calls=gm.data.AUTOTUNE)
ds = ds.shuffle(16, seed=7).repeat(3).batch(5).prefetch(gm.data.AUTOTUNE)


def words(batch):
    data = batch[0].numpy().tobytes() + batch[1].numpy().tobytes()
    return hashlib.sha256(data).hexdigest()[:16]


if mode == "fresh":
    it = iter(ds)
else:
    with open(state_file, "rb") as f:
        it = ds.iterator(pickle.load(f))
out = []
for _ in range(int(count)):
    batch = next(it, None)
    if batch is None:
        break
    out.append(words(batch))
if mode != "rest":
    with open(state_file, "wb") as f:
        pickle.dump(it.state(), f)
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small JPEGs."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(1)
    for i in range(37):
        pixels = rng.integers(0, 256, (20 + i, 30, 3), np.uint8)
        (folder / f"{i:02d}.jpg").write_bytes(gm.io.encode_jpeg(pixels).numpy())
    return folder


def ran(*args: object) -> list[str]:
    """The batches that a program of its own gave, as hashes."""
    code, out, err = child.run(PROGRAM, *map(str, args), timeout=60)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert isinstance(found, list)
    return found


def test_a_photo_pipeline_goes_on_in_another_process(photos: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    whole = ran(photos, "fresh", state, 10_000)
    assert len(whole) == 23 and len(set(whole)) == 23
    for cut in (0, 1, 7, 8, 15, 22, 23):
        assert ran(photos, "fresh", state, cut) == whole[:cut]
        assert state.stat().st_size < 1000
        assert ran(photos, "rest", state, 10_000) == whole[cut:], cut


def test_a_pass_may_be_cut_again_and_again(photos: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    whole = ran(photos, "fresh", tmp_path / "other", 10_000)
    got = ran(photos, "fresh", state, 4)
    while len(got) < len(whole):
        got += ran(photos, "go on", state, 6)
    assert got == whole
    assert ran(photos, "rest", state, 5) == []


def test_states_do_not_disturb_the_pass(photos: Path) -> None:
    ds = gm.data.Dataset.list_files(f"{photos}/*.jpg", seed=3).shuffle(8, seed=1).batch(4)
    plain = [b.numpy().tolist() for b in ds]
    ds = gm.data.Dataset.list_files(f"{photos}/*.jpg", seed=3).shuffle(8, seed=1).batch(4)
    it = iter(ds)
    states, got = [it.state()], []
    for batch in it:
        got.append(batch.numpy().tolist())
        states.append(it.state())
        assert it.state() == states[-1]
    assert got == plain
    for i, state in enumerate(states):
        assert [b.numpy().tolist() for b in ds.iterator(state)] == plain[i:]
