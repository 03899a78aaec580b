"""The messages that are written to records: Example and SequenceExample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from gristmill import _native
from gristmill.train._messages import FeatureLists, Features, Message, block

M = TypeVar("M", bound="_Root")


class _Root(Message):
    """A message that is written to records; its fields are submessages."""

    _types: ClassVar[dict[str, type[Message]]]

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self._parts: dict[str, Message] = {}
        self._present: set[str] = set()
        for name, cls in self._types.items():
            part = cls()
            part._on_change = self._marker(name)
            self._parts[name] = part
            given = fields.get(name)
            if given is not None:
                if not isinstance(given, cls):
                    raise TypeError(
                        f"{name} must be a {cls.__name__}, found {type(given).__name__}"
                    )
                part.CopyFrom(given)

    def _marker(self, name: str) -> Callable[[], None]:
        return lambda: self._present.add(name)

    def HasField(self, field_name: str) -> bool:
        """Whether that submessage is set."""
        if field_name not in self._types:
            raise ValueError(f"Protocol message {type(self).__name__} has no field {field_name!r}")
        return field_name in self._present

    def ClearField(self, field_name: str) -> None:
        """Unsets that submessage."""
        if self.HasField(field_name):
            self._parts[field_name].Clear()
            self._present.discard(field_name)

    def _pack(self) -> list[Any]:
        return [self._parts[n]._pack() if n in self._present else None for n in self._types]

    def _load(self, packed: Iterable[Any]) -> None:
        self._present.clear()
        for name, part in zip(self._types, packed, strict=True):
            self._parts[name]._load({} if part is None else part)
            if part is None:
                self._present.discard(name)
            else:
                self._present.add(name)

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
        for name in self._types:
            if name in other._present:
                self._parts[name].MergeFrom(other._parts[name])  # type: ignore[attr-defined]
                self._present.add(name)

    def ByteSize(self) -> int:
        """Returns the number of bytes of the message."""
        return len(self.SerializeToString())

    def IsInitialized(self) -> bool:
        """Always true."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).FromString, (self.SerializeToString(),))

    def __repr__(self) -> str:
        return "".join(block(n, repr(self._parts[n])) for n in self._types if n in self._present)


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

    _types: ClassVar[dict[str, type[Message]]] = {"features": Features}

    def __init__(self, features: Features | None = None) -> None:
        super().__init__(features=features)

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

    _types: ClassVar[dict[str, type[Message]]] = {
        "context": Features,
        "feature_lists": FeatureLists,
    }

    def __init__(
        self, context: Features | None = None, feature_lists: FeatureLists | None = None
    ) -> None:
        super().__init__(context=context, feature_lists=feature_lists)

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
