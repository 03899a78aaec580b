"""How much a training loop on the CPU slows down beside a pipeline, in a process of its own.

python bench/neighbour.py [--reps 5] [--seconds 8] [--pace 4] [--data DIR] [--rival-python PYTHON]

The loop is a chain of matrix products in JAX that keeps every core at work. Beside it runs nothing,
this package, or TensorFlow; each delivers the same batches of photos at the same pace (batches a
second), or as fast as it can with --pace 0. Steps are timed; the pipeline says how many batches it
delivered meanwhile. A pipeline that needs less CPU for a batch, and gives way, costs the loop less.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import data
import run
import workloads

VARIANT = "unordered"


def step(seconds: float) -> None:
    """Times steps for so long and prints their median in milliseconds."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def loop(x: Any) -> Any:
        return jax.lax.fori_loop(0, 8, lambda _, y: jnp.tanh(y @ y) * 0.1, x)

    x = loop(jnp.eye(768)).block_until_ready()
    times = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        x = loop(x).block_until_ready()
        times.append(time.perf_counter() - start)
    print("RESULT " + json.dumps({"ms": 1e3 * statistics.median(times), "steps": len(times)}))


def feed(module: str, folder: Path, pace: float) -> None:
    """Delivers batches at a pace until its input ends; prints what it did since the first one."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(module)
    call = workloads.WORKLOADS["images"][VARIANT]
    stop = False

    def batches() -> Any:
        while True:
            yield from call(tf, folder)

    def wait() -> None:
        nonlocal stop
        sys.stdin.read()
        stop = True

    threading.Thread(target=wait, daemon=True).start()
    given, start, cpu = 0, 0.0, 0.0
    for _ in batches():
        if given == 0:
            start, cpu = time.perf_counter(), time.process_time()
            print("READY", flush=True)
        given += 1
        if stop:
            break
        if pace > 0:
            time.sleep(max(0.0, start + given / pace - time.perf_counter()))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    result = {"batches_per_second": given / seconds, "cpu_seconds_per_batch": cpu / given}
    print("RESULT " + json.dumps(result), flush=True)


def _result(text: str) -> dict[str, float]:
    for line in text.splitlines():
        if line.startswith("RESULT "):
            found: dict[str, float] = json.loads(line[7:])
            return found
    raise RuntimeError(f"a child ended without a result: {text!r}")


def _once(beside: list[str] | None, seconds: float) -> dict[str, float]:
    """Step time, and what the pipeline did, with one beside the loop or none."""
    running = None
    if beside:
        pipe = subprocess.PIPE
        running = subprocess.Popen(beside, stdin=pipe, stdout=pipe, text=True)
        assert running.stdout is not None
        while running.stdout.readline().strip() != "READY":
            if running.poll() is not None:
                raise RuntimeError(f"{beside} ended with {running.returncode}")
    try:
        command = [sys.executable, __file__, "step", "--seconds", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        out = _result(done.stdout)
        if running:
            out |= _result(running.communicate("", timeout=60)[0])
        return out
    finally:
        if running and running.poll() is None:
            running.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="measure", choices=["measure", "step", "feed"])
    parser.add_argument("module", nargs="?", default=run.OURS)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument(
        "--pace", type=float, default=4.0, help="batches of 64 a second; 0: no pause"
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path, default=run.TOP / "build" / "bench")
    parser.add_argument("--rival-python", help="default: .venv-tf/bin/python")
    options = parser.parse_args()
    if options.what == "step":
        step(options.seconds)
        return 0
    if options.what == "feed":
        feed(options.module, options.data, options.pace)
        return 0
    data.ensure(options.data, options.scale)
    pythons = {run.OURS: sys.executable}
    if rival := run.rival_python(options.rival_python):
        pythons[run.RIVAL] = rival
    tail = ["--data", str(options.data), "--pace", str(options.pace)]
    sides: dict[str, list[str] | None] = {"nothing": None}
    for module, python in pythons.items():
        sides[module] = [python, __file__, "feed", module, *tail]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for rep in range(options.reps):
        for name, command in sides.items():
            result = _once(command, options.seconds)
            found[name].append(result)
            print(f"{rep + 1}/{options.reps} beside {name}: {result}", flush=True)
    print("\n| beside the loop | step ms, median (min - max) | batches/s | CPU s per batch |")
    print("|---|---|---|---|")
    for name, reps in found.items():
        times = [r["ms"] for r in reps]
        rates = [f"{statistics.median(r.get(k, 0) for r in reps):.3f}" for k in _FED]
        print(
            f"| {name} | {statistics.median(times):.1f} ({min(times):.1f} - {max(times):.1f}) "
            f"| {' | '.join(rates)} |"
        )
    return 0


_FED = ("batches_per_second", "cpu_seconds_per_batch")

if __name__ == "__main__":
    sys.exit(main())
