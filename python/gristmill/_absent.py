"""Words for names that are not here: what is, under a similar name, and what TensorFlow has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

# Namespaces in which a name is looked for when another one lacks it, the likeliest first.
_SPACES = (
    *("", "io", "image", "math", "data", "data.Dataset"),
    *("strings", "random", "train", "sparse"),
)
# What stands in for names of TensorFlow 1 that will not come.
_OLD = {
    "make_one_shot_iterator": "iterate over the dataset: for element in dataset",
    "make_initializable_iterator": "iterate over the dataset: for element in dataset",
    "output_shapes": "element_spec has the shapes and dtypes",
    "output_types": "element_spec has the shapes and dtypes",
    "output_classes": "element_spec has the shapes and dtypes",
    "placeholder": "functions given to map are traced, nothing has to be fed",
    "Session": "there is no graph to run: tensors have values at once",
}


def _space(key: str) -> Any:
    """Returns the namespace of a key of `_SPACES`, `None` before it is loaded."""
    if key == "data.Dataset":
        return getattr(sys.modules.get("gristmill.data"), "Dataset", None)
    return sys.modules.get(f"gristmill.{key}".rstrip("."))


def _names(space: Any) -> Iterable[str]:
    return [name for name in dir(space) if not name.startswith("_")]


def _has(space: Any, name: str) -> bool:
    # Looked up without __getattr__, which is where the question comes from.
    if isinstance(space, type):
        return any(name in vars(base) for base in space.__mro__)
    return name in vars(space)


def words(key: str, name: str, present: Iterable[str]) -> str:
    """Returns what is said of a name that a namespace lacks.

    Args:
        key: The namespace, such as ``"image"``; empty for the top level.
        name: The name asked for.
        present: The names that it has.
    """
    import difflib

    from gristmill._tf_names import NAMES

    whole = f"{key}.{name}".lstrip(".")
    what = f"'{key.rpartition('.')[2]}' object" if key == "data.Dataset" else "module"
    of = "" if key == "data.Dataset" else f" 'gristmill{'.' if key else ''}{key}'"
    text = f"{what}{of} has no attribute {name!r}"
    known = name in NAMES.get(key, "").split()
    if known:
        text = f"{text}: tf.{whole} is not in gristmill yet"
    if name in _OLD:
        return f"{text}\n  hint: {_OLD[name]}"
    spaces = [(other, _space(other)) for other in _SPACES if other != key]
    elsewhere = [other for other, space in spaces if space is not None and _has(space, name)]
    if elsewhere:
        return f"{text}\n  hint: there is gm.{elsewhere[0]}.{name}".replace("gm..", "gm.")
    near = difflib.get_close_matches(name, present, 3, 0.78)
    if near:
        shown = " or ".join(f"gm.{key}.{found}".replace("gm..", "gm.") for found in near)
        return f"{text}\n  hint: {'there is' if known else 'did you mean'} {shown}"
    if known and name.islower() and key in ("", "image", "io", "math", "strings"):
        return f"{text}\n  hint: gm.py_function calls NumPy's or TensorFlow's function in a map"
    return text


def lookup(key: str, space: str) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module.

    Args:
        key: The namespace, as for `words`.
        space: The name of the module.
    """

    def getattribute(name: str) -> Any:
        # Python itself asks for these, and takes a plain no for an answer.
        if name.startswith("_"):
            raise AttributeError(f"module {space!r} has no attribute {name!r}")
        raise AttributeError(words(key, name, _names(sys.modules[space])))

    return getattribute
