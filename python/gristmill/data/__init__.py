"""Datasets: ``tf.data``."""

from typing import TYPE_CHECKING

from gristmill._absent import lookup as _lookup
from gristmill.data import experimental
from gristmill.data._dataset import Dataset
from gristmill.data._iterator import Iterator
from gristmill.data._options import Options, ThreadingOptions
from gristmill.data._records import TFRecordDataset
from gristmill.data._sources import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from gristmill.specs import DatasetSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "ThreadingOptions",
    "experimental",
]


if not TYPE_CHECKING:
    __getattr__ = _lookup("data", __name__)
