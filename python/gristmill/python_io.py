"""TensorFlow 1's names for writing and reading record files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gristmill.io._record import TFRecordCompressionType, TFRecordOptions, TFRecordWriter

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yields the records of a file.

    Args:
        path: Path or URL.
        options: A compression type or `TFRecordOptions`; seen from the file if not given.
    """
    from gristmill.data import TFRecordDataset

    kind = None if options is None else TFRecordOptions.get_compression_type_string(options)
    yield from TFRecordDataset(path, kind).as_numpy_iterator()
