"""The three lists that a Feature may hold."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import Any, ClassVar, overload

import numpy as np


def _value_of(value: Any) -> Any:
    """The NumPy or Python value of a scalar tensor."""
    return value.numpy() if hasattr(value, "numpy") else value


def _wrong(value: Any, expected: str) -> TypeError:
    return TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: {expected}")


def check_bytes(value: Any) -> bytes:
    """Returns ``bytes``; text is refused, as protobuf does."""
    value = _value_of(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise _wrong(value, "bytes")


def check_float(value: Any) -> float:
    """Returns a number rounded to float32."""
    value = _value_of(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise _wrong(value, "int, float")
    if isinstance(value, np.ndarray):
        raise _wrong(value, "int, float")
    with np.errstate(over="ignore"):
        return float(np.float32(float(value)))


def check_int(value: Any) -> int:
    """Returns an integer that fits int64."""
    value = _value_of(value)
    try:
        number = operator.index(value.item() if isinstance(value, np.bool_) else value)
    except TypeError:
        raise _wrong(value, "int") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"Value out of range: {number}")
    return number


class Repeated(MutableSequence[Any]):
    """The values of a list; each is checked when it comes in."""

    __slots__ = ("_changed", "_check", "_items")

    def __init__(
        self, check: Callable[[Any], Any], changed: Callable[[], None], items: Iterable[Any] = ()
    ) -> None:
        self._check = check
        self._changed = changed
        self._items = [check(v) for v in items]

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...
    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._items[key] = [self._check(v) for v in value]
        else:
            self._items[key] = self._check(value)
        self._changed()

    def __delitem__(self, key: Any) -> None:
        del self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def insert(self, index: int, value: Any) -> None:
        """Inserts a value before position ``index``."""
        self._items.insert(index, self._check(value))
        self._changed()

    def extend(self, values: Iterable[Any]) -> None:
        """Appends values."""
        new = [self._check(v) for v in values]
        if new:
            self._items.extend(new)
            self._changed()

    def MergeFrom(self, other: Iterable[Any]) -> None:
        """Appends values."""
        self.extend(other)

    def sort(self, **options: Any) -> None:
        """Sorts the values."""
        self._items.sort(**options)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Repeated):
            return self._items == other._items
        return isinstance(other, (list, tuple)) and self._items == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)


class ValueList:
    """Base of `BytesList`, `FloatList` and `Int64List`.

    Args:
        value: The values.
    """

    _kind: ClassVar[str]

    @staticmethod
    def _check(value: Any) -> Any:
        raise NotImplementedError

    def __init__(self, value: Iterable[Any] | None = None) -> None:
        self._owner: Callable[[ValueList], None] | None = None
        if isinstance(value, (str, bytes)) and value:
            raise _wrong(value if isinstance(value, str) else value[0], self._kind)
        items = () if value is None else _value_of(value)
        self._value = Repeated(type(self)._check, self._touch, items)

    def _touch(self) -> None:
        if self._owner is not None:
            self._owner(self)

    @property
    def value(self) -> Repeated:
        """The values."""
        return self._value

    @value.setter
    def value(self, new: Any) -> None:
        raise AttributeError(
            f"Assignment not allowed to repeated field 'value' in {type(self).__name__}: "
            "use value[:] = [...] or value.extend([...])"
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._value == other._value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"value: {_shown(v)}\n" for v in self._value)


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        escapes = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}
        text = [escapes.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\{b:03o}") for b in value]
        return '"' + "".join(text) + '"'
    if isinstance(value, float):
        return str(np.float32(value))
    return str(value)


class BytesList(ValueList):
    """A list of byte strings."""

    _kind = "bytes"

    @staticmethod
    def _check(value: Any) -> Any:
        return check_bytes(value)


class FloatList(ValueList):
    """A list of float32 numbers."""

    _kind = "float"

    @staticmethod
    def _check(value: Any) -> Any:
        return check_float(value)


class Int64List(ValueList):
    """A list of 64-bit integers."""

    _kind = "int64"

    @staticmethod
    def _check(value: Any) -> Any:
        return check_int(value)
