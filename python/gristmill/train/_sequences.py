"""The messages of a sequence: lists of features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gristmill.train._lists import no_field
from gristmill.train._messages import (
    Feature,
    MapMessage,
    Message,
    MessageMap,
    Packed,
    block,
    same_type,
)


class FeatureList(Message):
    """The features of the steps of a sequence.

    Args:
        feature: A list of `Feature`.
    """

    __slots__ = ("_steps",)

    def __init__(self, feature: Iterable[Feature] | None = None, **unknown: Any) -> None:
        if unknown:
            no_field(self, unknown)
        self._steps = Steps()
        for step in feature or ():
            self._steps.append(step)

    @property
    def feature(self) -> Steps:
        """The features of the steps."""
        return self._steps

    def _pack(self) -> list[Packed]:
        return [step._pack() for step in self._steps]

    def _copied(self) -> list[Packed]:
        return [step._copied() for step in self._steps]

    def _load(self, packed: Iterable[Packed]) -> None:
        self._steps._items.clear()
        for step in packed:
            self._steps.add()._load(step)

    def MergeFrom(self, other: Any) -> None:
        """Appends copies of the steps of another list."""
        same_type(self, other)
        self._steps.extend(list(other._steps))

    def _equals(self, other: FeatureList) -> bool:
        return self._steps == other._steps

    def __repr__(self) -> str:
        return "".join(block("feature", repr(step)) for step in self._steps)


class Steps:
    """The list of a `FeatureList`."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: list[Feature] = []

    def add(self, **fields: Any) -> Feature:
        """Appends a new feature and returns it."""
        made = Feature(**fields)
        self._items.append(made)
        return made

    def append(self, value: Feature) -> None:
        """Appends a copy of a feature."""
        self.insert(len(self._items), value)

    def insert(self, index: int, value: Feature) -> None:
        """Inserts a copy of a feature before position ``index``."""
        made = Feature()
        made.CopyFrom(value)
        self._items.insert(index, made)

    def pop(self, index: int = -1) -> Feature:
        """Removes a feature and returns it."""
        return self._items.pop(index)

    def extend(self, values: Iterable[Feature]) -> None:
        """Appends copies of features."""
        for value in values:
            self.append(value)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __delitem__(self, key: Any) -> None:
        del self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Steps):
            return self._items == other._items
        return isinstance(other, (list, tuple)) and self._items == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class FeatureLists(MapMessage[FeatureList]):
    """Feature lists by key.

    Args:
        feature_list: A dict from key to `FeatureList`.
    """

    __slots__ = ()
    _value_class = FeatureList
    _field = "feature_list"

    def __init__(
        self, feature_list: Mapping[str, FeatureList] | None = None, **unknown: Any
    ) -> None:
        if unknown:
            no_field(self, unknown)
        super().__init__(feature_list)

    @property
    def feature_list(self) -> MessageMap[FeatureList]:
        """The feature lists by key."""
        return self._map
