"""``tf.keras.preprocessing``."""

from gristmill.keras._directory import image_dataset_from_directory
from gristmill.keras._text import text_dataset_from_directory

__all__ = ["image_dataset_from_directory", "text_dataset_from_directory"]
