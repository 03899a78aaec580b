"""``tf.keras.utils``."""

from __future__ import annotations

from typing import Any

from gristmill.keras._directory import image_dataset_from_directory
from gristmill.keras._text import split_dataset, text_dataset_from_directory

__all__ = ["image_dataset_from_directory", "split_dataset", "text_dataset_from_directory"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        import keras.utils
    except ImportError:
        raise AttributeError(
            f"gristmill.keras.utils has no {name!r}\n"
            "  hint: pip install keras gives the rest of Keras"
        ) from None
    return getattr(keras.utils, name)
