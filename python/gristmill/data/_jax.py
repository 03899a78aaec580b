"""Batches as arrays of JAX, split over devices."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gristmill.data import _lints
from gristmill.data import _structure as st
from gristmill.data._iterator import Iterator, numpy_iterator
from gristmill.errors import InvalidArgumentError
from gristmill.specs import RaggedTensorSpec, SparseTensorSpec

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset

_Ahead = tuple[Any, bytes]
_open: weakref.WeakSet[JaxIterator] = weakref.WeakSet()


def _close_all() -> None:
    for iterator in list(_open):
        iterator.close()


# The interpreter waits for executors' threads before anything else that happens at its end, and
# these may wait for a file that gives nothing. What is registered later is called earlier.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]


class JaxIterator:
    """A pass over a dataset that gives JAX arrays; see `Dataset.to_jax`.

    The next batch is taken from the pipeline and sent to the devices by a thread of its own while
    the caller works on this one. Nothing runs before the first ``next``; dropping the iterator
    stops its threads.
    """

    def __init__(
        self,
        dataset: Dataset,
        sharding: Any = None,
        state: bytes | None = None,
        process: bool = False,
    ) -> None:
        import jax

        _check(dataset)
        if dataset._facts.partial is not None:
            size, rows = dataset._facts.partial
            _lints.tell("partial-batch", size=size, rows=rows)
        self._dataset = dataset
        self._placed = _Placed(jax, dataset, sharding)
        self._batches = numpy_iterator(dataset, state, process)
        self._state = self._batches.state()
        self._thread = ThreadPoolExecutor(1, "gristmill-jax")
        self._next: Future[_Ahead] | None = None
        self._ended = False
        self._stop = weakref.finalize(self, _stop, self._batches, self._thread)
        _open.add(self)

    def __iter__(self) -> JaxIterator:
        return self

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        ahead = self._next or self._submit()
        # An interrupt leaves the batch to the next call.
        self._next = ahead
        try:
            made, self._state = ahead.result()
        except _End:
            self._ended = True
            self._stop()
            raise StopIteration from None
        self._next = self._submit()
        if isinstance(made, Exception):
            # A failed element is passed over by the next call, as `Iterator` does it.
            raise made
        return made

    def _submit(self) -> Future[_Ahead]:
        return self._thread.submit(_take, self._batches, self._placed)

    @property
    def element_spec(self) -> Any:
        """The nested specs of the batches, as this process has them."""
        return self._dataset.element_spec

    def state(self) -> bytes:
        """Returns the place after the last batch that was given, for ``to_jax(state=…)``."""
        return self._state

    def report(self) -> dict[str, Any]:
        """Returns what each stage did so far and the seconds since the start."""
        return self._batches.report()

    def close(self) -> None:
        """Stops the pass and its threads."""
        self._ended = True
        self._stop()


class _End(Exception):
    """The pass is over; a StopIteration cannot be set on a future without harm."""


def _take(batches: Iterator, placed: _Placed) -> _Ahead:
    made: Any
    try:
        made = placed.put(next(batches))
    except StopIteration:
        raise _End from None
    except Exception as error:
        made = error
    return made, batches.state()


def _stop(batches: Iterator, thread: ThreadPoolExecutor) -> None:
    batches.close()
    thread.shutdown(wait=False, cancel_futures=True)


def _check(dataset: Dataset) -> None:
    """Refuses what JAX has no arrays for.

    Raises:
        TypeError: If a component is a string, sparse or ragged tensor.
    """
    spec = dataset.element_spec
    for name, s in zip(st.names(spec), st.flatten(spec), strict=True):
        if isinstance(s, SparseTensorSpec):
            raise TypeError(f"{name} is sparse ({s})\n  hint: gm.sparse.to_dense makes it dense")
        if isinstance(s, RaggedTensorSpec):
            raise TypeError(f"{name} is ragged ({s})\n  hint: its to_tensor() makes it dense")
        if s.dtype.name == "string":
            raise TypeError(
                f"{name} is a string tensor, and JAX has no strings\n"
                "  hint: leave it out in a map, or make numbers of it (gm.strings.to_number)"
            )


class _Placed:
    """Puts batches where their shardings say."""

    def __init__(self, jax: Any, dataset: Dataset, sharding: Any) -> None:
        self._jax = jax
        spec = dataset.element_spec
        self._names = st.names(spec)
        count = len(self._names)
        if sharding is None or isinstance(sharding, jax.sharding.Sharding):
            self._shardings = [sharding] * count
            return
        if not st.same(spec, sharding):
            raise TypeError(
                "sharding must be one jax.sharding.Sharding, or a structure of them like "
                f"{spec}; found {sharding!r:.200}"
            )
        self._shardings = st.flatten(sharding)

    def put(self, batch: Any) -> Any:
        """Returns a batch of NumPy arrays as JAX arrays."""
        leaves = zip(st.flatten(batch), self._names, self._shardings, strict=True)
        return st.pack(batch, [self._put(*leaf) for leaf in leaves])

    def _put(self, array: Any, name: str, sharding: Any) -> Any:
        if sharding is None:
            return self._jax.device_put(array)
        try:
            return self._jax.make_array_from_process_local_data(sharding, array)
        except ValueError as error:
            rows = array.shape[0] if array.ndim else "no"
            devices = len(sharding.addressable_devices)
            raise InvalidArgumentError(
                f"{name} has {rows} rows, which do not divide over {devices} devices of "
                f"{sharding}: {error}\n"
                "  hint: batch(n, drop_remainder=True) with n a multiple of the number of devices"
            ) from None
