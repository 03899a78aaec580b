"""Ops on the shape and arrangement of tensors: the array functions of the top level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gristmill import _trace, dtypes
from gristmill._numpy import np
from gristmill.composite import RaggedTensor, SparseTensor
from gristmill.convert import constant, convert_to_tensor, shape_tensor
from gristmill.dtypes import DTypeLike
from gristmill.tensor import EagerTensor, Tensor
from gristmill.tensor_shape import ShapeLike, TensorShape

newaxis = None


def ints(values: Any) -> list[int] | None:
    """Returns an axis argument as a list of ints; ``None`` stays."""
    if values is None:
        return None
    if isinstance(values, (list, tuple, range)):
        return [int(v) for v in values]
    array = np.asarray(values)
    return [int(v) for v in array.reshape(-1)]


def cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Any:
    """Converts the elements to another dtype.

    Args:
        x: A dense, sparse or ragged tensor.
        dtype: The dtype to get.
        name: Accepted for TensorFlow's sake.

    Returns:
        A tensor of the same kind and shape.
    """
    target = dtypes.as_dtype(dtype)
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, target), x.dense_shape)
    if isinstance(x, RaggedTensor):
        return RaggedTensor.from_nested_row_splits(cast(x.flat_values, target), x.nested_row_splits)
    x = convert_to_tensor(x)
    return x if x.dtype is target else _trace.call("cast", [x], dtype=target)


def _dense_cast(x: Tensor, dtype: DTypeLike) -> Tensor:
    made: Tensor = cast(x, dtype)
    return made


def saturate_cast(value: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts to another dtype; what lies outside its range becomes its nearest value."""
    return _trace.tensor("saturate_cast", [convert_to_tensor(value)], dtype=dtypes.as_dtype(dtype))


def bitcast(input: Any, type: DTypeLike, name: str | None = None) -> Tensor:
    """Sees the bits of a tensor as another dtype."""
    return _trace.tensor("bitcast", [convert_to_tensor(input)], dtype=dtypes.as_dtype(type))


def identity(input: Any, name: str | None = None) -> Any:
    """Returns the tensor itself."""
    if isinstance(input, (SparseTensor, RaggedTensor)):
        return input
    return convert_to_tensor(input)


stop_gradient = identity


def expand_dims(input: Any, axis: int, name: str | None = None) -> Tensor:
    """Inserts a dimension of size 1 before dimension ``axis``."""
    return _trace.tensor("expand_dims", [convert_to_tensor(input)], axis=int(axis))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Removes dimensions of size 1: those of ``axis``, or all."""
    return _trace.tensor("squeeze", [convert_to_tensor(input)], axis=ints(axis))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Gives a tensor another shape; one size may be -1, which takes what is left."""
    return _trace.tensor("reshape", [convert_to_tensor(tensor), shape_tensor(shape)])


def ensure_shape(x: Any, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns the tensor; an element whose shape does not fit ``shape`` is an error."""
    return _trace.tensor("ensure_shape", [convert_to_tensor(x)], shape=TensorShape(shape))


def _alike(values: Any) -> list[Tensor]:
    """Converts a list to tensors of the dtype of the first tensor in it."""
    items = (
        list(values)
        if not isinstance(values, Tensor)
        else [values[i] for i in range(values.shape[0] or 0)]
    )
    like = next((v.dtype for v in items if isinstance(v, Tensor)), None)
    made = [convert_to_tensor(v, None if isinstance(v, Tensor) else like) for v in items]
    return made


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Joins tensors of one shape along a new dimension ``axis``."""
    return _trace.tensor("stack", _alike(values), axis=int(axis))


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Splits a tensor along a dimension into tensors without it.

    Raises:
        ValueError: If the size of the dimension is not known.
    """
    value = convert_to_tensor(value)
    if num is None:
        num = value.shape[axis] if value.shape.rank else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return _trace.call_n("unstack", [value], {"axis": int(axis), "num": num})


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Joins tensors along an existing dimension."""
    if isinstance(values, Tensor) and values.shape.rank == 0:
        values = [values]
    items = list(values) if isinstance(values, (list, tuple)) else [values]
    if len(items) == 1:
        return identity(items[0])
    return _trace.tensor("concat", _alike(items), axis=int(axis))


def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Splits a tensor along a dimension.

    Args:
        value: A tensor.
        num_or_size_splits: The number of equal parts, or the sizes of the parts (one may be -1).
        axis: The dimension.
        num: Accepted for TensorFlow's sake.
        name: Accepted for TensorFlow's sake.
    """
    attrs: dict[str, Any] = {"axis": int(axis)}
    if isinstance(num_or_size_splits, int):
        attrs["num"] = num_or_size_splits
    else:
        sizes = np.asarray(num_or_size_splits)
        attrs["num" if sizes.ndim == 0 else "sizes"] = (
            int(sizes) if sizes.ndim == 0 else [int(s) for s in sizes]
        )
    return _trace.call_n("split", [convert_to_tensor(value)], attrs)


def shape(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns the sizes of a tensor's dimensions as an integer vector."""
    dtype = dtypes.as_dtype(out_type or dtypes.int32)
    if isinstance(input, SparseTensor):
        return _dense_cast(input.dense_shape, dtype)
    input = convert_to_tensor(input)
    if input.shape.is_fully_defined():
        return constant(input.shape.as_list(), dtype, shape=[len(input.shape)])
    return _trace.tensor("shape", [input], out_type=dtype)


def size(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns the number of elements."""
    dtype = dtypes.as_dtype(out_type or dtypes.int32)
    input = convert_to_tensor(input)
    count = input.shape.num_elements()
    if count is not None:
        return constant(count, dtype)
    return _trace.tensor("size", [input], out_type=dtype)


def rank(input: Any, name: str | None = None) -> Tensor:
    """Returns the number of dimensions."""
    input = convert_to_tensor(input)
    known = input.shape.rank
    return constant(known, dtypes.int32) if known is not None else _trace.call("rank", [input])


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Cuts out ``size`` elements from ``begin`` on in every dimension; -1 takes what is left."""
    inputs = [convert_to_tensor(input_), shape_tensor(begin), shape_tensor(size)]
    return _trace.tensor("slice", inputs)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Cuts out a slice with strides; see `tf.strided_slice` for the masks."""
    begin, end = shape_tensor(begin), shape_tensor(end)
    if strides is None:
        strides = _trace.tensor("ones_like", [begin])
    return _trace.tensor(
        "strided_slice",
        [convert_to_tensor(input_), begin, end, shape_tensor(strides)],
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Picks slices of ``params`` along a dimension.

    Args:
        params: A tensor.
        indices: int32 or int64 of any shape.
        validate_indices: Accepted for TensorFlow's sake.
        axis: The dimension; ``batch_dims`` if not given.
        batch_dims: Number of leading dimensions that both have in common.
        name: Accepted for TensorFlow's sake.
    """
    axis = batch_dims if axis is None else int(axis)
    inputs = [convert_to_tensor(params), convert_to_tensor(indices)]
    return _trace.tensor("gather", inputs, axis=axis, batch_dims=batch_dims)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """Picks slices of ``params`` by index vectors (the innermost dimension of ``indices``)."""
    if batch_dims:
        raise NotImplementedError("gather_nd with batch_dims is not supported")
    return _trace.tensor("gather_nd", [convert_to_tensor(params), convert_to_tensor(indices)])


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """Reorders dimensions; reverses them if ``perm`` is not given."""
    return _trace.tensor("transpose", [convert_to_tensor(a)], perm=ints(perm))


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Repeats the whole tensor ``multiples[i]`` times along dimension ``i``."""
    return _trace.tensor("tile", [convert_to_tensor(input), shape_tensor(multiples)])


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Tensor:
    """Pads a tensor.

    Args:
        tensor: A tensor.
        paddings: Integers ``[rank, 2]``: how much before and after each dimension.
        mode: ``"CONSTANT"``, ``"REFLECT"`` or ``"SYMMETRIC"``.
        constant_values: What to pad with.
        name: Accepted for TensorFlow's sake.
    """
    tensor = convert_to_tensor(tensor)
    if isinstance(constant_values, EagerTensor):
        constant_values = constant_values.numpy()
    if isinstance(constant_values, np.generic):
        constant_values = constant_values.item()
    fill = None if mode != "CONSTANT" or constant_values == 0 else constant_values
    return _trace.tensor(
        "pad",
        [tensor, convert_to_tensor(paddings)],
        mode=mode.upper(),
        constant_values=fill,
    )


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverses the order along the given dimensions."""
    return _trace.tensor("reverse", [convert_to_tensor(tensor)], axis=ints(axis))


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeats elements along a dimension; without ``axis`` the tensor is flattened first."""
    input = convert_to_tensor(input)
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    times = np.asarray(repeats)
    value: int | list[int] = int(times) if times.ndim == 0 else [int(t) for t in times]
    return _trace.tensor("repeat", [input], repeats=value, axis=int(axis))


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Repeats a tensor to a shape that it broadcasts to."""
    return _trace.tensor("broadcast_to", [convert_to_tensor(input), shape_tensor(shape)])


def boolean_mask(
    tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Tensor:
    """Keeps what ``mask`` is true for."""
    inputs = [convert_to_tensor(tensor), convert_to_tensor(mask, dtypes.bool)]
    return _trace.tensor("boolean_mask", inputs, axis=int(axis or 0))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Chooses between two tensors element by element, or returns where ``condition`` is true.

    Args:
        condition: A bool tensor.
        x: Taken where it is true.
        y: Taken where it is false. Both broadcast with the condition.
        name: Accepted for TensorFlow's sake.

    Returns:
        The chosen elements; without ``x`` and ``y`` the indices of the true ones, int64
        ``[n, rank]``.
    """
    condition = convert_to_tensor(condition)
    if x is None and y is None:
        return _trace.tensor("where_indices", [condition])
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        x = convert_to_tensor(x, y.dtype)
    x = convert_to_tensor(x)
    return _trace.tensor(
        "where", [condition, x, convert_to_tensor(y, None if isinstance(y, Tensor) else x.dtype)]
    )


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the indices that sort a tensor along a dimension, int32."""
    attrs = {"axis": int(axis), "direction": direction, "stable": stable}
    return _trace.tensor("argsort", [convert_to_tensor(values)], attrs)


def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Returns the elements sorted along a dimension."""
    return _trace.tensor("sort", [convert_to_tensor(values)], axis=int(axis), direction=direction)


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Returns the shape that two fully known shapes broadcast to.

    Raises:
        ValueError: If they do not.
    """
    dims: Sequence[int] = np.broadcast_shapes(tuple(shape_x), tuple(shape_y))  # type: ignore[arg-type]
    return TensorShape(dims)
