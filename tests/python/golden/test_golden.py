"""Every recorded case, run through the public module; with ``TF=tensorflow`` against TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from golden import cases, judge, subject
from golden.better import BETTER
from golden.run_case import run

ALL = cases.load()


@pytest.fixture(scope="module")
def tf() -> Any:
    """The module under test."""
    return subject.module()


@pytest.mark.parametrize("case", ALL, ids=[case["id"] for case in ALL])
def test_case(case: dict[str, Any], tf: Any, tmp_path: Path) -> None:
    reference = subject.is_reference()
    decoder = cases.decoder()
    outcome = run(case, tf, decoder, tmp_path)
    found = judge.problems(case, outcome, decoder, reference=reference)
    if not reference and cases.may_be_missing(case):
        if not found:
            pytest.fail("this case passes: take it out of allow_missing.txt")
        pytest.xfail(found[0])
    if found:
        raise AssertionError("\n".join(found)) from outcome.error


def test_required_cases_are_not_listed_as_missing() -> None:
    listed = [case["id"] for case in ALL if cases.is_required(case) and cases.may_be_missing(case)]
    assert listed == []


def test_every_line_of_the_missing_list_speaks_of_a_case() -> None:
    idle = [p for p in cases.missing_patterns() if not any(cases.matches(p, c) for c in ALL)]
    assert idle == []


def test_every_better_entry_speaks_of_a_case() -> None:
    assert sorted(set(BETTER) - {case["id"] for case in ALL}) == []
