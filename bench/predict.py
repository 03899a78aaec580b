"""Checks what `Dataset.profile` predicts: runs random pipelines, and again without the stage named.

python bench/predict.py [--pipelines 12] [--seed 1] [--reps 5] [--seconds 1.0]

A stage that changes what elements are is not just left out: what it gave is put in its place as a
constant, so that the stages behind it have the same work. All elements of a pipeline are alike for
that reason. Every figure is a median of repetitions, with and without the stage in turn.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gristmill as gm
from gristmill.data import _profile as model

Data = gm.data.Dataset
SIDE = 160
#: Of the values that stand for a stage's work: about as much as is under way between two stages.
BYTES = 4 << 20


class Step(NamedTuple):
    """A transformation, and the name of the stage that it becomes when it stands alone."""

    name: str
    text: str
    apply: Callable[[Any], Any]
    #: Whether elements are the same behind it, so that leaving it out is enough.
    same: bool = False


def numeric(rng: np.random.Generator) -> list[Step]:
    """Vectors of one length that are worked on."""
    width = int(rng.choice([64, 1024, 16_384]))

    def vector(x: Any) -> Any:
        return gm.fill([width], gm.cast(x % 7, gm.float32))

    source = _source(rng, Step("range", "range", lambda n: Data.range(n)))
    return [*source, Step("map", f"fill({width})", lambda ds: ds.map(vector)), *_works(rng)]


def _works(rng: np.random.Generator) -> Iterator[Step]:
    """One to three functions of different cost, on threads of their own."""
    for _ in range(int(rng.integers(1, 4))):
        yield _apart()
        rounds = int(rng.choice([1, 4, 16]))

        def work(x: Any, rounds: int = rounds) -> Any:
            for _ in range(rounds):
                x = gm.sqrt(gm.abs(x) + 1.0)
            return x

        yield Step("map", f"sqrt x {rounds}", lambda ds, work=work: ds.map(work), same=True)


def _source(rng: np.random.Generator, source: Step) -> list[Step]:
    """A source, perhaps shuffled: a rule would bring a shuffle there from anywhere else."""
    if rng.random() < 0.5:
        return [source]
    room = int(rng.integers(2, 64))
    return [
        source,
        Step("shuffle", f"shuffle({room})", lambda ds: ds.shuffle(room, seed=1), same=True),
    ]


def _apart() -> Step:
    return Step("prefetch", "prefetch", lambda ds: ds.prefetch(4), same=True)


def photos(rng: np.random.Generator) -> list[Step]:
    """Records with a JPEG: parsed, decoded, resized, in one function or in several."""
    side = int(rng.choice([96, 256, 400]))
    ramp = np.add.outer(np.arange(side), np.arange(side))[..., None] * [1, 2, 3]
    noise = np.random.default_rng(2).integers(0, 40, (side, side, 3))
    picture = gm.io.encode_jpeg(((ramp + noise) % 256).astype(np.uint8)).numpy()
    train = gm.train
    feature = {"image": train.Feature(bytes_list=train.BytesList(value=[picture]))}
    record = train.Example(features=train.Features(feature=feature)).SerializeToString()
    spec = {"image": gm.io.FixedLenFeature([], gm.string)}

    def parse(r: Any) -> Any:
        return gm.io.parse_single_example(r, spec)["image"]

    def decode(contents: Any) -> Any:
        return gm.ensure_shape(gm.io.decode_jpeg(contents, channels=3), [side, side, 3])

    def resize(image: Any) -> Any:
        return gm.image.resize(image, [SIDE, SIDE])

    steps = [
        Step("TFRecordDataset", f"records of {len(record)} B", lambda n: _records(record, n)),
        Step("map", "parse", lambda ds: ds.map(parse)),
        Step("map", f"decode {side}", lambda ds: ds.map(decode)),
        Step("map", f"resize {SIDE}", lambda ds: ds.map(resize)),
    ]
    out = _source(rng, steps[0])
    for step in steps[1:]:
        if rng.random() < 0.4:
            out.append(_apart())
        out.append(step)
    return out


_FOLDER = tempfile.TemporaryDirectory()


def _records(record: bytes, n: int) -> Any:
    path = Path(_FOLDER.name) / f"{len(record)}-{n}.tfrecord"
    if not path.exists():
        with gm.io.TFRecordWriter(str(path)) as out:
            for _ in range(n):
                out.write(record)
    return gm.data.TFRecordDataset(str(path))


def pipeline(seed: int) -> list[Step]:
    """A random pipeline."""
    rng = np.random.default_rng(seed)
    steps = (numeric if rng.random() < 0.5 else photos)(rng)
    size = int(rng.choice([8, 32, 128]))
    steps.append(Step("batch", f"batch({size})", lambda ds: ds.batch(size)))
    if rng.random() < 0.7:
        steps.append(Step("prefetch", "prefetch", lambda ds: ds.prefetch(2), same=True))
    return steps


def build(steps: list[Step], elements: int) -> Any:
    """The dataset of all steps."""
    ds = steps[0].apply(elements)
    for step in steps[1:]:
        ds = step.apply(ds)
    return ds


def groups(steps: list[Step], *, fused: bool) -> list[tuple[str, int, int]]:
    """The stages that steps become: name, first step, one behind the last.

    Maps in a row are one stage, and perhaps also the batch behind them.
    """
    out: list[tuple[str, int, int]] = []
    for i, step in enumerate(steps):
        if out and out[-1][0] == "map" and (step.name == "map" or (fused and step.name == "batch")):
            name = "map" if step.name == "map" else "map+batch"
            out[-1] = (name, out[-1][1], i + 1)
        else:
            out.append((step.name, i, i + 1))
    return out


def _ready(given: Any) -> Any:
    """The value again and again, out of little memory.

    So often a power of two that its end falls between blocks, as no end did in the stage's output.
    """
    size = sum(np.asarray(v).nbytes for v in gm.nest.flatten(given))
    times = 1 << max(0, min(16_384, BYTES // max(1, size)).bit_length() - 1)
    rows = gm.nest.map_structure(lambda v: gm.stack([v] * times), given)
    return Data.from_tensor_slices(rows).repeat()


def without(steps: list[Step], group: tuple[str, int, int]) -> list[Step]:
    """The same steps, but for a stage whose work is done beforehand."""
    _, first, end = group
    if all(step.same for step in steps[first:end]):
        return steps[:first] + steps[end:]
    given = next(iter(build(steps[:end], 1_024)))
    if first == 0:
        return [Step("made", "made", lambda n: _ready(given).take(n)), *steps[end:]]

    def put(ds: Any) -> Any:
        return Data.zip((ds, _ready(given))).map(lambda _, value: value)

    made = Step("map", "made", put)
    if steps[end - 1].name != "batch":
        return [*steps[:first], made, *steps[end:]]
    # Batches of what came in cost next to nothing where that is numbers or records.
    small = Step("map", "nothing", lambda ds: ds.map(lambda _: 0))
    return [*steps[:first], small, steps[end - 1], made, *steps[end:]]


def matched(steps: list[Step], counted: model.Pass, stage: int) -> tuple[str, int, int] | None:
    """The steps of a stage that was counted, if it is one of them."""
    names = [s["name"] for s in counted.stages]
    for fused in (True, False):
        found = groups(steps, fused=fused)
        if stage < len(found) and names[: len(found)] == [name for name, _, _ in found]:
            return found[stage]
    return None


def sized(steps: list[Step], seconds: float) -> int:
    """How many elements keep a pipeline at work for about so long."""
    elements = 1_024
    while elements < 4_000_000:
        took = model.run(build(steps, elements)).seconds
        if took > seconds / 3:
            return max(1_024, int(elements * seconds / took))
        elements *= 4
    return elements


def check(seed: int, reps: int, seconds: float) -> float | None:
    """Prints prediction and truth for one pipeline; the relative error, or None."""
    steps = pipeline(seed)
    text = " > ".join(step.text for step in steps)
    elements = sized(steps, seconds)
    ds = build(steps, elements)
    first = model.run(ds)
    stage = model.forecast(first).limiting()
    group = matched(steps, first, stage)
    if group is None:
        names = [s["name"] for s in first.stages]
        what = names[stage] if stage < len(names) else "outside"
        print(
            f"{seed}: {text}\n    names {what}, which cannot be taken out; stages {names}",
            flush=True,
        )
        return None
    rest = build(without(steps, group), elements)
    model.run(rest)
    whole, predicted, measured = [], [], []
    for _ in range(reps):
        counted = model.run(ds)
        whole.append(counted.seconds)
        predicted.append(model.forecast(counted).without(stage))
        measured.append(model.run(rest).seconds)
    w, p, m = (statistics.median(v) for v in (whole, predicted, measured))
    error = (p - m) / w
    print(
        f"{seed}: {text}\n    {elements} elements, {w:.3f} s; without {group[0]} "
        f"predicted {p:.3f} s, measured {m:.3f} s ({min(measured):.3f} - {max(measured):.3f}): "
        f"off by {100 * error:+.1f} % of the pass, {100 * (p - m) / m:+.1f} % of what remains",
        flush=True,
    )
    return error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pipelines", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="about so long is one pass")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.pipelines)
    errors = [check(seed, options.reps, options.seconds) for seed in seeds]
    sizes = sorted(abs(e) for e in errors if e is not None)
    if sizes:
        within = sum(e <= 0.15 for e in sizes)
        print(
            f"{within} of {len(sizes)} within 15 % of the pass, median "
            f"{100 * statistics.median(sizes):.1f} %, worst {100 * sizes[-1]:.1f} %"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
