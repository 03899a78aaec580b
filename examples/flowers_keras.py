"""Trains a flower classifier with Keras on JAX from record files, as the TPU codelab does.

python examples/flowers_keras.py [--records 'flowers/*.tfrec'] [--epochs 5]

The record files hold Examples with the features ``image`` (JPEG bytes) and ``class`` (a number).
Without ``--records`` drawn flowers are packed into a temporary folder first.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import synthetic

import gristmill as gm

AUTO = gm.data.AUTOTUNE


def parse(record: Any) -> tuple[Any, Any]:
    """A record's image, uint8 ``[height, width, 3]``, and its class."""
    features = {
        "image": gm.io.FixedLenFeature([], gm.string),
        "class": gm.io.FixedLenFeature([], gm.int64),
    }
    example = gm.io.parse_single_example(record, features)
    return gm.io.decode_jpeg(example["image"], channels=3), example["class"]


def augment(image: Any, label: Any) -> tuple[Any, Any]:
    """Another view of the flower in every epoch."""
    image = gm.image.random_flip_left_right(image)
    return gm.image.random_brightness(image, 0.1), label


def load(files: list[str], size: int) -> Any:
    """Record files to images in 0 to 1, ``[size, size, 3]``, and classes."""

    def scale(image: Any, label: Any) -> tuple[Any, Any]:
        image = gm.image.convert_image_dtype(image, gm.float32)
        return gm.image.resize(image, [size, size]), label

    dataset = gm.data.TFRecordDataset(files, num_parallel_reads=AUTO)
    return dataset.map(parse, num_parallel_calls=AUTO).map(scale, num_parallel_calls=AUTO)


def build(size: int, classes: int) -> keras.Model:
    """A small convolutional network."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((size, size, 3)),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(classes, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def main() -> None:
    """Trains on the files that the command line names, or on drawn flowers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", help="pattern of the record files")
    parser.add_argument("--classes", type=int, default=len(synthetic.CLASSES))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--size", type=int, default=48, help="side of the images in pixels")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--per-class", type=int, default=80, help="drawn flowers of each class")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.records is None:
            files = synthetic.write_records(Path(folder), options.per_class)
        else:
            files = gm.io.gfile.glob(options.records)
        train(files, options)


def train(files: list[str], options: argparse.Namespace) -> None:
    """Trains on all files but the last and validates on that."""
    held = load(files[-1:], options.size).batch(options.batch).cache().prefetch(AUTO)
    # Decoding is done once; shuffling and augmenting in every epoch.
    dataset = load(files[:-1], options.size).cache().shuffle(512, seed=1)
    dataset = dataset.map(augment, num_parallel_calls=AUTO).repeat()
    dataset = dataset.batch(options.batch, drop_remainder=True).prefetch(AUTO)

    records = sum(1 for _ in gm.data.TFRecordDataset(files[:-1]))
    model = build(options.size, options.classes)
    history = model.fit(
        dataset,
        epochs=options.epochs,
        steps_per_epoch=max(1, records // options.batch),
        validation_data=held,
        verbose=2,
    )
    loss, accuracy = model.evaluate(held, verbose=0)
    print(f"{len(history.history['loss'])} epochs, validation loss {loss:.3f}")
    print(f"validation accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
