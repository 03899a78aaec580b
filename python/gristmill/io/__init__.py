"""Files, record files, Examples and images: ``tf.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace, dtypes
from gristmill._absent import lookup as _lookup
from gristmill.convert import convert_to_tensor
from gristmill.dtypes import DTypeLike
from gristmill.io import gfile
from gristmill.io._images import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
    jpeg_restart_index,
)
from gristmill.io._parse import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from gristmill.io._record import TFRecordOptions, TFRecordWriter
from gristmill.tensor import Tensor

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "jpeg_restart_index",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Returns the contents of a file, a string scalar.

    Args:
        filename: Path or URL, a string scalar.
        name: Accepted for TensorFlow's sake.

    Raises:
        NotFoundError: If there is no such file.
    """
    return _trace.tensor("io.read_file", [convert_to_tensor(filename, dtypes.string)])


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Writes a file as a whole, making the directories above it.

    Raises:
        TypeError: Inside a traced function.
    """
    from gristmill import _native

    if _trace.current() is not None:
        raise TypeError(f"write_file cannot be used inside a traced function, at {_trace.site()}")
    path = gfile._path(filename)
    folder = path.rpartition("/")[0]
    if folder:
        _native.makedirs(folder)
    data = contents.numpy() if isinstance(contents, Tensor) else contents
    _native.write_file(path, data.encode("utf-8") if isinstance(data, str) else data)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Returns the paths that match patterns, sorted."""
    patterns = convert_to_tensor(pattern, dtypes.string).numpy()
    names = [patterns] if isinstance(patterns, bytes) else list(patterns.reshape(-1))
    found = sorted({p for one in names for p in gfile.glob(one)})
    return convert_to_tensor(found, dtypes.string)


def decode_raw(
    input_bytes: Any,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Tensor:
    """Sees the bytes of strings as numbers.

    Args:
        input_bytes: A string tensor; all strings must be equally long.
        out_type: The type of the numbers.
        little_endian: Byte order of the numbers in the strings.
        fixed_length: Cut or pad every string to that many bytes first.
        name: Accepted for TensorFlow's sake.

    Returns:
        The shape of ``input_bytes`` and one more dimension.
    """
    attrs = {
        "out_type": dtypes.as_dtype(out_type),
        "little_endian": bool(little_endian),
        "fixed_length": None if fixed_length is None else int(fixed_length),
    }
    return _trace.tensor("io.decode_raw", [convert_to_tensor(input_bytes, dtypes.string)], attrs)


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[Tensor]:
    """Splits lines of CSV into columns.

    Args:
        records: A string tensor of lines.
        record_defaults: Per column a dtype (the column is required), or a value to take where the
            field is empty.
        field_delim: What stands between fields.
        use_quote_delim: Whether ``"`` quotes fields.
        na_value: Another text for an empty field.
        select_cols: Which columns to read; all if not given.
        name: Accepted for TensorFlow's sake.

    Returns:
        A tensor per column, of the shape of ``records``.
    """
    defaults = []
    for d in record_defaults:
        if isinstance(d, (dtypes.DType, type)):
            defaults.append(convert_to_tensor([], d))
        else:
            made = convert_to_tensor(d)
            defaults.append(
                _trace.call("expand_dims", [made], axis=0) if made.shape.rank == 0 else made
            )
    attrs = {
        "field_delim": field_delim,
        "use_quote_delim": bool(use_quote_delim),
        "na_value": na_value,
        "select_cols": None if select_cols is None else [int(c) for c in select_cols],
    }
    records = convert_to_tensor(records, dtypes.string)
    return _trace.call_n("io.decode_csv", [records, *defaults], attrs)


def parse_tensor(serialized: Any, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Reads a tensor from the bytes of a ``TensorProto``."""
    attrs = {"out_type": dtypes.as_dtype(out_type)}
    return _trace.tensor("io.parse_tensor", [convert_to_tensor(serialized, dtypes.string)], attrs)


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Returns a tensor as the bytes of a ``TensorProto``, a string scalar."""
    return _trace.tensor("io.serialize_tensor", [convert_to_tensor(tensor)])


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Encodes strings in the web-safe base64 alphabet."""
    return _trace.tensor(
        "io.encode_base64", [convert_to_tensor(input, dtypes.string)], pad=bool(pad)
    )


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decodes strings in the web-safe base64 alphabet."""
    return _trace.tensor("io.decode_base64", [convert_to_tensor(input, dtypes.string)])


if not TYPE_CHECKING:
    __getattr__ = _lookup("io", __name__)
