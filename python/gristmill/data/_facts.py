"""What is known of a dataset beside its plan: the facts on which the remarks of `_lints` rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gristmill import _trace, dtypes
from gristmill.data import _lints

# Ops that move the samples of an image or change them within their range.
_KEEP_RANGE = frozenset(
    {
        *("set_shape", "ensure_shape", "identity", "reshape", "strided_slice", "slice", "cast"),
        *("transpose", "expand_dims", "squeeze", "stack", "concat", "reverse"),
        *("random.random_crop", "random.stateless_random_crop"),
    }
)
_NEW_RANGE = frozenset(
    {
        *("image.convert_image_dtype", "image.per_image_standardization"),
        *("image.total_variation", "image.rgb_to_hsv", "image.hsv_to_rgb"),
    }
)
_PARSES = ("io.parse_single_example", "io.parse_example")
# Features whose absence is no error.
_LENIENT = ("VarLenFeature", "RaggedFeature", "FixedLenSequenceFeature")


class Shuffled:
    """A shuffle that draws another order in each pass, and how it was cut since."""

    def __init__(self, site: str | None) -> None:
        self.site = site
        self.cuts: set[str] = set()


class Unscaled:
    """An image of floats in the range of an integer type."""

    def __init__(self, source: dtypes.DType, op: str) -> None:
        self.source = source
        self.op = op


class Facts(NamedTuple):
    """What is known of a dataset's elements.

    Attributes:
        shuffled: The last shuffle that draws anew in each pass.
        repeated: Whether an element comes several times.
        random: The user's line of a random op whose results the elements hold.
        partial: Size of the batches and of the last one, where that is known to be smaller.
        unscaled: Components that are images of floats above 1.
        paths: Some of the paths that the elements are.
        records: Some of the files of the records, where elements are records; empty if not known.
        parses: Parses of such records on the way.
    """

    shuffled: Shuffled | None = None
    repeated: bool = False
    random: str | None = None
    partial: tuple[int, int] | None = None
    unscaled: tuple[tuple[int, Unscaled], ...] = ()
    paths: tuple[str, ...] = ()
    records: tuple[str, ...] | None = None
    parses: tuple[_lints.Parse, ...] = ()

    def shuffle(self, reshuffles: bool) -> Facts:
        """After a shuffle."""
        if self.repeated:
            _lints.tell("repeat-before-shuffle")
        return self._replace(shuffled=Shuffled(_trace.site()) if reshuffles else None)

    def cut(self, how: str) -> Facts:
        """After ``"take"``, ``"skip"`` or the shard of a number."""
        if self.shuffled is None:
            return self
        self.shuffled.cuts.add(how)
        if len(self.shuffled.cuts) > 1:
            cuts = " and ".join(sorted(self.shuffled.cuts))
            _lints.tell("shuffle-split", shuffle=self.shuffled.site, cuts=cuts)
        return self._replace(shuffled=Shuffled(self.shuffled.site))

    def take(self, count: Any, cardinality: int) -> Facts:
        """After a take from so many elements."""
        # All that is taken lies before the last batch.
        whole = isinstance(count, int) and 0 <= count < cardinality and not self.repeated
        made = self if count == -1 else self.cut("take")
        return made._replace(partial=None) if whole else made

    def skip(self, count: Any) -> Facts:
        """After a skip."""
        return self if count == 0 else self.cut("skip")

    def shard(self, index: Any) -> Facts:
        """After a shard."""
        return self.cut(f"shard {index}")._replace(partial=None)

    def repeat(self, count: Any) -> Facts:
        """After a repeat."""
        return self if count in (0, 1) else self._replace(repeated=True)

    def cache(self) -> Facts:
        """After a cache."""
        if self.random is not None:
            _lints.tell("cache-after-random", site=self.random)
        return self._replace(random=None)

    def batch(self, size: Any, drop_remainder: bool, cardinality: int) -> Facts:
        """After a batch of so many elements."""
        known = isinstance(size, int) and size > 0 and cardinality > size
        rows = cardinality % size if known else 0
        return self._replace(partial=(size, rows) if rows and not drop_remainder else None)

    def unbatch(self) -> Facts:
        """After an unbatch."""
        return self._replace(partial=None)

    def filter(self, watch: Watch) -> Facts:
        """After a filter."""
        return self._replace(partial=None, parses=self.parses + tuple(watch.parses))

    def map(self, watch: Watch, outputs: Sequence[Any]) -> Facts:
        """After a map whose function was watched."""
        unscaled = tuple(
            (i, found)
            for i, tensor in enumerate(outputs)
            if (found := watch.of(tensor)) is not None
        )
        return self._replace(
            random=self.random or watch.draws,
            unscaled=unscaled,
            paths=(),
            records=None,
            parses=self.parses + tuple(watch.parses),
        )

    def read(self, inner: Facts) -> Facts:
        """After datasets that were made of each element took its place."""
        return Facts(
            shuffled=self.shuffled,
            repeated=self.repeated or inner.repeated,
            random=self.random or inner.random,
            unscaled=inner.unscaled,
            records=None if inner.records is None else inner.records or self.paths,
            parses=self.parses + inner.parses,
        )


def beside(parts: Sequence[Facts]) -> Facts:
    """Returns what is known of datasets put side by side or one after the other."""
    partial = {part.partial for part in parts}
    return Facts(
        repeated=any(part.repeated for part in parts),
        random=next((part.random for part in parts if part.random is not None), None),
        partial=partial.pop() if len(partial) == 1 else None,
        parses=tuple(dict.fromkeys(parse for part in parts for parse in part.parses)),
    )


class Watch:
    """Looks on while a function is traced.

    Attributes:
        draws: The user's line of a random op.
        parses: Parses of the records that come in.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.draws: str | None = None
        self.parses: list[_lints.Parse] = []
        self._unscaled: dict[tuple[int, int, int], Unscaled] = {}
        self._record: tuple[int, int, int] | None = None

    def begin(self, inputs: Sequence[Any]) -> None:
        """Takes the function's inputs into account."""
        for i, found in self.facts.unscaled:
            self._unscaled[_key(inputs[i])] = found
        if self.facts.records and len(inputs) == 1:
            self._record = _key(inputs[0])

    def of(self, tensor: Any) -> Unscaled | None:
        """Returns what is known of a tensor's range."""
        return self._unscaled.get(_key(tensor)) if hasattr(tensor, "_graph") else None

    def call(self, name: str, inputs: Sequence[Any], attrs: Any, outputs: Sequence[Any]) -> None:
        """Takes a call of an op into account."""
        if self.draws is None and _trace.op_class(name) == "random":
            self.draws = _trace.site()
        if name in _PARSES and self._record is not None:
            if _key(inputs[0]) == self._record and self.facts.records:
                self._parse(self.facts.records, attrs["features"])
            return
        if not inputs or name in _NEW_RANGE:
            return
        if name not in _KEEP_RANGE and not name.startswith("image."):
            return
        before, after = getattr(inputs[0], "dtype", None), getattr(outputs[0], "dtype", None)
        if before is None or after is None or not after.is_floating:
            return
        found = self.of(inputs[0])
        rank = outputs[0].shape.rank
        # Numbers that are no images are cast to floats without a thought of their range.
        if found is None and before in (dtypes.uint8, dtypes.uint16) and rank in (None, 3, 4):
            found = Unscaled(before, "cast" if name == "cast" else name.partition(".")[2])
        if found is not None:
            self._unscaled[_key(outputs[0])] = found

    def _parse(self, paths: tuple[str, ...], features: dict[str, dict[str, Any]]) -> None:
        keys = tuple(
            f.get("value_key", key)
            for key, f in features.items()
            if f["kind"] in _LENIENT or f.get("default") is not None
        )
        if keys:
            self.parses.append(_lints.Parse(paths, keys, _trace.site() or "?"))


def _key(tensor: Any) -> tuple[int, int, int]:
    return (
        id(getattr(tensor, "_graph", None)),
        getattr(tensor, "_node", 0),
        getattr(tensor, "_out", 0),
    )


def floats_converted(image: Any, target: dtypes.DType) -> None:
    """Remarks on a conversion to a float type of an image of unscaled floats."""
    graph = _trace.current()
    watch = graph.watch if graph is not None else None
    found = watch.of(image) if watch is not None and target.is_floating else None
    if found is not None:
        _lints.tell(
            "float-image-dtype",
            dtype=image.dtype.name,
            top=found.source.max,
            source=found.source.name,
            op=found.op,
        )


def some_paths(paths: Any) -> tuple[str, ...]:
    """Returns some of paths that are known and local, from the first to the last."""
    if not hasattr(paths, "numpy") or getattr(paths, "_value", None) is None:
        return ()
    flat = paths._value.strings()
    last, most = len(flat) - 1, _lints.PEEK_FILES
    places = range(last + 1) if last < most else (i * last // (most - 1) for i in range(most))
    chosen = [flat[i] for i in places]
    return tuple(
        path.decode("utf-8", "surrogateescape") for path in chosen if path and b"://" not in path
    )
