"""Bits of integers: ``tf.bitwise``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace
from gristmill._absent import lookup as _lookup
from gristmill._operators import binary
from gristmill.convert import convert_to_tensor
from gristmill.tensor import Tensor


def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the bits that are set in both."""
    return binary("math.bitwise_and", x, y)


def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the bits that are set in one of both."""
    return binary("math.bitwise_or", x, y)


def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the bits that are set in exactly one."""
    return binary("math.bitwise_xor", x, y)


def invert(x: Any, name: str | None = None) -> Tensor:
    """Returns every bit turned."""
    return _trace.tensor("math.bitwise_invert", [convert_to_tensor(x)])


def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the bits moved up by ``y``."""
    return binary("math.left_shift", x, y)


def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the bits moved down by ``y``."""
    return binary("math.right_shift", x, y)


if not TYPE_CHECKING:
    __getattr__ = _lookup("bitwise", __name__)
