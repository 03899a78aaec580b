"""Drawn flowers for the examples: JPEGs in class folders, or packed into record files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gristmill as gm

CLASSES = ("daisy", "dandelion", "roses", "sunflowers", "tulips")

#: Petals and colours (petals, centre) of each class.
_LOOKS = {
    "daisy": (12, (240, 240, 240), (230, 200, 40)),
    "dandelion": (24, (235, 210, 30), (220, 180, 20)),
    "roses": (5, (200, 30, 60), (150, 10, 40)),
    "sunflowers": (16, (250, 190, 20), (90, 50, 20)),
    "tulips": (3, (220, 80, 160), (120, 160, 60)),
}


def flowers(per_class: int, size: int = 96, seed: int = 0) -> Iterator[tuple[int, bytes]]:
    """Pairs of class number and JPEG bytes, classes in turn."""
    rng = np.random.default_rng(seed)
    for _ in range(per_class):
        for label, name in enumerate(CLASSES):
            image = gm.constant(_draw(name, size, rng))
            yield label, gm.io.encode_jpeg(image, quality=90).numpy()


def write_folders(folder: Path, per_class: int) -> None:
    """Writes ``folder/CLASS/NUMBER.jpg``."""
    for i, (label, jpeg) in enumerate(flowers(per_class)):
        path = folder / CLASSES[label] / f"{i:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg)


def write_records(folder: Path, per_class: int, files: int = 4) -> list[str]:
    """Writes record files of Examples with ``image`` and ``class``; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [str(folder / f"flowers{i:02d}-of-{files:02d}.tfrec") for i in range(files)]
    writers = [gm.io.TFRecordWriter(path) for path in paths]
    for i, (label, jpeg) in enumerate(flowers(per_class)):
        feature = {
            "image": gm.train.Feature(bytes_list=gm.train.BytesList(value=[jpeg])),
            "class": gm.train.Feature(int64_list=gm.train.Int64List(value=[label])),
        }
        example = gm.train.Example(features=gm.train.Features(feature=feature))
        writers[i % files].write(example.SerializeToString())
    for writer in writers:
        writer.close()
    return paths


def _draw(name: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """A flower of random place, size and turn on grass."""
    petals, colour, centre = _LOOKS[name]
    y, x = np.mgrid[:size, :size] / size - rng.uniform(0.4, 0.6, (2, 1, 1))
    radius, angle = np.hypot(x, y), np.arctan2(y, x) + rng.uniform(0, 2 * np.pi)
    reach = rng.uniform(0.3, 0.42) * (0.65 + 0.35 * np.cos(petals * angle))
    image = np.full((size, size, 3), (60, 120, 50), np.float64)
    image[radius < reach] = colour
    image[radius < 0.1] = centre
    image *= rng.uniform(0.7, 1.1)
    image += rng.normal(0, 12, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)
