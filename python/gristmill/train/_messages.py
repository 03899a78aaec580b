"""The messages of a single record: Feature and Features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from gristmill.train._lists import BytesList, FloatList, Int64List, ValueList, no_field, shown

Packed = Any
"""A feature as the native module takes it: ``None`` or (kind, values). Lists in what was packed are
never changed: who takes them up copies them first."""

_FIELDS: dict[str, type[ValueList]] = {
    "bytes_list": BytesList,
    "float_list": FloatList,
    "int64_list": Int64List,
}
_BY_KIND = {cls._kind: (field, cls) for field, cls in _FIELDS.items()}
M = TypeVar("M", bound="Message")


class Message:
    """What all messages have."""

    __slots__ = ()

    def _pack(self) -> Any:
        """The message as the native module takes it, for use at once."""
        raise NotImplementedError

    def _copied(self) -> Any:
        """The same, for keeping."""
        raise NotImplementedError

    def _load(self, packed: Any) -> None:
        raise NotImplementedError

    def _mark(self) -> None:
        """Notes that the message was written to."""

    def CopyFrom(self, other: Any) -> None:
        """Becomes a copy of another message of its type."""
        if type(other) is not type(self):
            raise TypeError(f"CopyFrom takes a {type(self).__name__}, found {type(other).__name__}")
        self._load(other._copied())
        self._mark()

    def Clear(self) -> None:
        """Becomes empty."""
        self._load(type(self)()._copied())

    def __copy__(self: M) -> M:
        made = type(self)()
        made.CopyFrom(self)
        return made

    def __deepcopy__(self: M, memo: object) -> M:
        return self.__copy__()

    def _equals(self, other: Any) -> bool:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._equals(other)

    __hash__ = None  # type: ignore[assignment]


def same_type(message: Any, other: Any) -> None:
    """Refuses to merge a message of another type."""
    if type(other) is not type(message):
        raise TypeError(f"MergeFrom takes a {type(message).__name__}, found {type(other).__name__}")


class Feature(Message):
    """One of three lists, or nothing; the last one if several are given.

    Args:
        bytes_list: A `BytesList`.
        float_list: A `FloatList`.
        int64_list: An `Int64List`.
    """

    __slots__ = ("_list", "_unset")

    # Which one is the last is not told by parameters with names.
    def __init__(self, **lists: ValueList | Mapping[str, Any] | None) -> None:
        self._list: ValueList | None = None
        # Lists that were asked for and not written to yet.
        self._unset: dict[str, ValueList] = {}
        for field, given in lists.items():
            if field not in _FIELDS:
                no_field(self, (field,))
            if given is not None:
                self._take(field, given)

    def _take(self, field: str, given: Any) -> None:
        cls = _FIELDS[field]
        if type(given) is not cls:
            if isinstance(given, Mapping):
                given = cls(**given)
            if not isinstance(given, cls):
                raise TypeError(
                    f"Parameter to initialize message field must be dict or instance of same class:"
                    f" expected {cls.__name__} got {type(given).__name__}."
                )
        self._list = cls._made(given._items.copy())

    def _set(self, chosen: ValueList) -> None:
        # The list that was set before stays with whoever holds it.
        self._list = chosen
        chosen._owner = None
        self._unset.pop(_BY_KIND[chosen._kind][0], None)

    def _field(self, field: str) -> Any:
        cls = _FIELDS[field]
        if isinstance(self._list, cls):
            return self._list
        if field not in self._unset:
            self._unset[field] = cls()
            self._unset[field]._owner = self
        return self._unset[field]

    @property
    def bytes_list(self) -> BytesList:
        """The byte strings; writing to it makes it the list that is set."""
        found: BytesList = self._field("bytes_list")
        return found

    @property
    def float_list(self) -> FloatList:
        """The floats; writing to it makes it the list that is set."""
        found: FloatList = self._field("float_list")
        return found

    @property
    def int64_list(self) -> Int64List:
        """The integers; writing to it makes it the list that is set."""
        found: Int64List = self._field("int64_list")
        return found

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Returns the name of the list that is set, for the group ``"kind"``."""
        if oneof_group != "kind":
            raise ValueError(f"Feature has no oneof group {oneof_group!r}")
        return None if self._list is None else _BY_KIND[self._list._kind][0]

    def HasField(self, field_name: str) -> bool:
        """Whether that list is set."""
        if field_name not in _FIELDS:
            raise ValueError(f"Protocol message Feature has no field {field_name!r}")
        return isinstance(self._list, _FIELDS[field_name])

    def ClearField(self, field_name: str) -> None:
        """Unsets that list."""
        if self.HasField(field_name):
            self._list = None

    def _pack(self) -> Packed:
        return None if self._list is None else (self._list._kind, self._list._items)

    def _copied(self) -> Packed:
        return None if self._list is None else (self._list._kind, self._list._items.copy())

    def _load(self, packed: Packed) -> None:
        if packed is None:
            self._list = None
        else:
            kind, items = packed
            field, cls = _BY_KIND[kind]
            self._list = self._unset.pop(field, None) or cls._made([])
            self._list._owner = None
            self._list._items[:] = items

    def MergeFrom(self, other: Any) -> None:
        """Appends the values of another feature of the same kind, becomes one of another kind."""
        same_type(self, other)
        if other._list is None:
            return
        if self._list is not None and self._list._kind == other._list._kind:
            self._list.MergeFrom(other._list)
        else:
            self._load(other._copied())

    def _equals(self, other: Feature) -> bool:
        return self._list == other._list

    def __repr__(self) -> str:
        return "" if self._list is None else block(self.WhichOneof("kind") or "", repr(self._list))


def block(name: str, inner: str) -> str:
    """Returns a submessage in text form."""
    lines = "".join(f"  {line}\n" for line in inner.splitlines())
    return f"{name} {{\n{lines}}}\n"


class MessageMap(Mapping[str, M], Generic[M]):
    """A map from key to message; looking a key up makes an empty message there, as in protobuf."""

    __slots__ = ("_cls", "_entries", "_written")

    def __init__(self, cls: type[M]) -> None:
        self._cls = cls
        # Packed until somebody asks for the message.
        self._entries: dict[str, Any] = {}
        self._written = False

    def get_or_create(self, key: Any) -> M:
        """Returns the message of a key, an empty new one if there is none."""
        if isinstance(key, bytes):
            key = key.decode("utf-8")
        if not isinstance(key, str):
            raise TypeError(
                f"{key!r} has type {type(key).__name__}, but expected one of: bytes, str"
            )
        if key not in self._entries:
            self._entries[key] = self._cls()
            self._written = True
        return self._message(key)

    def _message(self, key: str) -> M:
        found = self._entries[key]
        if isinstance(found, self._cls):
            return found
        made = self._cls()
        made._load(found)
        self._entries[key] = made
        return made

    def __getitem__(self, key: str) -> M:
        return self.get_or_create(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the message of a key, ``default`` if there is none."""
        return self._message(key) if key in self._entries else default

    def __setitem__(self, key: str, value: M) -> None:
        raise ValueError(
            "Direct assignment of submessage not allowed: use map[key].CopyFrom(message)"
        )

    def __delitem__(self, key: str) -> None:
        del self._entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr({key: self._message(key) for key in self._entries})


class MapMessage(Message, Generic[M]):
    """A message that is one map."""

    __slots__ = ("_map",)
    _value_class: type[M]
    _field: str

    def __init__(self, entries: Mapping[str, Any] | None = None) -> None:
        self._map: MessageMap[M] = MessageMap(self._value_class)
        if not entries:
            return
        for key, value in entries.items():
            if isinstance(value, Mapping):
                value = self._value_class(**value)
            if not isinstance(value, self._value_class):
                raise TypeError(
                    f"the value of {key!r} must be a {self._value_class.__name__}, found "
                    f"{type(value).__name__}"
                )
            if type(key) is str:
                self._map._entries[key] = value._copied()
            else:
                self._map.get_or_create(key)._load(value._copied())
        self._mark()

    def _mark(self) -> None:
        self._map._written = True

    def _pack(self) -> dict[str, Any]:
        entries = self._map._entries.items()
        return {k: v._pack() if isinstance(v, Message) else v for k, v in entries}

    def _copied(self) -> dict[str, Any]:
        entries = self._map._entries.items()
        return {k: v._copied() if isinstance(v, Message) else v for k, v in entries}

    def _load(self, packed: Mapping[str, Any]) -> None:
        self._map._entries = dict(packed)
        if packed:
            self._mark()

    def MergeFrom(self, other: Any) -> None:
        """Takes over the entries of another message of its type."""
        same_type(self, other)
        for key, packed in other._copied().items():
            self._map.get_or_create(key)._load(packed)
        self._mark()

    def _equals(self, other: MapMessage[M]) -> bool:
        mine, theirs = self._map, other._map
        return mine._entries.keys() == theirs._entries.keys() and all(
            mine._message(key) == theirs._message(key) for key in mine
        )

    def __repr__(self) -> str:
        parts = []
        for key in sorted(self._map._entries):
            inner = f"key: {shown(key.encode())}\n" + block("value", repr(self._map._message(key)))
            parts.append(block(self._field, inner))
        return "".join(parts)


class Features(MapMessage[Feature]):
    """Features by key.

    Args:
        feature: A dict from key to `Feature`.
    """

    __slots__ = ()
    _value_class = Feature
    _field = "feature"

    def __init__(self, feature: Mapping[str, Feature] | None = None, **unknown: Any) -> None:
        if unknown:
            no_field(self, unknown)
        super().__init__(feature)

    @property
    def feature(self) -> MessageMap[Feature]:
        """The features by key."""
        return self._map
