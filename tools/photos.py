"""Photos for the demo and the benchmarks: seeded crops of those that scikit-image ships."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

#: Photos inside the scikit-image wheel; each is a class of its own.
NAMES = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")

CLASSES = tuple(name.split(".")[0].split("_")[0] for name in NAMES)

#: Width and height in pixels of the crops, as photos on the web come.
_SHAPES = ((500, 375), (500, 333), (480, 360), (375, 500), (320, 240))


def _sources() -> list[Image.Image]:
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    return [Image.open(folder / name).convert("RGB") for name in NAMES]


def crops(count: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """``count`` pairs of class number and JPEG bytes, the same for the same seed."""
    rng = np.random.default_rng(seed)
    sources = _sources()
    for i in range(count):
        label = i % len(sources)
        yield label, _jpeg(_variation(sources[label], rng))


def _variation(source: Image.Image, rng: np.random.Generator) -> Image.Image:
    """A crop of 60 to 100 % of the width, perhaps mirrored, lighter or darker, with fine grain."""
    width, height = _SHAPES[rng.integers(len(_SHAPES))]
    scale = rng.uniform(0.6, 1.0) * min(source.width / width, source.height / height)
    w, h = int(width * scale), int(height * scale)
    x = int(rng.integers(0, source.width - w + 1))
    y = int(rng.integers(0, source.height - h + 1))
    image = source.resize((width, height), Image.Resampling.BICUBIC, (x, y, x + w, y + h))
    if rng.integers(2):
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    image = ImageEnhance.Brightness(image).enhance(float(rng.uniform(0.8, 1.2)))
    grain = rng.normal(0.0, 4.0, (height, width, 1))
    pixels = np.clip(np.asarray(image, np.float64) + grain, 0, 255)
    return Image.fromarray(pixels.astype(np.uint8))


def _jpeg(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90)
    return out.getvalue()
