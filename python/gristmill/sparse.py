"""Sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace
from gristmill._absent import lookup as _lookup
from gristmill._numpy import np
from gristmill.composite import SparseTensor
from gristmill.convert import convert_to_tensor
from gristmill.tensor import Tensor

__all__ = ["SparseTensor", "from_dense", "to_dense", "reorder", "expand_dims", "reset_shape"]


def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """Returns a sparse tensor as a dense one.

    Args:
        sp_input: A `SparseTensor`.
        default_value: What stands where there is no value; 0 or the empty string if not given.
        validate_indices: Accepted; indices are always checked for order, repeats and bounds.
        name: Accepted for TensorFlow's sake.

    Raises:
        TypeError: If it is no sparse tensor.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, found {type(sp_input).__name__}")
    inputs: list[Any] = [sp_input]
    if default_value is not None:
        inputs.append(convert_to_tensor(default_value, sp_input.dtype))
    return _trace.tensor("sparse.to_dense", inputs)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Returns the elements of a dense tensor that are not zero as a sparse one."""
    tensor = convert_to_tensor(tensor)
    indices = _trace.call("where_indices", [_nonzero(tensor)])
    values = _trace.call("gather_nd", [tensor, indices])
    shape = _trace.call("shape", [tensor], out_type=indices.dtype)
    return SparseTensor(indices, values, shape)


def _nonzero(tensor: Tensor) -> Any:
    from gristmill import math

    if tensor.dtype.is_bool:
        return tensor
    return math.not_equal(tensor, "" if tensor.dtype.name == "string" else 0)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its values in row-major order; it must have a value."""
    indices = np.asarray(sp_input.indices)
    order = np.lexsort(indices.T[::-1])
    values = sp_input.values
    return SparseTensor(
        indices[order],
        _trace.call("gather", [values, convert_to_tensor(order)], axis=0, batch_dims=0),
        sp_input.dense_shape,
    )


def expand_dims(sp_input: SparseTensor, axis: int | None = None) -> SparseTensor:
    """Inserts a dimension of size 1 before dimension ``axis``; the last by default."""
    from gristmill import _array

    rank = sp_input.shape.rank
    if rank is None:
        raise ValueError("the rank of the sparse tensor must be known")
    at = rank if axis is None else (axis if axis >= 0 else axis + rank + 1)
    column = _trace.call("zeros_like", [sp_input.indices[:, :1]])
    one = convert_to_tensor(np.ones(1, np.int64))
    return SparseTensor(
        _array.concat([sp_input.indices[:, :at], column, sp_input.indices[:, at:]], axis=1),
        sp_input.values,
        _array.concat([sp_input.dense_shape[:at], one, sp_input.dense_shape[at:]], axis=0),
    )


def reset_shape(sp_input: SparseTensor, new_shape: Any = None) -> SparseTensor:
    """Returns a sparse tensor with the same values under another dense shape."""
    if new_shape is None:
        from gristmill import math

        new_shape = math.reduce_max(sp_input.indices, axis=0) + 1
    return SparseTensor(sp_input.indices, sp_input.values, new_shape)


if not TYPE_CHECKING:
    __getattr__ = _lookup("sparse", __name__)
