"""The hook by which Keras takes a dataset as it is, against a stand-in for Keras's module."""

import abc
import sys
import types

import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset

NAME = "keras.src.trainers.data_adapters.data_adapter"


@pytest.fixture
def data_adapter(monkeypatch):
    class DataAdapter(abc.ABC):
        @abc.abstractmethod
        def get_numpy_iterator(self): ...

    module = types.ModuleType(NAME)
    module.DataAdapter = DataAdapter
    monkeypatch.setitem(sys.modules, NAME, module)
    return DataAdapter


def test_without_keras_a_dataset_is_a_dataset():
    ds = Dataset.range(3)
    assert ds.__class__ is Dataset
    assert isinstance(ds, Dataset)


def test_with_keras_it_is_an_adapter_too(data_adapter):
    ds = Dataset.range(5).map(lambda x: (gm.cast(x, gm.float32), x)).batch(2)
    assert isinstance(ds, data_adapter)
    assert isinstance(ds, Dataset)
    assert type(ds) is Dataset
    assert ds.num_batches == 3
    assert ds.repeat().num_batches is None
    batches = list(ds.get_numpy_iterator())
    assert [x.tolist() for x, _ in batches] == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert all(isinstance(x, np.ndarray) for x, _ in batches)
    assert len(list(ds.get_jax_iterator())) == 3
