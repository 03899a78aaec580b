"""Datasets of the records of files."""

from __future__ import annotations

import os
from typing import Any

from gristmill import _native, _trace, dtypes
from gristmill.convert import convert_to_tensor
from gristmill.data import _lints
from gristmill.data._dataset import Dataset
from gristmill.data._facts import Facts, some_paths
from gristmill.data._functions import integer, operand
from gristmill.errors import InvalidArgumentError
from gristmill.tensor import Tensor


class TFRecordDataset(Dataset):
    """The records of record files, each a string scalar.

    Args:
        filenames: A path, a list of paths, a string tensor, or a dataset of them.
        compression_type: ``"GZIP"`` or ``"ZLIB"``; seen from each file if empty or not given.
        buffer_size: Accepted; the engine decides.
        num_parallel_reads: Files read in turn. With `AUTOTUNE` they are read ahead in parallel and
            given file after file.
        name: Accepted for TensorFlow's sake.
        verify: Whether checksums are checked.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
        *,
        verify: bool = True,
    ) -> None:
        turns = (
            1 if num_parallel_reads is None else integer(num_parallel_reads, "num_parallel_reads")
        )
        kind = (
            compression_type.numpy() if isinstance(compression_type, Tensor) else compression_type
        )
        if isinstance(kind, bytes):
            kind = kind.decode()
        kind = kind or None
        if kind not in (None, "GZIP", "ZLIB"):
            raise InvalidArgumentError(
                f"Unsupported compression_type: expected '', 'GZIP' or 'ZLIB', found {kind!r}"
            )

        def read(paths: Any) -> Dataset:
            plan = _native.Plan.tf_record(operand(paths), kind, verify)
            made = Dataset._make(plan, 0)
            made._facts = Facts(records=some_paths(paths))
            return made

        made: Dataset
        if isinstance(filenames, Dataset):
            one_by_one = filenames.flat_map
            made = filenames.interleave(read, turns, 1, turns) if turns > 1 else one_by_one(read)
        else:
            paths = _paths(filenames)
            if turns > 1:
                flat = (
                    paths
                    if paths.shape.rank == 1
                    else _trace.call("reshape", [paths, convert_to_tensor([-1])])
                )
                made = Dataset.from_tensor_slices(flat).interleave(read, turns, 1, turns)
            else:
                made = read(paths)
        self._plan = made._plan
        self._structure = 0
        self._facts = made._facts


def _paths(filenames: Any) -> Tensor:
    if isinstance(filenames, (list, tuple)):
        if not filenames:
            _lints.no_files()
        filenames = [os.fspath(f) if hasattr(f, "__fspath__") else f for f in filenames]
    try:
        return convert_to_tensor(filenames, dtypes.string)
    except (TypeError, ValueError):
        raise TypeError(
            "The `filenames` argument must contain `tf.string` elements. Got "
            f"{filenames!r:.100} elements."
        ) from None
