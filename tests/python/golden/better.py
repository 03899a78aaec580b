"""Cases in which this package deliberately does better than TensorFlow, each with its reason.

Everything else has to be as recorded. When the cases run against TensorFlow itself (``make
parity``) this list is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Better:
    """What this package gives instead.

    ``value`` is written as a case records values, ``like`` names a case whose value it is, and
    ``warns`` is a word that a warning has to mention (the value is as recorded, then).
    """

    reason: str
    value: Any = None
    like: str = ""
    warns: str = ""
    #: The recorded error still comes, after ``value``.
    then_error: bool = False


_FOUR = {"dict": {"a": {"dtype": "int64", "shape": [], "data": [4]}}}
_UNKNOWN_FIELD = (
    "protobuf skips unknown fields, so that old readers read files of new writers; "
    "TensorFlow's fast parser refuses them in these two places only"
)
_SHORT_TAIL = "under 12 bytes at the end are lost data: TensorFlow ends the file without a word"

BETTER: dict[str, Better] = {
    "framing.read.gzip_three_members_empty_mid": Better(
        "an empty gzip member is no end of file: the records after it are read, not dropped",
        like="framing.read.gzip",
    ),
    "framing.read.gzip_read_as_plain": Better(
        "a compressed file read without a compression type is recognised by its head",
        like="framing.read.garbage_tail_short",
    ),
    "framing.read.zlib_trailer_bad": Better(
        "records whose own checksums hold are given before the stream's checksum fails",
        {
            "dtype": "string",
            "shape": [3],
            "b64": [
                "COwEeelbs0/2CA==",
                "BZmiE3sRu09RIv8SE3OLXrwL5u8=",
                "vLy0Icv26ldaFa955hPf22rxygfdf5IDn6lhYZUD",
            ],
        },
        then_error=True,
    ),
    "dataset.cache.memory_partial": Better(
        "a cache that was read in part is read on: its input is computed once per element",
        {
            "dict": {
                "a": {"list": [{"py": 0}, {"py": 1}]},
                "b": {"list": [{"py": 0}, {"py": 1}, {"py": 2}, {"py": 3}]},
                "c": {"list": [{"py": 0}, {"py": 1}, {"py": 2}, {"py": 3}]},
                "calls": {"py": 4},
            }
        },
    ),
    "parse.single.unknown_field_features": Better(_UNKNOWN_FIELD, _FOUR),
    "parse.single.unknown_field_entry": Better(_UNKNOWN_FIELD, _FOUR),
    **{
        f"framing.read.{name}": Better(_SHORT_TAIL, warns=".tfrecord")
        for name in (
            "truncated_header_1",
            "truncated_header_7",
            "truncated_header_8",
            "truncated_header_11",
            "garbage_tail_short",
            "garbage_only_short",
        )
    },
}
