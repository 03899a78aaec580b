"""Jobs on record files: packing, looking into them, checking, salvaging, indexing.

The command ``gristmill`` does the same from the shell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gristmill import _native
from gristmill._log import warn
from gristmill._start import quick_end
from gristmill.dtypes import float32, int64, string
from gristmill.io import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature

__all__ = ["index", "infer_spec", "main", "pack", "salvage", "verify"]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Files = Path | Sequence[Path]
Feature = FixedLenFeature | VarLenFeature | FixedLenSequenceFeature

_DTYPES = {"bytes": string, "float": float32, "int64": int64}


def pack(
    source: Path,
    out: Path,
    *,
    shards: int | None = None,
    shard_size_mb: int = 150,
    resize: tuple[int, int] | None = None,
    fit: str = "stretch",
    quality: int = 95,
    split: Mapping[str, float] | None = None,
    seed: int = 0,
    shuffle: bool = True,
    compression_type: str = "",
    on_error: str = "fail",
    exif: str = "ignore",
    restart_index: bool = False,
    check: bool = False,
    threads: int | None = None,
    overwrite: bool = False,
    durable: bool = False,
    name: str | None = None,
) -> dict[str, Any]:
    """Packs photos into record files.

    Every record is an Example with the features ``image``, ``label``, ``label_name``, ``height``,
    ``width`` and ``filename``, and those of a manifest's further columns. A run that was
    interrupted goes on where it stopped; equal sources, options and seeds give equal bytes.

    Args:
        source: A folder whose folders are the classes, or a CSV, TSV or JSONL manifest with the
            columns ``path`` and ``label``.
        out: The folder that gets the shards and ``dataset.json``.
        shards: Number of shards in all.
        shard_size_mb: Megabytes that a shard should have where ``shards`` is not given.
        resize: Width and height that every image gets; without it the files' bytes are kept.
        fit: ``'stretch'`` scales both sides on their own, ``'crop'`` covers the size and cuts out
            the centre.
        quality: JPEG quality of what is encoded, 0 to 100.
        split: Shares of splits, such as ``{'train': 0.8, 'validation': 0.2}``. Each class is
            split by paths and seed alone, so that no file changes sides.
        seed: Decides order and splits.
        shuffle: Whether the order is mixed instead of class after class.
        compression_type: ``''``, ``'GZIP'`` or ``'ZLIB'``.
        on_error: ``'fail'`` names every bad image and writes nothing, ``'skip'`` leaves them out.
        exif: ``'apply'`` turns images upright that lie on their side, ``'ignore'`` counts them.
        restart_index: Whether records get the feature ``restart_index``: what
            `gm.io.jpeg_restart_index` gives for JPEG images, empty for others.
        check: Whether every image is decoded in full, to find those damaged inside.
        threads: Number of threads; one per core if not given.
        overwrite: Whether another data set in ``out`` is replaced.
        durable: Whether every shard is forced to the disk before it gets its name.
        name: What file names begin with; the source's name if not given.

    Returns:
        What ``dataset.json`` says (``records``, ``class_names``, ``features``, ``splits``, ...),
        ``out``, ``resumed_shards``, ``complete_before`` and ``seconds``.

    Raises:
        DataLossError: Images cannot be read, and ``on_error`` is ``'fail'``.
        AlreadyExistsError: ``out`` holds another data set.
        NotFoundError: There is no such source.
        InvalidArgumentError: An option or the manifest makes no sense.
    """
    return _report(
        _native.tools_pack(
            _path(source),
            _path(out),
            shards,
            shard_size_mb,
            resize,
            fit,
            quality,
            list((split or {}).items()),
            seed,
            shuffle,
            compression_type,
            on_error,
            exif,
            restart_index,
            check,
            threads,
            overwrite,
            durable,
            name,
        )
    )


def infer_spec(
    files: Files, *, limit: int | None = None
) -> dict[str, Feature] | tuple[dict[str, Feature], dict[str, Feature]]:
    """Finds out how the records of files are to be parsed.

    Args:
        files: Paths, patterns or directories.
        limit: Looks at the first so many records of each file only.

    Returns:
        For Examples the features for `gm.io.parse_single_example`: `FixedLenFeature` where every
        record has one list of one length, otherwise `VarLenFeature`. For SequenceExamples the
        features of the context and those of the sequence. Features without a value in any record
        are left out.

    Raises:
        InvalidArgumentError: The records are no Examples.
        DataLossError: A file is damaged.
        NotFoundError: There is no such file.
    """
    report = _report(_native.tools_infer_spec(_paths(files), limit))
    features = {f["name"]: _feature(f) for f in report["features"] if f["kind"] in _DTYPES}
    if report["kind"] != "sequence_example":
        return features
    lists = (f for f in report["feature_lists"] if f["kind"] in _DTYPES)
    return features, {f["name"]: _sequence_feature(f) for f in lists}


def verify(files: Files, *, decode: bool = False) -> dict[str, Any]:
    """Checks every frame and checksum of record files.

    Where a ``dataset.json`` lies beside the files, their completeness is checked too.

    Args:
        files: Paths, patterns or directories.
        decode: Whether every image is decoded.

    Returns:
        ``ok``, ``records`` (the intact ones), ``images``, ``problem_count``; ``files``, each with
        its ``problems`` (``kind``, ``record``, ``offset``, ``stored``, ``computed``, ``message``);
        and ``datasets``.

    Raises:
        NotFoundError: There is no such file. What is wrong with the data stands in the report.
    """
    return _report(_native.tools_verify(_paths(files), decode))


def salvage(
    input: Path,
    output: Path,
    *,
    compression_type: str | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Writes the intact records of a damaged file to a new one.

    Args:
        input: The damaged file.
        output: The file to write.
        compression_type: ``''``, ``'GZIP'`` or ``'ZLIB'``; as the input if not given.
        overwrite: Whether a file that is there is replaced.

    Returns:
        ``output`` (``path``, ``records``, ``bytes``), ``lost`` (byte ranges ``start``, ``end``),
        ``lost_bytes``, ``lost_stretches``.

    Raises:
        DataLossError: There is no intact record.
        AlreadyExistsError: The output exists.
        InvalidArgumentError: Output and input are one file.
    """
    return _report(_native.tools_salvage(_path(input), _path(output), compression_type, overwrite))


def index(files: Files, *, into: Path | None = None) -> dict[str, Any]:
    """Writes ``FILE.idx`` beside each file, in the format of the ``tfrecord2idx`` tools.

    Args:
        files: Paths, patterns or directories.
        into: A directory for the indexes.

    Returns:
        ``records`` and ``files``, each with ``path``, ``index``, ``records`` and ``bytes``.

    Raises:
        InvalidArgumentError: A file is compressed.
        DataLossError: A file is damaged.
    """
    return _report(_native.tools_index(_paths(files), None if into is None else _path(into)))


def main(argv: Sequence[str] | None = None) -> int:
    """The console command ``gristmill``; gives the exit code."""
    import signal

    # The command answers Ctrl-C itself, and removes its temporary files first.
    previous = signal.getsignal(signal.SIGINT)
    quick_end()
    try:
        arguments = sys.argv[1:] if argv is None else list(argv)
        return _native.cli_main(["gristmill", *arguments])
    finally:
        # None: a handler that is not Python's, which was left alone.
        if previous is not None:
            signal.signal(signal.SIGINT, previous)


def _path(path: Path) -> str:
    return os.fsdecode(path)


def _paths(files: Files) -> list[str]:
    if isinstance(files, (str, bytes, os.PathLike)):
        return [os.fsdecode(files)]
    return [os.fsdecode(file) for file in files]


def _report(answer: tuple[str, list[str]]) -> dict[str, Any]:
    # Not needed before the first job: importing gristmill stays quick.
    import json

    text, notes = answer
    for note in notes:
        warn(note)
    report: dict[str, Any] = json.loads(text)
    return report


def _is_fixed(feature: dict[str, Any]) -> bool:
    absent: int = feature["missing"] + feature["unset"]
    shortest, longest = feature["min_len"], feature["max_len"]
    return absent == 0 and bool(shortest == longest)


def _shape(feature: dict[str, Any]) -> list[int]:
    return [] if feature["max_len"] == 1 else [feature["max_len"]]


def _feature(feature: dict[str, Any]) -> Feature:
    dtype = _DTYPES[feature["kind"]]
    if _is_fixed(feature):
        return FixedLenFeature(_shape(feature), dtype)
    return VarLenFeature(dtype)


def _sequence_feature(feature: dict[str, Any]) -> Feature:
    dtype = _DTYPES[feature["kind"]]
    if _is_fixed(feature):
        return FixedLenSequenceFeature(_shape(feature), dtype)
    return VarLenFeature(dtype)


if __name__ == "__main__":
    sys.exit(main())
