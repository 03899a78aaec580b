"""Runs one variant of one workload in a fresh process and prints one line of JSON.

python bench/worker.py MODULE WORKLOAD VARIANT DATA time|digest
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import workloads

_DIGEST_BITS = 128


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def settle() -> None:
    """Waits until the threads that imports have started sleep, half a second at most.

    Those of NumPy's OpenBLAS spin for some 0.1 s. A module that takes longer than that to import
    never meets them, one that does not would share the machine with them for a whole pass.
    """
    for _ in range(25):
        before = _cpu_seconds()
        time.sleep(0.02)
        if _cpu_seconds() == before:
            break


def timed(tf: Any, call: Any, data: Path) -> dict[str, Any]:
    """Seconds and CPU seconds of one pass, and when its first batch came."""
    cpu, start = _cpu_seconds(), time.perf_counter()
    items, first = 0, 0.0
    for batch in call(tf, data):
        items += len(batch[0])
        first = first or time.perf_counter() - start
    seconds = time.perf_counter() - start
    return {
        "items": items,
        "seconds": seconds,
        "cpu_seconds": _cpu_seconds() - cpu,
        "first_batch_seconds": first,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def digest(tf: Any, call: Any, data: Path) -> dict[str, Any]:
    """A value of all elements that no order changes: the sum of a hash of each."""
    items = total = 0
    for batch in call(tf, data):
        columns = [_rows(column) for column in batch]
        for row in zip(*columns, strict=True):
            element = hashlib.blake2b(digest_size=_DIGEST_BITS // 8)
            for part in row:
                element.update(part)
            total += int.from_bytes(element.digest(), "little")
            items += 1
    return {"items": items, "digest": f"{total % 2**_DIGEST_BITS:032x}"}


def _rows(column: Any) -> list[bytes]:
    """Each row as its dtype and shape and then its bytes, so that these count too."""
    if isinstance(column, list) or column.dtype == object:
        return [b"bytes" + bytes(row) for row in column]
    head = f"{column.dtype}{column.shape[1:]}".encode()
    return [head + np.ascontiguousarray(row).tobytes() for row in column]


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    module, workload, variant, folder, mode = sys.argv[1:]
    start = time.perf_counter()
    tf = importlib.import_module(module)
    imported = time.perf_counter() - start
    settle()
    call = workloads.WORKLOADS[workload][variant]
    result = {"time": timed, "digest": digest}[mode](tf, call, Path(folder))
    result |= {"import_seconds": imported, "version": tf.__version__}
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
