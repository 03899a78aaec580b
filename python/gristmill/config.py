"""Devices, as ``tf.config`` lists them: there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gristmill._absent import lookup as _lookup


class PhysicalDevice(NamedTuple):
    """A device.

    Attributes:
        name: Its name.
        device_type: ``"CPU"``.
    """

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of a type, or all: gristmill computes on the CPU."""
    cpu = PhysicalDevice("/physical_device:CPU:0", "CPU")
    return [cpu] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of a type, or all."""
    return list_physical_devices(device_type)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Does nothing: functions always run eagerly outside datasets."""


if not TYPE_CHECKING:
    __getattr__ = _lookup("config", __name__)
