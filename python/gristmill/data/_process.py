"""Passes that another process makes: see `Dataset.iterator`."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from gristmill import _byvalue, _shared
from gristmill._worker import MARK
from gristmill.errors import (
    CancelledError,
    FailedPreconditionError,
    ResourceExhaustedError,
    UnknownError,
)

if TYPE_CHECKING:
    from gristmill import _native

#: Elements made ahead of the reader, besides what the pass itself makes ahead.
_AHEAD = 2
#: How long a process may take to end after its socket was closed, in seconds.
_PATIENCE = 2.0
#: How often a reader that waits looks whether the process is still there, in seconds. Its socket
#: says so at once, unless a process that it started in turn holds that, too.
_LOOK = 0.5
#: What stands for the end of what a process says.
_GONE = ("gone",)


def _main_module() -> dict[str, Any]:
    """Returns what a process needs to know of the script that runs."""
    # What multiprocessing has for this settles how the whole program starts processes.
    main = sys.modules["__main__"]
    found: dict[str, Any] = {"sys_argv": sys.argv}
    name = getattr(getattr(main, "__spec__", None), "name", None)
    path = getattr(main, "__file__", None)
    if name is not None:
        found["init_main_from_name"] = name
    elif path is not None:
        found["init_main_from_path"] = os.path.abspath(path)  # noqa: PTH100
    return found


def _flags() -> list[str]:
    """Returns the flags of this interpreter for optimisation, isolation, warnings and ``-X``."""
    flags = sys.flags
    found = ["-" + "O" * flags.optimize] if flags.optimize else []
    if flags.isolated:
        found.append("-I")
    else:
        found += ["-E"] * bool(flags.ignore_environment) + ["-s"] * bool(flags.no_user_site)
    found += [f"-W{option}" for option in sys.warnoptions]
    for name, value in getattr(sys, "_xoptions", {}).items():
        found += ["-X", name if value is True else f"{name}={value}"]
    return found


def _pickled(plan: _native.Plan) -> tuple[bytes, bool]:
    """Returns a plan as bytes, and whether the other process has to import the script.

    Raises:
        TypeError: If what a Python function in it uses cannot be pickled.
    """
    try:
        return _byvalue.dumps(plan)
    except Exception as e:
        raise TypeError(
            f"the dataset cannot be sent to another process: {e}\n"
            "  hint: what its Python functions close over, and globals of the script that they "
            "use, must be picklable; open files and connections inside the function"
        ) from e


def _start(
    plan: bytes, script: bool, state: bytes
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    # Modules are looked for where this process does, in that order.
    path = [str(p) for p in sys.path]
    path += [] if package in path else [package]
    code = (
        f"import sys; sys.path[:] = {path!r}; "
        f"from gristmill._worker import main; main({theirs.fileno()})"
    )
    with theirs:
        child = subprocess.Popen(
            [sys.executable, *_flags(), "-c", code],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, MARK: "1"},
        )
    begin = {
        "plan": plan,
        "state": state,
        "main": _main_module() if script else None,
        "parent": os.getpid(),
        # The system's signal comes with the end of the thread that started the process.
        "die": threading.current_thread() is threading.main_thread(),
        "ahead": _AHEAD,
    }
    with suppress(OSError):
        _shared.send(ours, begin)
    return child, ours


def _listen(
    sock: socket.socket,
    reader: _shared.Reader,
    queue: SimpleQueue[Any],
    reports: SimpleQueue[Any],
) -> None:
    """Hears what the process says until it is gone."""
    try:
        while (got := _shared.receive(sock)) is not None:
            message, fds = got
            if message[0] == "element":
                message = (*message[:2], reader.element(message[2], fds))
            (reports if message[0] == "report" else queue).put(message)
    except OSError:
        pass
    except ResourceExhaustedError as e:
        queue.put(("refused", pickle.dumps((e, e.__cause__))))
    except Exception as e:
        queue.put(("failed", f"{type(e).__name__}: {e}"))
    queue.put(_GONE)
    reports.put(_GONE)


def _end(child: subprocess.Popen[bytes], sock: socket.socket, owner: int) -> None:
    """Closes the socket, which ends the process, and waits for that."""
    if os.getpid() != owner:
        # The process is not a child of a forked one.
        sock.close()
        return
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class ProcessPass:
    """A pass that another process makes, with the methods of the native one."""

    def __init__(self, plan: _native.Plan, state: bytes | None) -> None:
        if not hasattr(os, "memfd_create"):
            raise NotImplementedError(
                "iterator(process=True) needs Linux\n  hint: iterator() works everywhere"
            )
        if MARK in os.environ:
            raise RuntimeError(
                "iterator(process=True) was called while such a process was being started: the "
                "script has no guard\n  hint: if __name__ == '__main__': around what it runs, or "
                "in a module of their own the classes that functions of the pipeline use"
            )
        data, script = _pickled(plan)
        # The pass is begun here, so that it takes its place among the epochs of the dataset, and
        # handed on before it has read anything.
        if state is None:
            begun = plan.iterate(None)
            state, self._warnings = begun.state(), begun.take_warnings()
            begun.close()
        else:
            # To go on from there may call functions and read files: that is for the process.
            plan.take_up(state)
            self._warnings = []
        self._state = state
        self._owner = os.getpid()
        self._child, self._sock = _start(data, script, self._state)
        self._reader = _shared.Reader()
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._reports: SimpleQueue[Any] = SimpleQueue()
        # One reader at a time asks and takes the answer; reports are answers of their own.
        self._reading, self._reporting = threading.Lock(), threading.Lock()
        self._telling = threading.Lock()
        self._asked = False
        self._wanted = 0
        self._report: Any = None
        self._over: BaseException | bool = False
        args = self._sock, self._reader, self._queue, self._reports
        threading.Thread(target=_listen, args=args, daemon=True).start()
        self._close = weakref.finalize(self, _end, self._child, self._sock, self._owner)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    def _check(self) -> None:
        if os.getpid() != self._owner:
            raise FailedPreconditionError(
                "this iterator was made in another process and does not survive fork()\n"
                "  hint: make the iterator after the fork: the dataset itself may be used on both "
                "sides"
            )
        if isinstance(self._over, BaseException):
            raise self._over

    def _tell(self, *message: Any) -> None:
        # What went wrong with the process is said when its answer does not come.
        with suppress(OSError), self._telling:
            _shared.send(self._sock, message)

    def _heard(self, queue: SimpleQueue[Any]) -> Any:
        dead = False
        while True:
            with suppress(Empty):
                return queue.get(timeout=_LOOK)
            if dead:
                return _GONE
            dead = self._child.poll() is not None

    def next(self) -> list[_native.Value] | None:
        """Returns the values of the next element; ``None`` at the end."""
        if os.getpid() != self._owner:
            self._check()
        with self._reading:
            return self._next()

    def _next(self) -> list[_native.Value] | None:
        self._check()
        if self._over:
            return None
        if not self._asked:
            freed = self._reader.freed
            self._tell("ask", [freed.popleft() for _ in range(len(freed))])
            # An interrupt leaves the answer to the next call.
            self._asked = True
        message = self._heard(self._queue)
        self._asked = False
        if message[0] == "element":
            _, self._state, values = message
            found: list[_native.Value] = values
            return found
        if message[0] == "error":
            _, self._state, sent = message
            error, cause = pickle.loads(sent)
            raise error from cause
        if message[0] == "end":
            _, self._state, self._report, self._warnings = message
            self._over = True
            self._close()
            return None
        # Another thread may have closed the pass meanwhile.
        self._over = self._over or self._death(message)
        self._close()
        self._check()
        return None

    def _death(self, message: Any) -> BaseException:
        if message[0] == "refused":
            error, error.__cause__ = pickle.loads(message[1])
            refused: BaseException = error
            return refused
        if message[0] == "failed":
            return UnknownError(
                f"the process of the pipeline failed: {message[1]}\n"
                "  hint: it imports the modules in which the Python functions of the dataset are"
            )
        try:
            code = self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return UnknownError(f"the process of the pipeline (pid {self.pid}) closed its socket")
        how, hint = f"ended with status {code}", "its last words are on the standard error"
        if code < 0:
            with suppress(ValueError):
                how = f"was ended by {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                hint = "the system does that where memory runs out; smaller batches need less"
        return UnknownError(
            f"the process of the pipeline (pid {self.pid}) {how}\n  hint: {hint}; "
            "Dataset.iterator(state=…) goes on where the pass was"
        )

    def state(self) -> bytes:
        """Returns where the pass is: after the last element given."""
        if os.getpid() != self._owner:
            self._check()
        return self._state

    def report(self) -> tuple[list[dict[str, Any]], float]:
        """Returns what each stage did, and the seconds since the start."""
        self._check()
        if self._report is not None:
            found: tuple[list[dict[str, Any]], float] = self._report
            return found
        if self._over:
            raise CancelledError("the iterator was closed")
        with self._reporting:
            self._wanted += 1
            self._tell("report", self._wanted)
            message = self._heard(self._reports)
            # Whoever was interrupted left the answer behind.
            while message != _GONE and message[1] != self._wanted:
                message = self._heard(self._reports)
        if message == _GONE:
            # Whoever asks again is told so, too.
            self._reports.put(_GONE)
            raise self._death(message)
        counted: tuple[list[dict[str, Any]], float] = message[2]
        return counted

    def take_warnings(self) -> list[str]:
        """Returns warnings since the last call."""
        told, self._warnings = self._warnings, []
        return told

    def close(self) -> None:
        """Ends the process."""
        if not self._over:
            self._over = CancelledError("the iterator was closed")
        self._close()
