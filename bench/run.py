"""Times this package against TensorFlow, interleaved, and prints every repetition and a table.

python bench/run.py [--reps 9] [--only raw small images range shuffle] [--scale 1.0]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import data
import workloads

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
OURS = "gristmill"
RIVAL = "tensorflow"


class Job(NamedTuple):
    """One variant of one workload in one module."""

    workload: str
    module: str
    variant: str


class Bench:
    """Runs jobs, each in a process of its own."""

    def __init__(self, folder: Path, pythons: dict[str, str]) -> None:
        self.folder = folder
        self.pythons = pythons

    def run(self, job: Job, mode: str) -> dict[str, Any]:
        """What the worker printed for ``job``."""
        command = [self.pythons[job.module], str(HERE / "worker.py")]
        command += [job.module, job.workload, job.variant, str(self.folder), mode]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        for line in done.stdout.splitlines():
            if line.startswith("RESULT "):
                result = json.loads(line[7:])
                assert isinstance(result, dict)
                return result
        raise RuntimeError(f"{job} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def check_digests(bench: Bench, jobs: list[Job]) -> bool:
    """Whether all variants of all modules deliver the same elements."""
    same = True
    for workload in dict.fromkeys(job.workload for job in jobs):
        found: dict[tuple[int, str], list[str]] = {}
        for job in jobs:
            if job.workload == workload:
                result = bench.run(job, "digest")
                key = (result["items"], result["digest"])
                found.setdefault(key, []).append(f"{job.module}/{job.variant}")
        for (items, digest), names in found.items():
            print(f"{workload}: {items} items, digest {digest}: {' '.join(names)}", flush=True)
        same &= len(found) == 1
    return same


def measure(bench: Bench, jobs: list[Job], reps: int) -> dict[Job, list[dict[str, Any]]]:
    """All repetitions of all jobs, interleaved, starting at another job each time."""
    results: dict[Job, list[dict[str, Any]]] = {job: [] for job in jobs}
    for rep in range(reps):
        turn = rep * 3 % len(jobs)
        for job in jobs[turn:] + jobs[:turn]:
            result = bench.run(job, "time")
            results[job].append(result)
            rate = result["items"] / result["seconds"]
            print(
                f"{rep + 1}/{reps} {job.workload} {job.module}/{job.variant}: "
                f"{result['seconds']:.3f} s, {rate:,.0f} items/s, "
                f"{result['cpu_seconds']:.2f} CPU s, "
                f"first batch {result['first_batch_seconds']:.3f} s",
                flush=True,
            )
    return results


def table(results: dict[Job, list[dict[str, Any]]], sizes: dict[str, int]) -> list[str]:
    """The results as Markdown, one table a workload, then the ratio of the best variants."""
    lines = []
    for workload in dict.fromkeys(job.workload for job in results):
        lines += ["", f"### {workload} ({workloads.UNITS[workload]})", ""]
        lines.append(
            "| variant | items/s, median (min - max) | MB/s | CPU s per 1,000 items "
            "| first batch s | import s | peak RSS MB |"
        )
        lines.append("|---|---|---|---|---|---|---|")
        best: dict[str, tuple[float, str]] = {}
        for job, all_reps in results.items():
            if job.workload != workload:
                continue
            rates = [r["items"] / r["seconds"] for r in all_reps]
            rate = statistics.median(rates)
            best[job.module] = max(best.get(job.module, (0.0, "")), (rate, job.variant))
            lines.append(_row(job, all_reps, rates, _bytes_per_item(workload, all_reps, sizes)))
        if OURS in best and RIVAL in best:
            ours, theirs = best[OURS], best[RIVAL]
            lines += [
                "",
                f"Best against best: {ours[0] / theirs[0]:.2f} times "
                f"({OURS} {ours[1]}, {RIVAL} {theirs[1]}).",
            ]
    return lines


def _bytes_per_item(workload: str, reps: list[dict[str, Any]], sizes: dict[str, int]) -> float:
    if workload in ("range", "shuffle"):
        return 8.0
    name = "photos" if workload == "images" else workload
    return sizes[name] / max(1, reps[0]["items"])


def _row(job: Job, reps: list[dict[str, Any]], rates: list[float], bytes_per_item: float) -> str:
    def middle(key: str) -> float:
        return statistics.median(r[key] for r in reps)

    rate = statistics.median(rates)
    cpu = statistics.median(1000 * r["cpu_seconds"] / r["items"] for r in reps)
    return (
        f"| {job.module}/{job.variant} | {rate:,.0f} ({min(rates):,.0f} - {max(rates):,.0f}) "
        f"| {rate * bytes_per_item / 1e6:,.0f} | {cpu:.4f} | {middle('first_batch_seconds'):.3f} "
        f"| {middle('import_seconds'):.2f} | {middle('peak_rss_bytes') / 1e6:,.0f} |"
    )


def machine(results: dict[Job, list[dict[str, Any]]]) -> list[str]:
    """What a reader needs to place the figures."""
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    versions = {job.module: reps[0]["version"] for job, reps in results.items()}
    return [
        f"- {datetime.now(timezone.utc):%Y-%m-%d}, {platform.platform()}",
        f"- {cpu}, {len(os.sched_getaffinity(0))} CPUs usable, {memory:.0f} GB memory",
        f"- Python {platform.python_version()}, "
        + ", ".join(f"{name} {version}" for name, version in versions.items()),
    ]


def rival_python(given: str | None) -> str | None:
    """An interpreter that can import TensorFlow, or ``None``."""
    candidate = given or str(TOP / ".venv-tf" / "bin" / "python")
    if not Path(candidate).exists():
        return None
    command = [candidate, "-c", f"import {RIVAL}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return candidate if done.returncode == 0 else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reps", type=int, default=9)
    parser.add_argument("--only", nargs="*", choices=list(workloads.WORKLOADS))
    parser.add_argument("--scale", type=float, default=1.0, help="of the amount of data")
    parser.add_argument("--data", type=Path, default=TOP / "build" / "bench")
    parser.add_argument("--rival-python", help="default: .venv-tf/bin/python")
    parser.add_argument("--out", type=Path, help="write all repetitions here as JSON")
    options = parser.parse_args()

    pythons = {OURS: sys.executable}
    if rival := rival_python(options.rival_python):
        pythons[RIVAL] = rival
    else:
        print(f"no interpreter with {RIVAL} found: only {OURS} is timed (see bench/README.md)")
    sizes = data.ensure(options.data, options.scale)
    bench = Bench(options.data, pythons)
    jobs = [
        Job(workload, module, variant)
        for workload in options.only or workloads.WORKLOADS
        for variant in workloads.WORKLOADS[workload]
        for module in pythons
    ]
    print("untimed pass: what is delivered", flush=True)
    if not check_digests(bench, jobs):
        print("the modules deliver different values: nothing is timed", file=sys.stderr)
        return 1
    results: dict[Job, list[dict[str, Any]]] = {}
    for workload in dict.fromkeys(job.workload for job in jobs):
        results |= measure(bench, [job for job in jobs if job.workload == workload], options.reps)
    print("\n".join(["", *machine(results), *table(results, sizes)]))
    if options.out:
        rows = [{**job._asdict(), "reps": reps} for job, reps in results.items()]
        options.out.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
