"""Random numbers and the seeds that ops and datasets draw with.

Seeds combine as in TensorFlow: the global seed of `set_seed` and the op's own. Under a global seed,
ops without a seed of their own take the next one of a sequence, in the order of their making.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace, dtypes
from gristmill._absent import lookup as _lookup
from gristmill.convert import convert_to_tensor, shape_tensor
from gristmill.dtypes import DType, DTypeLike
from gristmill.tensor import Tensor

if TYPE_CHECKING:
    from random import Random

DEFAULT_GRAPH_SEED = 87654321
_MODULUS = 2**31 - 1


class _Seeds:
    """The global seed and the op seeds handed out under it."""

    def __init__(self) -> None:
        self.graph: int | None = None
        self.rng: Random | None = None


_seeds = _Seeds()


def set_seed(seed: int | None) -> None:
    """Sets the global seed.

    Args:
        seed: An integer, or ``None`` to take it back.
    """
    _seeds.graph = None if seed is None else int(seed)
    _seeds.rng = None


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the pair (graph seed, op seed) that an op with this seed draws with.

    Args:
        op_seed: The op's own seed, if it has one.

    Returns:
        Both ``None`` where neither a global seed nor an op seed is given.
    """
    graph = _seeds.graph
    if graph is None and op_seed is None:
        return (None, None)
    if op_seed is None:
        tracing = _trace.current()
        if tracing is not None:
            tracing.random_ops += 1
            op_seed = tracing.random_ops
        else:
            if _seeds.rng is None:
                from random import Random

                _seeds.rng = Random(graph)
            op_seed = _seeds.rng.randint(0, _MODULUS)
    a = (DEFAULT_GRAPH_SEED if graph is None else graph) % _MODULUS
    b = int(op_seed) % _MODULUS
    return (0, _MODULUS) if (a, b) == (0, 0) else (a, b)


def seed_attr(op_seed: int | None) -> list[int] | None:
    """Returns the seed pair as the attribute of a random op."""
    a, b = get_seed(op_seed)
    return None if a is None or b is None else [a, b]


def _bounds(minval: Any, maxval: Any, dtype: DType) -> tuple[Tensor, Tensor]:
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("Must specify maxval for integer dtype")
        maxval = 1
    return convert_to_tensor(minval, dtype), convert_to_tensor(maxval, dtype)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from a uniform distribution over ``[minval, maxval)``.

    Args:
        shape: Shape of the result.
        minval: Lower bound, included.
        maxval: Upper bound, excluded; 1 for floats if not given.
        dtype: A float type, int32 or int64.
        seed: The op's seed.
        name: Accepted for TensorFlow's sake.

    Returns:
        A tensor of random numbers.
    """
    dtype = dtypes.as_dtype(dtype)
    low, high = _bounds(minval, maxval, dtype)
    inputs = [shape_tensor(shape), low, high]
    return _trace.tensor("random.uniform", inputs, dtype=dtype, seed=seed_attr(seed))


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from a normal distribution.

    Args:
        shape: Shape of the result.
        mean: Its mean.
        stddev: Its standard deviation.
        dtype: A float type.
        seed: The op's seed.
        name: Accepted for TensorFlow's sake.

    Returns:
        A tensor of random numbers.
    """
    dtype = dtypes.as_dtype(dtype)
    inputs = [
        shape_tensor(shape),
        convert_to_tensor(mean, dtype),
        convert_to_tensor(stddev, dtype),
    ]
    return _trace.tensor("random.normal", inputs, dtype=dtype, seed=seed_attr(seed))


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns the rows of a tensor in random order.

    Args:
        value: A tensor with at least one dimension.
        seed: The op's seed.
        name: Accepted for TensorFlow's sake.
    """
    return _trace.tensor("random.shuffle", [convert_to_tensor(value)], seed=seed_attr(seed))


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Draws uniformly from ``[minval, maxval)``; equal seeds give equal numbers, TensorFlow's.

    Args:
        shape: Shape of the result.
        seed: Two integers.
        minval: Lower bound, included. ``None`` for both bounds draws from all integers.
        maxval: Upper bound, excluded; 1 for floats if not given.
        dtype: A float or integer type.
        name: Accepted for TensorFlow's sake.
        alg: Accepted for TensorFlow's sake; Philox is used.

    Returns:
        A tensor of random numbers.
    """
    dtype = dtypes.as_dtype(dtype)
    inputs = [shape_tensor(shape), convert_to_tensor(seed)]
    if minval is not None or maxval is not None:
        inputs += _bounds(minval, maxval, dtype)
    return _trace.tensor("random.stateless_uniform", inputs, dtype=dtype)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Draws from a normal distribution; equal seeds give equal numbers, TensorFlow's.

    Args:
        shape: Shape of the result.
        seed: Two integers.
        mean: Its mean.
        stddev: Its standard deviation.
        dtype: A float type.
        name: Accepted for TensorFlow's sake.
        alg: Accepted for TensorFlow's sake; Philox is used.

    Returns:
        A tensor of random numbers.
    """
    dtype = dtypes.as_dtype(dtype)
    inputs = [
        shape_tensor(shape),
        convert_to_tensor(seed),
        convert_to_tensor(mean, dtype),
        convert_to_tensor(stddev, dtype),
    ]
    return _trace.tensor("random.stateless_normal", inputs, dtype=dtype)


if not TYPE_CHECKING:
    __getattr__ = _lookup("random", __name__)
