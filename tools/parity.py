"""Compares this package with TensorFlow itself, live.

Run by ``make parity`` in the environment that has TensorFlow. The acceptance scripts run with both
modules and have to print the same facts and write the same records; the recorded cases run through
TensorFlow with the runner that the tests of this package use, which shows that runner and
recordings say what TensorFlow does. The last line is ``N passed, N failed``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ["TF"] = "tensorflow"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

import acceptance_runs
from golden import cases, judge, subject
from golden.run_case import run


class Result(NamedTuple):
    """One comparison: its name, and what differs (nothing when it passed)."""

    name: str
    problems: list[str]


def compare_scripts(testdata: Path, gristmill_python: str) -> Iterator[Result]:
    """Each acceptance script with both modules: same facts, same records in the same files."""
    for name in acceptance_runs.NAMES:
        with tempfile.TemporaryDirectory() as folder:
            facts, works = {}, {}
            for module, python in (("tensorflow", sys.executable), ("gristmill", gristmill_python)):
                works[module] = Path(folder) / module
                works[module].mkdir()
                try:
                    facts[module] = acceptance_runs.run(
                        name, testdata, works[module], module=module, python=python
                    )
                except AssertionError as error:
                    facts[module] = {f"failed with {module}": str(error)}
            problems = []
            if facts["tensorflow"] != facts["gristmill"]:
                problems.append(f"expected {facts['tensorflow']}, found {facts['gristmill']}")
            else:
                problems.extend(_different_files(works["tensorflow"], works["gristmill"]))
            yield Result(name, problems)


def _different_files(expected: Path, found: Path) -> Iterator[str]:
    names = [
        sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        for folder in (expected, found)
    ]
    if names[0] != names[1]:
        yield f"expected the files {names[0]}, found {names[1]}"
        return
    for name in names[0]:
        a, b = (
            [sorted_entries(record) for record in acceptance_runs.payloads(folder / name)]
            for folder in (expected, found)
        )
        if a != b:
            first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
            yield f"{name}: {len(a)} and {len(b)} records, first difference at {first}"


def sorted_entries(example: bytes) -> list[bytes]:
    """The entries of an Example's feature map in byte order, each as its wire bytes.

    TensorFlow writes the keys of a map in another order in every process; apart from that the bytes
    have to be the same.
    """
    return sorted(entry for features in _fields(example) for entry in _fields(features))


def _fields(message: bytes) -> list[bytes]:
    """The contents of the length-delimited fields number 1, of which these messages consist."""
    found, at = [], 0
    while at < len(message):
        if message[at] != 0x0A:
            raise ValueError(f"byte {at} is 0x{message[at]:02x}, expected field 1 (0x0a)")
        length, at = _varint(message, at + 1)
        found.append(message[at : at + length])
        at += length
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def compare_cases() -> Iterator[Result]:
    """Every recorded case that has an expectation, through TensorFlow."""
    tf, decoder = subject.module(), cases.decoder()
    for case in cases.load():
        if "observed" in case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(case, tf, decoder, Path(folder).resolve())
        yield Result(case["id"], judge.problems(case, outcome, decoder, reference=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gristmill-python", required=True, help="the interpreter with gristmill")
    options = parser.parse_args()
    testdata = os.environ.get("GRISTMILL_TESTDATA")
    passed = failed = 0
    if testdata:
        comparisons = [compare_scripts(Path(testdata), options.gristmill_python), compare_cases()]
    elif os.environ.get("GRISTMILL_NO_SKIP") == "1":
        print("GRISTMILL_TESTDATA is not set: the acceptance scripts cannot run")
        return 1
    else:
        print("GRISTMILL_TESTDATA is not set: the acceptance scripts are left out")
        comparisons = [compare_cases()]
    for comparison in comparisons:
        for result in comparison:
            passed += not result.problems
            failed += bool(result.problems)
            for problem in result.problems:
                print(f"FAILED {result.name}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
