"""`Dataset`: a pipeline, described step by step and run by the native engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gristmill import _native, _trace, dtypes
from gristmill.convert import constant
from gristmill.data import _structure as st
from gristmill.data._facts import Facts, beside
from gristmill.data._functions import integer, number, trace, trace_dataset
from gristmill.data._iterator import Iterator, numpy_iterator
from gristmill.data._keras import KerasAdapter, merged_class
from gristmill.data._options import Options
from gristmill.data._profile import profile
from gristmill.data._reduce import Reductions
from gristmill.data._sources import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Sources,
    parallel,
    seeds,
)
from gristmill.errors import InvalidArgumentError
from gristmill.tensor import Tensor

if TYPE_CHECKING:
    from gristmill.data._jax import JaxIterator

_DEFAULT_CYCLE = 2


class Dataset(Sources, Reductions, KerasAdapter):
    """A sequence of elements and the steps that make them.

    Datasets are made by static methods (`from_tensor_slices`, `list_files`, …) and changed by
    methods that return a new one. Functions given to `map` and `filter` are called once, with
    symbolic tensors, when the step is described. Nothing is read before iteration.
    """

    _plan: _native.Plan
    _structure: Any
    _options: Options | None = None
    _facts: Facts = Facts()

    def __init__(self, variant_tensor: Any = None) -> None:
        raise TypeError("Dataset has no constructor: use Dataset.from_tensor_slices and its like")

    @classmethod
    def _make(
        cls,
        plan: _native.Plan,
        structure: Any,
        options: Options | None = None,
        facts: Facts | None = None,
    ) -> Dataset:
        made = object.__new__(Dataset)
        made._plan, made._structure = plan, structure
        made._options, made._facts = options, facts or Facts()
        return made

    def _like(self, plan: _native.Plan, facts: Facts | None = None) -> Dataset:
        return Dataset._make(plan, self._structure, self._options, facts or self._facts)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return merged_class(self)

    @property
    def element_spec(self) -> Any:
        """The nested specs of the elements."""
        return st.with_specs(self._structure, self._plan.leaf_specs)

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Puts each element through a function.

        Args:
            map_func: Takes the element (a tuple as several arguments) and returns a structure of
                tensors. It is called once, with symbolic tensors.
            num_parallel_calls: Elements computed at a time; `AUTOTUNE` and ``None`` leave it to the
                engine.
            deterministic: ``False`` permits another order.
            synchronous: Accepted for TensorFlow's sake, like all that follow.
            use_unbounded_threadpool: Accepted.
            name: Accepted.
        """
        graph, captures, structure, facts = trace(
            map_func, self._structure, self._plan.leaf_specs, "map", self._facts
        )
        plan = self._plan.map(
            graph, captures, st.native(structure), parallel(num_parallel_calls), deterministic
        )
        return Dataset._make(plan, structure, self._options, facts)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keeps the elements for which a function returns true.

        Args:
            predicate: Takes the element as in `map` and returns a bool scalar.
            name: Accepted for TensorFlow's sake.
        """
        graph, captures, _, facts = trace(
            predicate, self._structure, self._plan.leaf_specs, "filter", self._facts
        )
        return self._like(self._plan.filter(graph, captures), facts)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Makes a dataset of each element and gives their elements one dataset after the other.

        Args:
            map_func: Takes the element as in `map` and returns a dataset.
            name: Accepted for TensorFlow's sake.
        """
        graph, captures, inner = trace_dataset(
            map_func, self._structure, self._plan.leaf_specs, "flat_map", self._facts
        )
        plan = self._plan.flat_map(graph, captures, inner._plan)
        facts = self._facts.read(inner._facts)
        return Dataset._make(plan, inner._structure, self._options, facts)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Makes a dataset of each element and takes their elements in turn.

        Args:
            map_func: Takes the element as in `map` and returns a dataset.
            cycle_length: Datasets open at a time. If not given: 2, or 1 with AUTOTUNE.
            block_length: Elements from one dataset before the next one's turn; 1 if not given.
            num_parallel_calls: Datasets read at a time.
            deterministic: ``False`` permits another order.
            name: Accepted for TensorFlow's sake.
        """
        graph, captures, inner = trace_dataset(
            map_func, self._structure, self._plan.leaf_specs, "interleave", self._facts
        )
        calls = (
            None
            if num_parallel_calls is None
            else integer(num_parallel_calls, "num_parallel_calls")
        )
        cycle = AUTOTUNE if cycle_length is None else integer(cycle_length, "cycle_length")
        if cycle == AUTOTUNE:
            cycle = _DEFAULT_CYCLE if calls is None else max(calls, 1)
        block = 1 if block_length is None else integer(block_length, "block_length")
        for what, n in (("cycle_length", cycle), ("block_length", block)):
            if n < 1:
                raise InvalidArgumentError(f"`{what}` must be > 0, found {n}")
        plan = self._plan.interleave(
            graph,
            captures,
            inner._plan,
            cycle,
            block,
            parallel(num_parallel_calls),
        )
        facts = self._facts.read(inner._facts)
        return Dataset._make(plan, inner._structure, self._options, facts)

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Draws elements at random from a buffer, in TensorFlow's order.

        Args:
            buffer_size: Elements held at a time.
            seed: The seed; see `gm.random.set_seed` for what happens without one.
            reshuffle_each_iteration: Whether each pass has an order of its own.
            name: Accepted for TensorFlow's sake.
        """
        pair, unseeded = seeds(seed)
        buffer = number(buffer_size, "buffer_size")
        if buffer == UNKNOWN_CARDINALITY:
            known = self._plan.cardinality
            buffer = max(known, 1) if known != UNKNOWN_CARDINALITY else 2**31
        again = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        plan = self._plan.shuffle(buffer, pair, unseeded, again)
        return self._like(plan, self._facts.shuffle(again))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements of the first pass in memory for those that follow.

        Args:
            filename: Must be empty.
            name: Accepted for TensorFlow's sake.
        """
        if not isinstance(filename, str) or filename:
            raise NotImplementedError(
                "cache(filename) is not supported\n  hint: cache() keeps the elements in memory"
            )
        return self._like(self._plan.cache(), self._facts.cache())

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Gives the elements ``count`` times; without end if not given or -1."""
        times = -1 if count is None else number(count, "count")
        return self._like(self._plan.repeat(times), self._facts.repeat(times))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Gives the first ``count`` elements; all for -1."""
        n = number(count, "count")
        return self._like(self._plan.take(n), self._facts.take(n, self._plan.cardinality))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Gives all but the first ``count`` elements; none for -1."""
        n = number(count, "count")
        return self._like(self._plan.skip(n), self._facts.skip(n))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Gives every ``num_shards``-th element from the ``index``-th on."""
        n, i = number(num_shards, "num_shards"), number(index, "index")
        return self._like(self._plan.shard(n, i), self._facts.shard(i))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Joins consecutive elements along a new first dimension.

        Args:
            batch_size: Elements per batch.
            drop_remainder: Whether a last batch that is not full is dropped.
            num_parallel_calls: Accepted; the engine decides.
            deterministic: Accepted for TensorFlow's sake, like all that follow.
            name: Accepted.
        """
        size = number(batch_size, "batch_size")
        facts = self._facts.batch(size, bool(drop_remainder), self._plan.cardinality)
        return self._like(self._plan.batch(size, bool(drop_remainder)), facts)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Takes elements apart along their first dimension."""
        return self._like(self._plan.unbatch(), self._facts.unbatch())

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Makes elements ahead of the reader: that many, or as the engine sees fit."""
        ahead = integer(buffer_size, "buffer_size")
        return self._like(self._plan.prefetch(None if ahead < 0 else ahead))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Puts the position in front of each element, counted from ``start``."""
        plan = self._plan.enumerate(integer(start, "start"))
        facts = self._facts._replace(unscaled=(), paths=(), records=None)
        return Dataset._make(plan, (0, self._structure), self._options, facts)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Gives this dataset's elements, then those of another.

        Raises:
            TypeError: If their elements are of different structures or dtypes.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"concatenate takes a Dataset, found {type(dataset).__name__}")
        if not st.same(self._structure, dataset._structure):
            raise TypeError(
                f"Incompatible dataset elements:\n  {self.element_spec} vs.   "
                f"{dataset.element_spec}"
            )
        plan = self._plan.concatenate(dataset._plan)
        made = self._like(plan, beside([self._facts, dataset._facts]))
        made._options = self.options().merge(dataset.options())
        return made

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Drops the elements whose computation fails before this place."""
        return self._like(self._plan.ignore_errors(bool(log_warning)))

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Sets options for the whole dataset: later ones, and those of later inputs, win."""
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes Options, found options={options!r}")
        made = self._like(self._plan.with_options(**options._native()))
        made._options = self.options().merge(options)
        return made

    def options(self) -> Options:
        """Returns the options set so far."""
        return self._options or Options()

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """Returns ``transformation_func(self)``."""
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(made)}."
            )
        return made

    def cardinality(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, int64: -1 if infinite, -2 if only running it tells."""
        return constant(self._plan.cardinality, dtypes.int64)

    def __len__(self) -> int:
        count = self._plan.cardinality
        if count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator:
        if _trace.current() is not None:
            raise TypeError(f"a dataset is iterated inside a traced function, at {_trace.site()}")
        return Iterator(self)

    def as_numpy_iterator(self, zero_copy: bool = False) -> Iterator:
        """Returns an iterator over the elements as NumPy values that cannot be written.

        Args:
            zero_copy: Whether the strings of dense tensors come as ``memoryview`` of the engine's
                memory, not as ``bytes``. Each keeps the whole block that it lies in, up to some MB
                of a file. They have no hash.
        """
        return numpy_iterator(self, zero_copy=zero_copy)

    def iterator(self, state: bytes | None = None, process: bool = False) -> Iterator:
        """Starts a pass.

        Args:
            state: What `Iterator.state` of a pass over the same plan returned: the pass goes on
                where that one was. Without it the pass is new.
            process: Whether a process of its own makes the elements, two ahead of the reader, and
                hands them over in shared memory: Python functions do not hold up this interpreter.
                What they close over must be picklable; caches end with the pass. Linux only.

        Raises:
            TypeError: If the dataset cannot be sent to another process.
        """
        return Iterator(self, state=state, process=process)

    def __reduce__(self) -> Any:
        """Pickled as its plan; what caches hold stays here."""
        return Dataset._make, (self._plan, self._structure, self._options, self._facts)

    def to_jax(
        self, sharding: Any = None, state: bytes | None = None, process: bool = False
    ) -> JaxIterator:
        """Starts a pass that gives batches as JAX arrays, the next one always on its way.

        The arrays lie over the pipeline's memory where JAX can use it as it is (on the CPU where
        each device's part begins at a multiple of 64 bytes). 64-bit numbers become 32-bit ones
        unless JAX has them switched on.

        Args:
            sharding: A `jax.sharding.Sharding`, or a structure of them like the elements; the
                default device if not given. With several processes each gives its own rows.
            state: What `JaxIterator.state` of a pass over the same plan returned.
            process: As for `iterator`.

        Raises:
            TypeError: If a component is a string, sparse or ragged tensor.
            InvalidArgumentError: On ``next``, if a batch does not divide over the devices.
        """
        from gristmill.data._jax import JaxIterator

        return JaxIterator(self, sharding, state, process)

    def explain(self) -> str:
        """Returns the plan as written, the rules that rewrite it, and the plan that runs."""
        return self._plan.explain()

    def profile(self, elements: int | None = None) -> str:
        """Runs a pass and returns what each stage did, and which one the others wait for.

        Args:
            elements: How many elements to take; all if not given.
        """
        return profile(self, elements)

    def __repr__(self) -> str:
        name = self._plan.tree().split("(", 1)[0]
        return f"<{name} dataset element_spec={self.element_spec}>"
