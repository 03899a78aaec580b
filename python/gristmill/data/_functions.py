"""Tracing of the functions given to transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gristmill import _native, _trace
from gristmill.data import _structure as st
from gristmill.data._facts import Facts, Watch
from gristmill.data._lints import without_foreign_draws
from gristmill.errors import InvalidArgumentError
from gristmill.tensor import SymbolicTensor, Tensor

Graph = TypeVar("Graph", bound=_trace.FuncGraph)
Operand = Any
"""What the native module takes for a number or tensor: a value, or (parameter, spec)."""


class TemplateGraph(_trace.FuncGraph):
    """A function from an element to a dataset; its outputs are the parameters of that dataset."""

    def __init__(self, inputs: Sequence[_trace.Spec], name: str) -> None:
        super().__init__(inputs, name)
        self.params: list[Any] = []

    def param(self, tensor: Any) -> Operand:
        """Makes a tensor a parameter of the dataset that the function returns."""
        for i, known in enumerate(self.params):
            if known is tensor:
                return (i, tensor._spec)
        self.params.append(tensor)
        return (len(self.params) - 1, tensor._spec)


def operand(tensor: Any) -> Operand:
    """Returns a tensor as a dataset's operand.

    Raises:
        TypeError: If it is symbolic and no function that returns a dataset is being traced.
    """
    if tensor._value is not None:
        return tensor._value
    graph = _trace.current()
    if graph is None:
        raise _trace.leaked(tensor)
    if not isinstance(graph, TemplateGraph):
        raise TypeError(
            f"a dataset of a symbolic tensor is made at {_trace.site()}, inside a function that "
            "returns no dataset\n  hint: use Dataset.flat_map or Dataset.interleave"
        )
    return graph.param(tensor)


def number(value: Any, what: str) -> Operand:
    """Returns a count as a dataset's operand.

    Raises:
        TypeError: If it is no integer.
        ValueError: If int64 does not hold it.
    """
    if isinstance(value, SymbolicTensor):
        return operand(value)
    return integer(value, what)


def integer(value: Any, what: str) -> int:
    """Returns a number that must be known when the step is described.

    Raises:
        TypeError: If it is no integer, or symbolic.
        ValueError: If int64 does not hold it.
    """
    try:
        n: int = int(value) if isinstance(value, Tensor) else value.__index__()  # type: ignore[call-overload]
    except AttributeError:
        raise TypeError(f"{what} must be an integer, found {value!r}") from None
    if not -(2**63) <= n < 2**63:
        raise InvalidArgumentError(f"{what} must fit in int64, found {n}")
    return n


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)


def _traced(
    graph: type[Graph],
    func: Callable[..., Any],
    structure: Any,
    native_specs: Sequence[_trace.Spec],
    where: str,
    facts: Facts,
) -> tuple[Graph, Any]:
    """Calls a function with symbolic tensors; returns its graph and what it returned."""

    def run() -> tuple[Graph, Any]:
        made = graph(native_specs, _name(func))
        made.watch = Watch(facts)
        made.watch.begin(made.inputs)
        with made:
            args = st.pack(structure, made.inputs)
            return made, func(*args) if type(args) is tuple else func(args)

    if not callable(func):
        raise TypeError(f"Dataset.{where}() takes a function, found {type(func).__name__}")
    made: tuple[Graph, Any] = without_foreign_draws(func, where, run)
    return made


def trace(
    func: Callable[..., Any],
    structure: Any,
    native_specs: Sequence[_trace.Spec],
    where: str,
    facts: Facts,
) -> tuple[_native.Graph, list[Operand], Any, Facts]:
    """Traces a function of an element.

    Args:
        func: The user's function.
        structure: How its element nests.
        native_specs: Specs of the element's components.
        where: The transformation, for messages.
        facts: What is known of the elements.

    Returns:
        The graph, operands for what it captured, the structure of what it returns, and what is
        known of that.
    """
    graph, returned = _traced(_trace.FuncGraph, func, structure, native_specs, where, facts)
    with graph:
        if returned is None:
            raise TypeError(
                f"Unsupported return value from function passed to Dataset.{where}(): None."
            )
        # A predicate gives one tensor.
        returned = st.to_tensors(returned) if where == "filter" else st.returned(returned)
        leaves = st.flatten(returned)
        for leaf in leaves:
            graph.ref(leaf)
        native = graph.finish(leaves)
    known = facts.filter(graph.watch) if where == "filter" else facts.map(graph.watch, leaves)
    return native, [operand(t) for t in graph.captured], st.placeholder(returned), known


def trace_dataset(
    func: Callable[..., Any],
    structure: Any,
    native_specs: Sequence[_trace.Spec],
    where: str,
    facts: Facts,
) -> tuple[_native.Graph, list[Operand], Any]:
    """Traces a function from an element to a dataset.

    Returns:
        The graph that computes the dataset's parameters, operands for what it captured, and the
        dataset.

    Raises:
        TypeError: If it returns something else.
    """
    from gristmill.data._dataset import Dataset

    graph, returned = _traced(TemplateGraph, func, structure, native_specs, where, facts)
    with graph:
        if not isinstance(returned, Dataset):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(returned)}.")
        for t in graph.params:
            graph.ref(t)
        native = graph.finish(graph.params)
    return native, [operand(t) for t in graph.captured], returned
