"""Files by path or URL, as ``tf.io.gfile`` has them."""

from __future__ import annotations

import io
import os
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gristmill import _native
from gristmill._absent import lookup as _lookup

PathLike = Any


def _path(path: PathLike) -> str:
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if hasattr(path, "numpy"):
        return os.fsdecode(path.numpy())
    return os.fspath(path)


class FileStatistics(NamedTuple):
    """What `stat` tells of a file.

    Attributes:
        length: Its bytes.
        mtime_nsec: When it was last changed, nanoseconds since 1970.
        is_directory: Whether it is a directory.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def glob(pattern: Any) -> list[str]:
    """Returns the paths that match a pattern or one of several, sorted.

    Args:
        pattern: A pattern with ``*``, ``?`` and ``[...]``, or a list of patterns.
    """
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    found = [p for one in patterns for p in _native.glob(_path(one))]
    if not found:
        from gristmill.data import _lints

        _lints.matched_none([_path(one) for one in patterns])
    return found


def exists(path: PathLike) -> bool:
    """Returns whether there is a file or directory."""
    return _native.exists(_path(path))


def isdir(path: PathLike) -> bool:
    """Returns whether there is a directory."""
    return _native.isdir(_path(path))


def listdir(path: PathLike) -> list[str]:
    """Returns the names in a directory, sorted."""
    return [name for name, _ in _native.listdir(_path(path))]


def walk(top: PathLike, topdown: bool = True, onerror: Any = None) -> Iterator[Any]:
    """Yields directory, directory names and file names of a tree, as ``os.walk`` does."""
    base = _path(top)
    entries = _native.listdir(base)
    folders = [name for name, is_dir in entries if is_dir]
    files = [name for name, is_dir in entries if not is_dir]
    if topdown:
        yield (base, folders, files)
    for name in folders:
        yield from walk(join(base, name), topdown, onerror)
    if not topdown:
        yield (base, folders, files)


def join(path: PathLike, *paths: PathLike) -> str:
    """Joins parts of a path with slashes."""
    return posixpath.join(_path(path), *[_path(p) for p in paths])


def makedirs(path: PathLike) -> None:
    """Makes a directory and those above it; nothing happens when it is there."""
    _native.makedirs(_path(path))


def mkdir(path: PathLike) -> None:
    """Makes a directory."""
    _native.makedirs(_path(path))


def remove(path: PathLike) -> None:
    """Removes a file.

    Raises:
        NotFoundError: If there is none.
    """
    _native.remove(_path(path))


def rmtree(path: PathLike) -> None:
    """Removes a directory with all that is in it."""
    _native.rmtree(_path(path))


def _check_free(path: str, overwrite: bool) -> None:
    if not overwrite and _native.exists(path):
        from gristmill.errors import AlreadyExistsError

        raise AlreadyExistsError(f"{path}; file already exists")


def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Gives a file another name.

    Raises:
        AlreadyExistsError: If there is a file of that name and ``overwrite`` is not set.
    """
    _check_free(_path(dst), overwrite)
    _native.rename(_path(src), _path(dst))


def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copies a file.

    Raises:
        AlreadyExistsError: If there is a file of that name and ``overwrite`` is not set.
    """
    _check_free(_path(dst), overwrite)
    _native.copy(_path(src), _path(dst))


def stat(path: PathLike) -> FileStatistics:
    """Returns length, time of change and kind of a file."""
    length, is_dir, seconds = _native.stat(_path(path))
    return FileStatistics(length, int(seconds * 1e9), is_dir)


class GFile:
    """A file opened by path or URL.

    What is written appears as a whole when the file is closed.

    Args:
        name: Path or URL.
        mode: ``"r"``, ``"rb"``, ``"w"``, ``"wb"``, ``"a"`` or ``"ab"``.
    """

    def __init__(self, name: PathLike, mode: str = "r") -> None:
        if mode.replace("b", "").replace("+", "") not in ("r", "w", "a"):
            raise ValueError(f"mode must be 'r', 'w' or 'a', perhaps with 'b', found {mode!r}")
        self._name = _path(name)
        self._mode = mode
        self._buffer: io.BytesIO | None = None
        self._changed = "w" in mode

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode."""
        return self._mode

    def _open(self) -> io.BytesIO:
        if self._buffer is None:
            keeps = "w" not in self._mode and ("r" in self._mode or _native.exists(self._name))
            self._buffer = io.BytesIO(_native.read_file(self._name) if keeps else b"")
            if "a" in self._mode:
                self._buffer.seek(0, io.SEEK_END)
        return self._buffer

    def _text(self, data: bytes) -> Any:
        return data if "b" in self._mode else data.decode("utf-8")

    def read(self, n: int = -1) -> Any:
        """Returns the next ``n`` bytes, or all that is left, as ``str`` or ``bytes``."""
        return self._text(self._open().read(n))

    def readline(self) -> Any:
        """Returns the next line with its end."""
        return self._text(self._open().readline())

    def readlines(self) -> list[Any]:
        """Returns the lines that are left."""
        return [self._text(line) for line in self._open().readlines()]

    def write(self, file_content: str | bytes) -> None:
        """Writes text or bytes."""
        data = file_content.encode("utf-8") if isinstance(file_content, str) else file_content
        self._changed = True
        self._open().write(data)

    def seek(self, offset: int = 0, whence: int = 0, position: int | None = None) -> None:
        """Goes to a position."""
        self._open().seek(offset if position is None else position, whence)

    def tell(self) -> int:
        """Returns the position."""
        return self._open().tell()

    def size(self) -> int:
        """Returns the number of bytes."""
        return len(self._open().getbuffer())

    def flush(self) -> None:
        """Writes the file as it is now."""
        if self._changed:
            _native.write_file(self._name, self._open().getvalue())

    def close(self) -> None:
        """Writes the file, if something was written, and lets go of it."""
        self.flush()
        self._changed = False
        self._buffer = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, kind: Any, *exc: object) -> None:
        if kind is None:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readlines())


if not TYPE_CHECKING:
    __getattr__ = _lookup("io.gfile", __name__)
