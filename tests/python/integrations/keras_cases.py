"""Keras on JAX takes a `Dataset` as it is; started by test_frameworks.py."""

import copy
import gc
import logging
import threading
import warnings

import jax
import keras
import ml_dtypes
import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset, _keras, _lints
from gristmill.errors import InvalidArgumentError


class Seen(keras.callbacks.Callback):
    """Counts the batches and epochs of training."""

    def on_train_begin(self, logs=None):
        self.batches, self.epochs = 0, []

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(self.batches)


class Stop(Exception):
    """Ends a training where it begins."""


class Stops(keras.callbacks.Callback):
    """Raises `Stop` at the first epoch."""

    def on_train_begin(self, logs=None):
        raise Stop


@pytest.fixture
def starts(monkeypatch):
    """The number of native passes that Keras starts."""
    count = []

    def start(dataset, wrap):
        count.append(dataset)
        return batches(dataset, wrap)

    batches = _keras.Batches
    monkeypatch.setattr(_keras, "Batches", start)
    return count


def model(width=12, classes=3):
    made = keras.Sequential(
        [keras.layers.Input((width,)), keras.layers.Dense(classes, activation="softmax")]
    )
    made.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return made


def singles(n=40, width=12):
    rng = np.random.default_rng(0)
    x = rng.random((n, width), dtype=np.float32)
    return Dataset.from_tensor_slices((x, (np.arange(n) % 3).astype(np.int32)))


def unknown(ds):
    return ds.filter(lambda *_: True)


def fit(ds, **options):
    seen = Seen()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        history = model().fit(ds, verbose=0, callbacks=[seen], **options)
    return seen, history.history, [str(w.message) for w in caught]


def test_known_length(starts):
    seen, history, caught = fit(singles().batch(8), epochs=3)
    assert seen.epochs == [5, 10, 15] and len(history["loss"]) == 3
    assert not any("ran out of data" in w for w in caught)
    # One pass for each epoch: that from which the model was built is gone on with.
    assert len(starts) == 3


def test_unknown_length(starts):
    seen, _, _ = fit(unknown(singles()).batch(8), epochs=3)
    assert seen.epochs == [5, 10, 15]
    assert len(starts) == 3


def test_infinite_length():
    seen, _, caught = fit(singles().repeat().batch(8), epochs=3, steps_per_epoch=4)
    assert seen.epochs == [4, 8, 12]
    assert not any("ran out of data" in w for w in caught)


def test_known_length_in_smaller_epochs():
    seen, _, _ = fit(singles().batch(8), epochs=3, steps_per_epoch=2)
    # The fifth batch is the last: Keras says so and goes on from the start.
    assert seen.epochs == [2, 4, 5]


@pytest.mark.parametrize("change", [lambda ds: ds, unknown], ids=["known", "unknown"])
def test_validation(change):
    data = singles().repeat().batch(8)
    held = change(singles(24)).batch(8)
    _, history, _ = fit(data, epochs=2, steps_per_epoch=4, validation_data=held)
    assert len(history["val_loss"]) == 2
    endless = singles(24).repeat().batch(8)
    _, history, _ = fit(
        data, epochs=2, steps_per_epoch=4, validation_data=endless, validation_steps=2
    )
    assert len(history["val_accuracy"]) == 2


@pytest.mark.parametrize("change", [lambda ds: ds, unknown], ids=["known", "unknown"])
def test_evaluate_and_predict_agree_with_arrays(change):
    net = model()
    ds = change(singles(20)).batch(8)
    x = np.concatenate([a for a, _ in singles(20).batch(8).as_numpy_iterator()])
    y = np.concatenate([b for _, b in singles(20).batch(8).as_numpy_iterator()])
    want = net.evaluate(x, y, batch_size=8, verbose=0)
    assert np.allclose(net.evaluate(ds, verbose=0), want, atol=1e-5)
    predicted = net.predict(ds, verbose=0)
    assert predicted.shape == (20, 3)
    assert np.allclose(predicted, net.predict(x, batch_size=8, verbose=0), atol=1e-6)


def test_an_infinite_dataset_is_evaluated_for_so_many_steps():
    net = model()
    endless = singles(20).repeat().batch(8)
    assert len(net.predict(endless, steps=3, verbose=0)) == 24
    assert len(net.evaluate(endless, steps=3, verbose=0)) == 2


def test_training_sees_the_same_batches_as_a_loop():
    """The look at the first batch takes no epoch of the shuffle away."""
    seen = []

    class Keep(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            jax.debug.callback(lambda v: seen.append(np.asarray(v)[:, 0].tolist()), x)
            return self.dense(x)

    def make():
        return singles(40).shuffle(40, seed=5).batch(8)

    loop = make()
    want = [x[:, 0].tolist() for _ in range(2) for x, _ in loop.as_numpy_iterator()]
    net = Keep()
    net.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    net.fit(make(), epochs=2, verbose=0)
    jax.effects_barrier()
    assert sorted(seen) == sorted(want)


def test_looking_at_a_batch_keeps_no_threads():
    before = set(threading.enumerate())
    ds = singles().repeat().batch(8)
    ds.on_epoch_begin()
    it = ds.get_jax_iterator()
    first = next(it)
    del it
    ds.on_epoch_end()
    again = ds.get_jax_iterator()
    assert (next(again)[0] == first[0]).all()
    third = next(again)[0]
    assert (third == np.asarray(list(singles().batch(8))[1][0])).all()
    other = ds.get_jax_iterator()
    assert (next(other)[0] == first[0]).all()
    gc.collect()
    assert set(threading.enumerate()) <= before


def test_learning_works():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 12)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int32)
    ds = Dataset.from_tensor_slices((x, y)).shuffle(300, seed=1).batch(20)
    net = model(classes=2)
    net.compile(keras.optimizers.SGD(1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(ds, epochs=5, verbose=0)
    assert net.evaluate(ds, verbose=0)[1] > 0.95


def test_dicts_of_features():
    a, b = keras.layers.Input((4,), name="a"), keras.layers.Input((2,), name="b")
    out = keras.layers.Dense(1)(keras.layers.Concatenate()([a, b]))
    net = keras.Model({"a": a, "b": b}, out)
    net.compile("sgd", "mse")
    ds = Dataset.range(24).map(
        lambda i: (
            {"a": gm.fill([4], gm.cast(i, gm.float32) / 24), "b": gm.zeros([2])},
            gm.cast(i, gm.float32)[None] / 24,
        )
    )
    history = net.fit(ds.batch(8), epochs=4, verbose=0).history["loss"]
    assert len(history) == 4 and history[-1] < history[0]


def test_sample_weights_count():
    net = model()
    x, y = next(iter(singles(24).batch(24)))
    half = np.repeat(np.float32([0, 1]), 12)
    weighted = Dataset.from_tensor_slices((x.numpy(), y.numpy(), half)).batch(24)
    second = Dataset.from_tensor_slices((x.numpy()[12:], y.numpy()[12:])).batch(12)
    # Keras divides the weighted sum by the rows in some versions, by the weights in others.
    loss, alone = net.evaluate(weighted, verbose=0)[0], net.evaluate(second, verbose=0)[0]
    assert np.isclose(loss, alone, rtol=1e-4) or np.isclose(2 * loss, alone, rtol=1e-4)
    with pytest.raises(ValueError, match="sample weights are part of its elements"):
        net.fit(singles().batch(8), sample_weight=half, verbose=0)
    with pytest.raises(ValueError, match="the targets are part of its elements"):
        net.fit(singles().batch(8), y=half, verbose=0)


def test_class_weight_is_refused_with_the_way_that_works():
    with pytest.raises(InvalidArgumentError, match="class_weight") as error:
        fit(singles().batch(8), class_weight={0: 1.0, 1: 2.0, 2: 3.0})
    assert "gm.gather(weights, y)" in str(error.value)
    weights = np.float32([1, 2, 3])
    ds = singles().map(lambda x, y: (x, y, gm.gather(weights, y))).batch(8)
    x = np.concatenate([a for a, _ in singles().batch(8).as_numpy_iterator()])
    y = np.concatenate([b for _, b in singles().batch(8).as_numpy_iterator()])
    first, second = model(), model()
    second.set_weights(first.get_weights())
    first.fit(ds, verbose=0)
    second.fit(x, y, batch_size=8, shuffle=False, class_weight={0: 1.0, 1: 2.0, 2: 3.0}, verbose=0)
    for a, b in zip(first.get_weights(), second.get_weights(), strict=True):
        assert np.allclose(a, b, atol=1e-5)


def test_batch_size_is_remarked_on(caplog, monkeypatch):
    monkeypatch.setattr(_lints, "_told", set())
    caplog.set_level(logging.WARNING, "gristmill")
    for _ in range(2):
        seen, _, _ = fit(singles().batch(8), batch_size=4)
    assert seen.batches == 5
    assert [r.lint for r in caplog.records] == ["keras-batch-size"]
    assert "batch_size=4 has no effect" in caplog.text and "keras_cases.py" in caplog.text


def test_a_short_last_batch_is_remarked_on_in_training_only(caplog, monkeypatch):
    monkeypatch.setattr(_lints, "_told", set())
    caplog.set_level(logging.WARNING, "gristmill")
    held = singles(20).batch(8)
    net = model()
    net.fit(singles().batch(8), validation_data=held, verbose=0)
    net.evaluate(held, verbose=0)
    net.predict(held, verbose=0)
    assert caplog.records == []
    net.fit(held, verbose=0)
    if keras.backend.backend() == "torch":
        # Nothing is compiled for the shape of a batch.
        assert caplog.records == []
    else:
        assert [r.lint for r in caplog.records] == ["partial-batch"]
        assert "batch(8, drop_remainder=True)" in caplog.text


def test_a_short_last_batch_is_no_remark_where_nothing_is_compiled(caplog, monkeypatch):
    monkeypatch.setattr(_lints, "_told", set())
    monkeypatch.setattr(keras.config, "backend", lambda: "torch")
    caplog.set_level(logging.WARNING, "gristmill")
    assert not _keras._compiles()
    with pytest.raises(Stop):
        model().fit(singles(20).batch(8), verbose=0, callbacks=[Stops()])
    assert caplog.records == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: singles(), "component 1 is a scalar"),
        (lambda: Dataset.from_tensor_slices((np.zeros((5, 12)), np.zeros((5, 3)))), "12 rows and"),
        (
            lambda: Dataset.range(4).map(lambda i: (gm.strings.as_string(i), i)).batch(2),
            "component 0 is a string",
        ),
    ],
)
def test_what_is_no_batch_of_numbers_is_refused(make, words):
    with pytest.raises((InvalidArgumentError, TypeError), match=words):
        fit(make())


def test_an_error_in_the_pipeline_ends_training_with_its_message():
    ds = singles(16).map(lambda x, y: (x, 6 // (y - 2))).batch(4)
    with pytest.raises(InvalidArgumentError, match="zero"):
        fit(ds)


def test_bfloat16_and_uint8_batches():
    ds = singles().map(lambda x, y: (gm.cast(x, gm.bfloat16), gm.cast(y, gm.uint8))).batch(8)
    (x, y), *_ = ds.get_jax_iterator()
    assert x.dtype == ml_dtypes.bfloat16 and y.dtype == np.uint8
    seen, history, _ = fit(ds)
    assert seen.batches == 5 and np.isfinite(history["loss"][0])


def test_batches_are_split_over_eight_devices_by_keras():
    devices = keras.distribution.list_devices("cpu")
    assert len(devices) == 8
    keras.distribution.set_distribution(
        keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    )
    try:
        seen, history, _ = fit(singles(64).batch(16), epochs=2)
    finally:
        keras.distribution.set_distribution(None)
    assert seen.epochs == [4, 8] and np.isfinite(history["loss"]).all()


def test_it_stays_a_dataset():
    ds = singles().batch(8)
    assert type(ds) is Dataset and isinstance(ds, Dataset)
    assert issubclass(ds.__class__, Dataset)
    again = copy.copy(ds)
    assert type(again) is Dataset and len(list(again)) == 5
    assert isinstance(ds.map(lambda x, y: x), Dataset)
    seen, _, _ = fit(again)
    assert seen.batches == 5


def test_the_rest_of_keras_is_found_through_gm():
    assert gm.keras.layers.Dense is keras.layers.Dense
