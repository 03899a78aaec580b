"""What is known of a value before it exists: `TensorSpec` and its relatives."""

from __future__ import annotations

from typing import Any

from gristmill import dtypes
from gristmill.dtypes import DType, DTypeLike
from gristmill.tensor_shape import ShapeLike, TensorShape


class TypeSpec:
    """Base of all specs."""

    __slots__ = ()

    def _key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _native(self) -> tuple[Any, ...]:
        """Returns the spec as the native module takes it."""
        raise TypeError(f"{self!r} is not a spec of a tensor")

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or a value of a spec, fits this spec."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        if type(other) is not type(self):
            return False
        mine, theirs = self._native(), other._native()
        shapes = TensorShape(mine[2]).is_compatible_with(theirs[2])
        return mine[:2] == theirs[:2] and shapes and mine[3:] == theirs[3:]

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the most that is known when one of both specs holds.

        Raises:
            ValueError: If kind or dtype differ.
        """
        mine, theirs = self._native(), other._native()
        if mine[:2] != theirs[:2] or mine[3:] != theirs[3:]:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        a, b = mine[2], theirs[2]
        shape = None
        if a is not None and b is not None and len(a) == len(b):
            shape = tuple(x if x == y else None for x, y in zip(a, b, strict=True))
        return from_native((*mine[:2], shape, *mine[3:]))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))


class TensorSpec(TypeSpec):
    """The spec of a dense tensor.

    Args:
        shape: Its sizes as far as known.
        dtype: Its element type.
        name: A name, shown only.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The sizes as far as known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name given, if any."""
        return self._name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Returns the dense spec with another spec's shape and dtype."""
        return cls(spec.shape, spec.dtype, name)

    def _key(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._name)

    def _native(self) -> tuple[Any, ...]:
        return ("tensor", self._dtype.name, self._shape._dims)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (TensorSpec, (self._shape, self._dtype, self._name))


class SparseTensorSpec(TypeSpec):
    """The spec of a sparse tensor.

    Args:
        shape: Its dense sizes as far as known.
        dtype: Its element type.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32) -> None:
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The dense sizes as far as known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    def _key(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype)

    def _native(self) -> tuple[Any, ...]:
        return ("sparse", self._dtype.name, self._shape._dims)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (SparseTensorSpec, (self._shape, self._dtype))


class RaggedTensorSpec(TypeSpec):
    """The spec of a ragged tensor.

    Args:
        shape: Its sizes as far as known, ragged dimensions included.
        dtype: Its element type.
        ragged_rank: Number of nested row splits; by default all but the innermost dimension.
        row_splits_dtype: Must be int64.
    """

    __slots__ = ("_dtype", "_ragged_rank", "_shape")

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> None:
        if dtypes.as_dtype(row_splits_dtype) is not dtypes.int64:
            raise ValueError("row splits are int64 here: leave row_splits_dtype out")
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        if ragged_rank is None:
            if self._shape.rank is None:
                raise ValueError("Must specify ragged_rank or shape with known rank.")
            ragged_rank = max(self._shape.rank - 1, 0)
        self._ragged_rank = ragged_rank

    @property
    def shape(self) -> TensorShape:
        """The sizes as far as known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """Number of nested row splits."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """Always int64."""
        return dtypes.int64

    def _key(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._ragged_rank)

    def _native(self) -> tuple[Any, ...]:
        if self._ragged_rank == 0:
            return ("tensor", self._dtype.name, self._shape._dims)
        return ("ragged", self._dtype.name, self._shape._dims, self._ragged_rank)

    def __repr__(self) -> str:
        return f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, tf.int64)"

    def __reduce__(self) -> tuple[Any, ...]:
        return (RaggedTensorSpec, (self._shape, self._dtype, self._ragged_rank))


class NoneTensorSpec(TypeSpec):
    """The spec of ``None``, which has no components."""

    __slots__ = ()

    def _key(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


class DatasetSpec(TypeSpec):
    """The spec of a dataset.

    Args:
        element_spec: The spec of its elements.
        dataset_shape: Accepted for TensorFlow's sake.
    """

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = TensorShape(dataset_shape)

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._element_spec

    def _key(self) -> tuple[Any, ...]:
        return (repr(self._element_spec), self._dataset_shape)

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, {self._dataset_shape!r})"


class OptionalSpec(TypeSpec):
    """The spec of an optional value.

    Args:
        element_spec: The spec of the value, where there is one.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    def _key(self) -> tuple[Any, ...]:
        return (repr(self._element_spec),)

    def __repr__(self) -> str:
        return f"OptionalSpec({self._element_spec!r})"


def from_native(spec: tuple[Any, ...]) -> TypeSpec:
    """Returns the spec object of a native spec."""
    if spec[0] == "sparse":
        return SparseTensorSpec(spec[2], spec[1])
    if spec[0] == "ragged":
        return RaggedTensorSpec(spec[2], spec[1], spec[3])
    return TensorSpec(spec[2], spec[1])


def spec_of(value: Any) -> TypeSpec:
    """Returns the spec of a value; what is no tensor is converted to one first.

    Raises:
        TypeError: If it cannot be converted.
    """
    if isinstance(value, TypeSpec):
        return value
    if value is None:
        return NoneTensorSpec()
    found = getattr(value, "_type_spec", None)
    if isinstance(found, TypeSpec):
        return found
    from gristmill.convert import convert_to_tensor

    return spec_of(convert_to_tensor(value))


type_spec_from_value = spec_of
