"""The report of a pass: what each stage did, and which one the others wait for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return ""


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
    lines.append(
        f"{'stage':24} {'elements':>10} {'busy s':>9} {'wait s':>9} {'out':>10} {'copied':>10}"
    )
    for s in stages:
        lines.append(
            f"{s['name']:24.24} {s['elements']:>10} {s['busy_ns'] / 1e9:>9.3f} "
            f"{s['wait_ns'] / 1e9:>9.3f} {_bytes(s['bytes_out']):>10} "
            f"{_bytes(s['bytes_copied']):>10}"
        )
    if stages:
        slowest = max(stages, key=lambda s: s["busy_ns"])
        total = sum(s["busy_ns"] for s in stages) or 1
        share = 100 * slowest["busy_ns"] / total
        lines.append(
            f"bottleneck: {slowest['name']}, {share:.0f} % of the work; without it a pass would "
            f"cost {(total - slowest['busy_ns']) / 1e9:.3f} s of computation, not {total / 1e9:.3f}"
        )
    return "\n".join(lines)
