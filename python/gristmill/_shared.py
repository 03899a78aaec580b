"""Messages and elements between the process that asks for elements and the one that makes them.

A message is a pickled tuple behind its length, over a socket pair. Values lie in memory without a
name (``memfd``), whose descriptors travel with the messages: when both processes are gone, however
they went, so is the memory.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
import sys
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from gristmill import _native
from gristmill.errors import ResourceExhaustedError

_HEAD = struct.Struct("<Q")
#: Elements of fewer bytes travel in the message itself.
_SMALL = 16 << 10
#: As the engine's buffers begin.
_ALIGN = 64
#: Pieces of memory that are kept for the next elements.
_KEEP = 4
#: Pieces of memory at most: each is a mapping, and until Python 3.13 a file descriptor, on both
#: sides. Elements beyond that travel in messages.
_MOST = 1 << 14
#: Part of the descriptors that a process may have which pieces may take.
_PART = 4

_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    # Nothing between the two runs without the other.
    os.register_at_fork(before=_forked, after_in_parent=_forked)

#: What a value looks like in a message: dtype, NumPy's name of it, shape and place in the shared
#: memory; or the value itself.
Leaf = tuple[str, str, tuple[int, ...], int] | _native.Value


def send(sock: socket.socket, message: Any, fds: list[int] | None = None) -> None:
    """Sends a message, and descriptors with it."""
    body = pickle.dumps(message, 5)
    head = _HEAD.pack(len(body))
    if fds:
        socket.send_fds(sock, [head], fds)
        sock.sendall(body)
    else:
        sock.sendall(head + body)


def receive(sock: socket.socket) -> tuple[Any, list[int]] | None:
    """Returns the next message and the descriptors that came with it; ``None`` at the end."""
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    head, fds = b"", []
    while len(head) < _HEAD.size:
        try:
            part, found, _, _ = socket.recv_fds(sock, _HEAD.size - len(head), 4, flags)
        except ConnectionError:
            part, found = b"", []
        fds += found
        if not part:
            for fd in fds:
                os.close(fd)
            return None
        head += part
    body = bytearray(_HEAD.unpack(head)[0])
    at = 0
    while at < len(body):
        try:
            n = sock.recv_into(memoryview(body)[at:])
        except ConnectionError:
            n = 0
        if n == 0:
            for fd in fds:
                os.close(fd)
            return None
        at += n
    return pickle.loads(body), fds


def _mapped(fd: int, size: int, flags: int = 0) -> mmap.mmap:
    flags |= mmap.MAP_SHARED
    if sys.version_info >= (3, 13):
        return mmap.mmap(fd, size, flags=flags, trackfd=False)
    return mmap.mmap(fd, size, flags=flags)


class Piece:
    """Shared memory for the values of one element, as the process that makes it has it."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        #: Open until it was sent.
        self.fd: int | None = os.memfd_create("gristmill", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.fd, size)
            self.memory = _mapped(self.fd, size)
        except BaseException:
            os.close(self.fd)
            raise

    def handed(self) -> list[int]:
        """Returns the descriptor to send and then to close, the first time."""
        fds = [] if self.fd is None else [self.fd]
        self.fd = None
        return fds


def _most() -> int:
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if most == resource.RLIM_INFINITY else min(max(most // _PART, 1), _MOST)


class Writer:
    """Lays out elements in shared memory."""

    def __init__(self) -> None:
        self._pieces: dict[int, Piece] = {}
        self._free: deque[int] = deque()
        self._gone: list[int] = []
        self._next = 0
        self._most = _most()

    def free(self, number: int) -> None:
        """Notes that nobody looks at a piece any more; below 0, that a forked process may.

        That one is ``~number``, and given up.
        """
        if number >= 0:
            self._free.append(number)
        elif self._pieces.pop(~number, None):
            self._gone.append(~number)

    def _piece(self, size: int) -> tuple[Piece | None, list[int]]:
        """Returns a piece that is large enough, and the numbers of those that are given up.

        There is none where there are too many, or the system gives no more.
        """
        gone, self._gone = self._gone, []
        fit = None
        for _ in range(len(self._free)):
            number = self._free.popleft()
            piece = self._pieces[number]
            if fit is None and size <= piece.size <= 4 * size:
                fit = piece
            elif piece.size < size or len(self._free) >= _KEEP:
                gone.append(number)
                del self._pieces[number]
            else:
                self._free.append(number)
        if fit is None and len(self._pieces) < self._most:
            with suppress(OSError):
                fit = Piece(self._next, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
                self._pieces[self._next] = fit
                self._next += 1
        return fit, gone

    def element(self, values: list[_native.Value]) -> tuple[tuple[Any, ...], list[int]]:
        """Returns what to send of an element: piece, its size, leaves, pieces given up; and fds.

        The descriptors are the caller's to close once they were sent.
        """
        size, places = 0, []
        for v in values:
            plain = v.kind == "dense" and v.dtype != "string" and v.nbytes > 0
            places.append(size if plain else -1)
            if plain:
                size += -(-v.nbytes // _ALIGN) * _ALIGN
        if size < _SMALL:
            return (None, 0, values, []), []
        piece, gone = self._piece(size)
        if piece is None:
            return (None, 0, values, gone), []
        leaves: list[Leaf] = []
        for v, at in zip(values, places, strict=True):
            if at < 0:
                leaves.append(v)
                continue
            array = np.asarray(v)
            target = np.frombuffer(piece.memory, array.dtype, array.size, at)
            np.copyto(target.reshape(array.shape), array)
            leaves.append((v.dtype, array.dtype.str, array.shape, at))
        return (piece.number, piece.size, leaves, gone), piece.handed()


class _Lease:
    """Says that a piece is looked at; when it goes, the piece is free.

    A process that was forked meanwhile may look at it longer: then it is not used again.
    """

    __slots__ = ("_forks", "_freed", "_number")

    def __init__(self, number: int, freed: deque[int]) -> None:
        self._number = number
        self._freed = freed
        self._forks = _forks

    def __del__(self) -> None:
        self._freed.append(self._number if self._forks == _forks else ~self._number)


_FULL = (
    "there is no room for one more element of another process: {}\n"
    "  hint: hold fewer elements at a time, or allow more open files (ulimit -n)"
)


class Reader:
    """Makes values over the shared memory.

    Attributes:
        freed: Pieces that nobody looks at any more and that the other side was not told of.
    """

    def __init__(self) -> None:
        self.freed: deque[int] = deque()
        self._pieces: dict[int, mmap.mmap] = {}

    def element(self, parts: tuple[Any, ...], fds: list[int]) -> list[_native.Value]:
        """Returns the values of an element.

        Raises:
            ResourceExhaustedError: If this process can have no more descriptors or mappings.
        """
        number, size, leaves, gone = parts
        for old in gone:
            # Its memory lives on as long as somebody looks at it.
            self._pieces.pop(old, None)
        if number is None:
            values: list[_native.Value] = leaves
            return values
        if fds:
            try:
                self._pieces[number] = _mapped(fds[0], size, getattr(mmap, "MAP_POPULATE", 0))
            except OSError as e:
                raise ResourceExhaustedError(_FULL.format(e)) from e
            finally:
                os.close(fds[0])
        elif number not in self._pieces:
            # The system leaves out the descriptors that a process has no room for.
            raise ResourceExhaustedError(_FULL.format("its file descriptor could not be received"))
        memory = self._pieces[number]
        lease = _Lease(number, self.freed)
        made = []
        for leaf in leaves:
            if isinstance(leaf, _native.Value):
                made.append(leaf)
                continue
            dtype, kind, shape, at = leaf
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(memory, np.dtype(kind), count, at).reshape(shape)
            made.append(_native.Value.over(array, dtype, lease))
        return made
