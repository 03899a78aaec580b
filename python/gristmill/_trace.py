"""Tracing: the one way in which an op is called.

`call` runs an op at once when its tensors have values, and adds a node to the graph of the function
being traced when they do not. Random ops and ops that look at the world outside are always nodes
inside a traced function, so that they run for every element.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gristmill import _native
from gristmill.errors import InaccessibleTensorError

if TYPE_CHECKING:
    from types import FrameType

    from gristmill.tensor import Tensor

Spec = tuple[Any, ...]
"""A spec as the native module takes it, e.g. ``("tensor", "float32", (None, 3))``."""

_PACKAGE = __file__.rpartition(os.sep)[0] + os.sep
_wrap_value: Callable[[_native.Value], Any]
_wrap_node: Callable[[FuncGraph, int, int, Spec], Any]
_classes: dict[str, str] = {}


class _Stack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[FuncGraph] = []


_stack = _Stack()


def register_wrappers(
    value: Callable[[_native.Value], Any], node: Callable[[FuncGraph, int, int, Spec], Any]
) -> None:
    """Tells how native values and nodes become the tensors that users see."""
    global _wrap_value, _wrap_node
    _wrap_value, _wrap_node = value, node


def wrap(value: _native.Value) -> Any:
    """Returns a native value as a tensor."""
    return _wrap_value(value)


def site() -> str | None:
    """Returns ``file.py:41`` of the innermost caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE):
            return f"{name.rpartition(os.sep)[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class FuncGraph:
    """A function being traced.

    Attributes:
        outer: The graph of the function around it, if there is one.
        captured: Tensors of outer functions that it uses, in the order of the graph's captures.
        watch: What looks on at the ops called, if anything does.
    """

    def __init__(self, inputs: Sequence[Spec], name: str = "function") -> None:
        self.builder = _native.GraphBuilder(list(inputs))
        self.name = name
        self.outer = _stack.graphs[-1] if _stack.graphs else None
        self.inputs = [_wrap_node(self, i, 0, spec) for i, spec in enumerate(inputs)]
        self.captured: list[Any] = []
        self.random_ops = 0
        self.watch: Any = self.outer.watch if self.outer is not None else None
        self.finished = False
        self._capture_refs: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._constants: dict[int, tuple[tuple[int, int], Any]] = {}

    def __enter__(self) -> FuncGraph:
        _stack.graphs.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.graphs.pop()

    def precapture(self, tensors: Sequence[Any]) -> None:
        """Makes these outer tensors the first captures."""
        for t in tensors:
            self._capture(t)

    def ref(self, tensor: Any) -> tuple[int, int]:
        """Returns node and output of a tensor in this graph: its own, a constant, or a capture.

        Raises:
            ValueError: If the tensor belongs to a function that is not being traced any more.
        """
        value = tensor._value
        if value is not None:
            known = self._constants.get(id(value))
            if known is None:
                node, output, _ = self.builder.constant(value)
                known = self._constants[id(value)] = ((node, output), value)
            return known[0]
        if tensor._graph is self:
            return (tensor._node, tensor._out)
        return self._capture(tensor)

    def _capture(self, tensor: Any) -> tuple[int, int]:
        key = (id(tensor._graph), tensor._node, tensor._out)
        found = self._capture_refs.get(key)
        if found is not None:
            return found
        graph = self.outer
        while graph is not None and graph is not tensor._graph:
            graph = graph.outer
        if graph is None:
            raise leaked(tensor)
        found = (self.builder.capture(tensor._spec), 0)
        self._capture_refs[key] = found
        self.captured.append(tensor)
        return found

    def finish(self, outputs: Sequence[Any]) -> _native.Graph:
        """Returns the graph that gives these tensors."""
        refs = [self.ref(t) for t in outputs]
        self.finished = True
        return self.builder.finish(refs)


def leaked(tensor: Any) -> Exception:
    """Returns the error for a symbolic tensor used outside the function that made it."""
    return InaccessibleTensorError(
        f"a symbolic tensor of the traced function {tensor._graph.name!r} is used outside it, at "
        f"{site()}: it has no value there\n  hint: return it from the function"
    )


def current() -> FuncGraph | None:
    """Returns the graph of the function being traced, if there is one."""
    return _stack.graphs[-1] if _stack.graphs else None


class init_scope:
    """Leaves all functions being traced: ops inside run at once."""

    def __enter__(self) -> None:
        self._saved = _stack.graphs
        _stack.graphs = []

    def __exit__(self, *exc: object) -> None:
        _stack.graphs = self._saved


def op_class(name: str) -> str:
    """Returns ``"pure"``, ``"random"``, ``"effect"`` or ``"foreign"``."""
    found = _classes.get(name)
    if found is None:
        found = _classes[name] = _native.op_class(name)
    return found


def entropy() -> int:
    """Returns 63 random bits of the operating system."""
    return int.from_bytes(os.urandom(8), "little") >> 1


def call_n(name: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Calls an op; returns its outputs.

    Args:
        name: The op's name, e.g. ``"image.resize"``.
        inputs: Tensors, eager or symbolic.
        attrs: What else it is told; entries that are ``None`` are left out.
    """
    attrs = {k: v for k, v in attrs.items() if v is not None}
    graph = _stack.graphs[-1] if _stack.graphs else None
    eager = True
    for t in inputs:
        if t._value is None:
            eager = False
            if graph is None:
                raise leaked(t)
    if graph is None or (eager and op_class(name) == "pure"):
        seed = entropy() if op_class(name) == "random" else 0
        values = _native.run_op(name, [t._value for t in inputs], attrs, seed)
        return [_wrap_value(v) for v in values]
    refs = [graph.ref(t) for t in inputs]
    made = graph.builder.call(name, refs, attrs, site())
    outputs = [_wrap_node(graph, node, out, spec) for node, out, spec in made]
    if graph.watch is not None:
        graph.watch.call(name, inputs, attrs, outputs)
    return outputs


def call(name: str, inputs: Sequence[Any], **attrs: Any) -> Any:
    """Calls an op with one output; returns it. See `call_n`."""
    return call_n(name, inputs, attrs)[0]


def tensor(
    name: str, inputs: Sequence[Any], more: dict[str, Any] | None = None, /, **attrs: Any
) -> Tensor:
    """Calls an op whose one output is a dense tensor; returns it. See `call_n`."""
    made: Tensor = call_n(name, inputs, {**(more or {}), **attrs})[0]
    return made
