"""`TensorShape`: sizes of dimensions, some of them perhaps unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Union, overload

ShapeLike = Union["TensorShape", Iterable[Any], int, None]
"""Whatever `as_shape` takes; ``None`` is a shape of unknown rank."""


def _dimension(value: Any) -> int | None:
    if value is None:
        return None
    inner = getattr(value, "value", value) if type(value).__name__ == "Dimension" else value
    size = int(inner)
    if size == -1:
        return None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


class TensorShape:
    """The sizes of a tensor's dimensions, outermost first.

    Args:
        dims: A sequence of sizes, where ``None`` or -1 is an unknown one; another `TensorShape`; or
            ``None`` for an unknown number of dimensions.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike) -> None:
        self._dims: tuple[int | None, ...] | None
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, int):
            self._dims = (_dimension(dims),)
        else:
            self._dims = tuple(_dimension(d) for d in dims)

    @classmethod
    def _known(cls, dims: tuple[int | None, ...] | None) -> TensorShape:
        made = cls.__new__(cls)
        made._dims = dims
        return made

    @property
    def _gm_shape_(self) -> tuple[int | None, ...] | None:
        return self._dims

    @property
    def rank(self) -> int | None:
        """The number of dimensions, ``None`` if unknown."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The number of dimensions, ``None`` if unknown."""
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The sizes as a list, ``None`` if the rank is unknown."""
        return None if self._dims is None else list(self._dims)

    def as_list(self) -> list[int | None]:
        """Returns the sizes as a list.

        Raises:
            ValueError: If the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ``ValueError`` if a size is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def num_elements(self) -> int | None:
        """The product of the sizes, ``None`` if one is unknown."""
        if self._dims is None:
            return None
        count = 1
        for d in self._dims:
            if d is None:
                return None
            count *= d
        return count

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether some full shape fits both."""
        a, b = self._dims, TensorShape(other)._dims
        if a is None or b is None:
            return True
        return len(a) == len(b) and all(
            x is None or y is None or x == y for x, y in zip(a, b, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ``ValueError`` unless some full shape fits both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Returns the most that is known when both shapes hold.

        Raises:
            ValueError: If they contradict each other.
        """
        self.assert_is_compatible_with(other)
        a, b = self._dims, TensorShape(other)._dims
        if a is None or b is None:
            return TensorShape._known(b if a is None else a)
        return TensorShape._known(tuple(y if x is None else x for x, y in zip(a, b, strict=True)))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Returns the sizes of this shape followed by those of ``other``."""
        tail = TensorShape(other)._dims
        if self._dims is None or tail is None:
            return TensorShape._known(None)
        return TensorShape._known(self._dims + tail)

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape, which must have ``rank`` dimensions if their number is known.

        Raises:
            ValueError: If it has another number of dimensions.
        """
        return self.merge_with([None] * rank)

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    @overload
    def __getitem__(self, key: int) -> int | None: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: int | slice) -> int | None | TensorShape:
        if self._dims is None:
            return TensorShape._known(None) if isinstance(key, slice) else None
        if isinstance(key, slice):
            return TensorShape._known(self._dims[key])
        return self._dims[key]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorShape):
            if other is not None and not isinstance(other, (list, tuple)):
                return NotImplemented
            try:
                other = TensorShape(other)
            except (TypeError, ValueError):
                return False
        return self._dims == other._dims

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        inner = ", ".join(str(d) for d in self._dims)
        return f"({inner},)" if len(self._dims) == 1 else f"({inner})"

    def __repr__(self) -> str:
        return f"TensorShape({'None' if self._dims is None else self.as_list()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (TensorShape, (self._dims,))


def as_shape(shape: ShapeLike) -> TensorShape:
    """Returns ``shape`` as a `TensorShape`."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)
