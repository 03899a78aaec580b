"""Runs the cases of Keras and JAX, in a process of their own over eight virtual devices."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EIGHT_DEVICES = {
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    "JAX_PLATFORMS": "cpu",
    "KERAS_BACKEND": "jax",
}


@pytest.mark.parametrize(
    ("cases", "needs"), [("jax_cases.py", ["jax"]), ("keras_cases.py", ["jax", "keras"])]
)
def test_cases(cases, needs):
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install {package} to run {cases}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / cases)],
        env={**os.environ, **EIGHT_DEVICES},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
