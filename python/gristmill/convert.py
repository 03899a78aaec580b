"""Python and NumPy values as tensors."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from gristmill import _native, _trace, dtypes
from gristmill._numpy import np
from gristmill.dtypes import DType, DTypeLike
from gristmill.tensor import EagerTensor, SymbolicTensor, Tensor
from gristmill.tensor_shape import ShapeLike, TensorShape

# Those have no subclass of NumPy's among them, and NumPy need not be there to tell.
_PLAIN = frozenset((list, tuple, bool, int, float, str, bytes))
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


def value_of(array: np.ndarray[Any, Any]) -> _native.Value:
    """Returns a copy of a NumPy array as a native value; strings and objects become bytes.

    Raises:
        TypeError: If the array's type stands for no dtype.
    """
    kind = array.dtype.kind
    if kind in "SUO":
        return _native.Value.from_strings(
            list(array.shape), [_as_bytes(item) for item in array.reshape(-1).tolist()]
        )
    dtype = dtypes.as_dtype(array.dtype)
    contiguous = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if dtype is dtypes.bfloat16:
        contiguous = contiguous.view(np.uint16)
    # ascontiguousarray makes a vector of what has no dimensions.
    return _native.Value.from_array(contiguous.reshape(array.shape), dtype.name)


def _is_string_view(value: Any) -> bool:
    """Whether it is what ``as_numpy_iterator(zero_copy=True)`` gives for a string."""
    return isinstance(value, memoryview) and value.format == "B" and value.ndim == 1


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, str):
        # Names of files that are no UTF-8 come from Python's os functions with surrogates.
        return item.encode("utf-8", "surrogateescape")
    if isinstance(item, (bytes, bytearray)) or _is_string_view(item):
        return bytes(item)
    raise TypeError(f"expected str or bytes, found {type(item).__name__}: {item!r}")


def _leaves(value: Any, out: list[Any]) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _leaves(item, out)
    else:
        out.append(value)


def _dims(value: Any) -> tuple[int, ...]:
    dims: list[int] = []
    while isinstance(value, (list, tuple)):
        dims.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(dims)


def _strings(value: Any, leaves: list[Any]) -> _native.Value:
    dims = _dims(value)
    if math.prod(dims) != len(leaves) or not _regular(value, dims):
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
    return _native.Value.from_strings(list(dims), [_as_bytes(leaf) for leaf in leaves])


def _regular(value: Any, dims: tuple[int, ...]) -> bool:
    if not dims:
        return not isinstance(value, (list, tuple))
    if not isinstance(value, (list, tuple)) or len(value) != dims[0]:
        return False
    return all(_regular(item, dims[1:]) for item in value)


def _infer(leaves: list[Any]) -> DType | None:
    """TensorFlow's dtype for Python scalars; ``None`` where NumPy's own dtype stands."""
    kinds = {type(leaf) for leaf in leaves}
    if not kinds:
        return dtypes.float32
    text = {kind for kind in kinds if issubclass(kind, (str, bytes, memoryview))}
    if text == kinds:
        return dtypes.string
    if text:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if kinds == {bool}:
        return dtypes.bool
    if kinds == {int}:
        return dtypes.int32 if all(leaf in _INT32 for leaf in leaves) else dtypes.int64
    if kinds <= {int, float}:
        return dtypes.float32
    if bool in kinds and kinds <= {int, float, bool}:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    return None


def _compatible(wanted: DType, found: DType) -> bool:
    if wanted is found or (wanted.is_integer and found.is_integer):
        return True
    return wanted.is_floating and (found.is_floating or found.is_integer)


def _refuse(value: Any, dtype: DType) -> TypeError:
    text = repr(value)
    if len(text) > 80:
        text = text[:77] + "..."
    return TypeError(f"Cannot convert {text} to EagerTensor of dtype {dtype.name}")


def _from_array(array: np.ndarray[Any, Any], dtype: DType | None, value: Any) -> _native.Value:
    if array.dtype.kind == "c":
        raise TypeError("complex numbers are not supported")
    found = dtypes.as_dtype(array.dtype)
    if dtype is None or dtype is found:
        return value_of(array)
    if not _compatible(dtype, found):
        raise _refuse(value, dtype)
    return value_of(array.astype(dtype.as_numpy_dtype))


def _from_python(value: Any, dtype: DType | None) -> _native.Value:
    leaves: list[Any] = []
    _leaves(value, leaves)
    found = _infer(leaves)
    if found is dtypes.string:
        if dtype not in (None, dtypes.string):
            raise _refuse(value, dtype)
        return _strings(value, leaves)
    if dtype is dtypes.string and leaves:
        raise _refuse(value, dtype)
    if dtype is not None and found is not None and leaves and not _compatible(dtype, found):
        raise _refuse(value, dtype)
    target = dtype or found
    if target is dtypes.string:
        return _native.Value.from_strings(list(_dims(value)), [])
    try:
        array = np.array(value, None if target is None else target.as_numpy_dtype)
    except OverflowError:
        raise _refuse(value, target or dtypes.int64) from None
    except ValueError as e:
        if "inhomogeneous" in str(e) or "sequence" in str(e):
            raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None
        raise
    if array.dtype.kind == "O":
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) "
            "to a Tensor."
        )
    return _from_array(array, target, value)


def _from_scalar(value: Any, dtype: DType | None) -> _native.Value | None:
    """The common scalars without a way through NumPy; ``None`` for all others."""
    kind = type(value)
    if kind is int:
        if dtype is None:
            dtype = dtypes.int32 if value in _INT32 else dtypes.int64
        if dtype is dtypes.int32 and value in _INT32:
            return _native.Value.ints("int32", (), (value,))
        if dtype is dtypes.int64 and value in _INT64:
            return _native.Value.ints("int64", (), (value,))
        kind = float if dtype is dtypes.float32 and -(2**24) <= value <= 2**24 else kind
    if kind is float and dtype in (None, dtypes.float32) and -1e38 < value < 1e38:
        return _native.Value.from_bytes("float32", (), struct.pack("=f", value))
    if kind in (str, bytes) and dtype in (None, dtypes.string):
        return _native.Value.from_strings((), (_as_bytes(value),))
    return None


def _has_tensor(value: Any) -> bool:
    if isinstance(value, Tensor):
        return True
    return isinstance(value, (list, tuple)) and any(_has_tensor(item) for item in value)


def _pack(value: Any, dtype: DType | None) -> Tensor:
    """Stacks a nested list in which there are tensors."""
    if not isinstance(value, (list, tuple)):
        return convert_to_tensor(value, dtype)
    like = dtype or next((t.dtype for t in _tensors(value)), None)
    return _trace.tensor("stack", [_pack(item, like) for item in value], axis=0)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors(item)]
    return []


def convert_to_tensor(
    value: Any,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a value as a tensor.

    Python ints become int32 (int64 where one does not fit), floats float32, ``str`` and ``bytes``
    string; NumPy arrays keep their dtype. Lists in which there are tensors are stacked.

    Args:
        value: A tensor, a NumPy array or scalar, a Python scalar or nested list, or an array of
            another library that gives ``__array__`` or ``__dlpack__``.
        dtype: The dtype to get.
        dtype_hint: The dtype to try first.
        name: Accepted for TensorFlow's sake.

    Returns:
        A dense tensor.

    Raises:
        TypeError: If the value does not fit ``dtype``.
        ValueError: If it has no tensor form.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if wanted is None and dtype_hint is not None:
        try:
            return convert_to_tensor(value, dtype_hint)
        except (TypeError, ValueError):
            pass
    return _convert(value, wanted)


def _convert(value: Any, dtype: DType | None) -> Tensor:
    plain = type(value) in _PLAIN
    if (
        not plain
        and isinstance(value, (np.ndarray, np.generic))
        and not isinstance(value, (bytes, str))
    ):
        return EagerTensor(_from_array(np.asarray(value), dtype, value))
    if isinstance(value, (list, tuple)):
        if _has_tensor(value):
            return _pack(value, dtype)
        return EagerTensor(_from_python(value, dtype))
    if isinstance(value, (bool, int, float, str, bytes)) or _is_string_view(value):
        return EagerTensor(_from_scalar(value, dtype) or _from_python(value, dtype))
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type to a Tensor.")
    if isinstance(value, TensorShape):
        return _convert(value.as_list(), dtype or dtypes.int32)
    if isinstance(value, DType):
        return _convert(int(value), dtype or dtypes.int32)
    arrays = ("__array__", "__array_interface__")
    if isinstance(value, memoryview) or any(hasattr(value, name) for name in arrays):
        return EagerTensor(_from_array(np.asarray(value), dtype, value))
    if hasattr(value, "__fspath__"):
        return _convert(value.__fspath__(), dtype)
    if hasattr(value, "__index__"):
        return _convert(int(value), dtype)
    if isinstance(value, range):
        return _convert(list(value), dtype)
    raise ValueError(
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) "
        "to a Tensor."
    )


def constant(
    value: Any, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str = "Const"
) -> Tensor:
    """Returns a constant tensor.

    Args:
        value: A Python or NumPy value.
        dtype: The dtype to get; see `convert_to_tensor` for the default.
        shape: The shape to give it. A single element is repeated to fill it.
        name: Accepted for TensorFlow's sake.

    Returns:
        A dense tensor.

    Raises:
        TypeError: If the value does not fit ``dtype`` or ``shape``.
        ValueError: If it has no tensor form.
    """
    if isinstance(value, EagerTensor) and dtype is not None:
        value = value.numpy()
    made = convert_to_tensor(value, dtype)
    if shape is None or not isinstance(made, EagerTensor):
        return made
    dims = [int(d) for d in TensorShape(shape)]  # type: ignore[arg-type]
    if list(made.shape) == dims:
        return made
    count = int(np.prod(dims, dtype=np.int64))
    if made.shape.num_elements() == count:
        return EagerTensor(made._value.reshaped(dims))
    if made.shape.num_elements() == 1:
        return EagerTensor(value_of(np.broadcast_to(np.asarray(made), dims)))
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {made} has "
        f"{made.shape.num_elements()} elements, but got `shape` {tuple(dims)} with {count} elements"
    )


def pack_ints(values: Sequence[Any]) -> Tensor:
    """Returns ints and scalar integer tensors as one vector: int32, or int64 where needed."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        ints = [int(v) for v in values]
        dtype = "int32" if all(v in _INT32 for v in ints) else "int64"
        return EagerTensor(_native.Value.ints(dtype, [len(ints)], ints))
    kinds = {t.dtype for t in tensors}
    target = dtypes.int64 if kinds != {dtypes.int32} else dtypes.int32
    parts = []
    for v in values:
        part = convert_to_tensor(v) if isinstance(v, Tensor) else convert_to_tensor(int(v), target)
        if part.dtype is not target:
            part = _trace.call("cast", [part], dtype=target)
        parts.append(part)
    return _trace.tensor("stack", parts, axis=0)


def shape_tensor(shape: Any) -> Tensor:
    """Returns a shape (list, `TensorShape`, tensor, or mixture) as an integer vector."""
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, np.ndarray):
        return convert_to_tensor(shape)
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
        if None in shape:
            raise ValueError("Cannot convert a partially known TensorShape to a Tensor")
    if isinstance(shape, (int, np.integer)):
        shape = [shape]
    return pack_ints(list(shape))


def static_value(t: Any) -> Any:
    """Returns the NumPy value of an eager tensor, ``None`` for a symbolic one."""
    return None if isinstance(t, SymbolicTensor) else np.asarray(t.numpy())


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Returns the value of a tensor as NumPy array if it is known now, else ``None``.

    Args:
        tensor: A tensor, eager or symbolic.
        partial: Accepted for TensorFlow's sake.
    """
    return tensor.numpy() if isinstance(tensor, EagerTensor) else None
