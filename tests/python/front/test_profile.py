"""Which stage a profile names, and what it expects without it, from made-up counters."""

from __future__ import annotations

from typing import Any

import gristmill as gm
from gristmill.data import _profile as model


def test_made_up_counters() -> None:
    def stage(name: str, busy: float, ahead: bool = False) -> dict[str, Any]:
        return {"name": name, "busy_ns": round(busy * 1e9), "ahead_room": 2 * ahead}

    names = [("range", 1.0), ("shuffle", 8.0), ("prefetch", 0.0), ("map", 6.0), ("batch", 1.0)]
    stages = [stage(name, busy, name in ("prefetch", "map")) for name, busy in names]
    made = model.forecast(model.Pass(stages, 100, 9.0, 12.0, 2.0, 4))
    assert made.work == [1.0, 8.0, 0.0, 6.0, 1.0]
    assert made.threads == ["prefetch 2", "prefetch 2", "asking", "shared", "asking"]
    assert (made.outside, made.limiting(), made.without(1), made.without(3)) == (1.0, 1, 2.25, 9.0)
    assert made.bottleneck() == (
        "bottleneck: shuffle, at work 89 % of the pass (8.000 s of work); without it a pass would "
        "take about 2.250 s, not 9.000 s"
    )


def test_a_real_pass_names_the_stage_with_the_work() -> None:
    def slow(x: Any) -> Any:
        return gm.reduce_sum(gm.sqrt(gm.range(50_000.0) + gm.cast(x, gm.float32)))

    ds = gm.data.Dataset.range(400).shuffle(10).map(slow).batch(8).prefetch(2)
    p = model.run(ds)
    assert p.elements == 50
    found = model.forecast(p)
    i = found.limiting()
    assert p.stages[i]["name"] == "map+batch"
    assert found.without(i) < 0.3 * p.seconds
    assert "bottleneck: map+batch" in ds.profile()
    assert model.run(ds, 3).elements == 3
