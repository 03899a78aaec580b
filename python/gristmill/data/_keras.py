"""What Keras asks of a dataset given to ``fit``, ``evaluate`` and ``predict``.

Keras 3 takes an object as it is when it is an instance of Keras's own ``DataAdapter``, and
``isinstance`` also asks ``x.__class__``. `Dataset` answers there with a class that derives from
both, once Keras is loaded; Keras itself is never imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from gristmill.data import _structure as st

_ADAPTERS = "keras.src.trainers.data_adapters.data_adapter"
_merged: dict[type, type] = {}


def merged_class(cls: type) -> type:
    """Returns ``cls``, or its combination with Keras's ``DataAdapter`` once that is loaded."""
    module = sys.modules.get(_ADAPTERS)
    adapter = getattr(module, "DataAdapter", None)
    if adapter is None:
        return cls
    if cls not in _merged:
        _merged[cls] = type(cls.__name__, (cls, adapter), {"__module__": cls.__module__})
    return _merged[cls]


class KerasAdapter:
    """The methods of Keras's ``DataAdapter``; mixed into `Dataset`."""

    def _numpy_batches(self) -> Iterator[Any]:
        for element in self:  # type: ignore[attr-defined]
            yield st.pack(element, [np.asarray(t.numpy()) for t in st.flatten(element)])

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Returns an iterator over batches of NumPy arrays."""
        return self._numpy_batches()

    def get_jax_iterator(self) -> Iterator[Any]:
        """Returns an iterator over batches that JAX takes."""
        return self._numpy_batches()

    def get_torch_dataloader(self) -> Any:
        """Returns a PyTorch ``DataLoader`` over the batches as they are."""
        import torch.utils.data

        outer = self

        class Batches(torch.utils.data.IterableDataset):  # type: ignore[misc]
            """The dataset's batches as PyTorch tensors."""

            def __iter__(self) -> Iterator[Any]:
                for element in outer:  # type: ignore[attr-defined]
                    leaves = [torch.from_dlpack(t) for t in st.flatten(element)]
                    yield st.pack(element, leaves)

        return torch.utils.data.DataLoader(Batches(), batch_size=None)

    def get_tf_dataset(self) -> Any:
        """Returns a TensorFlow dataset that takes its batches from this one."""
        import tensorflow as tf

        def spec(s: Any) -> Any:
            return tf.TensorSpec(s.shape.dims, s.dtype.name)

        element_spec = self.element_spec  # type: ignore[attr-defined]
        signature = st.pack(element_spec, [spec(s) for s in st.flatten(element_spec)])
        made = tf.data.Dataset.from_generator(self._numpy_batches, output_signature=signature)
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

    def on_epoch_end(self) -> None:
        """Called by Keras after an epoch."""
