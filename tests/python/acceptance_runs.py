"""Runs an acceptance script in a process of its own and reads the facts that it prints."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

NAMES = ("a1_list_decode_label", "a2_write_read_tfrecord", "a3_directory_to_shards")
EXPECTED = Path(__file__).resolve().parent.parent / "acceptance" / "expected"


def expected(name: str) -> dict[str, Any]:
    """What TensorFlow printed for the script."""
    facts = json.loads((EXPECTED / f"{name}.json").read_text())
    assert isinstance(facts, dict)
    return facts


def run(
    name: str,
    testdata: Path,
    work: Path,
    *,
    module: str = "gristmill",
    python: str = sys.executable,
) -> dict[str, Any]:
    """The facts that the script prints with ``module``, without the hashes of its files."""
    command = [
        python,
        str(testdata / "acceptance" / f"{name}.py"),
        str(testdata / "data" / "flowers"),
        str(work),
    ]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        command,
        env={**os.environ, **quiet, "TF": module},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise AssertionError(f"{name} with {module} ended with {done.returncode}:\n{done.stderr}")
    facts = json.loads(lines[-1])
    assert isinstance(facts, dict)
    facts.pop("files", None)
    return facts


def payloads(path: Path) -> list[bytes]:
    """The records of an uncompressed record file, by the layout alone (checksums not looked at)."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        found.append(data[at + 12 : at + 12 + length])
        at += 16 + length
    assert at == len(data), f"{path} ends inside a record"
    return found
