"""The module under test, chosen by the environment variable ``TF`` (default: gristmill)."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from golden.core import Ragged, Sparse

NAME = os.environ.get("TF", "gristmill")


def module() -> Any:
    """The module whose functions the cases name: ``gristmill``, or ``tensorflow`` for parity."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    return importlib.import_module(NAME)


def is_reference() -> bool:
    """Whether the cases run against the implementation that they were recorded from."""
    return NAME == "tensorflow"


def to_plain(value: Any) -> Any:
    """A result in the form that :func:`golden.core.difference` takes."""
    if value is None or isinstance(value, bool | int | float | str | Sparse | Ragged):
        return value
    if isinstance(value, bytes | np.ndarray | np.generic):
        return _array(value)
    kind = type(value).__name__
    if kind in ("SparseTensor", "SparseTensorValue"):
        parts = (to_plain(getattr(value, n)) for n in ("indices", "values", "dense_shape"))
        return Sparse(*parts)
    if kind == "RaggedTensor":
        return Ragged(to_plain(value.flat_values), [to_plain(s) for s in value.nested_row_splits])
    if kind == "RaggedTensorValue":
        return _ragged_value(value)
    if isinstance(value, dict):
        return {name: to_plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(to_plain(part) for part in value)
    if isinstance(value, list):
        return [to_plain(part) for part in value]
    if hasattr(value, "element_spec") and hasattr(value, "__iter__"):
        return [to_plain(part) for part in value]
    if hasattr(value, "numpy"):
        return _array(value.numpy())
    if hasattr(value, "__array__"):
        return _array(np.asarray(value))
    raise TypeError(
        f"a case returned {value!r} of type {type(value)}, which the runner cannot read"
    )


def _ragged_value(value: Any) -> Ragged:
    splits = []
    while type(value).__name__ == "RaggedTensorValue":
        splits.append(to_plain(value.row_splits))
        value = value.values
    return Ragged(to_plain(value), splits)


def _array(value: Any) -> Any:
    if isinstance(value, bytes):
        out = np.empty((), dtype=object)
        out[()] = value
        return out
    return np.asarray(value)


def to_subject(tf: Any, value: Any) -> Any:
    """An input of a case as a tensor (or a structure of tensors) of the module under test."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {name: to_subject(tf, part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(to_subject(tf, part) for part in value)
    if isinstance(value, list):
        return [to_subject(tf, part) for part in value]
    if isinstance(value, Sparse):
        parts = (tf.constant(x) for x in (value.indices, value.values, value.dense_shape))
        return tf.SparseTensor(*parts)
    if isinstance(value, Ragged):
        splits = [tf.constant(s) for s in value.row_splits]
        return tf.RaggedTensor.from_nested_row_splits(tf.constant(value.flat_values), splits)
    if value.dtype == object:
        return tf.constant(value.tolist(), tf.string, shape=value.shape)
    return tf.constant(value)


def spec_to_plain(spec: Any) -> Any:
    """An ``element_spec`` as the cases record it: leaves ``{kind, shape, dtype}``."""
    if isinstance(spec, dict):
        return {name: spec_to_plain(part) for name, part in spec.items()}
    if isinstance(spec, tuple):
        return tuple(spec_to_plain(part) for part in spec)
    if isinstance(spec, list):
        return [spec_to_plain(part) for part in spec]
    kind = type(spec).__name__
    if kind == "DatasetSpec":
        return {kind: spec_to_plain(spec.element_spec)}
    leaf = {"kind": kind, "shape": _shape_text(spec.shape), "dtype": spec.dtype.name}
    if hasattr(spec, "ragged_rank"):
        leaf["ragged_rank"] = spec.ragged_rank
    return leaf


def _shape_text(shape: Any) -> str:
    if shape.rank is None:
        return '"unknown"'
    return "[" + ", ".join("null" if n is None else str(n) for n in shape.as_list()) + "]"
