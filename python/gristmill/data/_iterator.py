"""Iterators over datasets."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gristmill import _native, _trace, dtypes
from gristmill._log import warn
from gristmill._numpy import np
from gristmill.data import _structure as st
from gristmill.data._lints import peek
from gristmill.specs import TypeSpec

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset
    from gristmill.data._process import ProcessPass

_shown: set[str] = set()


def tell(warnings: list[str]) -> None:
    """Logs warnings of passes, each once."""
    for text in warnings:
        if text not in _shown:
            _shown.add(text)
            warn(text)


def frozen(value: Any) -> Any:
    """Returns a value as ``as_numpy_iterator`` gives it: an array that cannot be written."""
    if not isinstance(value, _native.Value):
        return np.asarray(value) if isinstance(value, _native.ReadOnly) else value
    if value.kind == "dense" and value.dtype == "string":
        shape = value.shape
        if not shape:
            return value.string()
        items = np.empty(shape, object)
        value.strings_into(items)
        items.flags.writeable = False
        return items
    if value.kind != "dense":
        tensor = _trace.wrap(value)
        return tensor.numpy() if hasattr(tensor, "numpy") else tensor
    array = np.asarray(value)
    if value.dtype == "bfloat16":
        array = array.view(dtypes.bfloat16.as_numpy_dtype)
    if array.ndim == 0:
        return array[()]
    array.flags.writeable = False
    return array


def shown(value: Any) -> Any:
    """Returns a value as `frozen` does, but strings as views of the engine's memory."""
    if not isinstance(value, _native.Value) or value.kind != "dense" or value.dtype != "string":
        return frozen(value)
    views = value.string_views()
    shape = value.shape
    if not shape:
        return views[0]
    items = np.empty(len(views), object)
    items[:] = views
    items.flags.writeable = False
    return items.reshape(shape)


class Iterator:
    """A pass over a dataset.

    It takes its place among the epochs of shuffles when it is made, and works from the first
    ``next`` on. Dropping it stops its threads.
    """

    def __init__(
        self,
        dataset: Dataset,
        wrap: Callable[[Any], Any] = _trace.wrap,
        state: bytes | None = None,
        process: bool = False,
    ) -> None:
        self._dataset = dataset
        self._structure = dataset._structure
        self._pack = st.packer(self._structure)
        self._wrap = wrap
        self._native: _native.PlanIterator | ProcessPass
        if process:
            from gristmill.data._process import ProcessPass

            self._native = ProcessPass(dataset._plan, state)
        else:
            self._native = dataset._plan.iterate(state)
        self._values: Callable[[], list[Any] | None] = self._native.next
        if isinstance(self._native, _native.PlanIterator) and wrap in (frozen, shown):
            self._values = functools.partial(self._native.next_for_numpy, wrap is shown)
        self._parses = dataset._facts.parses
        tell(self._native.take_warnings())

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        values = self._values()
        if values is None:
            tell(self._native.take_warnings())
            raise StopIteration
        if self._parses:
            peek(self._parses)
            self._parses = ()
        return self._pack([self._wrap(value) for value in values])

    def get_next(self) -> Any:
        """Returns the next element.

        Raises:
            OutOfRangeError: At the end.
        """
        from gristmill.errors import OutOfRangeError

        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None

    @property
    def element_spec(self) -> TypeSpec | Any:
        """The nested specs of the elements."""
        return self._dataset.element_spec

    def state(self) -> bytes:
        """Returns where the pass is, for `Dataset.iterator`."""
        return self._native.state()

    def report(self) -> dict[str, Any]:
        """Returns what each stage did so far and the seconds since the start."""
        stages, seconds = self._native.report()
        return {"seconds": seconds, "stages": stages}

    def close(self) -> None:
        """Stops the pass and its threads."""
        self._native.close()


def numpy_iterator(
    dataset: Dataset,
    state: bytes | None = None,
    process: bool = False,
    zero_copy: bool = False,
) -> Iterator:
    """Returns an iterator that gives NumPy values, with ``zero_copy`` views of strings."""
    return Iterator(dataset, shown if zero_copy else frozen, state, process)
