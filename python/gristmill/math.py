"""Arithmetic, comparison and reduction of tensors, element by element.

Python values take the dtype of the tensor that they meet; tensors of different dtypes are an error.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gristmill import _trace, dtypes
from gristmill._absent import lookup as _lookup
from gristmill._array import cast, ints, where
from gristmill._operators import binary
from gristmill.convert import convert_to_tensor
from gristmill.dtypes import DTypeLike
from gristmill.tensor import Tensor


def negative(x: Any, name: str | None = None) -> Tensor:
    """Returns ``-x``."""
    return _trace.tensor("math.negative", [convert_to_tensor(x)])


def abs(x: Any, name: str | None = None) -> Tensor:
    """Returns the absolute value."""
    return _trace.tensor("math.abs", [convert_to_tensor(x)])


def sign(x: Any, name: str | None = None) -> Tensor:
    """Returns -1, 0 or 1."""
    return _trace.tensor("math.sign", [convert_to_tensor(x)])


def sqrt(x: Any, name: str | None = None) -> Tensor:
    """Returns the square root."""
    return _trace.tensor("math.sqrt", [convert_to_tensor(x)])


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """Returns one over the square root."""
    return _trace.tensor("math.rsqrt", [convert_to_tensor(x)])


def square(x: Any, name: str | None = None) -> Tensor:
    """Returns ``x * x``."""
    return _trace.tensor("math.square", [convert_to_tensor(x)])


def exp(x: Any, name: str | None = None) -> Tensor:
    """Returns e to the power of ``x``."""
    return _trace.tensor("math.exp", [convert_to_tensor(x)])


def log(x: Any, name: str | None = None) -> Tensor:
    """Returns the natural logarithm."""
    return _trace.tensor("math.log", [convert_to_tensor(x)])


def log1p(x: Any, name: str | None = None) -> Tensor:
    """Returns ``log(1 + x)``."""
    return _trace.tensor("math.log1p", [convert_to_tensor(x)])


def sin(x: Any, name: str | None = None) -> Tensor:
    """Returns the sine of an angle in radians."""
    return _trace.tensor("math.sin", [convert_to_tensor(x)])


def cos(x: Any, name: str | None = None) -> Tensor:
    """Returns the cosine of an angle in radians."""
    return _trace.tensor("math.cos", [convert_to_tensor(x)])


def tan(x: Any, name: str | None = None) -> Tensor:
    """Returns the tangent of an angle in radians."""
    return _trace.tensor("math.tan", [convert_to_tensor(x)])


def tanh(x: Any, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent."""
    return _trace.tensor("math.tanh", [convert_to_tensor(x)])


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """Returns ``1 / (1 + exp(-x))``."""
    return _trace.tensor("math.sigmoid", [convert_to_tensor(x)])


def floor(x: Any, name: str | None = None) -> Tensor:
    """Rounds down."""
    return _trace.tensor("math.floor", [convert_to_tensor(x)])


def ceil(x: Any, name: str | None = None) -> Tensor:
    """Rounds up."""
    return _trace.tensor("math.ceil", [convert_to_tensor(x)])


def round(x: Any, name: str | None = None) -> Tensor:
    """Rounds to the nearest integer, halves to even."""
    return _trace.tensor("math.round", [convert_to_tensor(x)])


def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Returns whether elements are NaN."""
    return _trace.tensor("math.is_nan", [convert_to_tensor(x)])


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Returns whether elements are neither NaN nor infinite."""
    return _trace.tensor("math.is_finite", [convert_to_tensor(x)])


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Returns ``not x``."""
    return _trace.tensor("math.logical_not", [convert_to_tensor(x)])


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x + y``."""
    return binary("math.add", x, y)


def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x - y``."""
    return binary("math.subtract", x, y)


def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x * y``."""
    return binary("math.multiply", x, y)


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x / y``; integers become floats first."""
    return binary("math.truediv", x, y)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x / y`` rounded down."""
    return binary("math.floordiv", x, y)


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the remainder that has the sign of ``y``."""
    return binary("math.floormod", x, y)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x`` to the power of ``y``."""
    return binary("math.pow", x, y)


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the larger of both."""
    return binary("math.maximum", x, y)


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the smaller of both."""
    return binary("math.minimum", x, y)


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x == y``."""
    return binary("math.equal", x, y)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x != y``."""
    return binary("math.not_equal", x, y)


def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x < y``."""
    return binary("math.less", x, y)


def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x <= y``."""
    return binary("math.less_equal", x, y)


def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x > y``."""
    return binary("math.greater", x, y)


def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x >= y``."""
    return binary("math.greater_equal", x, y)


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x and y``."""
    return binary("math.logical_and", x, y)


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x or y``."""
    return binary("math.logical_or", x, y)


def logical_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns whether exactly one is true."""
    return binary("math.logical_xor", x, y)


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the sum along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_sum", input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the mean along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_mean", input_tensor, axis, keepdims)


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the largest element along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_max", input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the smallest element along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_min", input_tensor, axis, keepdims)


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the product along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_prod", input_tensor, axis, keepdims)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns whether some element is true along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_any", input_tensor, axis, keepdims)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns whether every element is true along dimensions.

    Args:
        input_tensor: A tensor.
        axis: The dimension, or a list of them; all if not given.
        keepdims: Whether the dimensions stay with size 1.
        name: Accepted for TensorFlow's sake.
    """
    return _reduce("math.reduce_all", input_tensor, axis, keepdims)


def _reduce(name: str, x: Any, axis: Any, keepdims: bool) -> Tensor:
    return _trace.tensor(name, [convert_to_tensor(x)], axis=ints(axis), keepdims=bool(keepdims))


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the population variance along dimensions; see `reduce_sum` for the arguments."""
    x = convert_to_tensor(input_tensor)
    distance = x - reduce_mean(x, axis, keepdims=True)
    return reduce_mean(square(distance), axis, keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the population standard deviation; see `reduce_sum` for the arguments."""
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


def argmax(
    input: Any,
    axis: int | None = None,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns where the largest element is along a dimension, the first one of equals."""
    attrs = {"axis": int(axis or 0), "output_type": dtypes.as_dtype(output_type)}
    return _trace.tensor("math.argmax", [convert_to_tensor(input)], attrs)


def argmin(
    input: Any,
    axis: int | None = None,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns where the smallest element is along a dimension, the first one of equals."""
    attrs = {"axis": int(axis or 0), "output_type": dtypes.as_dtype(output_type)}
    return _trace.tensor("math.argmin", [convert_to_tensor(input)], attrs)


def cumsum(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Returns the running sum along a dimension.

    Args:
        x: A tensor.
        axis: The dimension.
        exclusive: Whether an element is left out of its own sum.
        reverse: Whether to sum from the end.
        name: Accepted for TensorFlow's sake.
    """
    attrs = {"axis": int(axis), "exclusive": exclusive, "reverse": reverse}
    return _trace.tensor("math.cumsum", [convert_to_tensor(x)], attrs)


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """Returns the elements, those outside the bounds replaced by the nearest bound."""
    t = convert_to_tensor(t)
    bounds = [convert_to_tensor(b, t.dtype) for b in (clip_value_min, clip_value_max)]
    return _trace.tensor("clip_by_value", [t, *bounds])


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Tensor:
    """Returns the matrix product over the last two dimensions."""
    a = convert_to_tensor(a)
    inputs = [a, convert_to_tensor(b, None if isinstance(b, Tensor) else a.dtype)]
    return _trace.tensor("matmul", inputs, transpose_a=transpose_a, transpose_b=transpose_b)


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Returns whether elements are infinite."""
    x = convert_to_tensor(x)
    return logical_not(logical_or(is_finite(x), is_nan(x)))


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """Returns ``1 / x``."""
    return truediv(1, convert_to_tensor(x))


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``(x - y) * (x - y)``."""
    return square(subtract(x, y))


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns ``x / y``, and 0 where ``y`` is 0."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    zero = equal(y, 0)
    safe = where(zero, cast(1, y.dtype), y)
    return where(zero, cast(0, y.dtype), truediv(x, safe))


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """Returns the sum of a list of tensors."""
    first, *rest = list(inputs)
    return functools.reduce(add, rest, convert_to_tensor(first))


divide = truediv
mod = floormod


if not TYPE_CHECKING:
    __getattr__ = _lookup("math", __name__)
