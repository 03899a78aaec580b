"""The messages that are written to records: Example and SequenceExample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeAlias, TypeVar

from gristmill import _native
from gristmill.train._lists import no_field
from gristmill.train._messages import Features, Message, block, same_type
from gristmill.train._sequences import FeatureLists

M = TypeVar("M", bound="_Root")
_Part: TypeAlias = "Features | FeatureLists"


class _Root(Message):
    """A message that is written to records; its fields are submessages."""

    _types: ClassVar[dict[str, type[_Part]]]

    __slots__ = ("_parts",)

    def __init__(self, **fields: Any) -> None:
        self._parts: dict[str, _Part] = {}
        no_field(self, fields.keys() - self._types.keys())
        for name, cls in self._types.items():
            part = self._parts[name] = cls()
            given = fields.get(name)
            if given is not None:
                if not isinstance(given, cls):
                    raise TypeError(
                        f"{name} must be a {cls.__name__}, found {type(given).__name__}"
                    )
                part.CopyFrom(given)

    def HasField(self, field_name: str) -> bool:
        """Whether that submessage is set."""
        if field_name not in self._types:
            raise ValueError(f"Protocol message {type(self).__name__} has no field {field_name!r}")
        return self._parts[field_name]._map._written

    def ClearField(self, field_name: str) -> None:
        """Unsets that submessage."""
        if self.HasField(field_name):
            self._parts[field_name] = self._types[field_name]()

    def Clear(self) -> None:
        """Becomes empty."""
        self._parts = {name: cls() for name, cls in self._types.items()}

    def _pack(self) -> list[Any]:
        return [part._pack() if part._map._written else None for part in self._parts.values()]

    def _copied(self) -> list[Any]:
        return [part._copied() if part._map._written else None for part in self._parts.values()]

    def _load(self, packed: Iterable[Any]) -> None:
        for part, found in zip(self._parts.values(), packed, strict=True):
            part._load({} if found is None else found)
            part._map._written = found is not None

    def _decode(self, data: bytes) -> Iterable[Any]:
        raise NotImplementedError

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Returns the bytes of the message; keys are always in ascending order."""
        raise NotImplementedError

    SerializePartialToString = SerializeToString

    @classmethod
    def FromString(cls: type[M], s: bytes) -> M:
        """Returns the message that bytes hold.

        Raises:
            DataLossError: If they hold none.
        """
        made = cls()
        made._load(made._decode(_raw(s)))
        return made

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes the message that bytes hold; returns their number."""
        data = _raw(serialized)
        self._load(self._decode(data))
        return len(data)

    def MergeFromString(self, serialized: bytes) -> int:
        """Takes over what the message that bytes hold has; returns their number."""
        data = _raw(serialized)
        other = type(self)()
        other._load(other._decode(data))
        self.MergeFrom(other)
        return len(data)

    def MergeFrom(self, other: Any) -> None:
        """Takes over what another message of its type has."""
        same_type(self, other)
        for name, part in self._parts.items():
            if other.HasField(name):
                part.MergeFrom(other._parts[name])

    def _equals(self, other: _Root) -> bool:
        return all(
            self.HasField(name) == other.HasField(name) and part == other._parts[name]
            for name, part in self._parts.items()
        )

    def ByteSize(self) -> int:
        """Returns the number of bytes of the message."""
        return len(self.SerializeToString())

    def IsInitialized(self) -> bool:
        """Always true."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).FromString, (self.SerializeToString(),))

    def __repr__(self) -> str:
        return "".join(block(n, repr(self._parts[n])) for n in self._types if self.HasField(n))


def _raw(data: Any) -> bytes:
    data = data.numpy() if hasattr(data, "numpy") else data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected bytes, found {type(data).__name__}")
    return bytes(data)


class Example(_Root):
    """A record of features.

    Args:
        features: The `Features`.
    """

    __slots__ = ()
    _types: ClassVar[dict[str, type[_Part]]] = {"features": Features}

    def __init__(self, features: Features | None = None, **unknown: Any) -> None:
        super().__init__(features=features, **unknown)

    @property
    def features(self) -> Features:
        """The features."""
        return self._parts["features"]  # type: ignore[return-value]

    def _decode(self, data: bytes) -> Iterable[Any]:
        return [_native.decode_example(data)]

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Returns the bytes of the message; keys are always in ascending order."""
        return _native.encode_example(self._pack()[0])


class SequenceExample(_Root):
    """A record of a sequence: features of the whole and lists of features of its steps.

    Args:
        context: The `Features` of the whole.
        feature_lists: The `FeatureLists`.
    """

    __slots__ = ()
    _types: ClassVar[dict[str, type[_Part]]] = {
        "context": Features,
        "feature_lists": FeatureLists,
    }

    def __init__(
        self,
        context: Features | None = None,
        feature_lists: FeatureLists | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(context=context, feature_lists=feature_lists, **unknown)

    @property
    def context(self) -> Features:
        """The features of the whole."""
        return self._parts["context"]  # type: ignore[return-value]

    @property
    def feature_lists(self) -> FeatureLists:
        """The features of the steps."""
        return self._parts["feature_lists"]  # type: ignore[return-value]

    def _decode(self, data: bytes) -> Iterable[Any]:
        return _native.decode_sequence_example(data)

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Returns the bytes of the message; keys are always in ascending order."""
        return _native.encode_sequence_example(*self._pack())
