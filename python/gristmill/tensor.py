"""Tensors: values (`EagerTensor`) and the stand-ins for them in traced functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gristmill import _native, _trace, dtypes, specs
from gristmill._numpy import np
from gristmill._operators import REFLECTED, Operators
from gristmill.dtypes import DType
from gristmill.errors import OperatorNotAllowedInGraphError
from gristmill.tensor_shape import ShapeLike, TensorShape

if TYPE_CHECKING:
    from gristmill._trace import FuncGraph


class Tensor(Operators):
    """A dense tensor: a value, or the stand-in for one in a traced function.

    Tensors do arithmetic, compare element by element, slice as in TensorFlow, and cannot be hashed
    (``tensor.ref()`` can).
    """

    __slots__ = ("__weakref__",)
    __array_priority__ = 100

    _value: _native.Value | None

    @property
    def dtype(self) -> DType:
        """The element type."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The sizes as far as known."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def get_shape(self) -> TensorShape:
        """Returns the sizes as far as known."""
        return self.shape

    @property
    def _type_spec(self) -> specs.TensorSpec:
        return specs.TensorSpec(self.shape, self.dtype)

    @property
    def name(self) -> str:
        """A name; tensors are not named by their users here."""
        return "Tensor"

    @property
    def device(self) -> str:
        """Where the values are: always the CPU."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    def ref(self) -> Reference:
        """Returns a hashable stand-in that is equal only to that of this very tensor."""
        return Reference(self)

    def set_shape(self, shape: ShapeLike) -> None:
        """States what is known of the sizes.

        Raises:
            ValueError: If it contradicts what is known.
        """
        raise NotImplementedError

    def numpy(self) -> Any:
        """Returns the value as NumPy has it.

        Raises:
            OperatorNotAllowedInGraphError: For a symbolic tensor, which has none.
        """
        raise NotImplementedError

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")


class Reference:
    """A hashable reference to a tensor."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def deref(self) -> Tensor:
        """Returns the tensor."""
        return self._tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._tensor is self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._tensor!r}>"


class EagerTensor(Tensor):
    """A dense tensor with a value."""

    __slots__ = ("_dtype", "_shape", "_value")

    _value: _native.Value

    def __init__(self, value: _native.Value) -> None:
        self._value = value
        self._dtype: DType | None = None
        self._shape: TensorShape | None = None

    @property
    def dtype(self) -> DType:
        """The element type."""
        if self._dtype is None:
            self._dtype = dtypes.as_dtype(self._value.dtype)
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The sizes."""
        if self._shape is None:
            self._shape = TensorShape._known(self._value.shape)
        return self._shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Checks the sizes.

        Raises:
            ValueError: If they are others.
        """
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape "
                f"{TensorShape(shape)}."
            )

    def _view(self) -> np.ndarray[Any, Any]:
        """Returns an array over the tensor's memory, read-only where somebody else holds it."""
        array = np.asarray(self._value)
        if self._value.dtype == "bfloat16":
            array = array.view(dtypes.bfloat16.as_numpy_dtype)
        return array

    def numpy(self) -> Any:
        """Returns the value as a NumPy array, or a NumPy scalar or ``bytes`` without dimensions.

        The array may be written. It shares the tensor's memory where nobody else holds it, and is a
        copy otherwise.
        """
        value = self._value
        if value.dtype == "string":
            if not value.shape:
                return value.string()
            items = np.empty(value.shape, object)
            value.strings_into(items)
            return items
        view = self._view()
        if not value.shape:
            return view[()]
        return view if view.flags.writeable else view.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        value = self._value
        if value.dtype == "string":
            array: np.ndarray[Any, Any] = np.asarray(self.numpy())
            shared = False
        else:
            array, shared = self._view(), True
        if dtype is not None and array.dtype != dtype:
            array, shared = array.astype(dtype), False
        if copy is False:
            if not shared or not array.flags.writeable:
                raise ValueError(
                    "the array cannot be made without a copy: its dtype is another, or its memory "
                    "is shared\n  hint: np.asarray copies where it has to"
                )
            return array
        if shared and (copy is True or not array.flags.writeable):
            array = array.copy()
        return array

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._value.nbytes

    def cpu(self) -> EagerTensor:
        """Returns the tensor itself."""
        return self

    def __len__(self) -> int:
        shape = self._value.shape
        if not shape:
            raise TypeError("Scalar tensor has no `len()`")
        return int(shape[0])

    def __iter__(self) -> Iterator[EagerTensor]:
        shape = self._value.shape
        if not shape:
            raise TypeError("Cannot iterate over a scalar tensor.")
        for i in range(shape[0]):
            yield EagerTensor(self._value.row(i))

    def __bool__(self) -> bool:
        value = self.numpy()
        if isinstance(value, np.ndarray) and value.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        return bool(value)

    def __int__(self) -> int:
        return int(np.asarray(self.numpy()).item())

    def __float__(self) -> float:
        return float(np.asarray(self.numpy()).item())

    def __complex__(self) -> complex:
        return complex(np.asarray(self.numpy()).item())

    def __index__(self) -> int:
        value = self.numpy()
        if isinstance(value, np.ndarray) or not self.dtype.is_integer:
            raise TypeError("only integer scalar tensors can be converted to an index")
        return int(value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(np.asarray(self.numpy()).item(), digits)

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self.numpy())[()] if spec else self, spec) if spec else str(self)

    def _text(self, as_repr: bool) -> str:
        value = self.numpy()
        if not as_repr:
            text = str(value)
        elif isinstance(value, np.generic):
            text = repr(value.item())
        else:
            text = repr(value)
        return "\n" + text if "\n" in text else text

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self._text(True)}>"

    def __str__(self) -> str:
        return f"tf.Tensor({self._text(False)}, shape={self.shape}, dtype={self.dtype.name})"

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: object) -> EagerTensor:
        return EagerTensor(self._value.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return (EagerTensor, (self._value,))


_WAYS_OUT = {
    "bool": "use gm.where or gm.cond to choose between tensors; Python code runs on elements of "
    "an iterated dataset",
    "number": "keep it a tensor: ops take tensors for sizes and amounts",
    "len": "use gm.shape(x)[0]",
    "iter": "use gm.unstack where the size is known, or Dataset.unbatch",
    "array": "use the functions of gm.math in place of NumPy's",
}


class SymbolicTensor(Tensor):
    """A dense tensor inside a traced function: it has a dtype and a shape, but no value yet."""

    __slots__ = ("_graph", "_node", "_out", "_spec", "_value")

    def __init__(self, graph: FuncGraph, node: int, out: int, spec: _trace.Spec) -> None:
        self._value = None
        self._graph = graph
        self._node = node
        self._out = out
        self._spec = spec

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtypes.as_dtype(self._spec[1])

    @property
    def shape(self) -> TensorShape:
        """The sizes as far as known."""
        return TensorShape._known(self._spec[2])

    @property
    def graph(self) -> FuncGraph:
        """The function being traced that the tensor belongs to."""
        return self._graph

    def set_shape(self, shape: ShapeLike) -> None:
        """States what is known of the sizes; elements that contradict it are errors.

        Raises:
            ValueError: If it contradicts what is known.
        """
        merged = self.shape.merge_with(shape)
        if merged == self.shape:
            return
        made = _trace.call("set_shape", [self], shape=merged)
        self._node, self._out, self._spec = made._node, made._out, made._spec

    def _refuse(self, what: str, way: str) -> OperatorNotAllowedInGraphError:
        return OperatorNotAllowedInGraphError(
            f"{what} is not possible at {_trace.site()}: the function is traced once with symbolic "
            f"tensors, and this one ({self._spec[1]}, shape {self.shape}) has no value yet\n"
            f"  hint: {_WAYS_OUT[way]}"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Lets an array stand on the left of an operator and refuses NumPy's functions."""
        plain = method == "__call__" and not kwargs
        reflected = REFLECTED.get(ufunc.__name__) if plain else None
        if reflected is None or len(inputs) != 2 or isinstance(inputs[0], Tensor):
            raise self._refuse(f"calling NumPy's {ufunc.__name__} on a symbolic tensor", "array")
        return getattr(inputs[1], reflected)(inputs[0])

    def __bool__(self) -> bool:
        raise self._refuse("using a symbolic tensor as a Python bool", "bool")

    def __int__(self) -> int:
        raise self._refuse("converting a symbolic tensor to a Python int", "number")

    def __float__(self) -> float:
        raise self._refuse("converting a symbolic tensor to a Python float", "number")

    def __index__(self) -> int:
        raise self._refuse("using a symbolic tensor as a Python index", "number")

    def __len__(self) -> int:
        raise self._refuse("len() of a symbolic tensor", "len")

    def __iter__(self) -> Iterator[Tensor]:
        size = self.shape[0] if self.shape.rank else None
        if size is None:
            raise self._refuse("iterating over a symbolic tensor of unknown length", "iter")
        return iter([self[i] for i in range(size)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise self._refuse("converting a symbolic tensor to a NumPy array", "array")

    def numpy(self) -> Any:
        """Refuses: a symbolic tensor has no value."""
        raise self._refuse("calling numpy() on a symbolic tensor", "array")

    def __hash__(self) -> int:
        raise TypeError(
            f"a symbolic tensor cannot be hashed, at {_trace.site()}\n"
            "  hint: use tensor.ref() as the key"
        )

    def __repr__(self) -> str:
        return f'<tf.Tensor "{self.name}" shape={self.shape} dtype={self.dtype.name}>'

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    @property
    def name(self) -> str:
        """Node and output in the traced function."""
        return f"{self._graph.name}/{self._node}:{self._out}"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a symbolic tensor cannot be pickled: it belongs to a function being traced"
        )


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a dense, sparse or ragged tensor."""
    from gristmill.composite import Composite

    return isinstance(x, (Tensor, Composite))
