"""Parameters of the recorded cases: ``$dtype``, ``$v``, ``$tuple``, ``$fn``, ``$ds``, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from golden.core import Decoder

#: Stands in the cases for the folder into which their files are written.
ROOT = "{ROOT}"


class Params:
    """Builds the arguments of one case for the module ``tf``."""

    def __init__(self, tf: Any, decoder: Decoder, root: str) -> None:
        self._tf = tf
        self._decoder = decoder
        self._root = root

    def build(self, value: Any) -> Any:
        """The argument behind a JSON value."""
        if isinstance(value, str):
            return value.replace(ROOT, self._root)
        if isinstance(value, list):
            return [self.build(part) for part in value]
        if not isinstance(value, dict):
            return value
        markers = [name for name in value if name.startswith("$")]
        if not markers:
            return {name: self.build(part) for name, part in value.items()}
        if len(value) != 1:
            raise ValueError(f"a marked parameter has one key, found {sorted(value)}")
        marker = markers[0]
        builders: dict[str, Callable[[Any], Any]] = {
            "$dtype": lambda x: getattr(self._tf, x),
            "$v": lambda x: _numpy(self._decoder.decode(x)),
            "$tuple": lambda x: tuple(self.build(part) for part in x),
            "$fn": self.function,
            "$ds": self.dataset,
            "$feature": self._feature,
        }
        if marker not in builders:
            raise ValueError(f"unknown parameter marker {marker}, expected {sorted(builders)}")
        return builders[marker](value[marker])

    def function(self, source: str) -> Any:
        """The value of Python source over ``tf`` and ``np``."""
        return eval(source, {"tf": self._tf, "np": np})

    def dataset(self, steps: Sequence[Sequence[Any]]) -> Any:
        """The dataset made by ``steps``: a source and the methods called on it in turn."""
        dataset = None
        for i, (name, arguments) in enumerate(steps):
            call = getattr(dataset, name) if i else self._source(name)
            positional = [self.build(part) for part in arguments.get("$args", [])]
            named = {k: self.build(v) for k, v in arguments.items() if k != "$args"}
            dataset = call(*positional, **named)
        return dataset

    def _source(self, name: str) -> Any:
        tf = self._tf
        for home in (tf.data.Dataset, tf.data):
            if hasattr(home, name):
                return getattr(home, name)
        return getattr(tf.keras.utils, name)

    def _feature(self, value: Mapping[str, Any]) -> Any:
        named = dict(value)
        kind = getattr(self._tf.io, named.pop("kind"))
        if "dtype" in named:
            named["dtype"] = getattr(self._tf, named["dtype"])
        if "row_splits_dtype" in named:
            named["row_splits_dtype"] = getattr(self._tf, named["row_splits_dtype"])
        if "default" in named:
            named["default_value"] = named.pop("default")
        if "partitions" in named:
            named["partitions"] = [
                getattr(kind, part["kind"])(*part["args"]) for part in named["partitions"]
            ]
        return kind(**named)


def _numpy(value: Any) -> Any:
    """Structures of arrays stay; a scalar string becomes the bytes themselves."""
    if isinstance(value, dict):
        return {name: _numpy(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_numpy(part) for part in value)
    if isinstance(value, np.ndarray) and value.dtype == object and value.shape == ():
        return value[()]
    return value
