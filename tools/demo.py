"""From a folder of photos to a classifier: packs record files, streams epochs, profiles, trains.

python tools/demo.py [--images FOLDER] [--out FOLDER] [--epochs 2] [--size 224] [--batch 64]
                     [--train-epochs 5]

FOLDER holds one folder of JPEGs per class. Without it, seeded crops of the photos that scikit-image
ships are used.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import gristmill as gm

SHARDS = 16
PHOTOS = 1_000


class Packed(NamedTuple):
    """The record files, the class names, and how many photos and bytes of JPEG they hold."""

    files: list[str]
    classes: list[str]
    photos: int
    size_bytes: int


def make_photos(folder: Path) -> None:
    """Writes class folders of seeded crops, unless they are there."""
    import photos

    if folder.is_dir() and len(list(folder.glob("*/*.jpg"))) == PHOTOS:
        return
    print(f"cutting {PHOTOS:,} photos from those that scikit-image ships")
    for name in photos.CLASSES:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for i, (label, jpeg) in enumerate(photos.crops(PHOTOS, seed=1)):
        (folder / photos.CLASSES[label] / f"{i:05d}.jpg").write_bytes(jpeg)


def pack(images: Path, out: Path) -> Packed:
    """Packs the photos below ``images`` into 16 record files."""
    start = time.perf_counter()
    report = gm.pack(
        images, out, shards=SHARDS, seed=7, on_error="skip", name="photos", overwrite=True
    )
    seconds = time.perf_counter() - start
    (split,) = report["splits"]
    size_bytes, photos = report["source"]["bytes"], report["records"]
    print(
        f"packed {photos:,} photos of {len(report['class_names'])} classes "
        f"({size_bytes / 1e6:.1f} MB) into {len(split['shards'])} files in {seconds:.2f} s, "
        f"{size_bytes / 1e6 / seconds:.0f} MB/s"
    )
    for file in report["source"]["skipped"]["files"]:
        print(f"  left out {file['path']}: {file['reason']}")
    files = [str(out / shard["file"]) for shard in split["shards"]]
    return Packed(files, report["class_names"], photos, size_bytes)


def pipeline(files: list[str], size: int, batch: int) -> Any:
    """Record files to shuffled batches of float images ``[batch, size, size, 3]`` and labels."""
    spec = {
        "image": gm.io.FixedLenFeature([], gm.string),
        "label": gm.io.FixedLenFeature([], gm.int64),
    }

    def parse(record: Any) -> Any:
        example = gm.io.parse_single_example(record, spec)
        image = gm.io.decode_jpeg(example["image"], channels=3)
        return gm.image.resize(image, [size, size]), example["label"]

    auto = gm.data.AUTOTUNE
    dataset = gm.data.TFRecordDataset(files, num_parallel_reads=auto)
    dataset = dataset.map(parse, num_parallel_calls=auto)
    return dataset.shuffle(256, seed=1).batch(batch).prefetch(auto)


def stream(dataset: Any, packed: Packed, epochs: int) -> None:
    """Takes every batch of each epoch and shows images and megabytes of JPEG per second."""
    tty = sys.stdout.isatty()
    for epoch in range(epochs):
        start, shown, images = time.perf_counter(), 0.0, 0
        labels = [0] * len(packed.classes)
        batches = dataset.as_numpy_iterator()
        for batch_images, batch_labels in batches:
            images += len(batch_images)
            for label in batch_labels.tolist():
                labels[label] += 1
            now = time.perf_counter() - start
            if tty and now - shown > 0.2:
                shown = now
                print("\r" + line(epoch, images, packed, now, batches), end="", flush=True)
        seconds = time.perf_counter() - start
        counts = ", ".join(f"{n} {name}" for name, n in zip(packed.classes, labels, strict=True))
        print(("\r" if tty else "") + line(epoch, images, packed, seconds, batches), flush=True)
        if images != packed.photos:
            raise SystemExit(f"epoch {epoch + 1} gave {images} of {packed.photos} photos")
        print(f"         {counts}", flush=True)


def line(epoch: int, images: int, packed: Packed, seconds: float, batches: Any) -> str:
    """One line of progress, with the stage that worked most so far."""
    rate = images / max(seconds, 1e-9)
    megabytes = rate * packed.size_bytes / packed.photos / 1e6
    busiest = max(batches.report()["stages"], key=lambda stage: stage["busy_ns"])
    return (
        f"epoch {epoch + 1}  {images:6,} of {packed.photos:,} images  {seconds:6.2f} s  "
        f"{rate:8,.0f} images/s  {megabytes:6.1f} MB/s  busiest: {busiest['name']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=Path, help="class folders of JPEGs")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--train-epochs", type=int, default=5, help="0 leaves training out")
    options = parser.parse_args()
    try:
        run(options)
    except gm.errors.OpError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        # Whoever read the output has left; what is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(options: argparse.Namespace) -> None:
    """Packs, streams, profiles and trains."""
    begun = time.perf_counter()
    images = options.images
    if images is None:
        images = options.out / "photos"
        make_photos(images)
    packed = pack(images, options.out / "records")
    dataset = pipeline(packed.files, options.size, options.batch)
    stream(dataset, packed, options.epochs)
    print("profile of one more pass, in batches:")
    print(dataset.profile(), flush=True)
    if options.train_epochs > 0:
        import demo_train

        demo_train.train(packed.files, packed.classes, options.train_epochs)
    print(f"all in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
