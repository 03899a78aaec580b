"""The process that makes the elements of `Dataset.iterator(process=True)`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import sys
import threading
import traceback
from typing import Any, NoReturn

#: Set in the environment of such a process, so that a script without a guard starts no more.
MARK = "GRISTMILL_WORKER"

_PR_SET_PDEATHSIG = 1


class _Serving:
    """A pass, and the process that it is made for."""

    def __init__(self, sock: socket.socket, pass_: Any, ahead: int) -> None:
        from gristmill._shared import Writer

        self.sock = sock
        self.pass_ = pass_
        self.writer = Writer()
        self.room = ahead
        self.changed = threading.Condition()
        self.sending = threading.Lock()

    def send(self, message: Any, fds: list[int] | None = None) -> None:
        from gristmill import _shared

        with self.sending:
            try:
                _shared.send(self.sock, message, fds)
            except OSError:
                os._exit(0)
        for fd in fds or ():
            os.close(fd)

    def listen(self) -> NoReturn:
        """Hears what the other process wants; ends this one when that one is gone."""
        from gristmill import _shared

        while (got := _shared.receive(self.sock)) is not None:
            (kind, *rest), _ = got
            if kind == "ask":
                with self.changed:
                    for number in rest[0]:
                        self.writer.free(number)
                    self.room += 1
                    self.changed.notify()
            else:
                self.send(("report", rest[0], self.pass_.report()))
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(0)

    def run(self) -> None:
        """Gives elements as far ahead as there is room, to the end."""
        while True:
            with self.changed:
                while self.room <= 0:
                    self.changed.wait()
                self.room -= 1
            try:
                values = self.pass_.next()
            except BaseException as e:
                self.send(("error", self.pass_.state(), _pickled(e)))
                continue
            warnings = self.pass_.take_warnings() if values is None else []
            if values is None:
                self.send(("end", self.pass_.state(), self.pass_.report(), warnings))
                return
            with self.changed:
                parts, fds = self.writer.element(values)
            del values
            self.send(("element", self.pass_.state(), parts), fds)


def _pickled(e: BaseException) -> bytes:
    """Returns an exception and its cause as bytes; one that cannot be pickled as its text."""
    from gristmill.errors import UnknownError

    for parts in (e, e.__cause__), (e, None):
        with contextlib.suppress(Exception):
            data = pickle.dumps(parts)
            pickle.loads(data)
            return data
    text = "".join(traceback.format_exception_only(type(e), e)).strip()
    return pickle.dumps((UnknownError(text), None))


def _die_with(parent: int) -> None:
    """Has the system end this process when its parent ends."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def main(fd: int) -> None:
    """Serves the other end of a socket until that is closed."""
    # Ctrl-C is meant for the program; it closes the socket when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sock = socket.socket(fileno=fd)
    # Processes that the user's functions start must not seem to be this one.
    sock.set_inheritable(False)
    os.register_at_fork(after_in_child=sock.close)
    from gristmill import _shared

    got = _shared.receive(sock)
    if got is None:
        return
    begin = got[0]
    if begin["die"]:
        _die_with(begin["parent"])
    try:
        if begin["main"] is not None:
            from multiprocessing import spawn

            spawn.prepare(begin["main"])
        plan = pickle.loads(begin["plan"])
    except Exception as e:
        _shared.send(sock, ("failed", f"{type(e).__name__}: {e}"))
        return
    try:
        pass_ = plan.iterate(begin["state"])
    except BaseException as e:
        _shared.send(sock, ("refused", _pickled(e)))
        return
    # The script was imported, if at all: programs that the user's functions start are others.
    os.environ.pop(MARK, None)
    serving = _Serving(sock, pass_, begin["ahead"])
    threading.Thread(target=serving.listen, daemon=True).start()
    serving.run()
    # The other process closes the socket when it has read what lies there.
    threading.Event().wait()
