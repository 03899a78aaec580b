"""Warnings that are logged."""

from __future__ import annotations

import sys


def warn(text: str) -> None:
    """Logs a warning to the logger ``gristmill``.

    A program that has not loaded `logging` has not set it up either: then the text is written
    where `logging` would write it, to standard error, and the milliseconds of loading are saved.
    """
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("gristmill").warning(text)
    elif sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)
