"""The structure of elements: tuples, named tuples, dicts and ``None``; lists inside are tensors."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gristmill import _trace, specs
from gristmill.composite import Composite
from gristmill.convert import convert_to_tensor
from gristmill.tensor import Tensor


def flatten(structure: Any) -> list[Any]:
    """Returns the leaves: dict values in ascending order of keys, ``None`` gives none."""
    out: list[Any] = []
    _flatten(structure, out)
    return out


def _flatten(s: Any, out: list[Any]) -> None:
    if isinstance(s, Mapping):
        for key in sorted(s):
            _flatten(s[key], out)
    elif isinstance(s, tuple):
        for item in s:
            _flatten(item, out)
    elif s is not None:
        out.append(s)


def names(structure: Any) -> list[str]:
    """Returns what messages call the leaves, in the order of `flatten`."""
    if not isinstance(structure, (Mapping, tuple)):
        return ["the element"]
    out: list[str] = []
    _names(structure, "", out)
    return [f"component {name}" for name in out]


def _names(s: Any, above: str, out: list[str]) -> None:
    if isinstance(s, Mapping):
        for key in sorted(s):
            _names(s[key], f"{above}[{key!r}]", out)
    elif isinstance(s, tuple):
        for i, item in enumerate(s):
            _names(item, f"{above}[{i}]" if above else str(i), out)
    elif s is not None:
        out.append(above)


def pack(structure: Any, leaves: Sequence[Any] | Iterator[Any]) -> Any:
    """Returns the structure with other leaves."""
    return packer(structure)(list(leaves))


def packer(structure: Any) -> Callable[[list[Any]], Any]:
    """Returns a function that gives this structure other leaves, looked through only once."""
    made = _packer(structure, itertools.count())
    return operator.itemgetter(made) if isinstance(made, int) else made


def _packer(s: Any, count: Iterator[int]) -> Any:
    """Returns the number of a leaf, or a function that makes the structure of all leaves."""
    if isinstance(s, Mapping):
        made = {key: _packer(s[key], count) for key in sorted(s)}
        values = _each([made[key] for key in s])
        keys = tuple(s)
        if type(s) is dict:
            return lambda leaves: dict(zip(keys, values(leaves), strict=True))
        return lambda leaves: type(s)(dict(zip(keys, values(leaves), strict=True)))  # type: ignore[call-arg]
    if isinstance(s, tuple):
        items = _each([_packer(item, count) for item in s])
        if hasattr(s, "_fields"):
            return lambda leaves: type(s)(*items(leaves))
        return items
    return (lambda leaves: None) if s is None else next(count)


def _each(parts: list[Any]) -> Callable[[list[Any]], tuple[Any, ...]]:
    if len(parts) > 1 and all(isinstance(part, int) for part in parts):
        return operator.itemgetter(*parts)
    makers = [operator.itemgetter(part) if isinstance(part, int) else part for part in parts]
    return lambda leaves: tuple(maker(leaves) for maker in makers)


def native(structure: Any) -> Any:
    """Returns the structure as the native module takes it, leaves numbered."""
    count = iter(range(len(flatten(structure))))
    return _native(structure, count)


def _native(s: Any, count: Iterator[int]) -> Any:
    if isinstance(s, Mapping):
        made = {key: _native(s[key], count) for key in sorted(s)}
        if all(isinstance(key, str) for key in s):
            return ("dict", [(key, made[key]) for key in s])
        return ("named", "dict", [(str(key), made[key]) for key in sorted(s)])
    if isinstance(s, tuple):
        items = [_native(item, count) for item in s]
        if hasattr(s, "_fields"):
            return ("named", type(s).__name__, list(zip(s._fields, items, strict=True)))
        return ("tuple", items)
    return None if s is None else next(count)


def same(a: Any, b: Any) -> bool:
    """Whether two structures nest alike."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and set(a) == set(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        if type(a) is not type(b) or len(a) != len(b):
            return False
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    return not isinstance(b, (tuple, Mapping)) and (a is None) == (b is None)


def placeholder(structure: Any) -> Any:
    """Returns the structure with every leaf replaced by 0."""
    return pack(structure, [0] * len(flatten(structure)))


def with_specs(structure: Any, native_specs: Sequence[_trace.Spec]) -> Any:
    """Returns the nested specs of elements."""
    return _with_specs(structure, iter(native_specs))


def _with_specs(s: Any, found: Iterator[_trace.Spec]) -> Any:
    if s is None:
        return specs.NoneTensorSpec()
    if isinstance(s, Mapping):
        made = {key: _with_specs(s[key], found) for key in sorted(s)}
        ordered = {key: made[key] for key in s}
        return ordered if type(s) is dict else type(s)(ordered)  # type: ignore[call-arg]
    if isinstance(s, tuple):
        items = [_with_specs(item, found) for item in s]
        return type(s)(*items) if hasattr(s, "_fields") else tuple(items)
    return specs.from_native(next(found))


def returned(made: Any) -> Any:
    """Returns what a function returned as an element: a list stands for a tuple there."""
    return to_tensors(tuple(made) if isinstance(made, list) else made)


def to_tensors(element: Any) -> Any:
    """Returns a structure with every leaf converted to a tensor."""
    leaves = []
    for i, leaf in enumerate(flatten(element)):
        if isinstance(leaf, (Tensor, Composite)):
            leaves.append(leaf)
            continue
        try:
            leaves.append(convert_to_tensor(leaf))
        except (TypeError, ValueError) as e:
            raise type(e)(f"component {i} cannot become a tensor: {e}") from None
    return pack(element, leaves)
