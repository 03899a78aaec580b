"""``tf.compat``: ``v1`` and ``v2`` are the package itself."""

from __future__ import annotations

from typing import Any

import gristmill as v1
import gristmill as v2

__all__ = ["as_bytes", "as_str", "as_text", "v1", "v2"]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Returns text as bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    return bytes(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns bytes as text."""
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    return str(bytes_or_text)


as_str = as_text
