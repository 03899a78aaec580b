"""The recorded cases, and the list of those that this package does not pass yet."""

from __future__ import annotations

import functools
import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from golden.core import Decoder

#: Where ``cases.json`` and ``blobs/`` are.
FOLDER = Path(__file__).resolve().parents[2] / "golden"
ALLOW_MISSING = Path(__file__).with_name("allow_missing.txt")

#: Ops of which no case may stand in the list of missing ones.
REQUIRED_OPS = {
    "x.tfrecord_read",
    "x.tfrecord_write",
    "x.example_serialize",
    "x.example_decode",
    "io.parse_single_example",
    "io.parse_example",
    "io.decode_jpeg",
    "io.decode_and_crop_jpeg",
    "io.extract_jpeg_shape",
    "io.encode_jpeg",
    "io.decode_png",
    "io.decode_image",
    "image.resize",
    "image.convert_image_dtype",
    "image.flip_left_right",
    "image.flip_up_down",
    "image.central_crop",
    "image.stateless_random_crop",
    "image.stateless_random_flip_left_right",
    "image.stateless_random_flip_up_down",
    "image.resize_with_crop_or_pad",
    "image.crop_to_bounding_box",
    "cast",
    "one_hot",
    "add",
    "math.floordiv",
    "math.floormod",
    "reshape",
    "expand_dims",
    "stack",
    "concat",
    "where",
    "cond",
    "slice",
    "shape",
    "strings.split",
    "sparse.to_dense",
}

#: A dataset case made of these steps alone may not stand in the list of missing ones.
REQUIRED_STEPS = {
    "list_files",
    "from_tensor_slices",
    "from_tensors",
    "range",
    "TFRecordDataset",
    "map",
    "filter",
    "interleave",
    "flat_map",
    "shuffle",
    "cache",
    "repeat",
    "batch",
    "unbatch",
    "take",
    "skip",
    "shard",
    "prefetch",
    "with_options",
    "zip",
    "enumerate",
    "concatenate",
    "ignore_errors",
    "image_dataset_from_directory",
}


@functools.cache
def load() -> tuple[dict[str, Any], ...]:
    """Every case, in the order of the file."""
    return tuple(json.loads((FOLDER / "cases.json").read_text()))


@functools.cache
def _index() -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in load()}


def by_id(name: str) -> dict[str, Any]:
    """The case of that name."""
    return _index()[name]


def decoder() -> Decoder:
    """Reads the values of the cases."""
    return Decoder(FOLDER)


def is_required(case: dict[str, Any]) -> bool:
    """Whether the case belongs to the set that has to pass."""
    if "observed" in case:
        return False
    if case["op"] == "x.dataset":
        return _steps(case["params"]["steps"]) <= REQUIRED_STEPS
    return case["op"] in REQUIRED_OPS


def _steps(value: Any) -> set[str]:
    """Names of all steps, also of the datasets inside arguments."""
    found: set[str] = set()
    for name, arguments in value:
        found.add(name)
        found |= _inner(arguments)
    return found


def _inner(value: Any) -> set[str]:
    if isinstance(value, dict):
        if "$ds" in value:
            return _steps(value["$ds"])
        return set().union(*(_inner(part) for part in value.values()))
    if isinstance(value, list):
        return set().union(*(_inner(part) for part in value))
    return set()


@functools.cache
def missing_patterns() -> tuple[str, ...]:
    """Lines of ``allow_missing.txt``: case ids (with ``*``), or ``op NAME`` for a whole op."""
    lines = ALLOW_MISSING.read_text().splitlines()
    return tuple(text for line in lines if (text := line.partition("#")[0].strip()))


def matches(pattern: str, case: dict[str, Any]) -> bool:
    """Whether a line of the list speaks of this case."""
    if pattern.startswith("op "):
        return bool(case["op"] == pattern[3:].strip())
    return fnmatchcase(case["id"], pattern)


def may_be_missing(case: dict[str, Any]) -> bool:
    """Whether the case stands in the list of those that do not pass yet."""
    return any(matches(pattern, case) for pattern in missing_patterns())
