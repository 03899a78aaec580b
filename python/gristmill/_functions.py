"""Python code inside pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gristmill import _trace, dtypes
from gristmill.convert import convert_to_tensor
from gristmill.errors import UnimplementedError


def _run(func: Callable[..., Any], inputs: Any, types: Any, as_arrays: bool) -> Any:
    args = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if _trace.current() is not None:
        raise UnimplementedError(
            f"Python code cannot run inside a pipeline yet, at {_trace.site()}\n"
            "  hint: write the step with gm ops, or iterate the dataset and run the code on its "
            "elements"
        )
    tensors = [convert_to_tensor(a) for a in args]
    out = func(*[t.numpy() if as_arrays else t for t in tensors])
    if types is None:
        return []
    if isinstance(types, (list, tuple)):
        values = out if isinstance(out, (list, tuple)) else [out]
        pairs = zip(values, types, strict=True)
        return [convert_to_tensor(v, dtypes.as_dtype(t)) for v, t in pairs]
    return convert_to_tensor(out, dtypes.as_dtype(types))


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: Any = None) -> Any:
    """Calls a Python function with tensors that have values.

    Args:
        func: Takes eager tensors.
        inp: Its inputs.
        Tout: The dtype or dtypes of what it returns.
        name: Accepted for TensorFlow's sake.

    Raises:
        UnimplementedError: Inside a traced function.
    """
    return _run(func, inp, Tout, False)


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: Any = None
) -> Any:
    """Calls a Python function with NumPy arrays.

    Args:
        func: Takes arrays.
        inp: Its inputs.
        Tout: The dtype or dtypes of what it returns.
        stateful: Accepted for TensorFlow's sake.
        name: Accepted for TensorFlow's sake.

    Raises:
        UnimplementedError: Inside a traced function.
    """
    return _run(func, inp, Tout, True)
