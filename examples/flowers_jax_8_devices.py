"""Feeds a global batch of 8 × 128 bfloat16 images to eight devices and trains on it in plain JAX.

python examples/flowers_jax_8_devices.py [--records 'flowers/*.tfrec'] [--steps 30]

Where there are not eight accelerators, the CPU stands for eight devices. Every device gets 128 rows
of each batch; the step is compiled once for all of them, and JAX adds up the gradients. With
several processes, each takes its part: ``.shard(jax.process_count(), jax.process_index())``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
)

import jax
import jax.numpy as jnp
import numpy as np
import synthetic
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import gristmill as gm

AUTO = gm.data.AUTOTUNE
DEVICES = 8
PER_DEVICE = 128


def pipeline(files: list[str], size: int) -> Any:
    """Record files to endless batches of bfloat16 images and int32 classes."""

    def parse(record: Any) -> dict[str, Any]:
        features = {
            "image": gm.io.FixedLenFeature([], gm.string),
            "class": gm.io.FixedLenFeature([], gm.int64),
        }
        example = gm.io.parse_single_example(record, features)
        image = gm.io.decode_jpeg(example["image"], channels=3)
        image = gm.image.resize(gm.image.convert_image_dtype(image, gm.float32), [size, size])
        return {"image": gm.cast(image, gm.bfloat16), "label": gm.cast(example["class"], gm.int32)}

    dataset = gm.data.TFRecordDataset(files, num_parallel_reads=AUTO)
    dataset = dataset.map(parse, num_parallel_calls=AUTO).cache()
    dataset = dataset.shuffle(2048, seed=1).repeat()
    # The size of a batch is that of all devices together, and each batch has it.
    return dataset.batch(DEVICES * PER_DEVICE, drop_remainder=True).prefetch(AUTO)


def forward(weights: list[Any], images: Any) -> Any:
    """Logits of a network of two layers, computed in bfloat16."""
    hidden = images.reshape(len(images), -1) @ weights[0].astype(jnp.bfloat16)
    return (jax.nn.relu(hidden) @ weights[1].astype(jnp.bfloat16)).astype(jnp.float32)


def loss(weights: list[Any], batch: dict[str, Any]) -> Any:
    """The mean cross-entropy, and how many of the batch are right as a fraction."""
    logits = forward(weights, batch["image"])
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["label"][:, None], 1)
    return -picked.mean(), (logits.argmax(1) == batch["label"]).mean()


@jax.jit
def step(weights: list[Any], batch: dict[str, Any]) -> Any:
    """One step of gradient descent."""
    (value, right), gradients = jax.value_and_grad(loss, has_aux=True)(weights, batch)
    return [w - 0.05 * g for w, g in zip(weights, gradients, strict=True)], value, right


def main() -> None:
    """Trains on the files that the command line names, or on drawn flowers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", help="pattern of the record files")
    parser.add_argument("--classes", type=int, default=len(synthetic.CLASSES))
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--size", type=int, default=32, help="side of the images in pixels")
    parser.add_argument("--per-class", type=int, default=60, help="drawn flowers of each class")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.records is None:
            files = synthetic.write_records(Path(folder), options.per_class)
        else:
            files = gm.io.gfile.glob(options.records)
        train(files, options)


def train(files: list[str], options: argparse.Namespace) -> None:
    """Trains for some steps and prints where the rows of a batch lie."""
    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("batch",))
    split = NamedSharding(mesh, PartitionSpec("batch"))
    everywhere = NamedSharding(mesh, PartitionSpec())
    rng = np.random.default_rng(0)
    shapes = (options.size**2 * 3, 64), (64, options.classes)
    weights = [
        jax.device_put(rng.normal(0, (2 / m) ** 0.5, (m, n)).astype(np.float32), everywhere)
        for m, n in shapes
    ]
    batches = pipeline(files, options.size).to_jax(split)
    for i in range(options.steps):
        batch = next(batches)
        if i == 0:
            images = batch["image"]
            print(f"one batch: {images.dtype}{list(images.shape)}")
            for shard in images.addressable_shards:
                rows = shard.index[0]
                print(f"  {shard.device}: rows {rows.start} to {rows.stop - 1}")
        weights, value, right = step(weights, batch)
        if i % 10 == 0 or i == options.steps - 1:
            print(f"step {i + 1}: loss {value:.3f}, accuracy {right:.3f}")


if __name__ == "__main__":
    main()
