"""Python code as an op: at once, or for every element of a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gristmill import _calls, _trace, dtypes
from gristmill.composite import Composite
from gristmill.convert import convert_to_tensor


def _run(func: Callable[..., Any], inputs: Any, types: Any, as_arrays: bool) -> Any:
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func!r} of type {type(func)}."
        )
    args = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    tensors: list[Any] = [a if isinstance(a, Composite) else convert_to_tensor(a) for a in args]
    if _trace.current() is not None:
        return _calls.node(func, tensors, types, as_arrays)
    out = func(*[t.numpy() if as_arrays else t for t in tensors])
    if types is None or (out is None and types in ([], ())):
        return []
    if isinstance(types, (list, tuple)):
        values = out if isinstance(out, (list, tuple)) else [out]
        pairs = zip(values, types, strict=True)
        return [convert_to_tensor(v, dtypes.as_dtype(t)) for v, t in pairs]
    return convert_to_tensor(out, dtypes.as_dtype(types))


def _decorated(types: Any, as_arrays: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *inp: _run(func, list(inp), types, as_arrays)

    return decorate


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: Any = None) -> Any:
    """Calls a Python function with eager tensors.

    In a function given to `Dataset.map`, `filter` and their like the call becomes a step that runs
    for every element: in the order of the elements, once for each that is asked for, on a thread of
    the pipeline and under the interpreter's lock, which is taken once per block of elements.
    `Dataset.profile` says how often, and what it cost. A state of the pass knows the function by
    its module, name and code (not by values that it closes over), and is refused if those changed.

    What the function raises takes the element's place: `ValueError`, `TypeError` and
    `StopIteration` as `InvalidArgumentError`, `MemoryError` as `ResourceExhaustedError`,
    `NotImplementedError` as `UnimplementedError`, all else as `UnknownError`, with the traceback
    in the text and the exception itself as ``__cause__``.
    `KeyboardInterrupt` and `SystemExit` end the pass and reach the loop that reads it; the state of
    the pass is then the one before the element that was not made.

    A dataset keeps its functions alive, and the collector does not see that: ``self.ds`` over a
    method of ``self`` is a cycle that stays.

    Args:
        func: Takes eager tensors and returns what becomes tensors of ``Tout``. Without it the call
            returns a decorator.
        inp: A list of its inputs.
        Tout: The dtype or list of dtypes of what it returns; ``None`` or ``[]`` for nothing.
        name: Accepted for TensorFlow's sake.

    Returns:
        A tensor, or a list of them where ``Tout`` is a list; their shapes are not known before they
        are there, see `Tensor.set_shape`.
    """
    if func is None:
        return _decorated(Tout, False)
    return _run(func, inp, Tout, False)


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: Any = None
) -> Any:
    """Calls a Python function with NumPy arrays.

    As `py_function`, but the function takes arrays that it may write to (NumPy scalars and
    ``bytes`` without dimensions), and what it returns must have the very dtypes of ``Tout``.

    Args:
        func: Takes arrays and returns arrays, scalars, ``str`` or ``bytes``.
        inp: A list of its inputs.
        Tout: The dtype or list of dtypes of what it returns; ``None`` or ``[]`` for nothing.
        stateful: Accepted for TensorFlow's sake; the function is called for every element.
        name: Accepted for TensorFlow's sake.

    Returns:
        A tensor, or a list of them where ``Tout`` is a list; their shapes are not known before.
    """
    if func is None:
        return _decorated(Tout, True)
    return _run(func, inp, Tout, True)
