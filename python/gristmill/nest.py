"""Nested structures, as ``tf.nest`` has them.

Tuples, lists, named tuples and dicts are structures; everything else is a leaf. Dicts are flattened
in ascending order of their keys and keep their own order when packed. ``None`` is a leaf here and a
structure without leaves in datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def is_nested(structure: Any) -> bool:
    """Whether ``structure`` is a tuple, list, named tuple or dict."""
    return isinstance(structure, (tuple, list, Mapping))


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("the keys of a nested dict must be sortable") from None


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure.

    Args:
        structure: A nested structure or a leaf.
        expand_composites: Accepted for TensorFlow's sake; sparse and ragged tensors are leaves.

    Returns:
        The leaves, dict values in ascending order of their keys.
    """
    out: list[Any] = []
    _flatten(structure, out)
    return out


def _flatten(structure: Any, out: list[Any]) -> None:
    if isinstance(structure, Mapping):
        for key in _sorted_keys(structure):
            _flatten(structure[key], out)
    elif isinstance(structure, (tuple, list)):
        for item in structure:
            _flatten(item, out)
    else:
        out.append(structure)


def _pack(structure: Any, leaves: Any) -> Any:
    if isinstance(structure, Mapping):
        made = {key: _pack(structure[key], leaves) for key in _sorted_keys(structure)}
        ordered = {key: made[key] for key in structure}
        return ordered if type(structure) is dict else _rebuild_mapping(structure, ordered)
    if _is_namedtuple(structure):
        return type(structure)(*[_pack(item, leaves) for item in structure])
    if isinstance(structure, tuple):
        return tuple(_pack(item, leaves) for item in structure)
    if isinstance(structure, list):
        return [_pack(item, leaves) for item in structure]
    return next(leaves)


def _rebuild_mapping(structure: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    if hasattr(structure, "default_factory"):
        return type(structure)(structure.default_factory, values)  # type: ignore[call-arg]
    return type(structure)(values)  # type: ignore[call-arg]


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns ``structure`` with its leaves replaced by those of ``flat_sequence``.

    Args:
        structure: A nested structure.
        flat_sequence: As many leaves as the structure has, in the order of `flatten`.
        expand_composites: Accepted for TensorFlow's sake.

    Raises:
        ValueError: If the number of leaves differs.
    """
    flat = list(flat_sequence)
    expected = len(flatten(structure))
    if expected != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {expected} atoms, but flat_sequence had "
            f"{len(flat)} items."
        )
    return _pack(structure, iter(flat))


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises unless both structures nest alike.

    Args:
        nest1: A structure.
        nest2: A structure.
        check_types: Whether lists and tuples differ from each other.
        expand_composites: Accepted for TensorFlow's sake.

    Raises:
        ValueError: If they have different numbers of items or keys.
        TypeError: If their types differ and ``check_types`` is set.
    """
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            "The two structures don't have the same nested structure: "
            f"first structure is {nest1!r}, second structure is {nest2!r}"
        )
    if not is_nested(nest1):
        return
    both_maps = isinstance(nest1, Mapping) and isinstance(nest2, Mapping)
    if check_types and type(nest1) is not type(nest2) and not both_maps:
        raise TypeError(
            "The two structures don't have the same sequence type: "
            f"{type(nest1).__name__} and {type(nest2).__name__}"
        )
    if both_maps:
        if set(nest1) != set(nest2):
            raise ValueError(
                "The two structures don't have the same keys: "
                f"{_sorted_keys(nest1)} and {_sorted_keys(nest2)}"
            )
        pairs = [(nest1[k], nest2[k]) for k in _sorted_keys(nest1)]
    else:
        if len(nest1) != len(nest2):
            raise ValueError(
                "The two structures don't have the same number of elements: "
                f"{len(nest1)} and {len(nest2)}"
            )
        pairs = list(zip(nest1, nest2, strict=True))
    for a, b in pairs:
        assert_same_structure(a, b, check_types, expand_composites)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Calls ``func`` with the leaves of one or several structures of equal nesting.

    Args:
        func: Takes one leaf of each structure.
        *structure: The structures.
        **kwargs: ``check_types`` and ``expand_composites``, as in `assert_same_structure`.

    Returns:
        A structure like the first one with the results as leaves.

    Raises:
        ValueError: If no structure is given, or they nest differently.
    """
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True))
    flat = [flatten(s) for s in structure]
    return _pack(structure[0], iter([func(*leaves) for leaves in zip(*flat, strict=True)]))
