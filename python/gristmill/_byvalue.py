"""Pickling for a process of the same program: functions that no import finds travel as their code.

``pickle`` sends a function as the name of a module and its own name in it. Lambdas, functions
inside functions and those of a notebook have no such name, and to import a script again is to run
it. Both processes run the same interpreter, so code objects can go over as ``marshal`` writes them.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import io
import marshal
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

_MAIN = "__main__"

#: What stands for the names that functions without a module to import look up: what was pickled,
#: and which of the namespaces in it.
_Space = tuple[bytes, int]

_spaces: dict[_Space, dict[str, Any]] = {}


def dumps(what: Any) -> tuple[bytes, bool]:
    """Returns an object as bytes, and whether reading them needs the script that runs.

    It does if there are objects of classes of the script, which do not travel.
    """
    out = io.BytesIO()
    pickler = _Pickler(out)
    pickler.dump(what)
    return out.getvalue(), pickler.needs_main


class _Pickler(pickle.Pickler):
    """Pickles functions, where need be, and modules by value."""

    needs_main = False

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out, 5)
        self._token = os.urandom(8)
        # The functions that are pickled keep their namespaces alive, and so the numbers their own.
        self._spaces: dict[int, int] = {}

    def _space(self, func: FunctionType) -> _Space:
        return self._token, self._spaces.setdefault(id(func.__globals__), len(self._spaces))

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType) and not _is_found(obj):
            return _reduced(obj, self._space(obj))
        if isinstance(obj, ModuleType):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, CellType):
            return _cell, (), _contents(obj), None, None, _fill_cell
        if isinstance(obj, type) and obj.__module__ == _MAIN:
            self.needs_main = True
        return NotImplemented


def _is_found(func: FunctionType) -> bool:
    """Whether an import finds the very function."""
    if func.__module__ == _MAIN:
        return False
    found: Any = sys.modules.get(func.__module__)
    for name in func.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is func


def _reduced(func: FunctionType, space: _Space) -> tuple[Any, ...]:
    # Not the module that it names: a wrapper names that of what it wraps.
    home = func.__globals__.get("__name__", _MAIN)
    known = sys.modules.get(home)
    # The names of a module that can be imported are there on the other side.
    imported = home != _MAIN and known is not None and vars(known) is func.__globals__
    used = {} if imported else _globals(func)
    code = marshal.dumps(func.__code__)
    made = code, home, None if imported else space, func.__name__, func.__closure__
    names = func.__module__, func.__qualname__
    state = *names, func.__defaults__, func.__kwdefaults__, used, func.__dict__
    return _function, made, state, None, None, _fill_function


def _globals(func: FunctionType) -> dict[str, Any]:
    names = set(_names(func.__code__))
    return {name: value for name, value in func.__globals__.items() if name in names}


def _names(code: CodeType) -> Iterator[str]:
    """The global names that code, and code inside it, looks up."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _contents(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _cell() -> CellType:
    return CellType()


def _fill_cell(cell: CellType, contents: tuple[Any, ...]) -> None:
    if contents:
        cell.cell_contents = contents[0]


def _function(
    code: bytes,
    home: str,
    space: _Space | None,
    name: str,
    closure: tuple[CellType, ...] | None,
) -> FunctionType:
    """Returns a function whose values are still to come: they may refer to it."""
    names: dict[str, Any]
    if space is None:
        names = vars(importlib.import_module(home))
    else:
        names = _spaces.setdefault(space, {"__name__": home, "__builtins__": builtins})
    return FunctionType(marshal.loads(code), names, name, None, closure)


def _fill_function(func: Callable[..., Any], state: tuple[Any, ...]) -> None:
    assert isinstance(func, FunctionType)
    func.__module__, func.__qualname__, func.__defaults__, func.__kwdefaults__ = state[:4]
    used, attributes = state[4:]
    # A module that was imported has its names.
    if used:
        func.__globals__.update(used)
    func.__dict__.update(attributes)
