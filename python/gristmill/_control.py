"""Control flow inside traced functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gristmill import _trace, nest
from gristmill.composite import Composite
from gristmill.convert import convert_to_tensor
from gristmill.errors import InvalidArgumentError
from gristmill.tensor import EagerTensor, SymbolicTensor, Tensor


def as_leaf(value: Any) -> Any:
    """Returns a leaf of a structure as a tensor."""
    return value if isinstance(value, (Tensor, Composite)) else convert_to_tensor(value)


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Calls one of two functions.

    Args:
        pred: A bool scalar.
        true_fn: Called if it is true. Inside a traced function both are traced.
        false_fn: Called if it is false. Both return structures of equal nesting and dtypes.
        name: Accepted for TensorFlow's sake.

    Returns:
        What the chosen function returns.

    Raises:
        TypeError: If a function is missing, or they return different structures.
    """
    if true_fn is None or not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if false_fn is None or not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if not isinstance(pred, SymbolicTensor):
        return true_fn() if bool(pred) else false_fn()
    yes, yes_out = _branch(true_fn, [], "true_fn")
    no, no_out = _branch(false_fn, yes.captured, "false_fn")
    try:
        nest.assert_same_structure(yes_out, no_out)
    except (TypeError, ValueError) as e:
        raise TypeError(
            f"true_fn and false_fn of gm.cond at {_trace.site()} must return the same structure: "
            f"{e}"
        ) from None
    leaves = (nest.flatten(yes_out), nest.flatten(no_out))
    attrs = {"true_fn": yes.finish(leaves[0]), "false_fn": no.finish(leaves[1])}
    outputs = _trace.call_n("cond", [pred, *no.captured], attrs)
    return nest.pack_sequence_as(yes_out, outputs)


def _branch(fn: Callable[[], Any], captured: list[Any], name: str) -> tuple[_trace.FuncGraph, Any]:
    graph = _trace.FuncGraph([], name)
    graph.precapture(captured)
    with graph:
        out = nest.map_structure(as_leaf, fn())
        # Captures made by finishing must exist before the other branch takes them over.
        for leaf in nest.flatten(out):
            graph.ref(leaf)
    return graph, out


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Calls the function of the first predicate that is true.

    Args:
        pred_fn_pairs: Pairs of a bool scalar and a function, or a dict of them.
        default: Called if none is true; the last function if not given.
        exclusive: Accepted for TensorFlow's sake.
        strict: Accepted for TensorFlow's sake.
        name: Accepted for TensorFlow's sake.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if default is None:
        default = pairs.pop()[1]
    for pred, fn in reversed(pairs):
        default = _chain(pred, fn, default)
    return default()


def _chain(pred: Any, fn: Callable[[], Any], otherwise: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: cond(pred, fn, otherwise)


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Calls the function with that number.

    Args:
        branch_index: An int32 scalar.
        branch_fns: Functions, or a dict from number to function.
        default: Called for other numbers; the last function if not given.
        name: Accepted for TensorFlow's sake.
    """
    items = branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns)
    pairs = [(number, fn) for number, fn in items]
    last = default or pairs[-1][1]
    index = convert_to_tensor(branch_index)
    return case([(index == number, fn) for number, fn in pairs], last)


def _check(condition: Any, message: str, head: str = "") -> Any:
    condition = convert_to_tensor(condition)
    if isinstance(condition, EagerTensor):
        if not bool(condition.numpy().all()):
            raise InvalidArgumentError(head + message)
        return None
    return _trace.call_n("assert", [condition], {"message": message})


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Any:
    """Raises `InvalidArgumentError` for elements for which a condition is false."""
    return _check(condition, str(data), "assertion failed: ")


def assert_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Raises `InvalidArgumentError` for elements for which ``x`` and ``y`` differ."""
    from gristmill import math

    same = math.reduce_all(math.equal(x, y))
    return _check(same, message or "Condition x == y did not hold")


def map_fn(fn: Callable[..., Any], elems: Any, **options: Any) -> Any:
    """Calls ``fn`` for every row of ``elems``, whose number must be known now.

    Args:
        fn: Takes a row (or a structure of rows) and returns a structure of tensors.
        elems: A tensor or a structure of tensors.
        **options: Accepted for TensorFlow's sake.

    Returns:
        The results, stacked.
    """
    from gristmill import _array

    columns = [_array.unstack(t) for t in nest.flatten(elems)]
    rows = [fn(nest.pack_sequence_as(elems, row)) for row in zip(*columns, strict=True)]
    return nest.map_structure(lambda *parts: _array.stack(list(parts)), *rows)


def function(func: Any = None, **options: Any) -> Any:
    """Returns the function itself: nothing is gained by compiling it.

    Args:
        func: A function.
        **options: Accepted for TensorFlow's sake.
    """
    return func if func is not None else (lambda f: f)


def print_(*inputs: Any, **options: Any) -> None:
    """Prints values at once; inside a traced function it prints their specs, once."""
    print(*inputs, sep=options.get("sep", " "), end=options.get("end", "\n"))


def executing_eagerly() -> bool:
    """Whether no function is being traced."""
    return _trace.current() is None


def no_op() -> None:
    """Does nothing."""


def device(name: Any) -> Any:
    """Returns a context that changes nothing: there is one device."""
    import contextlib

    return contextlib.nullcontext()
