"""The exceptions that gristmill raises, named as in ``tf.errors``.

Each class also derives from the built-in exception that a Python programmer expects in its place,
so that ``except FileNotFoundError`` and ``except ValueError`` work.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from gristmill._absent import lookup as _lookup

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
DATA_LOSS = 15


class OpError(Exception):
    """Base of every error that an op, a file or a pipeline raises.

    Attributes:
        message: What is wrong, without place and hint.
        path: The file in which it happened, if known.
        offset: Byte offset of the record in that file, if known.
        record_index: Position of the record in that file from 0, if known.
        op: Name of the op that failed, if known.
        error_code: TensorFlow's number of the kind.
    """

    error_code = UNKNOWN

    def __init__(self, text: str = "", *more: object) -> None:
        # The OSError branch formats itself from errno and strerror; one argument keeps it plain.
        super().__init__(text)
        self.text = text
        self.message = text
        self.path: str | None = None
        self.offset: int | None = None
        self.record_index: int | None = None
        self.op: str | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def kind(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def node_def(self) -> None:
        """Always ``None``: there are no graph nodes to show."""
        return None


class InvalidArgumentError(OpError, ValueError):
    """A value, argument or element breaks a rule."""

    error_code = INVALID_ARGUMENT


class DataLossError(OpError, ValueError):
    """Stored data are damaged."""

    error_code = DATA_LOSS


class NotFoundError(OpError, FileNotFoundError):
    """A file or name does not exist."""

    error_code = NOT_FOUND


class PermissionDeniedError(OpError, PermissionError):
    """The system refuses access."""

    error_code = PERMISSION_DENIED


class AlreadyExistsError(OpError, FileExistsError):
    """The target exists already."""

    error_code = ALREADY_EXISTS


class FailedPreconditionError(OpError, RuntimeError):
    """The state of the system does not allow the call."""

    error_code = FAILED_PRECONDITION


class ResourceExhaustedError(OpError, MemoryError):
    """Memory or disk is used up."""

    error_code = RESOURCE_EXHAUSTED


class OutOfRangeError(OpError, IndexError):
    """A position lies past the end."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """Not supported."""

    error_code = UNIMPLEMENTED


class CancelledError(OpError, RuntimeError):
    """The iterator was stopped."""

    error_code = CANCELLED


class InternalError(OpError, RuntimeError):
    """A fault of gristmill itself."""

    error_code = INTERNAL


class UnknownError(OpError, RuntimeError):
    """Anything that the system reports and no other class covers."""

    error_code = UNKNOWN


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor is used where Python needs a value."""


class InaccessibleTensorError(ValueError):
    """A symbolic tensor is used outside the function that made it."""


_CLASSES: dict[str, type[OpError]] = {
    cls.__name__: cls
    for cls in (
        InvalidArgumentError,
        DataLossError,
        NotFoundError,
        PermissionDeniedError,
        AlreadyExistsError,
        FailedPreconditionError,
        ResourceExhaustedError,
        OutOfRangeError,
        UnimplementedError,
        CancelledError,
        InternalError,
        UnknownError,
    )
}


def _from_native(
    kind: str,
    text: str,
    message: str,
    path: str | None,
    offset: int | None,
    record_index: int | None,
    op: str | None,
) -> Exception:
    """Makes the exception for an error of the engine; called by the native module."""
    if kind == "TypeError":
        return builtins.TypeError(text)
    if kind == "ValueError":
        return builtins.ValueError(text)
    made = _CLASSES[kind](text)
    made.message = message
    made.path = path
    made.offset = offset
    made.record_index = record_index
    made.op = op
    return made


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the class with TensorFlow's number ``error_code``.

    Raises:
        KeyError: If no class has that number.
    """
    for cls in _CLASSES.values():
        if cls.error_code == error_code:
            return cls
    raise KeyError(error_code)


if not TYPE_CHECKING:
    __getattr__ = _lookup("errors", __name__)
