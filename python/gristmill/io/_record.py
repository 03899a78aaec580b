"""Writing of record files."""

from __future__ import annotations

from typing import Any

from gristmill import _native


class TFRecordCompressionType:
    """TensorFlow 1's names of compressions."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """How record files are written.

    Args:
        compression_type: ``""``, ``"GZIP"``, ``"ZLIB"``, or a `TFRecordCompressionType`.
        flush_mode: Accepted for TensorFlow's sake, like the sizes and strategies that follow.
        input_buffer_size: Accepted.
        output_buffer_size: Accepted.
        window_bits: Accepted.
        compression_level: zlib's, 0 to 9.
        compression_method: Accepted.
        mem_level: Accepted.
        compression_strategy: Accepted.
    """

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: Any = None,
        input_buffer_size: Any = None,
        output_buffer_size: Any = None,
        window_bits: Any = None,
        compression_level: int | None = None,
        compression_method: Any = None,
        mem_level: Any = None,
        compression_strategy: Any = None,
    ) -> None:
        self.compression_type = self.get_compression_type_string(compression_type)
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Returns ``""``, ``"GZIP"`` or ``"ZLIB"``.

        Raises:
            ValueError: For anything else.
        """
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        names = {None: "", "": "", 0: "", 1: "ZLIB", 2: "GZIP", "GZIP": "GZIP", "ZLIB": "ZLIB"}
        if options not in names:
            raise ValueError(f'Not a valid compression_type: "{options}"')
        return names[options]


class TFRecordWriter:
    """Writes records to a file, byte for byte as TensorFlow does.

    The file appears under its name when the writer is closed or flushed; an exception inside
    ``with`` leaves no file.

    Args:
        path: Path or URL.
        options: A compression type or `TFRecordOptions`.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        from gristmill.io.gfile import _path

        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        level = options.compression_level
        self._writer = _native.RecordWriter(_path(path), options.compression_type, level)

    def write(self, record: Any) -> None:
        """Writes one record.

        Args:
            record: ``bytes``, ``bytearray``, ``memoryview``, ``str``, or a string scalar.

        Raises:
            TypeError: For anything else.
        """
        if not isinstance(record, bytes):
            if hasattr(record, "numpy"):
                record = record.numpy()
            if isinstance(record, str):
                record = record.encode("utf-8")
            if not isinstance(record, (bytes, bytearray, memoryview)):
                raise TypeError(f"a record is bytes, found {type(record).__name__}")
            record = bytes(record)
        self._writer.write(record)

    def flush(self) -> None:
        """Makes the records written so far readable under the file's name."""
        self._writer.flush()

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: Any, *exc: object) -> None:
        if kind is None:
            self._writer.close()
        else:
            self._writer.discard()
