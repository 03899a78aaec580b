"""Image datasets from a tree of class folders, in Keras 3's order."""

from __future__ import annotations

import os
import posixpath
from typing import Any

import numpy as np

from gristmill import _array, _create, _native, dtypes, image, io
from gristmill.data import AUTOTUNE, Dataset

_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_METHODS = (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    "lanczos3",
    "lanczos5",
    "gaussian",
    "mitchellcubic",
)
_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}


def _files(folder: str, formats: tuple[str, ...] = _FORMATS) -> list[str]:
    """All files of these kinds below a folder: folder by folder, names in byte order."""
    found: list[str] = []
    folders: list[str] = []
    for name, is_dir in _native.listdir(folder):
        if is_dir:
            folders.append(name)
        elif name.lower().endswith(formats):
            found.append(posixpath.join(folder, name))
    for name in folders:
        found += _files(posixpath.join(folder, name), formats)
    return found


def _index(
    directory: str,
    labels: Any,
    label_mode: str | None,
    class_names: Any,
    formats: tuple[str, ...] = _FORMATS,
) -> tuple[list[str], list[int], list[str]]:
    inferred = labels == "inferred" and label_mode is not None
    if not inferred:
        paths = _files(directory, formats)
        given = [0] * len(paths) if labels is None or isinstance(labels, str) else list(labels)
        if len(given) != len(paths):
            raise ValueError(
                "Expected the lengths of `labels` to match the number of files in the target "
                f"directory. len(labels) is {len(given)} while we found {len(paths)} files in "
                f"directory {directory}."
            )
        return paths, [int(v) for v in given], [str(v) for v in sorted(set(given))]
    names = sorted(n for n, is_dir in _native.listdir(directory) if is_dir and n[0] != ".")
    if class_names is not None:
        if set(class_names) != set(names):
            raise ValueError(
                "The `class_names` passed did not match the names of the subdirectories of the "
                f"target directory. Expected: {names}, but received: {class_names}"
            )
        names = list(class_names)
    paths, numbers = [], []
    for number, name in enumerate(names):
        own = _files(posixpath.join(directory, name), formats)
        paths += own
        numbers += [number] * len(own)
    return paths, numbers, names


def _split(items: list[Any], fraction: float | None, subset: str | None) -> list[Any]:
    if not fraction:
        return items
    count = int(fraction * len(items))
    return items[:-count] if subset == "training" else items[-count:]


def _check(
    labels: Any, label_mode: Any, color_mode: str, class_names: Any, fraction: Any, subset: Any
) -> None:
    if labels not in ("inferred", None) and not isinstance(labels, (list, tuple)):
        raise ValueError(
            "`labels` argument should be a list/tuple of integer labels, of the same size as the "
            "number of image files in the target directory. If you wish to infer the labels from "
            'the subdirectory names in the target directory, pass `labels="inferred"`. If you wish '
            "to get a dataset that only contains images (no labels), pass `labels=None`. "
            f"Received: labels={labels}"
        )
    if class_names and labels != "inferred":
        raise ValueError(
            'You can only pass `class_names` if `labels="inferred"`. Received: '
            f"labels={labels}, and class_names={class_names}"
        )
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(
            '`label_mode` argument must be one of "int", "categorical", "binary", or None. '
            f"Received: label_mode={label_mode}"
        )
    if color_mode not in _CHANNELS:
        raise ValueError(
            '`color_mode` must be one of {"rgb", "rgba", "grayscale"}. '
            f"Received: color_mode={color_mode}"
        )
    if fraction and not 0 < fraction < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {fraction}")
    if (fraction or subset) and not (fraction and subset):
        raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
    if subset not in ("training", "validation", "both", None):
        raise ValueError(
            f'`subset` must be either "training", "validation" or "both", received: {subset}'
        )


def _smart_resize(img: Any, size: tuple[int, int], interpolation: str) -> Any:
    """Crops the centre to the target's ratio of sides, then resizes."""
    shape = _array.shape(img)
    height, width = shape[0], shape[1]
    target_h, target_w = size
    as_int, as_float = dtypes.int32, dtypes.float32
    crop_h = _array.cast(_array.cast(width * target_h, as_float) / target_w, as_int)
    crop_w = _array.cast(_array.cast(height * target_w, as_float) / target_h, as_int)
    crop_h = _array.where(crop_h < height, crop_h, height)
    crop_w = _array.where(crop_w < width, crop_w, width)
    top = _array.cast(_array.cast(height - crop_h, as_float) / 2, as_int)
    left = _array.cast(_array.cast(width - crop_w, as_float) / 2, as_int)
    cropped = img[top : top + crop_h, left : left + crop_w, :]
    return image.resize(cropped, size, method=interpolation)


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Any = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: Any = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    verbose: bool = True,
) -> Any:
    """Makes a dataset of the images below a directory, with the classes' folders as labels.

    Files, split and order are those of Keras 3 under TensorFlow.

    Args:
        directory: A folder with a folder per class.
        labels: ``"inferred"``, a list of labels for the sorted files, or ``None`` for no labels.
        label_mode: ``"int"``, ``"categorical"``, ``"binary"``, or ``None`` for no labels.
        class_names: The folders in the order of their labels; sorted if not given.
        color_mode: ``"rgb"``, ``"rgba"`` or ``"grayscale"``.
        batch_size: Images per batch; ``None`` gives single images.
        image_size: Height and width.
        shuffle: Whether the order is random.
        seed: Seed of order and split.
        validation_split: Fraction of the files set apart.
        subset: ``"training"``, ``"validation"`` or ``"both"``.
        interpolation: A name of `gm.image.ResizeMethod`.
        follow_links: Accepted; links are followed.
        crop_to_aspect_ratio: Whether to crop rather than to distort.
        pad_to_aspect_ratio: Whether to pad rather than to distort.
        data_format: Must be ``None`` or ``"channels_last"``.
        verbose: Whether to print how many files there are.

    Returns:
        A dataset of float32 images (and labels), not rescaled, with ``class_names`` and
        ``file_paths``; for ``subset="both"`` a pair of them.

    Raises:
        ValueError: If an argument is wrong or there is no image.
    """
    directory = os.fspath(directory)
    if not _native.isdir(directory):
        from gristmill.errors import NotFoundError

        raise NotFoundError(f"Could not find directory {directory}")
    _check(labels, label_mode, color_mode, class_names, validation_split, subset)
    if data_format not in (None, "channels_last"):
        raise NotImplementedError("images are channels_last here")
    if interpolation not in _METHODS:
        raise ValueError(
            f"Argument `interpolation` should be one of {_METHODS}. "
            f"Received: interpolation={interpolation}"
        )
    if labels is None:
        label_mode = None
    if seed is None and shuffle and validation_split:
        raise ValueError(
            "If using `validation_split` and shuffling the data, you must provide a `seed` "
            "argument, to make sure that there is no overlap between the training and validation "
            "subset."
        )
    if seed is None:
        seed = int(np.random.randint(1_000_000))
    paths, numbers, names = _index(directory, labels, label_mode, class_names)
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(
            'When passing `label_mode="binary"`, there must be exactly 2 class_names. '
            f"Received: class_names={names}"
        )
    if verbose:
        found = f"Found {len(paths)} files"
        print(f"{found} belonging to {len(names)} classes." if label_mode else f"{found}.")
    if shuffle:
        np.random.RandomState(seed).shuffle(paths)
        np.random.RandomState(seed).shuffle(numbers)

    def build(part: str | None, shuffled: bool) -> Dataset:
        own, own_numbers = (_split(x, validation_split, part) for x in (paths, numbers))
        if part and verbose:
            print(f"Using {len(own)} files for {part}.")
        if not own:
            raise ValueError(
                f"No images found in directory {directory}. Allowed formats: {_FORMATS}"
            )
        ds = _pairs(own, own_numbers, label_mode, len(names))
        if shuffled:
            ds = ds.shuffle(1024 if batch_size is None else batch_size * 8, seed=seed)
        ds = ds.map(
            _loader(
                color_mode,
                image_size,
                interpolation,
                crop_to_aspect_ratio,
                pad_to_aspect_ratio,
                label_mode is not None,
            )
        )
        ds = ds if batch_size is None else ds.batch(batch_size)
        ds = ds.prefetch(AUTOTUNE)
        ds.class_names = names  # type: ignore[attr-defined]
        ds.file_paths = own  # type: ignore[attr-defined]
        return ds

    if subset == "both":
        return [build("training", shuffle), build("validation", False)]
    return build(subset, shuffle)


def _pairs(paths: list[str], numbers: list[int], mode: str | None, classes: int) -> Dataset:
    files = Dataset.from_tensor_slices(paths)
    if mode is None:
        return files
    labels = Dataset.from_tensor_slices(np.array(numbers, np.int32))
    if mode == "binary":
        labels = labels.map(lambda x: _array.expand_dims(_array.cast(x, dtypes.float32), -1))
    elif mode == "categorical":
        labels = labels.map(lambda x: _create.one_hot(x, classes))
    return Dataset.zip((files, labels))


def _loader(
    color: str, size: Any, interpolation: str, crop: bool, pad: bool, labelled: bool
) -> Any:
    channels = _CHANNELS[color]
    target = (int(size[0]), int(size[1]))

    def load(path: Any) -> Any:
        img = io.decode_image(io.read_file(path), channels=channels, expand_animations=False)
        if pad:
            img = image.resize_with_pad(img, *target, method=interpolation)
        elif crop:
            img = _smart_resize(img, target, interpolation)
        else:
            img = image.resize(img, target, method=interpolation)
        img.set_shape((*target, channels))
        return img

    if labelled:
        return lambda path, label: (load(path), label)
    return load
