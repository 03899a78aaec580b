"""The report of a pass: what each stage did, and which one the others wait for."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from gristmill._native import Forecast

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset


class Pass(NamedTuple):
    """What was counted during a pass."""

    #: As `Iterator.report` gives them.
    stages: list[dict[str, Any]]
    #: Elements taken.
    elements: int
    #: Seconds it took.
    seconds: float
    #: CPU seconds of the process.
    cpu: float
    #: CPU seconds of the thread that asked for elements.
    asking: float
    #: Cores that the process may use.
    cores: int


def forecast(counted: Pass) -> Forecast:
    """Returns how the work of a pass is spread, and what it would take without each stage."""
    stages = [(s["name"], s["busy_ns"], s["ahead_room"] > 0) for s in counted.stages]
    return Forecast(stages, counted.seconds, counted.cpu, counted.asking, counted.cores)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(dataset: Dataset, elements: int | None = None) -> Pass:
    """Runs a pass over a dataset, of all elements or so many, and returns what was counted."""
    pass_ = iter(dataset)
    cpu, asking, start = time.process_time(), time.thread_time(), time.perf_counter()
    taken = 0
    while elements is None or taken < elements:
        if next(pass_, None) is None:
            break
        taken += 1
    seconds = max(time.perf_counter() - start, 1e-9)
    cpu, asking = time.process_time() - cpu, time.thread_time() - asking
    stages = pass_.report()["stages"]
    pass_.close()
    return Pass(stages, taken, seconds, cpu, asking, _cores())


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return ""


def _ahead(stage: dict[str, Any]) -> str:
    """Returns how full a stage's queue was in the mean when its reader came."""
    room = stage["ahead_room"]
    return f"{100 * stage['ahead_filled'] / room:.0f} %" if room else ""


def _python(stage: dict[str, Any]) -> str:
    """Returns what a stage's Python functions cost."""
    calls, holds = stage["foreign_calls"], stage["foreign_holds"]
    each = stage["busy_ns"] / 1e3 / max(calls, 1)
    return (
        f"{stage['name']}: {calls} calls of Python functions, {each:.1f} us each; the interpreter's"
        f" lock was taken {holds} times and waited for {stage['foreign_wait_ns'] / 1e9:.3f} s"
    )


def profile(dataset: Dataset, elements: int | None) -> str:
    """Runs a pass over a dataset and describes it; see `Dataset.profile`."""
    counted = run(dataset, elements)
    stages, taken, seconds = counted.stages, counted.elements, counted.seconds
    lines = [f"{taken} elements in {seconds:.3f} s, {taken / seconds:.1f} a second"]
    width = max([len("stage"), *(len(s["name"]) for s in stages)])
    lines.append(
        f"{'stage':{width}} {'elements':>10} {'busy s':>8} {'wait s':>8} {'in':>9} {'out':>9} "
        f"{'copied':>9} {'held':>9} {'faults':>8} {'ahead':>6}"
    )
    for s in stages:
        out = max(s["bytes_out"], s["bytes_written"])
        lines.append(
            f"{s['name']:{width}} {s['elements']:>10} {s['busy_ns'] / 1e9:>8.3f} "
            f"{s['wait_ns'] / 1e9:>8.3f} {_bytes(s['bytes_in']):>9} {_bytes(out):>9} "
            f"{_bytes(s['bytes_copied']):>9} {_bytes(s['bytes_held_most']):>9} "
            f"{s['page_faults']:>8} {_ahead(s):>6}"
        )
    lines.extend(_python(s) for s in stages if s["foreign_holds"])
    lines.append(forecast(counted).bottleneck())
    return "\n".join(lines)
