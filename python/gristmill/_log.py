"""Warnings that are logged."""

from __future__ import annotations

import sys
from contextlib import suppress


def warn(text: str, **extra: str) -> None:
    """Logs a warning to the logger ``gristmill``.

    A program that has not loaded `logging` has not set it up either: then the text is written
    where `logging` would write it, to standard error, and the milliseconds of loading are saved.
    Like there, a text that cannot be written is no error.

    Args:
        text: What is said.
        **extra: Attributes of the log record.
    """
    logger = getattr(sys.modules.get("logging"), "getLogger", None)
    if logger is not None:
        logger("gristmill").warning(text, extra=extra)
    elif sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)
