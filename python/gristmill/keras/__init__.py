"""What there is of Keras here; everything else is looked up in Keras 3, if that is installed."""

from __future__ import annotations

from typing import Any

from gristmill.keras import preprocessing, utils

__all__ = ["preprocessing", "utils"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        import keras
    except ImportError:
        raise AttributeError(
            f"gristmill.keras has no {name!r}\n  hint: pip install keras gives the rest of Keras"
        ) from None
    return getattr(keras, name)
