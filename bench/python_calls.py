"""What Python code in a pipeline costs the loop that trains, in one process or in two.

python bench/python_calls.py [--reps 5] [--seconds 4]

The loop takes a batch and does small steps in JAX, each dispatched from Python, which is what the
interpreter's lock is fought for. The pipeline calls a Python function for each element, which works
for about half a millisecond: on a thread of the same process, or in a process of its own
(``iterator(process=True)``). Batches are 64 KB. Rows without a function show what passing batches
between processes costs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

STEPS = 20
BATCH = 16


def busy(row: Any) -> Any:
    """A function that works in the interpreter."""
    total = 0
    for i in range(10_000):
        total += i
    return row


def one(python: bool, process: bool, seconds: float) -> None:
    """Runs the loop for so long and prints batches a second and the median step."""
    import jax
    import jax.numpy as jnp

    import gristmill as gm

    def made(x: Any) -> Any:
        row = gm.fill([1024], gm.cast(x % 7, gm.float32))
        return gm.numpy_function(busy, [row], gm.float32) if python else row

    ds = gm.data.Dataset.range(1 << 40).map(made).batch(BATCH).prefetch(4)
    weights = jnp.eye(64)

    @jax.jit
    def step(x: Any) -> Any:
        return jnp.tanh(x @ weights)

    x = step(jnp.ones((64, 64))).block_until_ready()
    taken, steps, passed = 0, [], ds.iterator(process=process)
    next(passed)
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        next(passed).numpy()
        taken += 1
        for _ in range(STEPS):
            began = time.perf_counter()
            x = step(x).block_until_ready()
            steps.append(time.perf_counter() - began)
    rate = taken / (time.perf_counter() - start)
    slow = statistics.quantiles(steps, n=100)[98]
    print("RESULT " + json.dumps([rate, 1e6 * statistics.median(steps), 1e6 * slow]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("PYTHON", "PROCESS"), type=int)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    if options.one:
        one(bool(options.one[0]), bool(options.one[1]), options.seconds)
        return 0
    names = {
        "0 0": "no function, same process",
        "0 1": "no function, another process",
        "1 0": "Python function, same process",
        "1 1": "Python function, another process",
    }
    found: dict[str, list[list[float]]] = {key: [] for key in names}
    for _ in range(options.reps):
        for key in names:
            command = [sys.executable, __file__, "--one", *key.split()]
            command += ["--seconds", str(options.seconds)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            line = next(text for text in done.stdout.splitlines() if text.startswith("RESULT "))
            found[key].append(json.loads(line[7:]))
    print("| pipeline | batches/s | step us, median | step us, 99th percentile |")
    print("|---|---|---|---|")
    for key, name in names.items():
        columns = [statistics.median(values) for values in zip(*found[key], strict=True)]
        print(f"| {name} | {columns[0]:.0f} | {columns[1]:.0f} | {columns[2]:.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
