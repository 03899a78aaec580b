"""The demo's training: a small convolutional classifier with Keras on JAX, fed from record files.

Part of ``make demo``; see demo.py, which packs the files. On its own:

python tools/demo_train.py 'build/demo/records/*.tfrecord' --classes cat,coffee
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

os.environ.setdefault("KERAS_BACKEND", "jax")
# JAX says on a machine without accelerators that there are none.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import gristmill as gm

AUTO = gm.data.AUTOTUNE
SIZE = 64


class Result(NamedTuple):
    """What training gave, and where its time went.

    Attributes:
        accuracy: The fraction of the held-out photos that are named right.
        chance: The fraction that guessing the commonest class names right.
        photos: Photos trained on, over all epochs.
        wait_s: Seconds in which training waited for the next batch.
        compute_s: Seconds in the training steps.
        setup_s: Seconds to the end of the first step, which is compiled.
        validate_s: Seconds for validation.
    """

    accuracy: float
    chance: float
    photos: int
    wait_s: float
    compute_s: float
    setup_s: float
    validate_s: float


class Waits:
    """Takes the time for which Keras waits for the batches of a dataset."""

    def __init__(self, dataset: Any) -> None:
        self.seconds = 0.0
        start = dataset.get_jax_iterator

        def timed() -> Iterator[Any]:
            batches = start()
            while True:
                asked = time.perf_counter()
                batch = next(batches, None)
                self.seconds += time.perf_counter() - asked
                if batch is None:
                    return
                yield batch

        dataset.get_jax_iterator = timed


def parse(record: Any) -> tuple[Any, Any]:
    """A record's photo, float32 ``[64, 64, 3]`` in 0 to 1, and its class."""
    spec = {
        "image": gm.io.FixedLenFeature([], gm.string),
        "label": gm.io.FixedLenFeature([], gm.int64),
    }
    example = gm.io.parse_single_example(record, spec)
    image = gm.io.decode_jpeg(example["image"], channels=3)
    image = gm.image.resize(gm.image.convert_image_dtype(image, gm.float32), [SIZE, SIZE])
    return image, example["label"]


def augment(image: Any, label: Any) -> tuple[Any, Any]:
    """A crop, perhaps mirrored, lighter or darker and with more or less contrast."""
    image = gm.image.resize_with_crop_or_pad(image, SIZE + 8, SIZE + 8)
    image = gm.image.random_crop(image, [SIZE, SIZE, 3])
    image = gm.image.random_flip_left_right(image)
    image = gm.image.random_brightness(image, 0.1)
    return gm.image.random_contrast(image, 0.8, 1.2), label


def datasets(shards: Sequence[str], batch: int) -> tuple[Any, Any]:
    """Shuffled, augmented batches without end from three quarters of the files; the rest in order.

    The photos are decoded from the record files in every epoch.
    """
    # The same crops and mirrors in each run.
    gm.random.set_seed(1)
    cut = max(1, len(shards) // 4)

    def read(files: Sequence[str]) -> Any:
        records = gm.data.TFRecordDataset(list(files), num_parallel_reads=AUTO)
        return records.map(parse, num_parallel_calls=AUTO)

    train = read(shards[cut:]).shuffle(512, seed=1).map(augment, num_parallel_calls=AUTO)
    train = train.repeat().batch(batch, drop_remainder=True).prefetch(AUTO)
    return train, read(shards[:cut]).batch(batch).prefetch(AUTO)


def build(classes: int) -> Any:
    """Four convolutions and a mean."""
    import keras

    # The same weights to begin with in each run.
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential([keras.Input((SIZE, SIZE, 3))])
    for width in (16, 32, 48, 64):
        model.add(layers.Conv2D(width, 3, strides=2, padding="same", use_bias=False))
        # A few hundred steps: the running means have to follow fast.
        model.add(layers.BatchNormalization(momentum=0.8))
        model.add(layers.ReLU())
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(classes))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(2e-3), loss, metrics=["accuracy"])
    return model


def count_labels(shards: Sequence[str], classes: int) -> list[int]:
    """How many records of each class there are; no photo is decoded."""
    spec = {"label": gm.io.FixedLenFeature([], gm.int64)}
    records = gm.data.TFRecordDataset(list(shards), num_parallel_reads=AUTO)
    counts = [0] * classes
    for record in records.map(lambda r: gm.io.parse_single_example(r, spec)).as_numpy_iterator():
        counts[record["label"]] += 1
    return counts


def progress(epochs: int, steps: int, batch: int, waits: Waits) -> Any:
    """A Keras callback that keeps one line up to date and takes times."""
    import keras

    class Progress(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.setup_s = self.train_s = self.validate_s = self.wait_s = 0.0
            self.shown = 0.0
            self.begun = time.perf_counter()

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch
            self.last = time.perf_counter()
            self.epoch_s = 0.0

        def on_train_batch_end(self, step: int, logs: Any = None) -> None:
            accuracy = float(logs["accuracy"])  # waits for the step
            now = time.perf_counter()
            if self.epoch == step == 0:
                # The first step was compiled, and the pipeline had to start.
                self.setup_s, waits.seconds = now - self.begun, 0.0
            else:
                self.train_s += now - self.last
                self.epoch_s += now - self.last
            self.last = now
            if sys.stdout.isatty() and now - self.shown > 0.2:
                self.shown = now
                print("\r" + self.line(step + 1, accuracy), end="", flush=True)

        def on_test_begin(self, logs: Any = None) -> None:
            self.test_begun = time.perf_counter()
            self.wait_s = waits.seconds

        def on_test_end(self, logs: Any = None) -> None:
            self.validate_s += time.perf_counter() - self.test_begun

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            end = "\r" if sys.stdout.isatty() else ""
            line = self.line(steps, logs["accuracy"])
            print(f"{end}{line}  validation {logs['val_accuracy']:.3f}", flush=True)

        def line(self, step: int, accuracy: float) -> str:
            rate = step * batch / max(self.epoch_s, 1e-9)
            return (
                f"epoch {self.epoch + 1} of {epochs}  {step * batch:6,} of {steps * batch:,} "
                f"images  {rate:6,.0f} images/s  accuracy {accuracy:.3f}"
            )

    return Progress()


def train(
    shards: Sequence[str], classes: Sequence[str], epochs: int = 5, batch: int = 32
) -> Result:
    """Trains on all but a quarter of the record files, validates on that quarter, and reports.

    Args:
        shards: Record files of Examples with ``image`` (JPEG) and ``label`` (int64).
        classes: Names of the classes.
        epochs: Passes over the photos.
        batch: Photos per step.
    """
    cut = max(1, len(shards) // 4)
    held_counts = count_labels(shards[:cut], len(classes))
    photos = sum(count_labels(shards[cut:], len(classes)))
    steps = max(1, photos // batch)
    dataset, held = datasets(shards, batch)
    waits = Waits(dataset)
    model = build(len(classes))
    took = progress(epochs, steps, batch, waits)
    print(f"training on {photos:,} photos with Keras on JAX, {sum(held_counts):,} held back")
    history = model.fit(
        dataset,
        epochs=epochs,
        steps_per_epoch=steps,
        validation_data=held,
        validation_steps=-(-sum(held_counts) // batch),
        verbose=0,
        callbacks=[took],
    )
    result = Result(
        accuracy=float(history.history["val_accuracy"][-1]),
        chance=max(held_counts) / max(1, sum(held_counts)),
        photos=epochs * steps * batch,
        wait_s=waits.seconds,
        compute_s=took.train_s - waits.seconds,
        setup_s=took.setup_s,
        validate_s=took.validate_s,
    )
    report(result)
    return result


def report(result: Result) -> None:
    """Prints how good the classifier is and where the time went."""
    print(f"validation accuracy {result.accuracy:.3f}, by chance {result.chance:.3f}")
    trained = result.wait_s + result.compute_s
    print(
        f"{result.photos:,} photos in {trained:.1f} s: {result.compute_s:.1f} s in the network, "
        f"{result.wait_s:.1f} s ({100 * result.wait_s / max(trained, 1e-9):.0f} %) waiting for "
        f"input; besides {result.setup_s:.1f} s to compile and start, "
        f"{result.validate_s:.1f} s to validate",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", help="pattern of the record files")
    parser.add_argument("--classes", required=True, help="names, with commas between them")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    files = gm.io.gfile.glob(options.records)
    if len(files) < 2:
        raise SystemExit(f"{options.records} names {len(files)} files: at least 2 are needed")
    train(files, options.classes.split(","), options.epochs)


if __name__ == "__main__":
    main()
