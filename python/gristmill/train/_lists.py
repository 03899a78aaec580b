"""The three lists that a Feature may hold."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Iterator, MutableSequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, overload

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

_NUMBERS = frozenset(map(np.dtype, "bhilqBHILQefd"))
_REALS = (int, float, np.float32, np.float64)


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
    return array("f", (float(value),))[0]


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

    __slots__ = ("_of",)

    def __init__(self, of: ValueList) -> None:
        self._of = of

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...
    def __getitem__(self, key: Any) -> Any:
        return self._of._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        of = self._of
        of._items[key] = of._checked(value) if isinstance(key, slice) else of._check(value)
        of._touch()

    def __delitem__(self, key: Any) -> None:
        del self._of._items[key]
        self._of._touch()

    def __len__(self) -> int:
        return len(self._of._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._of._items)

    def insert(self, index: int, value: Any) -> None:
        """Inserts a value before position ``index``."""
        self._of._items.insert(index, self._of._check(value))
        self._of._touch()

    def extend(self, values: Iterable[Any]) -> None:
        """Appends values."""
        self._of._items.extend(self._of._checked(values))
        # Also by nothing: an empty list differs from none.
        self._of._touch()

    def MergeFrom(self, other: Iterable[Any]) -> None:
        """Appends values."""
        self.extend(other)

    def sort(self, **options: Any) -> None:
        """Sorts the values."""
        self._of._items.sort(**options)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Repeated):
            return self._of._items == other._of._items
        return isinstance(other, (list, tuple)) and self._of._items == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._of._items)


class Owner(Protocol):
    """A feature that one of its lists tells that it holds values now."""

    def _set(self, chosen: ValueList, /) -> None: ...


class ValueList:
    """Base of `BytesList`, `FloatList` and `Int64List`.

    Args:
        value: The values.
    """

    __slots__ = ("_items", "_owner")
    _kind: ClassVar[str]

    @staticmethod
    def _check(value: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def _checked(values: Any) -> list[Any]:
        """All values, as `_check` gives them one by one."""
        raise NotImplementedError

    def __init__(self, value: Iterable[Any] | None = None, **unknown: Any) -> None:
        if unknown:
            no_field(self, unknown)
        # Only where writing has to make this the list that is set.
        self._owner: Owner | None = None
        if isinstance(value, (str, bytes)) and value:
            raise _wrong(value if isinstance(value, str) else value[0], self._kind)
        self._items: list[Any] = [] if value is None else self._checked(_value_of(value))

    @classmethod
    def _made(cls, items: list[Any]) -> Self:
        """The list of values that were checked before."""
        made = cls.__new__(cls)
        made._owner = None
        made._items = items
        return made

    def CopyFrom(self, other: Any) -> None:
        """Becomes a copy of another list of its type."""
        if other is not self:
            self._items.clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Any) -> None:
        """Appends the values of another list of its type."""
        if type(other) is not type(self):
            raise TypeError(f"expected a {type(self).__name__}, found {type(other).__name__}")
        self._items.extend(other._items.copy())
        self._touch()

    def SetInParent(self) -> None:
        """Makes this the list that is set in its feature."""
        self._touch()

    def __copy__(self) -> Self:
        return self._made(self._items.copy())

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()

    def _touch(self) -> None:
        if self._owner is not None:
            self._owner._set(self)

    @property
    def value(self) -> Repeated:
        """The values."""
        return Repeated(self)

    @value.setter
    def value(self, new: Any) -> None:
        raise AttributeError(
            f"Assignment not allowed to repeated field 'value' in {type(self).__name__}: "
            "use value[:] = [...] or value.extend([...])"
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"value: {shown(v)}\n" for v in self._items)


def no_field(message: object, names: Iterable[str]) -> None:
    """Refuses fields, given by keyword, that a message does not have."""
    for name in names:
        raise ValueError(f'Protocol message {type(message).__name__} has no "{name}" field.')


def shown(value: Any) -> str:
    """Returns a value as the text form has it."""
    if isinstance(value, bytes):
        escapes = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}
        text = [escapes.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\{b:03o}") for b in value]
        return '"' + "".join(text) + '"'
    if isinstance(value, float):
        # As protobuf does it: 6 digits where they are enough for a float32, otherwise 9.
        short = f"{value:.6g}"
        return short if np.float32(short) == np.float32(value) else f"{value:.9g}"
    return str(value)


class BytesList(ValueList):
    """A list of byte strings."""

    __slots__ = ()
    _kind = "bytes"
    _check = staticmethod(check_bytes)

    @staticmethod
    def _checked(values: Any) -> list[Any]:
        items = list(values)
        return items if _only(items, (bytes,)) else [check_bytes(v) for v in items]


class FloatList(ValueList):
    """A list of float32 numbers."""

    __slots__ = ()
    _kind = "float"
    _check = staticmethod(check_float)

    def __eq__(self, other: object) -> bool:
        # As protobuf does, NaN counts as equal to itself.
        return type(other) is FloatList and (
            self._items == other._items
            or [v if v == v else None for v in self._items]
            == [v if v == v else None for v in other._items]
        )

    __hash__ = None

    @staticmethod
    def _checked(values: Any) -> list[Any]:
        if type(values) is np.ndarray and values.ndim == 1 and values.dtype in _NUMBERS:
            with np.errstate(over="ignore"):
                # By way of float64, as each number alone.
                rounded = values.astype(np.float64).astype(np.float32)
            return cast("list[Any]", rounded.tolist())
        items = list(values)
        return array("f", items).tolist() if _only(items, _REALS) else list(map(check_float, items))


class Int64List(ValueList):
    """A list of 64-bit integers."""

    __slots__ = ()
    _kind = "int64"
    _check = staticmethod(check_int)

    @staticmethod
    def _checked(values: Any) -> list[Any]:
        if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "iu":
            values = values.tolist()
        items = list(values)
        whole = _only(items, (int,)) and (not items or -(2**63) <= min(items) <= max(items) < 2**63)
        return items if whole else [check_int(v) for v in items]


def _only(items: list[Any], types: tuple[type, ...]) -> bool:
    """Whether all items are of just these types, which need no look at each."""
    return set(map(type, items)).issubset(types)
