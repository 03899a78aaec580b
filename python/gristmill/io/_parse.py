"""Parsing of Examples by declared features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gristmill import _trace, dtypes
from gristmill.convert import convert_to_tensor
from gristmill.dtypes import DTypeLike
from gristmill.tensor import Tensor
from gristmill.tensor_shape import TensorShape


class FixedLenFeature(NamedTuple):
    """A feature with as many values in every record as ``shape`` has.

    Attributes:
        shape: Shape of the parsed tensor; ``[]`` for one value.
        dtype: float32, int64 or string.
        default_value: What a record without the feature gives; without it such a record is an
            error.
    """

    shape: Any
    dtype: DTypeLike
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed as a `SparseTensor`.

    Attributes:
        dtype: float32, int64 or string.
    """

    dtype: DTypeLike


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows of a shape, parsed as a dense tensor.

    Attributes:
        shape: Shape of a row.
        dtype: float32, int64 or string.
        allow_missing: Whether a record may lack it; must be true outside sequences.
        default_value: What batches are padded with.
    """

    shape: Any
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are features of their own.

    Attributes:
        index_key: Key of the indices; a list of keys for several dimensions.
        value_key: Key of the values.
        dtype: Type of the values.
        size: Size of the dimension; a list for several.
        already_sorted: Whether indices are in order in the record.
    """

    index_key: Any
    value_key: str
    dtype: DTypeLike
    size: Any
    already_sorted: bool = False


class _RowSplits(NamedTuple):
    key: str


class _RowLengths(NamedTuple):
    key: str


class _RowStarts(NamedTuple):
    key: str


class _RowLimits(NamedTuple):
    key: str


class _ValueRowIds(NamedTuple):
    key: str


class _UniformRowLength(NamedTuple):
    length: int


class _RaggedFields(NamedTuple):
    dtype: DTypeLike
    value_key: str | None = None
    partitions: Any = ()
    row_splits_dtype: DTypeLike = dtypes.int32
    validate: bool = False


class RaggedFeature(_RaggedFields):
    """A feature with any number of values, parsed as a ragged tensor.

    Attributes:
        dtype: float32, int64 or string.
        value_key: Key of the values; the feature's own key if not given.
        partitions: How the values are cut into rows, outermost first: `RowSplits`, `RowLengths`,
            `RowStarts`, `RowLimits`, `ValueRowIds` (each naming a feature) or `UniformRowLength`.
        row_splits_dtype: int32 or int64.
        validate: Accepted; partitions are always checked.
    """

    __slots__ = ()
    RowSplits = _RowSplits
    RowLengths = _RowLengths
    RowStarts = _RowStarts
    RowLimits = _RowLimits
    ValueRowIds = _ValueRowIds
    UniformRowLength = _UniformRowLength


_SPARSE = (VarLenFeature, SparseFeature)
_ALL = (*_SPARSE, RaggedFeature, FixedLenFeature, FixedLenSequenceFeature)


def _default(key: str, feature: Any, dtype: dtypes.DType) -> Any:
    if feature.default_value is None:
        return None
    try:
        return convert_to_tensor(feature.default_value, dtype)._value
    except (TypeError, ValueError) as e:
        raise type(e)(f"the default_value of feature '{key}' is no {dtype.name}: {e}") from None


def _attr(key: str, feature: Any) -> dict[str, Any]:
    if not isinstance(feature, _ALL):
        raise ValueError(f"Invalid feature {key}:{feature}.")
    if feature.dtype is None:
        raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
    dtype = dtypes.as_dtype(feature.dtype)
    out: dict[str, Any] = {"kind": type(feature).__name__, "dtype": dtype}
    if isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
        out["shape"] = TensorShape(feature.shape)
        out["default"] = _default(key, feature, dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        out["allow_missing"] = bool(feature.allow_missing)
    elif isinstance(feature, SparseFeature):
        keys = (
            feature.index_key
            if isinstance(feature.index_key, (list, tuple))
            else [feature.index_key]
        )
        sizes = feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]
        if len(keys) != len(sizes):
            raise ValueError(f"index_key and size of feature {key} differ in length")
        out["index_key"] = [str(k) for k in keys]
        out["size"] = [int(s) for s in sizes]
        out["value_key"] = feature.value_key
        out["already_sorted"] = bool(feature.already_sorted)
    elif isinstance(feature, RaggedFeature):
        out["value_key"] = key if feature.value_key is None else feature.value_key
        out["partitions"] = [_partition(p) for p in feature.partitions]
        out["row_splits_dtype"] = dtypes.as_dtype(feature.row_splits_dtype)
    return {k: v for k, v in out.items() if v is not None}


def _partition(p: Any) -> dict[str, Any]:
    kind = type(p).__name__.lstrip("_")
    if isinstance(p, int):
        return {"kind": "UniformRowLength", "length": p}
    if isinstance(p, _UniformRowLength):
        return {"kind": kind, "length": int(p.length)}
    return {"kind": kind, "key": p.key}


def _attrs(features: Any) -> dict[str, Any]:
    if not features:
        raise ValueError("Argument `features` cannot be None or empty.")
    return {key: _attr(key, features[key]) for key in features}


def _order(features: Mapping[str, Any]) -> list[str]:
    def group(key: str) -> int:
        f = features[key]
        return 0 if isinstance(f, _SPARSE) else 1 if isinstance(f, RaggedFeature) else 2

    return sorted(features, key=lambda key: (group(key), key))


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parses one Example.

    Args:
        serialized: Its bytes, a string scalar.
        features: What to read: a dict from key to `FixedLenFeature`, `VarLenFeature`,
            `FixedLenSequenceFeature`, `SparseFeature` or `RaggedFeature`.
        example_names: Accepted; batches name their records by it.
        name: Accepted for TensorFlow's sake.

    Returns:
        A dict from key to tensor: sparse ones first, then ragged, then dense ones, each sorted.

    Raises:
        InvalidArgumentError: If the record does not fit the declared features.
    """
    return _parse("io.parse_single_example", serialized, features)


def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parses a vector of Examples into batches; see `parse_single_example`."""
    serialized = convert_to_tensor(serialized, dtypes.string)
    if serialized.shape.rank == 0:
        return parse_single_example(serialized, features)
    return _parse("io.parse_example", serialized, features, example_names)


def _parse(
    op: str, serialized: Any, features: Mapping[str, Any], names: Any = None
) -> dict[str, Any]:
    attrs = {"features": _attrs(features)}
    inputs = [serialized] if names is None else [serialized, names]
    outputs = _trace.call_n(op, [convert_to_tensor(i, dtypes.string) for i in inputs], attrs)
    return dict(zip(_order(features), outputs, strict=True))


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one SequenceExample.

    Args:
        serialized: Its bytes, a string scalar.
        context_features: What to read of the context; see `parse_single_example`.
        sequence_features: What to read of the feature lists: `FixedLenSequenceFeature`,
            `VarLenFeature` or `RaggedFeature` by key.
        example_name: Accepted for TensorFlow's sake.
        name: Accepted for TensorFlow's sake.

    Returns:
        Dicts of the context's and the sequences' tensors.
    """
    op = "io.parse_single_sequence_example"
    return _parse_sequence(op, serialized, context_features, sequence_features)[:2]


def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parses a vector of SequenceExamples; see `parse_single_sequence_example`.

    Returns:
        Dicts of the context's tensors, the sequences' tensors, and the lengths of dense sequences.
    """
    op = "io.parse_sequence_example"
    return _parse_sequence(op, serialized, context_features, sequence_features, example_names)


def _parse_sequence(
    op: str,
    serialized: Any,
    context: Mapping[str, Any] | None,
    sequence: Mapping[str, Any] | None,
    names: Any = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    if not context and not sequence:
        raise ValueError("Both `context_features` and `sequence_features` argument are None.")
    context, sequence = context or {}, sequence or {}
    attrs = {
        "context_features": {k: _attr(k, context[k]) for k in context},
        "sequence_features": {k: _attr(k, sequence[k]) for k in sequence},
    }
    inputs = [serialized] if names is None else [serialized, names]
    tensors = [convert_to_tensor(i, dtypes.string) for i in inputs]
    outputs: list[Tensor] = _trace.call_n(op, tensors, attrs)
    first, second = _order(context), _order(sequence)
    a, b = len(first), len(first) + len(second)
    dense = [k for k in second if isinstance(sequence[k], FixedLenSequenceFeature)]
    return (
        dict(zip(first, outputs[:a], strict=True)),
        dict(zip(second, outputs[a:b], strict=True)),
        dict(zip(dense, outputs[b:], strict=False)),
    )
