"""Element types: ``gm.float32`` … ``gm.string``, and ``gm.as_dtype``."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Union

from gristmill._numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt


class DType:
    """The type of a tensor's elements.

    Equal to its name and to the NumPy dtype it stands for: ``gm.float32 == "float32"`` and
    ``gm.float32 == np.float32`` are true.
    """

    __slots__ = ("_name", "_np", "_size")

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._np: npt.DTypeLike | None = None

    @property
    def name(self) -> str:
        """TensorFlow's name, e.g. ``"bfloat16"``."""
        return self._name

    @property
    def _gm_dtype_(self) -> str:
        return self._name

    @property
    def size(self) -> int:
        """Bytes of one element; 1 for strings, as in TensorFlow."""
        return self._size or 1

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type: ``np.float32``, ``ml_dtypes.bfloat16``, ``object`` for strings."""
        if self._np is None:
            if self._name == "bfloat16":
                import ml_dtypes

                self._np = ml_dtypes.bfloat16
            elif self._name == "string":
                self._np = np.object_
            else:
                self._np = getattr(np, "bool_" if self._name == "bool" else self._name)
        return self._np

    @property
    def base_dtype(self) -> DType:
        """The dtype itself; there are no reference types."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype itself; there are no complex types."""
        return self

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number of the dtype in protocol buffers."""
        return _ENUM[self._name]

    @property
    def is_floating(self) -> builtins.bool:
        """Whether this is float16, bfloat16, float32 or float64."""
        return "float" in self._name

    @property
    def is_integer(self) -> builtins.bool:
        """Whether this is one of the eight integer types."""
        return "int" in self._name

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether this is an integer type without a sign."""
        return self._name.startswith("uint")

    @property
    def is_bool(self) -> builtins.bool:
        """Whether this is bool."""
        return self._name == "bool"

    @property
    def is_complex(self) -> builtins.bool:
        """Always false."""
        return False

    @property
    def is_quantized(self) -> builtins.bool:
        """Always false."""
        return False

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Always true."""
        return True

    @property
    def min(self) -> Any:
        """The lowest value.

        Raises:
            TypeError: For strings.
        """
        return self._limits()[0]

    @property
    def max(self) -> Any:
        """The highest value.

        Raises:
            TypeError: For strings.
        """
        return self._limits()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The pair (``min``, ``max``); for floats 0 and 1, as TensorFlow has them."""
        if self.is_floating or self.is_bool:
            return (0, 1)
        return self._limits()

    def _limits(self) -> tuple[Any, Any]:
        if self.is_bool:
            return (False, True)
        if self.is_integer:
            info = np.iinfo(self.as_numpy_dtype)
            return (int(info.min), int(info.max))
        if self._name == "bfloat16":
            import ml_dtypes

            finfo: Any = ml_dtypes.finfo
            low = finfo(ml_dtypes.bfloat16)
            return (float(low.min), float(low.max))
        if self.is_floating:
            numbers = np.finfo(self.as_numpy_dtype)
            return (numbers.min, numbers.max)
        raise TypeError(f"{self!r} has no lowest and highest value")

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Whether ``other`` is the same dtype."""
        return self == as_dtype(other)

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        try:
            return self is as_dtype(other)  # type: ignore[arg-type]
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._name)

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (as_dtype, (self._name,))


DTypeLike = Union[DType, str, type, "np.dtype[Any]"]
"""Whatever `as_dtype` takes."""

bool = DType("bool", 1)
uint8 = DType("uint8", 1)
uint16 = DType("uint16", 2)
uint32 = DType("uint32", 4)
uint64 = DType("uint64", 8)
int8 = DType("int8", 1)
int16 = DType("int16", 2)
int32 = DType("int32", 4)
int64 = DType("int64", 8)
float16 = DType("float16", 2)
half = float16
bfloat16 = DType("bfloat16", 2)
float32 = DType("float32", 4)
float64 = DType("float64", 8)
double = float64
string = DType("string", 0)

_ALL = (
    bool,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
    string,
)
_ENUM = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
_BY_NAME: dict[Any, DType] = {d.name: d for d in _ALL}
_BY_NAME.update(
    {"half": float16, "float": float32, "double": float64, "str": string, "bytes": string}
)
_BY_NUMBER = {number: _BY_NAME[name] for name, number in _ENUM.items()}
_BUILTIN: dict[Any, DType] = {
    float: float32,
    int: int64,
    str: string,
    bytes: string,
    object: string,
}
_BUILTIN[builtins.bool] = bool


def as_dtype(type_value: DTypeLike) -> DType:
    """Returns the dtype that ``type_value`` stands for.

    Args:
        type_value: A dtype, a name (``"float32"``), a NumPy dtype or scalar type, a Python type, or
            TensorFlow's number. Dtypes of JAX, PyTorch and TensorFlow are taken by their names.

    Returns:
        The `DType`.

    Raises:
        TypeError: If it is none of these.
    """
    if isinstance(type_value, DType):
        return type_value
    try:
        if isinstance(type_value, (str, int)):
            found = _BY_NAME.get(type_value) or _BY_NUMBER.get(type_value)  # type: ignore[call-overload]
        else:
            found = _BUILTIN.get(type_value)
    except TypeError:
        found = None
    if found is not None:
        return found
    foreign = getattr(type_value, "name", None)
    if isinstance(foreign, str) and foreign in _BY_NAME:
        return _BY_NAME[foreign]
    try:
        np_dtype = np.dtype(type_value)
    except TypeError:
        np_dtype = None
    if np_dtype is not None:
        if np_dtype.kind in "SUO":
            return string
        found = _BY_NAME.get(np_dtype.name)
        if found is not None:
            if isinstance(type_value, np.dtype):
                _BUILTIN[type_value] = found
            return found
    raise TypeError(
        f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType."
    )
