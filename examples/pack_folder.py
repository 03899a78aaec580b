"""Packs a folder of photos into 32 record files and reads them back.

python examples/pack_folder.py [FOLDER] [--out records] [--size 192]

FOLDER holds one folder of images per class. Without it, flowers are drawn. The steps are those of a
notebook: `image_dataset_from_directory`, encode as JPEG, make Examples, write, read, compare.
``gristmill pack FOLDER`` does the same in one command.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import synthetic

import gristmill as gm

SHARDS = 32


def read_folder(folder: Path, size: int) -> Any:
    """All images of a folder, scaled to one size, as JPEG bytes with their labels."""
    images = gm.keras.utils.image_dataset_from_directory(
        folder, batch_size=None, image_size=(size, size), crop_to_aspect_ratio=True, seed=1
    )

    def encode(image: Any, label: Any) -> tuple[Any, Any]:
        pixels = gm.saturate_cast(gm.round(image), gm.uint8)
        return gm.io.encode_jpeg(pixels, quality=95), label

    encoded = images.map(encode, num_parallel_calls=gm.data.AUTOTUNE)
    encoded.class_names = images.class_names
    return encoded


def example(jpeg: bytes, label: int, name: str) -> bytes:
    """A serialized Example."""
    train = gm.train
    feature = {
        "image": train.Feature(bytes_list=train.BytesList(value=[jpeg])),
        "class": train.Feature(int64_list=train.Int64List(value=[label])),
        "name": train.Feature(bytes_list=train.BytesList(value=[name.encode()])),
    }
    return train.Example(features=train.Features(feature=feature)).SerializeToString()


def write(encoded: Any, out: Path) -> Counter[str]:
    """Deals the images out to the record files; returns how many each class has."""
    out.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                gm.io.TFRecordWriter(str(out / f"photos-{i:05d}-of-{SHARDS:05d}.tfrecord"))
            )
            for i in range(SHARDS)
        ]
        # In one pass: the images are shuffled, and another pass would have another order.
        for i, (jpeg, label) in enumerate(encoded.as_numpy_iterator()):
            name = encoded.class_names[label]
            writers[i % SHARDS].write(example(jpeg, int(label), name))
            counts[name] += 1
    return counts


def read_back(out: Path, size: int) -> Counter[str]:
    """Reads all files in parallel, checks every image, and counts the classes."""
    features = {
        "image": gm.io.FixedLenFeature([], gm.string),
        "class": gm.io.FixedLenFeature([], gm.int64),
        "name": gm.io.FixedLenFeature([], gm.string),
    }

    def parse(record: Any) -> tuple[Any, Any]:
        found = gm.io.parse_single_example(record, features)
        image = gm.ensure_shape(gm.io.decode_jpeg(found["image"]), [size, size, 3])
        return image, found["name"]

    files = gm.io.gfile.glob(str(out / "photos-*.tfrecord"))
    dataset = gm.data.TFRecordDataset(files, num_parallel_reads=gm.data.AUTOTUNE)
    dataset = dataset.map(parse, num_parallel_calls=gm.data.AUTOTUNE)
    return Counter(name.decode() for _, name in dataset.as_numpy_iterator())


def main() -> None:
    """Packs the folder that the command line names, or drawn flowers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="class folders of images")
    parser.add_argument("--out", type=Path, help="where the record files go")
    parser.add_argument("--size", type=int, default=192, help="side of the images in pixels")
    parser.add_argument("--per-class", type=int, default=20, help="drawn flowers of each class")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder
        if folder is None:
            folder = Path(temporary) / "flowers"
            synthetic.write_folders(folder, options.per_class)
        out = options.out or Path(temporary) / "records"
        written = write(read_folder(folder, options.size), out)
        size = sum(path.stat().st_size for path in out.iterdir())
        print(f"wrote {written.total()} images, {size / 1e6:.1f} MB, into {SHARDS} files")
        if read_back(out, options.size) != written:
            raise SystemExit("what was read is not what was written")
        print("read back: " + ", ".join(f"{n} {name}" for name, n in sorted(written.items())))


if __name__ == "__main__":
    main()
