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
from collections import deque
from typing import Any

import numpy as np

from gristmill import _native

_HEAD = struct.Struct("<Q")
#: Elements of fewer bytes travel in the message itself.
_SMALL = 16 << 10
#: As the engine's buffers begin.
_ALIGN = 64
#: Pieces of memory that are kept for the next elements.
_KEEP = 4

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


class Piece:
    """Shared memory for the values of one element, as the process that makes it has it."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.fd = os.memfd_create("gristmill", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, size)
        self.memory = mmap.mmap(self.fd, size)
        self.sent = False

    def close(self) -> None:
        """Gives up this process's hold of the memory."""
        os.close(self.fd)


class Writer:
    """Lays out elements in shared memory."""

    def __init__(self) -> None:
        self._pieces: dict[int, Piece] = {}
        self._free: deque[int] = deque()
        self._next = 0

    def free(self, number: int) -> None:
        """Notes that nobody looks at a piece any more."""
        self._free.append(number)

    def _piece(self, size: int) -> tuple[Piece, list[int]]:
        """Returns a piece that is large enough, and the numbers of those that are given up."""
        gone = []
        fit = None
        for _ in range(len(self._free)):
            number = self._free.popleft()
            piece = self._pieces[number]
            if fit is None and size <= piece.size <= 4 * size:
                fit = piece
            elif piece.size < size or len(self._free) >= _KEEP:
                gone.append(number)
                self._pieces.pop(number).close()
            else:
                self._free.append(number)
        if fit is None:
            fit = Piece(self._next, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
            self._pieces[self._next] = fit
            self._next += 1
        return fit, gone

    def element(self, values: list[_native.Value]) -> tuple[tuple[Any, ...], list[int]]:
        """Returns what to send of an element: piece, its size, leaves, pieces given up; and fds."""
        size, places = 0, []
        for v in values:
            plain = v.kind == "dense" and v.dtype != "string" and v.nbytes > 0
            places.append(size if plain else -1)
            if plain:
                size += -(-v.nbytes // _ALIGN) * _ALIGN
        if size < _SMALL:
            return (None, 0, values, []), []
        piece, gone = self._piece(size)
        leaves: list[Leaf] = []
        for v, at in zip(values, places, strict=True):
            if at < 0:
                leaves.append(v)
                continue
            array = np.asarray(v)
            target = np.frombuffer(piece.memory, array.dtype, array.size, at)
            np.copyto(target.reshape(array.shape), array)
            leaves.append((v.dtype, array.dtype.str, array.shape, at))
        fds = [] if piece.sent else [piece.fd]
        piece.sent = True
        return (piece.number, piece.size, leaves, gone), fds


class _Lease:
    """Says that a piece is looked at; when it goes, the piece is free."""

    __slots__ = ("_freed", "_number")

    def __init__(self, number: int, freed: deque[int]) -> None:
        self._number = number
        self._freed = freed

    def __del__(self) -> None:
        self._freed.append(self._number)


class Reader:
    """Makes values over the shared memory.

    Attributes:
        freed: Pieces that nobody looks at any more and that the other side was not told of.
    """

    def __init__(self) -> None:
        self.freed: deque[int] = deque()
        self._pieces: dict[int, mmap.mmap] = {}

    def element(self, parts: tuple[Any, ...], fds: list[int]) -> list[_native.Value]:
        """Returns the values of an element."""
        number, size, leaves, gone = parts
        for old in gone:
            # Its memory lives on as long as somebody looks at it.
            self._pieces.pop(old, None)
        if number is None:
            values: list[_native.Value] = leaves
            return values
        if fds:
            flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
            self._pieces[number] = mmap.mmap(fds[0], size, flags=flags)
            os.close(fds[0])
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
