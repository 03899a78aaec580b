"""Byte strings: splitting, joining, searching, converting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace, dtypes
from gristmill._absent import lookup as _lookup
from gristmill._array import ints
from gristmill.composite import RaggedTensor
from gristmill.convert import convert_to_tensor
from gristmill.dtypes import DTypeLike
from gristmill.tensor import Tensor


def _text(value: Any) -> Tensor:
    return convert_to_tensor(value, dtypes.string)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Splits strings at a separator.

    Args:
        input: A string tensor.
        sep: The separator; runs of white space if not given or empty.
        maxsplit: How many times to split at most; -1 for no limit.
        name: Accepted for TensorFlow's sake.

    Returns:
        For a scalar a vector of its parts, otherwise a `RaggedTensor` with one more dimension.
    """
    input = _text(input)
    if isinstance(sep, Tensor):
        sep = sep.numpy()
    if isinstance(sep, bytes):
        sep = sep.decode("utf-8")
    scalar = input.shape.rank == 0
    if scalar:
        input = _trace.call("expand_dims", [input], axis=0)
    parts = _trace.call("strings.split", [input], sep=sep, maxsplit=int(maxsplit))
    return parts.values if scalar else parts


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Returns the lengths of strings in bytes or in ``"UTF8_CHAR"``, int32."""
    return _trace.tensor("strings.length", [_text(input)], unit=unit)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Returns ``len`` bytes from position ``pos`` on; a negative position counts from the end."""
    pos = convert_to_tensor(pos)
    inputs = [
        _text(input),
        pos,
        convert_to_tensor(len, None if isinstance(len, Tensor) else pos.dtype),
    ]
    attrs = {} if unit == "BYTE" else {"unit": unit}
    return _trace.tensor("strings.substr", inputs, attrs)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Joins the strings of several tensors element by element; scalars are repeated."""
    return _trace.tensor("strings.join", [_text(i) for i in inputs], separator=separator)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns the strings with ASCII capitals made small."""
    return _trace.tensor("strings.lower", [_text(input)])


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns the strings with small ASCII letters made capitals."""
    return _trace.tensor("strings.upper", [_text(input)])


def strip(input: Any, name: str | None = None) -> Tensor:
    """Returns the strings without white space at both ends."""
    return _trace.tensor("strings.strip", [_text(input)])


def to_number(input: Any, out_type: DTypeLike = dtypes.float32, name: str | None = None) -> Any:
    """Reads numbers from strings.

    Args:
        input: A string tensor, perhaps ragged.
        out_type: float32, float64, int32 or int64.
        name: Accepted for TensorFlow's sake.

    Raises:
        InvalidArgumentError: If a string is no number.
    """
    if isinstance(input, RaggedTensor):
        flat = to_number(input.flat_values, out_type)
        return RaggedTensor.from_nested_row_splits(flat, input.nested_row_splits)
    return _trace.tensor("strings.to_number", [_text(input)], out_type=dtypes.as_dtype(out_type))


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Writes numbers and bools as strings.

    Args:
        input: A tensor.
        precision: Digits after the point; -1 for 6.
        scientific: Whether floats are written with an exponent.
        shortest: Whether floats are written in the shorter of both forms.
        width: Least number of characters; -1 for no padding.
        fill: What to pad with; a space if empty.
        name: Accepted for TensorFlow's sake.
    """
    attrs = {
        "precision": precision,
        "scientific": scientific,
        "shortest": shortest,
        "width": width,
        "fill": fill,
    }
    return _trace.tensor("strings.as_string", [convert_to_tensor(input)], attrs)


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Replaces what a regular expression (RE2 syntax) matches; ``\1`` stands for group 1."""
    attrs = {"pattern": pattern, "rewrite": rewrite, "replace_global": replace_global}
    return _trace.tensor("strings.regex_replace", [_text(input)], attrs)


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Tensor:
    """Returns whether a regular expression (RE2 syntax) matches the whole string."""
    return _trace.tensor("strings.regex_full_match", [_text(input)], pattern=pattern)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Joins all strings along dimensions into one."""
    attrs = {"axis": ints(axis), "separator": separator, "keepdims": keepdims or None}
    return _trace.tensor("strings.reduce_join", [_text(inputs)], attrs)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Splits strings into their bytes; see `split` for the shape of the result."""
    input = _text(input)
    scalar = input.shape.rank == 0
    if scalar:
        input = _trace.call("expand_dims", [input], axis=0)
    parts = _trace.call("strings.bytes_split", [input])
    return parts.values if scalar else parts


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Returns a hash of each string below ``num_buckets``, int64: TensorFlow's (FarmHash)."""
    attrs = {"num_buckets": int(num_buckets)}
    return _trace.tensor("strings.to_hash_bucket_fast", [_text(input)], attrs)


if not TYPE_CHECKING:
    __getattr__ = _lookup("strings", __name__)
