"""What Keras asks of a dataset given to ``fit``, ``evaluate`` and ``predict``.

Keras 3 takes an object as it is when it is an instance of Keras's own ``DataAdapter``, and
``isinstance`` also asks ``x.__class__``. `Dataset` answers there with a class that derives from
both, once Keras is loaded; Keras itself is never imported. The function that asks holds the other
arguments of ``fit``, so that those which mean nothing for a dataset can be refused.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gristmill import _native
from gristmill._absent import words
from gristmill.data import _lints
from gristmill.data import _structure as st
from gristmill.data._iterator import Iterator as Batches
from gristmill.data._iterator import frozen
from gristmill.errors import InvalidArgumentError
from gristmill.specs import RaggedTensorSpec, SparseTensorSpec

if TYPE_CHECKING:
    from types import FrameType

    from gristmill.data._dataset import Dataset

_ADAPTERS = "keras.src.trainers.data_adapters.data_adapter"
_ASKS = "get_data_adapter"
UNKNOWN_CARDINALITY = -2
_merged: dict[tuple[type, type], type] = {}
# Keras builds a model from one batch, or from two where it sends them to the device ahead.
_LOOKED_AT = 2


def _adapter() -> type | None:
    """Returns Keras's ``DataAdapter`` if it is loaded."""
    found: type | None = getattr(sys.modules.get(_ADAPTERS), "DataAdapter", None)
    return found


def merged_class(dataset: KerasAdapter) -> type:
    """Returns the dataset's class, combined with Keras's ``DataAdapter`` once that is loaded.

    Raises:
        InvalidArgumentError: If Keras asks for the sake of arguments that a dataset cannot take.
    """
    cls = type(dataset)
    adapter = _adapter()
    if adapter is None:
        return cls
    # Above this function and the property that calls it is the one that called isinstance, with
    # one of `abc` between them if the adapter is an abstract class.
    frame: FrameType | None = sys._getframe(2)
    for _ in range(2):
        if frame is not None and frame.f_code.co_name == _ASKS:
            _check_arguments(dataset, frame.f_locals)
        frame = None if frame is None else frame.f_back
    key = (cls, adapter)
    if key not in _merged:
        _merged[key] = type(cls.__name__, (cls, adapter), {"__module__": cls.__module__})
    return _merged[key]


def _compiles() -> bool:
    """Returns whether Keras's steps are compiled for the shape of a batch; PyTorch's are not."""
    config = getattr(sys.modules.get("keras"), "config", None)
    return config is None or config.backend() != "torch"


def _check_arguments(dataset: KerasAdapter, given: dict[str, Any]) -> None:
    if given.get("x") is not dataset:
        return
    for name, what in (("y", "the targets"), ("sample_weight", "the sample weights")):
        if given.get(name) is not None:
            raise InvalidArgumentError(
                f"`{name}` should not be passed when `x` is a Dataset: {what} are part of its "
                "elements\n  hint: let the elements be (features, targets[, sample_weights])"
            )
    if given.get("class_weight") is not None:
        raise InvalidArgumentError(
            "`class_weight` is not applied to a Dataset: weights are part of its elements\n"
            "  hint: ds.map(lambda x, y: (x, y, gm.gather(weights, y))), with weights the "
            "list of the classes' weights"
        )
    if given.get("batch_size") is not None:
        _lints.tell("keras-batch-size", size=given["batch_size"])
    # Only training is compiled for whole batches: to drop rows from an evaluation is no fix.
    partial = dataset._facts.partial
    if given.get("shuffle") and partial is not None and _compiles():
        size, rows = partial
        _lints.tell("partial-batch", size=size, rows=rows)


class _Passes:
    """The passes that Keras makes over a dataset, and the one that it may take up again.

    Before training Keras starts a pass, builds the model from its first batch and throws the pass
    away. That pass is kept, so that shuffle buffers are filled once and no epoch is lost.
    """

    def __init__(self) -> None:
        self.open = False
        self.left: _Work | None = None
        self.ready: _Work | None = None

    def begin(self) -> None:
        self.open = True
        self.left = None

    def end(self) -> None:
        if self.open and self.left is not None:
            self.ready = self.left
        self.open, self.left = False, None

    def start(self, dataset: Dataset, convert: Callable[[_native.Value], Any]) -> Pass:
        work, self.ready, self.left = self.ready, None, None
        return Pass(work or _Work(dataset), self, convert)


class _Work:
    """A pass, and its first batches as long as it may be taken up again.

    Keras also starts passes of which it asks nothing: those do not take the place of an epoch.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._batches: Batches | None = None
        self.first: list[Any] | None = []

    def next(self) -> Any:
        """Returns the next batch of native values."""
        if self._batches is None:
            self._batches = Batches(self._dataset, wrap=lambda value: value)
        try:
            batch = next(self._batches)
        except BaseException:
            self.first = None
            raise
        if self.first is not None:
            self.first = [*self.first, batch] if len(self.first) < _LOOKED_AT else None
        return batch


class Pass:
    """A pass over batches as a backend takes them; see `_Passes`."""

    def __init__(
        self, work: _Work, passes: _Passes, convert: Callable[[_native.Value], Any]
    ) -> None:
        self._work = work
        self._convert = convert
        self._replay = list(work.first or ())
        self._passes = weakref.ref(passes)

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        if self._replay:
            return self._converted(self._replay.pop(0))
        return self._converted(self._work.next())

    def _converted(self, batch: Any) -> Any:
        return st.pack(batch, [self._convert(value) for value in st.flatten(batch)])

    def __del__(self) -> None:
        passes = self._passes()
        if passes is not None and passes.open and self._work.first:
            passes.left = self._work


def _check_batches(dataset: Dataset) -> None:
    """Refuses elements that are no batches of numbers.

    Raises:
        InvalidArgumentError: If a component has no dimension, or the outermost sizes differ.
        TypeError: If a component is a string, sparse or ragged tensor.
    """
    spec = dataset.element_spec
    rows: dict[int, str] = {}
    for name, s in zip(st.names(spec), st.flatten(spec), strict=True):
        if isinstance(s, (SparseTensorSpec, RaggedTensorSpec)):
            way = "gm.sparse.to_dense" if isinstance(s, SparseTensorSpec) else "its to_tensor()"
            raise TypeError(f"{name} is no dense tensor ({s})\n  hint: {way} makes it one")
        if s.dtype.name == "string":
            raise TypeError(
                f"{name} is a string tensor, which Keras cannot compute with\n"
                "  hint: leave it out in a map, or make numbers of it (gm.strings.to_number)"
            )
        if s.shape.rank is None:
            continue
        if s.shape.rank == 0:
            raise InvalidArgumentError(
                f"the dataset is not batched: {name} is a scalar, and Keras takes batches\n"
                "  hint: ds.batch(32)"
            )
        if s.shape[0] is not None:
            rows.setdefault(s.shape[0], name)
    if len(rows) > 1:
        (n, a), (m, b) = list(rows.items())[:2]
        raise InvalidArgumentError(
            f"the dataset is not batched: {a} has {n} rows and {b} has {m}, and Keras takes "
            "batches\n  hint: ds.batch(32)"
        )


class KerasAdapter:
    """The methods of Keras's ``DataAdapter``; mixed into `Dataset`."""

    _keras: _Passes | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Versions of Keras ask for more than is defined here, which their own class answers.
            adapter = None if name.startswith("__") else _adapter()
            for cls in getattr(adapter, "__mro__", ()):
                found = vars(cls).get(name)
                if found is not None and cls is not object:
                    return found.__get__(self, type(self)) if hasattr(found, "__get__") else found
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise AttributeError(words("data.Dataset", name, dir(type(self))))

    def _passes(self) -> _Passes:
        if self._keras is None:
            self._keras = _Passes()
        return self._keras

    def _batches(self, convert: Callable[[_native.Value], Any] = frozen) -> Pass:
        _check_batches(self)  # type: ignore[arg-type]
        return self._passes().start(self, convert)  # type: ignore[arg-type]

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Returns an iterator over batches of NumPy arrays."""
        return self._batches()

    def get_jax_iterator(self) -> Iterator[Any]:
        """Returns an iterator over batches of NumPy arrays, which JAX takes without a copy."""
        return self._batches()

    def get_torch_dataloader(self) -> Any:
        """Returns a PyTorch ``DataLoader`` over the batches as they are."""
        import torch.utils.data

        return torch.utils.data.DataLoader(_torch_batches(torch, self._batches), batch_size=None)

    def get_tf_dataset(self) -> Any:
        """Returns a TensorFlow dataset that takes its batches from this one."""
        import tensorflow as tf

        def spec(s: Any) -> Any:
            dims = None if s.shape.rank is None else s.shape.as_list()
            return tf.TensorSpec(dims, s.dtype.name)

        # TensorFlow would ask for a batch only after Keras has refused its shape in other words.
        _check_batches(self)  # type: ignore[arg-type]
        element_spec = self.element_spec  # type: ignore[attr-defined]
        signature = st.pack(element_spec, [spec(s) for s in st.flatten(element_spec)])
        made = tf.data.Dataset.from_generator(self._batches, output_signature=signature)
        count = self._plan.cardinality  # type: ignore[attr-defined]
        if count != UNKNOWN_CARDINALITY:
            made = made.apply(tf.data.experimental.assert_cardinality(count))
        return made.prefetch(2)

    @property
    def num_batches(self) -> int | None:
        """The number of batches, ``None`` if unknown or infinite."""
        count = self._plan.cardinality  # type: ignore[attr-defined]
        return None if count < 0 else count

    @property
    def batch_size(self) -> int | None:
        """``None``: not known to Keras."""
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        """``None``: not known to Keras."""
        return None

    @property
    def partial_batch_size(self) -> int | None:
        """``None``: not known to Keras."""
        return None

    def on_epoch_begin(self) -> None:
        """Called by Keras before an epoch."""
        self._passes().begin()

    def on_epoch_end(self) -> None:
        """Called by Keras after an epoch, and after it has looked at the first batch."""
        self._passes().end()


def _torch_batches(torch: Any, start: Callable[..., Pass]) -> Any:
    """Returns a PyTorch dataset of the batches as tensors over the same memory."""

    class TorchBatches(torch.utils.data.IterableDataset):  # type: ignore[misc]
        """The dataset's batches as PyTorch tensors."""

        def __iter__(self) -> Iterator[Any]:
            return start(torch.from_dlpack)

    return TorchBatches()
