"""Python functions that the engine calls for elements of a pipeline."""

from __future__ import annotations

import atexit
import ctypes
import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from gristmill import _native, _trace, dtypes
from gristmill._numpy import np
from gristmill.composite import Composite
from gristmill.convert import convert_to_tensor, value_of
from gristmill.dtypes import DType
from gristmill.specs import TensorSpec, TypeSpec
from gristmill.tensor import EagerTensor

#: How long the end of the program waits for functions that are running, in seconds: once, and once
#: more after they were told to end.
_PATIENCE = 1.0

_KINDS: tuple[tuple[Any, str], ...] = (
    ((ValueError, TypeError, StopIteration), "invalid_argument"),
    (MemoryError, "resource_exhausted"),
    (NotImplementedError, "unimplemented"),
)


class Call:
    """What the engine calls: values in, values out, or an error."""

    def __init__(self, func: Callable[..., Any], types: Sequence[DType], arrays: bool) -> None:
        self.func = func
        self.types = list(types)
        self.arrays = arrays

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickled, perhaps in a process that made no call of its own."""
        self.__dict__.update(state)
        _end_with_the_program()

    def __call__(self, *values: _native.Value) -> list[_native.Value] | tuple[str, str, Exception]:
        """Calls the function; exceptions that are meant for the program pass through.

        Of others it returns the kind, the text and themselves.
        """
        try:
            args: list[Any] = [_trace.wrap(v) for v in values]
            if self.arrays:
                args = [a.numpy() for a in args]
            out = self.func(*args)
        except Exception as e:
            # The user's frames: this one would hold the element as long as the exception lives.
            e = e.with_traceback(e.__traceback__ and e.__traceback__.tb_next)
            return _kind(e), _told(e), e
        try:
            return self._values(out)
        except Exception as e:
            text = f"what {name_of(self.func)} returned cannot become a tensor: {e}"
            return _kind(e), text, e.with_traceback(None)

    def _values(self, out: Any) -> list[_native.Value]:
        if out is None:
            return []
        parts = list(out) if isinstance(out, (list, tuple)) else [out]
        if self.arrays:
            return [_array(part) for part in parts]
        if len(parts) != len(self.types):
            # The engine says how many were expected.
            parts = parts[: len(self.types) + 1]
            return [convert_to_tensor(part)._value for part in parts]  # type: ignore[misc]
        pairs = zip(parts, self.types, strict=True)
        return [convert_to_tensor(part, dtype)._value for part, dtype in pairs]  # type: ignore[misc]


def _array(part: Any) -> _native.Value:
    """Returns what a function on arrays returned, in the dtype that NumPy gives it."""
    if isinstance(part, EagerTensor):
        return part._value
    return value_of(np.asarray(part))


def _kind(e: Exception) -> str:
    return next((kind for classes, kind in _KINDS if isinstance(e, classes)), "unknown")


def _told(e: Exception) -> str:
    """Returns an exception as a message: what was raised, then where, without this package."""
    import traceback

    last = traceback.format_exception_only(type(e), e)
    where = traceback.format_exception(type(e), e, e.__traceback__)
    first = "".join(last).rstrip("\n")
    body = "".join(where).rstrip("\n").removesuffix(first).rstrip("\n")
    return f"{first}\n{body}" if body else first


def name_of(func: Any) -> str:
    """Returns what messages call a function."""
    while isinstance(func, functools.partial):
        func = func.func
    return str(getattr(func, "__name__", type(func).__name__))


def identity(func: Any) -> bytes:
    """Returns what tells a function from others in the fingerprint of a plan.

    That is its module, its qualified name and its code: a function that was changed is another one,
    and the state of a pass with the old one is refused. Values that it closes over, default
    arguments and what it calls do not count. Of a callable object its class and the code of
    ``__call__`` do.
    """
    # Loads a cryptographic library, for which most programs have no use.
    import hashlib

    if isinstance(func, functools.partial):
        return hashlib.sha256(b"partial" + identity(func.func)).digest()
    func = getattr(func, "__func__", func)
    code = getattr(func, "__code__", None)
    named = func if hasattr(func, "__qualname__") else type(func)
    if code is None and named is not func:
        code = getattr(type(func).__call__, "__code__", None)
    text = f"{getattr(named, '__module__', '')}:{named.__qualname__}"
    digest = hashlib.sha256(text.encode())
    if code is not None:
        _add_code(digest, code)
    return digest.digest()


def _add_code(digest: Any, code: CodeType) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _add_code(digest, const)
        else:
            digest.update(_constant(const).encode())


def _constant(const: Any) -> str:
    """Returns a constant as text; the order of a set is another one in every process."""
    if isinstance(const, tuple):
        return f"({','.join(map(_constant, const))})"
    if isinstance(const, frozenset):
        return f"{{{','.join(sorted(map(_constant, const)))}}}"
    return repr(const)


def types_of(types: Any) -> list[DType]:
    """Returns the dtypes of what a function returns.

    Raises:
        NotImplementedError: For sparse and ragged results.
    """
    if types is None:
        return []
    found = []
    for t in types if isinstance(types, (list, tuple)) else [types]:
        if isinstance(t, TypeSpec) and not isinstance(t, TensorSpec):
            raise NotImplementedError(
                f"a Python function in a pipeline returns dense tensors, found Tout={t!r}\n"
                "  hint: return the parts of the tensor and put it together behind the call"
            )
        found.append(t.dtype if isinstance(t, TensorSpec) else dtypes.as_dtype(t))
    return found


def node(func: Callable[..., Any], inputs: Sequence[Any], types: Any, arrays: bool) -> Any:
    """Adds a call to the function being traced; returns the tensors that it gives.

    Args:
        func: The user's function.
        inputs: Tensors.
        types: What it returns: a dtype, several, or ``None``.
        arrays: Whether it takes NumPy arrays.
    """
    _end_with_the_program()
    outputs = types_of(types)
    if arrays:
        for t in inputs:
            if isinstance(t, Composite):
                raise TypeError(
                    f"numpy_function takes dense tensors, found {type(t).__name__}\n"
                    "  hint: py_function takes sparse and ragged ones"
                )
    call = _native.Function(Call(func, outputs, arrays), name_of(func), identity(func))
    op = "numpy_function" if arrays else "py_function"
    made = _trace.call_n(op, inputs, {"func": call, "Tout": outputs})
    if isinstance(types, (list, tuple)) or not outputs:
        return made
    return made[0]


def _end() -> None:
    """Waits for functions that are running; what does not come to an end is told to."""
    threads = _native.end_functions(_PATIENCE)
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(SystemExit)
        )
    if threads:
        _native.end_functions(_PATIENCE)


@functools.cache
def _end_with_the_program() -> None:
    """Has threads of pipelines leave Python before the interpreter ends."""
    atexit.register(_end)
