"""Ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import dtypes
from gristmill._absent import lookup as _lookup
from gristmill._numpy import np
from gristmill.composite import RaggedTensor
from gristmill.convert import convert_to_tensor
from gristmill.dtypes import DTypeLike

__all__ = ["RaggedTensor", "constant", "stack"]


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> Any:
    """Returns nested lists of different lengths as a ragged tensor.

    Args:
        pylist: A nested list.
        dtype: The element type; see `gm.convert_to_tensor` for the default.
        ragged_rank: How many dimensions are ragged; all but the innermost level of values if not
            given.
        inner_shape: Shape of the innermost values.
        name: Accepted for TensorFlow's sake.
        row_splits_dtype: Must be int64.

    Returns:
        A `RaggedTensor`; a dense tensor for a flat list.
    """
    inner = () if inner_shape is None else tuple(inner_shape)
    depth = _depth(pylist)
    levels = (depth - 1 - len(inner)) if ragged_rank is None else ragged_rank
    if levels <= 0:
        return convert_to_tensor(pylist, dtype)
    splits: list[Any] = []
    rows = pylist
    for _ in range(levels):
        lengths = [len(row) for row in rows]
        splits.append(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        rows = [item for row in rows for item in row]
    if not rows and dtype is None:
        dtype = dtypes.float32
    flat = convert_to_tensor(rows, dtype)
    return RaggedTensor.from_nested_row_splits(flat, splits)


def _depth(value: Any) -> int:
    if not isinstance(value, (list, tuple, np.ndarray)):
        return 0
    return 1 + max((_depth(item) for item in value), default=0)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Joins tensors whose first dimensions may differ into a ragged tensor.

    Args:
        values: Dense tensors of equal dtype and inner shape that have values.
        axis: Must be 0.
        name: Accepted for TensorFlow's sake.
    """
    if axis != 0:
        raise NotImplementedError("ragged.stack joins along axis 0 only")
    rows = [np.asarray(convert_to_tensor(v)) for v in values]
    flat = np.concatenate(rows) if rows else np.zeros(0, np.float32)
    return RaggedTensor.from_row_lengths(flat, [len(r) for r in rows])


if not TYPE_CHECKING:
    __getattr__ = _lookup("ragged", __name__)
