"""How workloads gain from a second core, and which stage would stop them on many.

python bench/scaling.py [--reps 5] [--data DIR] [--only raw small images range shuffle]

Each pass runs in a process of its own that may use one core, or two. From the counters of the
stages comes the share of all work that one thread has to do alone: with a share of 1/n no number of
cores makes a pass more than n times as fast as one core does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import data
import run
import workloads

MANY = 64


def captured(workload: str, variant: str, folder: Path) -> Any:
    """The dataset that a workload reads."""
    import gristmill as gm

    found: list[Any] = []

    def keep(dataset: Any) -> Any:
        found.append(dataset)
        return iter(())

    gm.data.Dataset.as_numpy_iterator = keep
    list(workloads.WORKLOADS[workload][variant](gm, folder))
    return found[0]


def one(workload: str, variant: str, folder: Path, cores: int) -> None:
    """Counts one pass on so many cores and prints it."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    from gristmill.data import _profile as model

    dataset = captured(workload, variant, folder)
    # The first pass loads files and learns.
    model.run(dataset)
    counted = model.run(dataset)
    work = model.forecast(counted)
    names = [s["name"] for s in counted.stages]
    threads: dict[str, tuple[float, dict[str, float]]] = {}
    for name, seconds, thread in zip(names, work.work, work.threads, strict=True):
        total, stages = threads.get(thread, (0.0, {}))
        stages[name] = stages.get(name, 0.0) + seconds
        threads[thread] = (total + seconds, stages)
    total, stages = threads.get("asking", (0.0, {}))
    threads["asking"] = (total + work.outside, {**stages, "handing over": work.outside})
    all_work = sum(work.work) + work.outside
    alone = {}
    for thread, (_, stages) in threads.items():
        if thread != "shared":
            for name, seconds in stages.items():
                alone[name] = alone.get(name, 0.0) + seconds / all_work
    most = max(total for thread, (total, _) in threads.items() if thread != "shared") / all_work
    result = {
        "seconds": counted.seconds,
        "cpu": counted.cpu,
        "elements": counted.elements,
        "alone": alone,
        "most": most,
    }
    print("RESULT " + json.dumps(result))


def _child(arguments: list[str]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    found: dict[str, Any] = json.loads(line[7:])
    return found


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        workload, variant, folder, cores = sys.argv[2:]
        one(workload, variant, Path(folder), int(cores))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(workloads.WORKLOADS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path, default=run.TOP / "build" / "bench")
    options = parser.parse_args()
    data.ensure(options.data, options.scale)
    print("| workload | 1 core, s | 2 cores, s | gain | alone on a thread, of all work | limit |")
    print("|---|---|---|---|---|---|", flush=True)
    for workload in options.only or workloads.WORKLOADS:
        for variant in workloads.WORKLOADS[workload]:
            found: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
            for _ in range(options.reps):
                for cores, reps in found.items():
                    reps.append(_child([workload, variant, str(options.data), str(cores)]))
            one_core, two = (statistics.median(r["seconds"] for r in found[n]) for n in (1, 2))
            middle = sorted(found[2], key=lambda r: float(r["most"]))[options.reps // 2]
            shares = sorted(middle["alone"].items(), key=lambda item: -item[1])
            shown = ", ".join(f"{n} {100 * s:.1f} %" for n, s in shares[:3] if s > 0.0005)
            limit = 1 / middle["most"] if middle["most"] > 0 else float("inf")
            cores = f"{limit:.0f} cores" if limit < MANY else f"over {MANY} cores"
            print(
                f"| {workload}/{variant} | {one_core:.3f} | {two:.3f} | {one_core / two:.2f} "
                f"| {shown} | {cores} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
