"""Text datasets from a tree of class folders, and the splitting of datasets, in Keras 3's order."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from gristmill import _native, io, nest, strings
from gristmill.data import AUTOTUNE, Dataset
from gristmill.keras._directory import _check, _index, _pairs, _split


def text_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Any = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Makes a dataset of the ``.txt`` files below a directory, with the classes' folders as labels.

    Args:
        directory: A folder with a folder per class.
        labels: ``"inferred"``, a list of labels for the sorted files, or ``None`` for no labels.
        label_mode: ``"int"``, ``"categorical"``, ``"binary"``, or ``None`` for no labels.
        class_names: The folders in the order of their labels; sorted if not given.
        batch_size: Texts per batch; ``None`` gives single texts.
        max_length: Bytes of a text that are kept; all if not given.
        shuffle: Whether the order is random.
        seed: Seed of order and split.
        validation_split: Fraction of the files set apart.
        subset: ``"training"``, ``"validation"`` or ``"both"``.
        follow_links: Accepted; links are followed.
        verbose: Whether to print how many files there are.

    Returns:
        A dataset of strings (and labels) with ``class_names``; for ``subset="both"`` a pair.

    Raises:
        ValueError: If an argument is wrong or there is no text.
    """
    directory = os.fspath(directory)
    _check(labels, label_mode, "rgb", class_names, validation_split, subset)
    label_mode = None if labels is None else label_mode
    seed = int(np.random.randint(1_000_000)) if seed is None else seed
    if not _native.isdir(directory):
        from gristmill.errors import NotFoundError

        raise NotFoundError(f"Could not find directory {directory}")
    paths, numbers, names = _index(directory, labels, label_mode, class_names, (".txt",))
    if verbose:
        print(f"Found {len(paths)} files belonging to {len(names)} classes.")
    if shuffle:
        np.random.RandomState(seed).shuffle(paths)
        np.random.RandomState(seed).shuffle(numbers)

    def load(path: Any) -> Any:
        text = io.read_file(path)
        return text if max_length is None else strings.substr(text, 0, max_length)

    def build(part: str | None, shuffled: bool) -> Dataset:
        own, own_numbers = (_split(x, validation_split, part) for x in (paths, numbers))
        if not own:
            raise ValueError(f"No text files found in directory {directory}. Allowed format: .txt")
        ds = _pairs(own, own_numbers, label_mode, len(names))
        if shuffled:
            ds = ds.shuffle(1024 if batch_size is None else batch_size * 8, seed=seed)
        ds = ds.map(load if label_mode is None else lambda path, label: (load(path), label))
        ds = (ds if batch_size is None else ds.batch(batch_size)).prefetch(AUTOTUNE)
        ds.class_names = names  # type: ignore[attr-defined]
        return ds

    if subset == "both":
        return [build("training", shuffle), build("validation", False)]
    return build(subset, shuffle)


def _size(given: Any, total: int, rounding: Callable[[float], float]) -> int | None:
    if given is None:
        return None
    count = int(rounding(given * total)) if isinstance(given, float) else int(given)
    if not 0 <= count <= total:
        raise ValueError(f"a part of {count} elements was asked of {total}")
    return count


def split_dataset(
    dataset: Any,
    left_size: Any = None,
    right_size: Any = None,
    shuffle: bool = False,
    seed: int | None = None,
) -> tuple[Dataset, Dataset]:
    """Splits a dataset or arrays into two datasets; all elements are held in memory.

    Args:
        dataset: A dataset, or a structure of arrays of one outermost size.
        left_size: Number or fraction of the elements of the first part.
        right_size: Number or fraction of the elements of the second part.
        shuffle: Whether the elements come in random order first.
        seed: Seed of that order.

    Raises:
        ValueError: If neither size is given, or they ask for too much.
    """
    import random

    source = dataset if isinstance(dataset, Dataset) else Dataset.from_tensor_slices(dataset)
    elements = list(source)
    if shuffle:
        random.Random(seed).shuffle(elements)
    total = len(elements)
    left, right = _size(left_size, total, round), _size(right_size, total, round)
    if left is None and right is None:
        raise ValueError("At least one of the `left_size` or `right_size` must be specified.")
    left = total - (right or 0) if left is None else left
    right = total - left if right is None else right
    if left + right > total:
        raise ValueError(f"parts of {left} and {right} elements were asked of {total}")
    return _dataset(elements[:left]), _dataset(elements[left : left + right])


def _dataset(elements: list[Any]) -> Dataset:
    if not elements:
        raise ValueError("a part of the split would be empty")
    stacked = nest.map_structure(lambda *parts: np.stack([np.asarray(p) for p in parts]), *elements)
    return Dataset.from_tensor_slices(stacked)
