"""Methods of `Dataset` that run a whole pass and return what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gristmill import _native, _trace
from gristmill.data import _structure as st
from gristmill.data._facts import Facts
from gristmill.data._functions import trace
from gristmill.data._iterator import tell
from gristmill.data._lints import peek
from gristmill.errors import InvalidArgumentError, OperatorNotAllowedInGraphError

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset


def _step(dataset: Dataset, state: Any, func: Callable[..., Any]) -> _native.Graph:
    """Traces the function with a state that is general enough to take what it returns."""
    specs = [leaf._value.spec for leaf in st.flatten(state)]
    while True:
        inputs = specs + dataset._plan.leaf_specs
        graph, _, _, _ = trace(func, (state, dataset._structure), inputs, "reduce", Facts())
        widened = _native.widened(specs, graph.output_specs)
        if widened == specs:
            return graph
        specs = widened


def _by_values(dataset: Dataset, state: Any, func: Callable[..., Any]) -> Any:
    """Calls the function in Python for each element."""
    leaves = st.flatten(state)
    for element in dataset:
        made = func(st.pack(state, leaves), element)
        known = [leaf._value.spec for leaf in leaves]
        leaves = st.flatten(st.returned(made))
        _native.widened(known, [leaf._value.spec for leaf in leaves])
    return st.pack(state, leaves)


class Reductions:
    """What `Dataset` has of them."""

    def reduce(
        self: Any, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """Folds all elements into one state.

        What the function does with the element alone is computed on all threads, up to the first op
        that acts (reads a file, checks an assertion): such work belongs into a `map` before. A
        function that cannot be traced, because it looks at values in Python, is called again with
        values for each element, which takes much longer.

        Args:
            initial_state: A structure of tensors.
            reduce_func: Takes state and element, called with symbolic tensors, and returns the next
                state: as many tensors as the initial one, of its dtypes. Shapes may change.
            name: Accepted for TensorFlow's sake.

        Returns:
            The last state, nested like the initial one; that one if there are no elements.

        Raises:
            TypeError: If the function gives other dtypes.
            InvalidArgumentError: If it gives another number of tensors.
        """
        if _trace.current() is not None:
            raise TypeError(f"a dataset is reduced inside a traced function, at {_trace.site()}")
        state = st.to_tensors(initial_state)
        try:
            graph = _step(self, state, reduce_func)
        except OperatorNotAllowedInGraphError:
            return _by_values(self, state, reduce_func)
        values, warnings = self._plan.reduce(graph, [leaf._value for leaf in st.flatten(state)])
        tell(warnings)
        peek(self._facts.parses)
        return st.pack(state, [_trace.wrap(value) for value in values])

    def get_single_element(self: Any, name: str | None = None) -> Any:
        """Returns the only element.

        Raises:
            InvalidArgumentError: If there is none, or more than one.
        """
        pass_ = iter(self)
        try:
            element = next(pass_)
        except StopIteration:
            raise InvalidArgumentError("Dataset was empty.") from None
        if next(pass_, None) is not None:
            raise InvalidArgumentError("Dataset had more than one element.")
        return element
