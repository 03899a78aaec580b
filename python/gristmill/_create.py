"""Ops that make tensors: zeros, ones, ranges, one-hot vectors."""

from __future__ import annotations

from typing import Any

from gristmill import _trace, dtypes
from gristmill._array import _dense_cast, cast
from gristmill._numpy import np
from gristmill.convert import constant, convert_to_tensor, shape_tensor, value_of
from gristmill.dtypes import DTypeLike
from gristmill.tensor import EagerTensor, Tensor


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Returns a tensor of shape ``dims`` with every element equal to ``value``."""
    return _trace.tensor("fill", [shape_tensor(dims), convert_to_tensor(value)])


def _filled(shape: Any, dtype: DTypeLike, value: Any) -> Tensor:
    target = dtypes.as_dtype(dtype)
    if target is dtypes.string:
        value = ""
    elif target.is_bool:
        value = bool(value)
    return fill(shape, constant(value, target))


def zeros(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """Returns a tensor of zeros (``False``, empty strings)."""
    return _filled(shape, dtype, 0)


def ones(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """Returns a tensor of ones."""
    return _filled(shape, dtype, 1)


def zeros_like(
    input: Any, dtype: DTypeLike | None = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Returns zeros of the shape (and dtype, unless given) of ``input``."""
    made = _trace.tensor("zeros_like", [convert_to_tensor(input)])
    return made if dtype is None else _dense_cast(made, dtype)


def ones_like(
    input: Any, dtype: DTypeLike | None = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Returns ones of the shape (and dtype, unless given) of ``input``."""
    made = _trace.tensor("ones_like", [convert_to_tensor(input)])
    return made if dtype is None else _dense_cast(made, dtype)


def range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Returns the numbers from ``start`` up to ``limit`` in steps of ``delta``.

    Args:
        start: The first number, or the limit if that is not given.
        limit: The end, excluded.
        delta: The step.
        dtype: The dtype; that of the arguments if not given.
        name: Accepted for TensorFlow's sake.
    """
    if limit is None:
        start, limit = 0, start
    parts = [start, limit, delta]
    if dtype is not None:
        target = dtypes.as_dtype(dtype)
    else:
        made = [convert_to_tensor(p).dtype for p in parts]
        order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
        target = max(made, key=lambda d: order.index(d) if d in order else -1)
    tensors = [cast(p, target) if isinstance(p, Tensor) else constant(p, target) for p in parts]
    return _trace.tensor("range", tensors)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Returns ``num`` evenly spaced numbers from ``start`` to ``stop``, both included."""
    start = convert_to_tensor(start)
    inputs = [start, convert_to_tensor(stop, start.dtype), convert_to_tensor(num)]
    return _trace.tensor("linspace", inputs)


def eye(num_rows: int, num_columns: int | None = None, dtype: DTypeLike = dtypes.float32) -> Tensor:
    """Returns a matrix with ones on its diagonal and zeros elsewhere."""
    return EagerTensor(
        value_of(np.eye(num_rows, num_columns, dtype=dtypes.as_dtype(dtype).as_numpy_dtype))
    )


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns ``depth`` elements per index: ``on_value`` at the index, ``off_value`` elsewhere."""
    given = next((v for v in (on_value, off_value) if v is not None), None)
    if dtype is None:
        dtype = dtypes.float32 if given is None else convert_to_tensor(given).dtype
    target = dtypes.as_dtype(dtype)
    on = (
        convert_to_tensor(1 if on_value is None else on_value, target)
        if not target.is_bool
        else constant(True if on_value is None else on_value)
    )
    off = (
        convert_to_tensor(0 if off_value is None else off_value, target)
        if not target.is_bool
        else constant(False if off_value is None else off_value)
    )
    return _trace.tensor(
        "one_hot",
        [convert_to_tensor(indices), on, off],
        depth=int(depth),
        axis=-1 if axis is None else int(axis),
        dtype=target,
    )
