"""Distribution, as ``tf.distribute`` has it: one replica."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from gristmill.errors import UnimplementedError


class Strategy:
    """One replica on this host."""

    num_replicas_in_sync = 1

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Changes nothing."""
        yield self

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Returns ``fn(*args, **kwargs)``."""
        return fn(*args, **(kwargs or {}))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Returns the dataset itself."""
        return dataset


def get_strategy() -> Strategy:
    """Returns the one strategy there is."""
    return Strategy()


class UnimplementedAttributeError(UnimplementedError, AttributeError):
    """For names of TensorFlow's: no attribute to those who only ask whether there is one."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise UnimplementedAttributeError(
        f"distribute.{name} does not exist: gristmill feeds devices, it does not run them\n"
        "  hint: with JAX, ds.shard(jax.process_count(), jax.process_index()) and "
        "jax.make_array_from_process_local_data give each host its part"
    )
