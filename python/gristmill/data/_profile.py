"""The report of a pass: what each stage did, and which one the others wait for."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gristmill.data._dataset import Dataset

#: Where a stage works: on the threads that all pipelines share, or on the one that reads from it
#: (the number of a prefetch in the list of stages; this for the thread that asks for elements).
SHARED = -1
ASKING = -2

#: From this share of all cores on, busy time is taken to contain waiting for a core.
_CROWDED = 0.75
#: Name of the stages that have a thread of their own.
_AHEAD = "prefetch"


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


class Loads(NamedTuple):
    """Seconds of work, once for every stage and once for what is done outside of all stages."""

    stages: list[float]
    threads: list[int]
    outside: float
    shared: int
    cores: int

    def time(self, without: int | None = None) -> float:
        """Returns how long a pass takes whose threads never wait, perhaps without a stage.

        Every thread has to do what falls to it, the shared ones divide it, and all of it together
        has no more than the cores. ``without`` is a stage's number; that of all stages is outside.
        """
        work = [0.0 if i == without else s for i, s in enumerate(self.stages)]
        outside = 0.0 if without == len(work) else self.outside
        alone = {ASKING: outside}
        spread = 0.0
        for seconds, thread in zip(work, self.threads, strict=True):
            if thread == SHARED:
                spread += seconds
            else:
                alone[thread] = alone.get(thread, 0.0) + seconds
        return max(*alone.values(), spread / self.shared, (sum(work) + outside) / self.cores)


def threads_of(stages: list[dict[str, Any]]) -> list[int]:
    """Returns where each stage works; `SHARED`, `ASKING`, or which prefetch runs it.

    Stages are listed from the sources on, so what stands before a prefetch and behind the one
    before it is run by it. Those inside of an interleave come last: where they prefetch, they have
    threads of their own, else they run where the interleave does.
    """
    names = [s["name"] for s in stages]
    main = [i for i, name in enumerate(names) if not name.endswith("(inner)")]
    threads = [ASKING] * len(stages)
    waiting: list[int] = []
    for i in main:
        if names[i] == _AHEAD:
            for above in waiting:
                threads[above] = i
            waiting = []
        waiting.append(i)
    opened = [threads[i] for i in main if names[i] in ("interleave", "flat_map")]
    inner = [i for i in range(len(stages)) if i not in set(main)]
    apart = any(names[i].startswith(_AHEAD) for i in inner)
    for i in inner:
        threads[i] = SHARED if apart or not opened else opened[-1]
    for i, s in enumerate(stages):
        if s["ahead_room"] and not names[i].startswith(_AHEAD):
            threads[i] = SHARED
    return threads


def loads(counted: Pass) -> Loads:
    """Returns the work of each stage, and that outside of them."""
    threads = threads_of(counted.stages)
    busy = [s["busy_ns"] / 1e9 for s in counted.stages]
    asking = sum(b for b, t in zip(busy, threads, strict=True) if t == ASKING)
    outside = max(0.0, counted.asking - asking)
    if counted.cpu > _CROWDED * counted.cores * counted.seconds and sum(busy) > 0:
        # More threads than cores: what a thread lost to others is not work.
        least = max(0.0, counted.cpu - outside) / sum(busy)
        busy = [b * min(1.0, least) for b in busy]
    spread = sum(b for b, t in zip(busy, threads, strict=True) if t == SHARED)
    # Threads that wait for files are more than there are cores.
    shared = max(counted.cores, math.ceil(spread / counted.seconds))
    cores = max(counted.cores, math.ceil((sum(busy) + outside) / counted.seconds))
    return Loads(busy, threads, outside, shared, cores)


def without(counted: Pass, stage: int) -> float:
    """Returns how many seconds the pass is expected to take without a stage.

    What the pass lost to waiting (at its beginning, between threads) it is taken to lose in the
    same proportion then.

    Args:
        counted: The pass with it.
        stage: Its number; the number of stages stands for what is done outside of them.
    """
    work = loads(counted)
    whole = work.time()
    if whole <= 0:
        return counted.seconds
    return counted.seconds * min(1.0, work.time(stage) / whole)


def limiting(counted: Pass) -> int:
    """Returns the number of the stage without which the pass would be shortest."""
    work = loads(counted)
    each = [*work.stages, work.outside]
    return min(range(len(each)), key=lambda i: (work.time(i), -each[i]))


def bottleneck(counted: Pass) -> str:
    """Names the stage that the others waited for, and what a pass would take without it."""
    work = loads(counted)
    i = limiting(counted)
    seconds = counted.seconds
    rest = f"without it a pass would take about {without(counted, i):.3f} s, not {seconds:.3f} s"
    if i == len(work.stages):
        return (
            f"bottleneck: outside of the stages, in handing elements over and in the loop that "
            f"takes them ({work.outside:.3f} s); {rest}"
        )
    busy = work.stages[i]
    of = f"{busy:.3f} s of work"
    if work.threads[i] == SHARED:
        of += f" shared by {work.shared} threads" if work.shared > 1 else ""
        busy /= work.shared
    share = 100 * min(1.0, busy / seconds)
    name = counted.stages[i]["name"]
    return f"bottleneck: {name}, at work {share:.0f} % of the pass ({of}); {rest}"


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
    lines.append(bottleneck(counted))
    return "\n".join(lines)
