"""What datasets are made of: the static methods of `Dataset`."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from gristmill import _native, dtypes
from gristmill.convert import convert_to_tensor
from gristmill.data import _lints
from gristmill.data import _structure as st
from gristmill.data._facts import Facts, beside, some_paths
from gristmill.data._functions import integer, number, operand
from gristmill.data._options import Options
from gristmill.dtypes import DTypeLike
from gristmill.errors import InvalidArgumentError
from gristmill.random import get_seed
from gristmill.tensor import Tensor

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def seeds(seed: int | None) -> tuple[tuple[int, int], bool]:
    """Returns the seed pair of a dataset and whether the operating system drew it."""
    a, b = get_seed(None if seed is None else int(seed))
    if a is None or b is None:
        words = os.urandom(8)
        return (int.from_bytes(words[:4], "little"), int.from_bytes(words[4:], "little")), True
    return (a, b), False


def parallel(num_parallel_calls: Any) -> int | None:
    """Returns how many calls to make at a time, ``None`` to leave it to the engine.

    Raises:
        ValueError: If it is neither AUTOTUNE nor positive.
    """
    if num_parallel_calls is None:
        return None
    calls = integer(num_parallel_calls, "num_parallel_calls")
    if calls == AUTOTUNE:
        return None
    if calls < 1:
        raise InvalidArgumentError(f"`num_parallel_calls` must be greater than zero, found {calls}")
    return calls


class Sources:
    """Mixed into `Dataset`."""

    @staticmethod
    def range(
        *args: Any, output_type: DTypeLike = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """Makes a dataset of the numbers from ``start`` up to ``stop`` in steps of ``step``.

        Args:
            *args: ``(stop)``, ``(start, stop)`` or ``(start, stop, step)``.
            output_type: The dtype of the numbers.
            name: Accepted for TensorFlow's sake.
        """
        from gristmill.data._dataset import Dataset

        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`: expected 1 to 3 numbers, found {len(args)}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        a, b, c = (number(v, "a bound") for v in (start, stop, step))
        plan = _native.Plan.range(a, b, c, dtypes.as_dtype(output_type).name)
        return Dataset._make(plan, 0)

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """Makes a dataset that counts without end.

        Args:
            start: The first number.
            step: The distance between numbers, not 0.
            dtype: int32 or int64.
            name: Accepted for TensorFlow's sake.

        Raises:
            ValueError: If ``step`` is 0.
        """
        if int(step) == 0:
            raise ValueError("step must not be 0")
        limits = dtypes.as_dtype(dtype)
        stop = limits.max if int(step) > 0 else limits.min
        # One pass ends beyond any practical reach; repeating it makes the length infinite.
        return Sources.range(int(start), stop, int(step), output_type=dtype).repeat()

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Makes a dataset of one element.

        Args:
            tensors: A structure of what becomes tensors.
            name: Accepted for TensorFlow's sake.
        """
        from gristmill.data._dataset import Dataset

        element = st.to_tensors(tensors)
        components = [operand(t) for t in st.flatten(element)]
        return Dataset._make(
            _native.Plan.tensors(st.native(element), components), st.placeholder(element)
        )

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Makes a dataset of the rows of tensors.

        Args:
            tensors: A structure of what becomes tensors of one outermost size.
            name: Accepted for TensorFlow's sake.

        Raises:
            ValueError: If there is no tensor, a tensor is a scalar, or the sizes differ.
        """
        return _slices(tensors, False)

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Makes a dataset of the paths that match patterns.

        Args:
            file_pattern: A pattern or a list of them, with ``*``, ``?`` and ``[...]``.
            shuffle: Whether the paths come in random order, another one each pass; true if not
                given. Otherwise they are sorted by their bytes.
            seed: The seed of the order.
            name: Accepted for TensorFlow's sake.

        Raises:
            InvalidArgumentError: If nothing matches.
        """
        given = convert_to_tensor(file_pattern, dtypes.string).numpy()
        patterns = [given] if isinstance(given, bytes) else list(given.reshape(-1))
        names = [os.fsdecode(p) for p in patterns]
        found = {os.fsencode(path) for p in names for path in _native.glob(p)}
        if not found:
            raise InvalidArgumentError(
                f"list_files: No files matched pattern: {', '.join(names)}; "
                f"{_lints.nearest(names[0])}\n"
                "  hint: patterns take *, ? and [...]; a path must match as a whole"
            )
        made = _slices(sorted(found), True)
        if shuffle is None or shuffle:
            made = made.shuffle(len(found), seed=seed)
        return made

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Puts datasets side by side; the result ends with the shortest.

        Args:
            *args: Datasets, or one structure of them.
            datasets: The structure, by name.
            name: Accepted for TensorFlow's sake.
        """
        from gristmill.data._dataset import Dataset

        if args:
            datasets = args[0] if len(args) == 1 else args
        inputs = st.flatten(datasets)
        for d in inputs:
            if not isinstance(d, Dataset):
                raise TypeError(
                    f"Invalid `datasets`. `datasets` is expected to be a (nested) structure of "
                    f"`tf.data.Dataset` objects but encountered object of type {type(d)}."
                )
        plan = _native.Plan.zip(st.native(datasets), [d._plan for d in inputs])
        return Dataset._make(
            plan,
            st.pack(datasets, [d._structure for d in inputs]),
            functools.reduce(Options.merge, (d.options() for d in inputs), Options()),
            beside([d._facts for d in inputs]),
        )


def _slices(tensors: Any, paths: bool) -> Dataset:
    from gristmill.data._dataset import Dataset

    if isinstance(tensors, list) and not tensors:
        _lints.no_files()
    element = st.to_tensors(tensors)
    leaves = st.flatten(element)
    if not leaves:
        raise ValueError("Invalid `element`. `element` should not be empty.")
    for t in leaves:
        if isinstance(t, Tensor) and t.shape.rank == 0:
            raise ValueError(
                "Unbatching a tensor is only supported for rank >= 1"
                "\n  hint: Dataset.from_tensors makes one element of scalars"
            )
    plan = _native.Plan.tensor_slices(st.native(element), [operand(t) for t in leaves], paths)
    made = Dataset._make(plan, st.placeholder(element))
    if len(leaves) == 1 and getattr(leaves[0], "dtype", None) is dtypes.string:
        made._facts = Facts(paths=some_paths(leaves[0]))
    return made
