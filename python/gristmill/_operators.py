"""The operators of tensors: arithmetic, comparison, slicing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace
from gristmill._numpy import np

if TYPE_CHECKING:
    from gristmill.tensor import Tensor


def binary(name: str, x: Any, y: Any) -> Tensor:
    """Calls an op of two tensors of one dtype; what is no tensor takes the other's dtype.

    Raises:
        TypeError: If a Python value does not fit the other's dtype.
        InvalidArgumentError: If the dtypes differ.
    """
    from gristmill import convert, tensor

    if not isinstance(x, tensor.Tensor):
        like = y.dtype if isinstance(y, tensor.Tensor) else None
        x = convert.convert_to_tensor(x, like)
    if not isinstance(y, tensor.Tensor):
        y = convert.convert_to_tensor(y, x.dtype)
    return _trace.tensor(name, [x, y])


def _foreign(value: Any) -> bool:
    """Whether ``value`` has operators of its own that should be asked first."""
    from gristmill.composite import Composite

    return isinstance(value, Composite)


class Operators:
    """Mixed into `Tensor`."""

    __slots__ = ()

    def _binary(self, name: str, other: Any) -> Any:
        if other is None or _foreign(other):
            return NotImplemented
        return binary(name, self, other)

    def _reflected(self, name: str, other: Any) -> Any:
        if other is None or _foreign(other):
            return NotImplemented
        return binary(name, other, self)

    def __add__(self, other: Any) -> Any:
        from gristmill import dtypes

        if getattr(self, "dtype", None) is dtypes.string:
            from gristmill import convert

            return _trace.call(
                "strings.join", [self, convert.convert_to_tensor(other, dtypes.string)]
            )
        return self._binary("math.add", other)

    def __radd__(self, other: Any) -> Any:
        from gristmill import dtypes

        if getattr(self, "dtype", None) is dtypes.string:
            from gristmill import convert

            return _trace.call(
                "strings.join", [convert.convert_to_tensor(other, dtypes.string), self]
            )
        return self._reflected("math.add", other)

    def __sub__(self, other: Any) -> Any:
        return self._binary("math.subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._reflected("math.subtract", other)

    def __mul__(self, other: Any) -> Any:
        return self._binary("math.multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._reflected("math.multiply", other)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("math.truediv", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._reflected("math.truediv", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary("math.floordiv", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._reflected("math.floordiv", other)

    def __mod__(self, other: Any) -> Any:
        return self._binary("math.floormod", other)

    def __rmod__(self, other: Any) -> Any:
        return self._reflected("math.floormod", other)

    def __pow__(self, other: Any) -> Any:
        return self._binary("math.pow", other)

    def __rpow__(self, other: Any) -> Any:
        return self._reflected("math.pow", other)

    def __matmul__(self, other: Any) -> Any:
        return self._binary("matmul", other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._reflected("matmul", other)

    def __lt__(self, other: Any) -> Any:
        return self._binary("math.less", other)

    def __le__(self, other: Any) -> Any:
        return self._binary("math.less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._binary("math.greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._binary("math.greater_equal", other)

    def _equal(self, name: str, other: Any, unlike: bool) -> Any:
        from gristmill import convert, tensor

        if other is None or _foreign(other):
            return unlike
        if not isinstance(other, tensor.Tensor):
            try:
                other = convert.convert_to_tensor(other, self.dtype)  # type: ignore[attr-defined]
            except (TypeError, ValueError):
                return unlike
        a, b = self.shape, other.shape  # type: ignore[attr-defined]
        if a.rank is not None and b.rank is not None and not _broadcasts(a.as_list(), b.as_list()):
            return unlike
        return binary(name, self, other)

    def __eq__(self, other: object) -> Any:
        return self._equal("math.equal", other, False)

    def __ne__(self, other: object) -> Any:
        return self._equal("math.not_equal", other, True)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def _logical(self, other: Any, logical: str, bitwise: str, swap: bool = False) -> Any:
        if other is None or _foreign(other):
            return NotImplemented
        name = logical if self.dtype.is_bool else bitwise  # type: ignore[attr-defined]
        return binary(name, other, self) if swap else binary(name, self, other)

    def __and__(self, other: Any) -> Any:
        return self._logical(other, "math.logical_and", "math.bitwise_and")

    def __rand__(self, other: Any) -> Any:
        return self._logical(other, "math.logical_and", "math.bitwise_and", True)

    def __or__(self, other: Any) -> Any:
        return self._logical(other, "math.logical_or", "math.bitwise_or")

    def __ror__(self, other: Any) -> Any:
        return self._logical(other, "math.logical_or", "math.bitwise_or", True)

    def __xor__(self, other: Any) -> Any:
        return self._logical(other, "math.logical_xor", "math.bitwise_xor")

    def __rxor__(self, other: Any) -> Any:
        return self._logical(other, "math.logical_xor", "math.bitwise_xor", True)

    def __invert__(self) -> Any:
        boolean = self.dtype.is_bool  # type: ignore[attr-defined]
        return _trace.call("math.logical_not" if boolean else "math.bitwise_invert", [self])

    def __neg__(self) -> Any:
        return _trace.call("math.negative", [self])

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _trace.call("math.abs", [self])

    def __getitem__(self, key: Any) -> Any:
        return getitem(self, key)


def _broadcasts(a: list[int | None], b: list[int | None]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(x is None or y is None or x == y or 1 in (x, y) for x, y in pairs)


def _is_mask(key: Any) -> bool:
    from gristmill import tensor

    if isinstance(key, tensor.Tensor):
        return key.dtype.is_bool
    return isinstance(key, np.ndarray) and key.dtype == np.bool_


def getitem(x: Any, key: Any) -> Any:
    """Slices a tensor as TensorFlow does: ints, slices, ``...``, ``gm.newaxis``, scalar tensors.

    Raises:
        TypeError: For any other kind of index.
        InvalidArgumentError: If an index lies outside.
    """
    from gristmill import convert, tensor

    if type(key) is int and x._value is not None:
        shape = x._value.shape
        if shape and -shape[0] <= key < shape[0]:
            return tensor.EagerTensor(x._value.row(key % shape[0]))
    if _is_mask(key):
        return _trace.call("boolean_mask", [x, convert.convert_to_tensor(key)], axis=0)
    items = list(key) if isinstance(key, (list, tuple)) else [key]
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = {"begin": 0, "end": 0, "ellipsis": 0, "new_axis": 0, "shrink_axis": 0}
    for i, item in enumerate(items):
        bit = 1 << i
        if isinstance(item, slice):
            begin.append(0 if item.start is None else item.start)
            end.append(0 if item.stop is None else item.stop)
            strides.append(1 if item.step is None else item.step)
            masks["begin"] |= bit if item.start is None else 0
            masks["end"] |= bit if item.stop is None else 0
            continue
        if item is Ellipsis or item is None:
            masks["ellipsis" if item is Ellipsis else "new_axis"] |= bit
            begin.append(0)
            end.append(0)
            strides.append(1)
            continue
        _check_index(item)
        begin.append(item)
        end.append(item + 1)
        strides.append(1)
        masks["shrink_axis"] |= bit
    bounds = [convert.pack_ints(part) for part in (begin, end, strides)]
    attrs = {f"{name}_mask": bits for name, bits in masks.items()}
    return _trace.call("strided_slice", [x, *bounds], **attrs)


def _check_index(item: Any) -> None:
    from gristmill import tensor

    if isinstance(item, tensor.Tensor):
        if item.dtype.is_integer and item.shape.rank in (0, None):
            return
    elif (isinstance(item, (int, np.integer)) and not isinstance(item, bool)) or (
        isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu"
    ):
        return
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {item!r}"
    )


#: What a tensor on the right of an operator calls, by the name of NumPy's function.
REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "true_divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "equal": "__eq__",
    "not_equal": "__ne__",
}
