"""Messages of record files: ``tf.train.Example`` and its parts.

Bytes are those of protobuf's deterministic form: keys in ascending order, lists packed.
"""

from typing import TYPE_CHECKING

from gristmill._absent import lookup as _lookup
from gristmill.train._lists import BytesList, FloatList, Int64List
from gristmill.train._messages import Feature, Features
from gristmill.train._records import Example, SequenceExample
from gristmill.train._sequences import FeatureList, FeatureLists

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]


if not TYPE_CHECKING:
    __getattr__ = _lookup("train", __name__)
