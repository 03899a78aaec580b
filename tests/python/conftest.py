"""Settings shared by the Python tests."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

#: Where real files that others made live; without it the tests that read them are skipped.
TESTDATA = "GRISTMILL_TESTDATA"
#: Set to 1 where no test may be skipped: a skipped test is then a failed one.
NO_SKIP = "GRISTMILL_NO_SKIP"


@pytest.fixture(scope="session")
def testdata() -> Path:
    """The folder of real test files."""
    name = os.environ.get(TESTDATA)
    if not name:
        pytest.skip(f"{TESTDATA} is not set: it names the folder of real test files")
    folder = Path(name)
    if not folder.is_dir():
        raise FileNotFoundError(f"{TESTDATA} names {name}, which is no folder")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skipped test into a failed one where none may be skipped."""
    report = yield
    return _fail_if_skipped(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """The same for a module that skips itself while it is collected."""
    _fail_if_skipped(report)


def _fail_if_skipped(report: Any) -> Any:
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected and os.environ.get(NO_SKIP) == "1":
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"skipped although {NO_SKIP}=1: {reason}"
    return report
