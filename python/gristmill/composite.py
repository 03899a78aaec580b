"""Sparse and ragged tensors, as values and as stand-ins in traced functions."""

from __future__ import annotations

import itertools
from typing import Any

from gristmill import _native, _trace, dtypes, specs
from gristmill._numpy import np
from gristmill.convert import convert_to_tensor
from gristmill.dtypes import DType
from gristmill.tensor import EagerTensor, SymbolicTensor, Tensor
from gristmill.tensor_shape import TensorShape


class Composite:
    """Base of `SparseTensor` and `RaggedTensor`: a native value, or a node of a traced function."""

    __slots__ = ("__weakref__", "_graph", "_node", "_out", "_spec", "_value")
    __array_ufunc__ = None

    _value: _native.Value | None
    _spec: _trace.Spec

    @classmethod
    def _from_value(cls, value: _native.Value) -> Any:
        made = cls.__new__(cls)
        made._value = value
        made._spec = value.spec
        return made

    @classmethod
    def _from_node(cls, graph: _trace.FuncGraph, node: int, out: int, spec: _trace.Spec) -> Any:
        made = cls.__new__(cls)
        made._value = None
        made._graph = graph
        made._node = node
        made._out = out
        made._spec = spec
        return made

    def _adopt(self, other: Any) -> None:
        """Becomes what ``other`` is; used by constructors that call an op."""
        self._value = other._value
        self._spec = other._spec
        if other._value is None:
            self._graph, self._node, self._out = other._graph, other._node, other._out

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtypes.as_dtype(self._spec[1])

    @property
    def shape(self) -> TensorShape:
        """The sizes as far as known; ragged dimensions are ``None``."""
        return TensorShape._known(self._spec[2])

    def get_shape(self) -> TensorShape:
        """Returns the sizes as far as known."""
        return self.shape

    @property
    def _type_spec(self) -> specs.TypeSpec:
        return specs.from_native(self._spec)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise TypeError(f"a {type(self).__name__} is no Python bool")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"a {type(self).__name__} is no dense array\n"
            "  hint: gm.sparse.to_dense(x) or x.to_tensor() makes it dense"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        if self._value is None:
            raise TypeError("a symbolic tensor cannot be pickled")
        return (type(self)._from_value, (self._value,))


class SparseTensor(Composite):
    """A sparse tensor in coordinate form.

    Args:
        indices: int64 ``[n, rank]``.
        values: ``[n]``.
        dense_shape: int64 ``[rank]``.
    """

    __slots__ = ()

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        parts = [
            convert_to_tensor(indices, dtypes.int64),
            convert_to_tensor(values),
            convert_to_tensor(dense_shape, dtypes.int64),
        ]
        if parts[0].shape.rank == 1 and parts[0].shape[0] == 0:
            rank = parts[2].shape[0]
            parts[0] = convert_to_tensor(np.zeros((0, rank or 0), np.int64))
        if all(p._value is not None for p in parts):
            eager = [p._value for p in parts if p._value is not None]
            self._adopt(SparseTensor._from_value(_native.Value.from_sparse(*eager)))
        else:
            self._adopt(_trace.call("sparse.make", parts))

    @property
    def indices(self) -> Tensor:
        """Where the values stand, int64 ``[n, rank]``."""
        if self._value is not None:
            return EagerTensor(self._value.sparse_parts()[0])
        return _trace.tensor("sparse.indices", [self])

    @property
    def values(self) -> Tensor:
        """The values, ``[n]``."""
        if self._value is not None:
            return EagerTensor(self._value.sparse_parts()[1])
        return _trace.tensor("sparse.values", [self])

    @property
    def dense_shape(self) -> Tensor:
        """The sizes of the dense form, int64 ``[rank]``."""
        if self._value is not None:
            return EagerTensor(self._value.sparse_parts()[2])
        return _trace.tensor("sparse.dense_shape", [self])

    def with_values(self, new_values: Any) -> SparseTensor:
        """Returns a sparse tensor with other values at the same places."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        """Returns a sparse tensor of something with indices, values and dense_shape."""
        if isinstance(value, SparseTensor):
            return value
        return cls(value.indices, value.values, value.dense_shape)

    def __repr__(self) -> str:
        if self._value is None:
            return f"SparseTensor(shape={self.shape}, dtype={self.dtype.name})"
        return (
            f"SparseTensor(indices={self.indices}, values={self.values}, "
            f"dense_shape={self.dense_shape})"
        )


class RaggedTensor(Composite):
    """A tensor whose rows differ in length: flat values under nested row splits.

    Made by `gm.ragged.constant`, `RaggedTensor.from_row_splits` and ops such as
    `gm.strings.split`.
    """

    __slots__ = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "RaggedTensor has no constructor: use gm.ragged.constant or from_row_splits"
        )

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Returns a ragged tensor with several levels of row splits.

        Args:
            flat_values: ``[total, ...]``.
            nested_row_splits: int64 ``[rows + 1]`` each, outermost first.
            name: Accepted for TensorFlow's sake.
            validate: Accepted; splits are always checked.
        """
        flat = convert_to_tensor(flat_values)
        splits = [_int64(s) for s in nested_row_splits]
        if flat._value is not None and all(s._value is not None for s in splits):
            eager = [s._value for s in splits if s._value is not None]
            eager_made: RaggedTensor = cls._from_value(
                _native.Value.from_ragged(flat._value, eager)
            )
            return eager_made
        made: RaggedTensor = _trace.call("ragged.make", [flat, *splits])
        return made

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor whose row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``.

        Args:
            values: A dense or ragged tensor.
            row_splits: int64 ``[rows + 1]``.
            name: Accepted for TensorFlow's sake.
            validate: Accepted; splits are always checked.
        """
        if isinstance(values, RaggedTensor):
            nested = [row_splits, *values.nested_row_splits]
            return cls.from_nested_row_splits(values.flat_values, nested)
        return cls.from_nested_row_splits(values, [row_splits])

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor whose rows have these lengths, which are known now.

        Args:
            values: A dense or ragged tensor.
            row_lengths: Integers ``[rows]``.
            name: Accepted for TensorFlow's sake.
            validate: Accepted; lengths are always checked.
        """
        lengths = np.asarray(convert_to_tensor(row_lengths))
        splits = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls.from_row_splits(values, splits)

    @property
    def ragged_rank(self) -> int:
        """Number of nested row splits."""
        return int(self._spec[3])

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, ``[total, ...]``."""
        if self._value is not None:
            return EagerTensor(self._value.ragged_parts()[0])
        return _trace.tensor("ragged.flat_values", [self])

    @property
    def values(self) -> Any:
        """The rows one after the other: without the outermost dimension's splits."""
        if self._value is None:
            return _trace.call("ragged.values", [self])
        flat, splits = self._value.ragged_parts()
        if len(splits) == 1:
            return EagerTensor(flat)
        return RaggedTensor._from_value(_native.Value.from_ragged(flat, splits[1:]))

    @property
    def row_splits(self) -> Tensor:
        """Where the rows of the outermost dimension begin and end, int64 ``[rows + 1]``."""
        if self._value is not None:
            return EagerTensor(self._value.ragged_parts()[1][0])
        return _trace.tensor("ragged.row_splits", [self], axis=0)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of every ragged dimension, outermost first."""
        if self._value is not None:
            return tuple(EagerTensor(s) for s in self._value.ragged_parts()[1])
        return tuple(
            _trace.call("ragged.row_splits", [self], axis=i) for i in range(self.ragged_rank)
        )

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor:
        """Returns the lengths of the rows of the outermost dimension, int64 ``[rows]``."""
        splits = self.row_splits
        lengths: Tensor = splits[1:] - splits[:-1]
        return lengths

    def row_starts(self) -> Tensor:
        """Returns where the rows begin, int64 ``[rows]``."""
        starts: Tensor = self.row_splits[:-1]
        return starts

    def nrows(self) -> Tensor:
        """Returns the number of rows, int64."""
        return _trace.tensor("size", [self.row_starts()], out_type=dtypes.int64)

    def to_tensor(self, default_value: Any = None, shape: Any = None) -> Tensor:
        """Returns a dense tensor with the rows padded to the longest.

        Args:
            default_value: What to pad with; 0 or the empty string if not given.
            shape: Sizes of the result; rows are cut or padded to them. ``None`` entries are free.
        """
        inputs: list[Any] = [self]
        if default_value is not None:
            inputs.append(convert_to_tensor(default_value, self.dtype))
        fixed = None if shape is None else TensorShape(shape)
        return _trace.tensor("ragged.to_tensor", inputs, shape=fixed)

    def to_list(self) -> list[Any]:
        """Returns the rows as nested Python lists."""
        if self._value is None:
            raise TypeError(f"to_list() of a symbolic ragged tensor, at {_trace.site()}")
        flat, splits = self._value.ragged_parts()
        rows: Any = EagerTensor(flat).numpy().tolist()
        for level in reversed(splits):
            at = EagerTensor(level).numpy().tolist()
            rows = [rows[a:b] for a, b in itertools.pairwise(at)]
        made: list[Any] = rows
        return made

    def numpy(self) -> Any:
        """Returns an object array of the rows; a plain array where all are equally long."""
        rows = [np.asarray(r) if isinstance(r, list) else r for r in self.to_list()]
        if len({len(r) for r in rows}) <= 1 and self.ragged_rank == 1:
            return np.array(self.to_list(), dtype=self.dtype.as_numpy_dtype)
        out = np.empty(len(rows), dtype=object)
        for i, row in enumerate(self):
            out[i] = row.numpy()
        return out

    def __getitem__(self, key: Any) -> Any:
        inner: tuple[Any, ...] = ()
        if isinstance(key, tuple):
            key, inner = key[0], key[1:]
        if isinstance(key, slice):
            starts, ends = self.row_splits[:-1][key], self.row_splits[1:][key]
            if self._value is None or inner:
                raise TypeError(
                    "a ragged tensor is sliced by one slice, and only where it has a value"
                )
            rows = [self._row(int(i)) for i in np.arange(len(self))[key]]
            del starts, ends
            return _stack_rows(rows, self)
        row = self._row(key)
        return row[inner] if inner else row

    def _row(self, key: Any) -> Any:
        if self._value is not None and not isinstance(key, SymbolicTensor):
            i, n = int(key), len(self)
            if not -n <= i < n:
                from gristmill.errors import InvalidArgumentError

                raise InvalidArgumentError(f"slice index {i} of dimension 0 out of bounds")
            return _trace.wrap(self._value.row(i % n))
        return _trace.call("ragged.get", [self, convert_to_tensor(key)])

    def __len__(self) -> int:
        if self._value is None:
            raise TypeError(f"len() of a symbolic ragged tensor, at {_trace.site()}: use .nrows()")
        return int(self._value.shape[0])

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        if self._value is None:
            return f"tf.RaggedTensor(shape={self.shape}, dtype={self.dtype.name})"
        return f"<tf.RaggedTensor {self.to_list()}>"


def _int64(splits: Any) -> Tensor:
    splits = convert_to_tensor(splits, None if isinstance(splits, Tensor) else dtypes.int64)
    if splits.dtype is dtypes.int64:
        return splits  # type: ignore[no-any-return]
    return _trace.tensor("cast", [splits], dtype=dtypes.int64)


def _stack_rows(rows: list[Any], like: RaggedTensor) -> Any:
    if rows:
        lengths = [len(r) for r in rows]
        if like.ragged_rank == 1:
            flat = np.concatenate([np.asarray(r) for r in rows])
            return RaggedTensor.from_row_lengths(convert_to_tensor(flat, like.dtype), lengths)
        return RaggedTensor._from_value(_native.Value.stack([r._value for r in rows]))
    return RaggedTensor.from_row_splits(like.values[:0], [0])


def _wrap_value(value: _native.Value) -> Any:
    if value.kind == "dense":
        return EagerTensor(value)
    return (SparseTensor if value.kind == "sparse" else RaggedTensor)._from_value(value)


def _wrap_node(graph: _trace.FuncGraph, node: int, out: int, spec: _trace.Spec) -> Any:
    if spec[0] == "tensor":
        return SymbolicTensor(graph, node, out, spec)
    return (SparseTensor if spec[0] == "sparse" else RaggedTensor)._from_node(
        graph, node, out, spec
    )


_trace.register_wrappers(_wrap_value, _wrap_node)
