"""The report of a pass: what each stage did, and which one the others wait for."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset


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


def _per_worker(stage: dict[str, Any], seconds: float) -> tuple[float, int]:
    """Returns the seconds for which each worker of a stage was busy, and how many workers that is.

    Busy time is counted over all threads together, so it tells at least how many there were.
    """
    busy = stage["busy_ns"] / 1e9
    workers = max(1, math.ceil(busy / seconds)) if stage["wait_ns"] else 1
    return busy / workers, workers


def bottleneck(stages: list[dict[str, Any]], seconds: float) -> str:
    """Names the stage that the others waited for, with its share of the pass and what it costs.

    Without a stage a pass takes the rest of its time, but no less than the next stage needs.

    Args:
        stages: Those of `Iterator.report`.
        seconds: How long the pass took.
    """
    ranked = sorted(
        ((*_per_worker(s, seconds), s["name"]) for s in stages), key=lambda r: r[0], reverse=True
    )
    if not ranked or ranked[0][0] <= 0:
        return "bottleneck: none of the stages; the time is that of handing elements over"
    busy, workers, name = ranked[0]
    share = busy / seconds
    of = f"{busy:.3f} s" + (f" on each of {workers} workers" if workers > 1 else "")
    if share < 0.5:
        return (
            f"bottleneck: outside of the stages; the busiest, {name}, worked "
            f"{100 * share:.0f} % of the pass ({of})"
        )
    rest = max(seconds - busy, max((r[0] for r in ranked[1:]), default=0.0))
    return (
        f"bottleneck: {name}, at work {min(100 * share, 100):.0f} % of the pass ({of}); without it "
        f"a pass would take about {rest:.3f} s, not {seconds:.3f} s"
    )


def profile(dataset: Dataset, elements: int | None) -> str:
    """Runs a pass over a dataset and describes it; see `Dataset.profile`."""
    pass_ = iter(dataset)
    start = time.perf_counter()
    taken = 0
    while elements is None or taken < elements:
        if next(pass_, None) is None:
            break
        taken += 1
    seconds = max(time.perf_counter() - start, 1e-9)
    stages = pass_.report()["stages"]
    pass_.close()
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
    lines.append(bottleneck(stages, seconds))
    return "\n".join(lines)
