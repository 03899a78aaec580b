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

        @property
        def of_a_later_version(self):
            return self.num_batches

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
    assert ds.of_a_later_version == 3
    with pytest.raises(AttributeError, match="'Dataset' object has no attribute 'padded'"):
        _ = ds.padded
    assert ds.num_batches == 3
    assert ds.repeat().num_batches is None
    batches = list(ds.get_numpy_iterator())
    assert [x.tolist() for x, _ in batches] == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert all(isinstance(x, np.ndarray) for x, _ in batches)
    assert len(list(ds.get_jax_iterator())) == 3


def batches():
    return Dataset.range(5).map(lambda x: (gm.cast(x, gm.float32), x)).batch(2)


def get_data_adapter(x, **given):
    """Asks as Keras's function of that name does."""
    y, sample_weight = given.get("y"), given.get("sample_weight")
    batch_size, class_weight = given.get("batch_size"), given.get("class_weight")
    found = isinstance(x, sys.modules[NAME].DataAdapter)
    return found, y, sample_weight, batch_size, class_weight


@pytest.mark.parametrize("name", ["y", "sample_weight", "class_weight"])
def test_what_a_dataset_cannot_take_is_refused_at_once(data_adapter, name):
    assert get_data_adapter(batches())[0]
    with pytest.raises(gm.errors.InvalidArgumentError, match=f"`{name}`") as error:
        get_data_adapter(batches(), **{name: [1]})
    assert isinstance(error.value, ValueError) and "hint: " in str(error.value)
    # Somebody else's question is none of the dataset's business.
    assert get_data_adapter(4, **{name: [1]})[0] is False


def test_a_look_at_the_first_batch_is_gone_on_with(data_adapter):
    ds = Dataset.range(6).shuffle(6, seed=1).batch(2)
    plain = Dataset.range(6).shuffle(6, seed=1).batch(2)
    want = [[b.tolist() for b in plain.as_numpy_iterator()] for _ in range(2)]
    ds.on_epoch_begin()
    look = ds.get_jax_iterator()
    assert next(look).tolist() == want[0][0]
    del look
    ds.on_epoch_end()
    for epoch in want:
        ds.on_epoch_begin()
        assert [b.tolist() for b in ds.get_jax_iterator()] == epoch
        ds.on_epoch_end()


def test_a_pass_is_only_gone_on_with_after_a_look(data_adapter):
    ds = Dataset.range(6).batch(2)
    ds.on_epoch_begin()
    it = ds.get_numpy_iterator()
    next(it)
    ds.on_epoch_end()  # the epoch ends while the pass is held: it was no look
    del it
    assert [b.tolist() for b in ds.get_numpy_iterator()] == [[0, 1], [2, 3], [4, 5]]


def test_nothing_runs_before_the_first_batch_is_asked_for(data_adapter):
    ds = Dataset.from_tensors(1).map(lambda x: 1 // (x - 1)).batch(1)
    it = ds.get_jax_iterator()
    del it
    with pytest.raises(gm.errors.InvalidArgumentError, match="zero"):
        next(ds.get_jax_iterator())


def test_pytorch_gets_a_loader_of_tensors_by_dlpack(data_adapter, monkeypatch):
    class IterableDataset:
        pass

    class DataLoader:
        def __init__(self, dataset, batch_size):
            assert batch_size is None
            self.dataset = dataset

        def __iter__(self):
            return iter(self.dataset)

    torch, utils = types.ModuleType("torch"), types.ModuleType("torch.utils")
    data = types.ModuleType("torch.utils.data")
    data.IterableDataset, data.DataLoader = IterableDataset, DataLoader
    torch.utils, utils.data, torch.from_dlpack = utils, data, np.from_dlpack
    for module in (torch, utils, data):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    loader = batches().get_torch_dataloader()
    assert [[x.tolist(), y.tolist()] for x, y in loader] == [
        [[0.0, 1.0], [0, 1]],
        [[2.0, 3.0], [2, 3]],
        [[4.0], [4]],
    ]
    assert len(list(loader)) == 3


def test_tensorflow_gets_specs_and_the_exact_length(data_adapter, monkeypatch):
    class Made:
        def __init__(self, start, output_signature):
            self.start, self.signature = start, output_signature

        def apply(self, transformation):
            return transformation(self)

        def prefetch(self, count):
            assert count == 2
            return self

    def assert_cardinality(count):
        def put(made):
            made.count = count
            return made

        return put

    tf, tf_data = types.ModuleType("tensorflow"), types.ModuleType("tensorflow.data")
    tf.TensorSpec = lambda shape, dtype: (shape, dtype)
    tf.data = tf_data
    tf_data.Dataset = types.SimpleNamespace(from_generator=Made)
    tf_data.experimental = types.SimpleNamespace(assert_cardinality=assert_cardinality)
    monkeypatch.setitem(sys.modules, "tensorflow", tf)
    made = batches().get_tf_dataset()
    assert made.signature == (([None], "float32"), ([None], "int64"))
    assert made.count == 3
    assert [x.tolist() for x, _ in made.start()] == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert batches().repeat().get_tf_dataset().count == -1
