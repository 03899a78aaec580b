"""Values of the recorded cases: read from JSON, and compared with what an op returned."""

from __future__ import annotations

import base64
import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Python literals that stand for floats JSON has no word for.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True)
class Sparse:
    """A sparse tensor: int64 indices ``[n, rank]``, values ``[n]``, int64 shape ``[rank]``."""

    indices: Array
    values: Array
    dense_shape: Array


@dataclass(frozen=True)
class Ragged:
    """A ragged tensor: the innermost values and the row splits, outermost first."""

    flat_values: Array
    row_splits: list[Array]


@dataclass(frozen=True)
class Digest:
    """A long string of which only the length in bytes and the SHA-256 were recorded."""

    length: int
    sha256: str

    def matches(self, data: bytes) -> bool:
        """Whether ``data`` is the string that was recorded."""
        return len(data) == self.length and hashlib.sha256(data).hexdigest() == self.sha256


@dataclass(frozen=True)
class Tolerance:
    """How far a float may be off: ``exact``, ``abs`` (difference) or ``ulp`` (relative)."""

    kind: str
    value: float = 0.0


EXACT = Tolerance("exact")


class Decoder:
    """Turns the JSON form of a value into NumPy arrays and Python structures."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def decode(self, value: Any) -> Any:
        """The value behind ``value``; tensors become arrays, strings object arrays of bytes."""
        if value is None:
            return None
        if "sparse" in value:
            return Sparse(**{name: self.decode(part) for name, part in value["sparse"].items()})
        if "ragged" in value:
            ragged = value["ragged"]
            splits = [self.decode(part) for part in ragged["row_splits"]]
            return Ragged(self.decode(ragged["flat_values"]), splits)
        if "dict" in value:
            return {name: self.decode(part) for name, part in value["dict"].items()}
        if "tuple" in value:
            return tuple(self.decode(part) for part in value["tuple"])
        if "list" in value:
            return [self.decode(part) for part in value["list"]]
        if "py" in value:
            scalar = value["py"]
            return _NOT_FINITE.get(scalar, scalar) if isinstance(scalar, str) else scalar
        return self._tensor(value)

    def blob(self, name: str) -> bytes:
        """The bytes of one file below the folder of the cases."""
        return (self._folder / name).read_bytes()

    def _tensor(self, value: Mapping[str, Any]) -> Array:
        shape = tuple(value["shape"])
        if value["dtype"] == "string":
            strings = self._strings(value)
            out = np.empty(len(strings), dtype=object)
            out[:] = strings
            return out.reshape(shape)
        dtype = np_dtype(value["dtype"])
        if "npy" in value:
            raw = np.load(io.BytesIO(self.blob(value["npy"])))
            array: Array = raw.view(dtype) if value["dtype"] == "bfloat16" else raw
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(
                    f"{value['npy']} holds {array.dtype} {array.shape}, case says {dtype} {shape}"
                )
            return array
        numbers = [_NOT_FINITE[x] if isinstance(x, str) else x for x in value["data"]]
        if dtype.kind in "biu":
            return np.array(numbers, dtype=dtype).reshape(shape)
        return np.array(numbers, dtype=np.float64).astype(dtype).reshape(shape)

    def _strings(self, value: Mapping[str, Any]) -> list[bytes | Digest]:
        if "text" in value:
            return [text.encode() for text in value["text"]]
        if "b64" in value:
            return [base64.b64decode(text) for text in value["b64"]]
        if "blob" in value:
            return [self.blob(x) if isinstance(x, str) else _b64(x) for x in value["blob"]]
        if "pattern" in value:
            return [_b64(x) if "b64" in x else _pattern(x) for x in value["pattern"]]
        return [Digest(n, h) for n, h in zip(value["len"], value["sha256"], strict=True)]


def np_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype with TensorFlow's ``name``; bfloat16 comes from ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def _b64(value: Mapping[str, str]) -> bytes:
    return base64.b64decode(value["b64"])


def _pattern(value: Mapping[str, int]) -> bytes:
    """Byte i is ``(i * mul + add) mod mod``, in 64-bit integers."""
    i = np.arange(value["len"], dtype=np.int64)
    return ((i * value["mul"] + value["add"]) % value["mod"]).astype(np.uint8).tobytes()


def difference(expected: Any, found: Any, tolerance: Tolerance, at: str = "result") -> str | None:
    """The first place where ``found`` is not ``expected``, in words, or ``None``.

    ``expected`` comes from :class:`Decoder`; ``found`` consists of arrays, the classes of this
    module, tuples, lists, dicts and Python scalars. NaN equals NaN whatever its payload; the sign
    of zero counts under an exact tolerance. Strings and Python scalars are always exact.
    """
    if expected is None or found is None:
        return None if expected is found else f"{at}: expected {expected!r}, found {found!r}"
    if isinstance(expected, Sparse | Ragged):
        return _parts(expected, found, tolerance, at)
    if isinstance(expected, dict):
        return _dicts(expected, found, tolerance, at)
    if isinstance(expected, tuple | list):
        return _sequences(expected, found, tolerance, at)
    if isinstance(expected, bool | int | float | str) and not isinstance(expected, np.generic):
        same = type(expected) is type(found) and (
            expected == found or (expected != expected and found != found)
        )
        return None if same else f"{at}: expected {expected!r}, found {found!r}"
    return _arrays(np.asarray(expected), found, tolerance, at)


def _parts(expected: Any, found: Any, tolerance: Tolerance, at: str) -> str | None:
    if type(expected) is not type(found):
        return f"{at}: expected {type(expected).__name__}, found {type(found).__name__}"
    for name, part in vars(expected).items():
        if problem := difference(part, getattr(found, name), tolerance, f"{at}.{name}"):
            return problem
    return None


def _dicts(expected: dict[str, Any], found: Any, tolerance: Tolerance, at: str) -> str | None:
    if not isinstance(found, dict) or sorted(expected) != sorted(found):
        keys = sorted(found) if isinstance(found, dict) else type(found).__name__
        return f"{at}: expected keys {sorted(expected)}, found {keys}"
    for name, part in expected.items():
        if problem := difference(part, found[name], tolerance, f"{at}[{name!r}]"):
            return problem
    return None


def _sequences(expected: Sequence[Any], found: Any, tolerance: Tolerance, at: str) -> str | None:
    if type(expected) is not type(found):
        return f"{at}: expected a {type(expected).__name__}, found a {type(found).__name__}"
    for i, (a, b) in enumerate(zip(expected, found, strict=False)):
        if problem := difference(a, b, tolerance, f"{at}[{i}]"):
            return problem
    if len(expected) != len(found):
        return f"{at}: expected {len(expected)} items, found {len(found)}"
    return None


def _arrays(expected: Array, found: Any, tolerance: Tolerance, at: str) -> str | None:
    if isinstance(found, tuple | list | dict | Sparse | Ragged | Mapping):
        return f"{at}: expected a tensor, found a {type(found).__name__}"
    array = np.asarray(found)
    if expected.shape != array.shape:
        return f"{at}: expected shape {expected.shape}, found {array.shape}"
    if expected.dtype.kind == "O":
        return _strings(expected, array, at)
    if expected.dtype != array.dtype:
        return f"{at}: expected dtype {expected.dtype}, found {array.dtype}"
    wrong = _wrong(expected, array, tolerance)
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f" at {first}" if first else ""
    return (
        f"{at}: {int(wrong.sum())} of {wrong.size} values differ ({tolerance.kind} "
        f"{tolerance.value}), first{where}: expected {expected[first]!r}, found {array[first]!r}"
    )


def _strings(expected: Array, found: Array, at: str) -> str | None:
    if found.dtype.kind not in "OSU":
        return f"{at}: expected strings, found dtype {found.dtype}"
    for i, (a, b) in enumerate(zip(expected.reshape(-1), found.reshape(-1), strict=True)):
        data = b.encode() if isinstance(b, str) else bytes(b)
        if not (a.matches(data) if isinstance(a, Digest) else a == data):
            return f"{at}: string {i}: expected {_short(a)}, found {_short(data)}"
    return None


def _short(data: bytes | Digest) -> str:
    text = repr(data)
    return text if len(text) <= 80 else f"{text[:80]}... ({len(text)} characters)"


def _wrong(expected: Array, found: Array, tolerance: Tolerance) -> Array:
    """For each element whether it is outside the tolerance, in the shape of the arrays."""
    integral = expected.dtype.kind in "biu"
    if integral and tolerance.kind != "abs":
        return np.asarray(expected != found)
    a, b = expected.astype(np.float64), found.astype(np.float64)
    both_nan = np.isnan(a) & np.isnan(b)
    if tolerance.kind == "exact":
        return np.asarray(~(both_nan | ((a == b) & (np.signbit(a) == np.signbit(b)))))
    with np.errstate(invalid="ignore"):
        distance = np.where(a == b, 0.0, np.abs(a - b))
    if tolerance.kind == "abs":
        allowed = np.full(a.shape, tolerance.value)
    elif tolerance.kind == "ulp":
        eps = float(ml_dtypes.finfo(expected.dtype).eps)
        scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 2.0**-126)
        allowed = tolerance.value * eps * scale
    else:
        raise ValueError(f"unknown tolerance {tolerance.kind!r}, expected exact, abs or ulp")
    return np.asarray(~(both_nan | (distance <= allowed)))
