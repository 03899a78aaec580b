"""Older names of transformations: ``tf.data.experimental``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gristmill._absent import lookup as _lookup
from gristmill.data._dataset import Dataset
from gristmill.data._options import AutotuneOptions, DistributeOptions, OptimizationOptions
from gristmill.data._sources import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from gristmill.dtypes import DTypeLike, int64
from gristmill.tensor import Tensor

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutotuneOptions",
    "Counter",
    "DistributeOptions",
    "OptimizationOptions",
    "cardinality",
    "enumerate_dataset",
    "get_single_element",
    "ignore_errors",
    "unbatch",
]


def cardinality(dataset: Dataset) -> Tensor:
    """Returns ``dataset.cardinality()``."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """Returns ``dataset.get_single_element()``."""
    return dataset.get_single_element()


def ignore_errors(log_warning: bool = False) -> Callable[[Dataset], Dataset]:
    """Returns `Dataset.ignore_errors` for `Dataset.apply`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Callable[[Dataset], Dataset]:
    """Returns `Dataset.unbatch` for `Dataset.apply`."""
    return lambda dataset: dataset.unbatch()


def Counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = int64) -> Dataset:
    """Returns `Dataset.counter`."""
    return Dataset.counter(start, step, dtype)


def enumerate_dataset(start: int = 0) -> Callable[[Dataset], Dataset]:
    """Returns `Dataset.enumerate` for `Dataset.apply`."""
    return lambda dataset: dataset.enumerate(start)


if not TYPE_CHECKING:
    __getattr__ = _lookup("data.experimental", __name__)
