"""Examples between the recorded form and the message classes of the module under test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_LISTS = {
    "bytes_list": ("BytesList", object),
    "float_list": ("FloatList", np.float32),
    "int64_list": ("Int64List", np.int64),
}


def serialize(message: Any) -> bytes:
    """The wire bytes with map keys in ascending byte order."""
    data = message.SerializeToString(deterministic=True)
    assert isinstance(data, bytes)
    return data


def _feature(tf: Any, value: Mapping[str, Any] | None) -> Any:
    if value is None:
        return tf.train.Feature()
    ((kind, items),) = value.items()
    name, _ = _LISTS[kind]
    return tf.train.Feature(**{kind: getattr(tf.train, name)(value=items.tolist())})


def features(tf: Any, value: Mapping[str, Any]) -> Any:
    """``tf.train.Features`` from ``{name: {int64_list: array} | None}``."""
    return tf.train.Features(feature={name: _feature(tf, part) for name, part in value.items()})


def feature_lists(tf: Any, value: Mapping[str, Any]) -> Any:
    """``tf.train.FeatureLists`` from ``{name: [feature, ...]}``."""
    lists = {
        name: tf.train.FeatureList(feature=[_feature(tf, part) for part in parts])
        for name, parts in value.items()
    }
    return tf.train.FeatureLists(feature_list=lists)


def _plain_feature(feature: Any) -> Any:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    items = list(getattr(feature, kind).value)
    array = np.empty(len(items), dtype=_LISTS[kind][1])
    array[:] = items
    return {kind: array}


def plain_features(message: Any) -> dict[str, Any]:
    """The recorded form of a ``Features`` message."""
    return {name: _plain_feature(message.feature[name]) for name in message.feature}


def plain_feature_lists(message: Any) -> dict[str, Any]:
    """The recorded form of a ``FeatureLists`` message."""
    lists = message.feature_list
    return {name: [_plain_feature(part) for part in lists[name].feature] for name in lists}
