"""Which stage a profile names, and what it expects without it, from made-up counters."""

from __future__ import annotations

from typing import Any

import pytest

import gristmill as gm
from gristmill.data import _profile as model


def stage(name: str, busy: float, *, wait: float = 0, ahead: bool = False) -> dict[str, Any]:
    """Counters of a stage, times in seconds."""
    return {
        "name": name,
        "busy_ns": round(busy * 1e9),
        "wait_ns": round(wait * 1e9),
        "ahead_filled": 1 if ahead else 0,
        "ahead_room": 2 if ahead else 0,
    }


def counted(
    stages: list[dict[str, Any]],
    seconds: float,
    *,
    asking: float,
    cpu: float | None = None,
    cores: int = 2,
) -> model.Pass:
    if cpu is None:
        cpu = sum(s["busy_ns"] for s in stages) / 1e9
    return model.Pass(stages, 100, seconds, cpu, asking, cores)


def test_stages_of_one_thread_add_up() -> None:
    p = counted([stage("range", 1), stage("filter", 6), stage("batch", 2)], 10, asking=10, cpu=10)
    work = model.loads(p)
    assert work.threads == [model.ASKING] * 3
    assert (work.outside, work.time()) == (1, 10)
    assert [model.without(p, i) for i in range(4)] == [9, 4, 8, 9]
    assert model.limiting(p) == 1
    assert model.bottleneck(p) == (
        "bottleneck: filter, at work 60 % of the pass (6.000 s of work); without it a pass would "
        "take about 4.000 s, not 10.000 s"
    )


def test_a_prefetch_parts_threads_and_the_next_busiest_one_remains() -> None:
    stages = [
        stage("range", 1),
        stage("shuffle", 8),
        stage("prefetch", 0, wait=6, ahead=True),
        stage("filter", 3),
        stage("batch", 1),
    ]
    p = counted(stages, 9, asking=4, cores=4)
    assert model.threads_of(stages) == [2, 2, model.ASKING, model.ASKING, model.ASKING]
    # Without the shuffle the asking thread is the busiest; without the filter nothing changes.
    assert model.without(p, 1) == 4
    assert model.without(p, 3) == 9
    assert model.limiting(p) == 1


def test_several_prefetches_have_a_thread_each() -> None:
    stages = [
        stage("range", 2),
        stage("prefetch", 0, ahead=True),
        stage("filter", 5),
        stage("prefetch", 0, ahead=True),
        stage("batch", 4),
    ]
    assert model.threads_of(stages) == [1, 3, 3, model.ASKING, model.ASKING]
    p = counted(stages, 5, asking=4, cores=8)
    assert model.without(p, 2) == 4


def test_shared_threads_divide_work_and_cores_bound_all_of_it() -> None:
    stages = [
        stage("range", 0.5),
        stage("map", 12, wait=3, ahead=True),
        stage("shuffle", 2.5),
        stage("map+batch", 8, wait=3, ahead=True),
    ]
    p = counted(stages, 11.5, asking=3, cpu=23)
    work = model.loads(p)
    assert work.threads == [model.ASKING, model.SHARED, model.ASKING, model.SHARED]
    assert work.time() == 11.5
    # 11 s of work remain for two cores.
    assert model.without(p, 1) == pytest.approx(5.5)
    # On more cores the thread that asks is what remains.
    wide = counted(stages, 3, asking=3, cores=16)
    assert wide.seconds == model.without(wide, 1) == 3
    assert model.without(wide, 2) == 20.5 / 16


def test_time_lost_to_waiting_is_lost_in_proportion() -> None:
    stages = [stage("range", 0), stage("map", 8, wait=5, ahead=True), stage("filter", 2)]
    p = counted(stages, 6, asking=2, cpu=8, cores=2)
    assert model.loads(p).time() == 5
    assert model.without(p, 1) == pytest.approx(6 * 2 / 5)


def test_busy_time_beyond_the_cores_is_waiting_for_one() -> None:
    stages = [stage("range", 0), stage("map", 20, ahead=True), stage("shuffle", 10)]
    # 15 CPU seconds were used by what says that it was busy for 30.
    p = counted(stages, 7.5, asking=5, cpu=15)
    assert model.loads(p).stages == [0, 10, 5]
    assert model.without(p, 1) == 5
    # Stages that wait for something else than a core keep their time.
    asleep = counted(stages, 15, asking=1, cpu=3)
    assert model.loads(asleep).stages == [0, 20, 10]


def test_threads_that_wait_for_files_are_more_than_the_cores() -> None:
    stages = [stage("TFRecordDataset", 39, wait=9, ahead=True), stage("batch", 1)]
    p = counted(stages, 10, asking=1, cpu=2)
    work = model.loads(p)
    assert (work.shared, work.time()) == (4, 10)
    assert model.without(p, 0) == pytest.approx(1)


def test_a_slow_loop_is_outside_of_the_stages() -> None:
    stages = [stage("range", 1), stage("prefetch", 0, ahead=True)]
    p = counted(stages, 10, asking=10)
    assert model.limiting(p) == 2
    assert model.bottleneck(p).startswith("bottleneck: outside of the stages")
    assert model.bottleneck(p).endswith("would take about 1.000 s, not 10.000 s")


def test_stages_inside_of_an_interleave() -> None:
    names = ["range", "interleave", "prefetch", "range (inner)", "map (inner)"]
    on_its_thread = [stage(n, 1, ahead=n == "prefetch") for n in names]
    assert model.threads_of(on_its_thread) == [2, 2, model.ASKING, 2, 2]
    apart = [*on_its_thread, stage("prefetch (inner)", 0, ahead=True)]
    assert model.threads_of(apart) == [2, 2, model.ASKING] + [model.SHARED] * 3


def test_nothing_to_do() -> None:
    p = counted([stage("range", 0)], 1e-3, asking=0, cpu=0)
    assert model.without(p, 0) == 1e-3
    assert "bottleneck" in model.bottleneck(p)
    assert model.bottleneck(counted([], 1e-3, asking=0, cpu=0)).startswith("bottleneck")


def test_a_real_pass_names_the_stage_with_the_work() -> None:
    def slow(x: Any) -> Any:
        return gm.reduce_sum(gm.sqrt(gm.range(50_000.0) + gm.cast(x, gm.float32)))

    ds = gm.data.Dataset.range(400).shuffle(10).map(slow).batch(8).prefetch(2)
    p = model.run(ds)
    assert p.elements == 50
    i = model.limiting(p)
    assert p.stages[i]["name"] == "map+batch"
    assert model.without(p, i) < 0.3 * p.seconds
    assert "bottleneck: map+batch" in ds.profile()
    assert model.run(ds, 3).elements == 3
