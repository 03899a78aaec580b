"""The runner itself: a wrong value, error or message has to be noticed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden import cases, judge
from golden.core import EXACT, Decoder, Digest, Ragged, Sparse, Tolerance, difference
from golden.run_case import Outcome, run, without_root

DECODER = Decoder(Path("unused"))


def _decode(**value: Any) -> Any:
    return DECODER.decode(value)


def test_values_decode_to_their_dtype_and_shape() -> None:
    array = _decode(dtype="float32", shape=[2, 2], data=[1.5, "NaN", "-Infinity", -0.0])
    assert array.dtype == np.float32 and array.shape == (2, 2)
    assert np.isnan(array[0, 1]) and array[1, 0] == -np.inf and np.signbit(array[1, 1])
    assert _decode(dtype="bfloat16", shape=[1], data=[1.0]).dtype.name == "bfloat16"
    pattern = [{"len": 4, "mul": 3, "add": 1, "mod": 5}]
    assert _decode(dtype="string", shape=[], pattern=pattern)[()] == bytes([1, 4, 2, 0])


@pytest.mark.parametrize(
    ("expected", "found", "words"),
    [
        (np.int32([1, 2]), np.int32([1, 3]), "1 of 2 values differ"),
        (np.int32([1, 2]), np.int64([1, 2]), "dtype int32, found int64"),
        (np.int32([1, 2]), np.int32([[1, 2]]), "shape (2,), found (1, 2)"),
        (np.float32([0.0]), np.float32([-0.0]), "values differ"),
        (np.float32([np.nan]), np.float32([1.0]), "values differ"),
        (np.array([b"a"], dtype=object), np.array([b"b"], dtype=object), "string 0"),
        (np.array([b"1"], dtype=object), np.int32([1]), "expected strings"),
        ((np.int32(1),), [np.int32(1)], "expected a tuple"),
        ([np.int32(1)], [np.int32(1), np.int32(2)], "expected 1 items, found 2"),
        ({"a": np.int32(1)}, {"b": np.int32(1)}, "expected keys"),
        (1, True, "expected 1, found True"),
        (None, np.int32(0), "expected None"),
    ],
)
def test_differences_are_found_and_told(expected: Any, found: Any, words: str) -> None:
    problem = difference(expected, found, EXACT)
    assert problem is not None and words in problem


def test_equal_values_have_no_difference() -> None:
    nan = np.float32([np.nan, 1.0])
    assert difference(nan, nan.copy(), EXACT) is None
    assert difference({"b": (1, "x")}, {"b": (1, "x")}, EXACT) is None
    sparse = Sparse(np.int64([[0]]), np.int64([5]), np.int64([3]))
    assert difference(sparse, Sparse(np.int64([[0]]), np.int64([5]), np.int64([3])), EXACT) is None
    assert difference(sparse, Sparse(np.int64([[1]]), np.int64([5]), np.int64([3])), EXACT)
    ragged = Ragged(np.int64([1]), [np.int64([0, 1])])
    assert difference(ragged, Ragged(np.int64([1]), [np.int64([0, 0])]), EXACT)


def test_tolerances_bound_from_both_sides() -> None:
    a = np.float32([100.0])
    assert difference(a, np.float32([100.001]), Tolerance("abs", 0.002)) is None
    assert difference(a, np.float32([100.003]), Tolerance("abs", 0.002))
    one_ulp = np.nextafter(a, np.float32(200))
    assert difference(a, one_ulp, Tolerance("ulp", 1)) is None
    assert difference(a, a * np.float32(1.00001), Tolerance("ulp", 8))
    assert difference(np.int64([1]), np.int64([2]), Tolerance("ulp", 100))


def test_digests_match_content_only() -> None:
    digest = Digest(3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    assert digest.matches(b"abc") and not digest.matches(b"abd") and not digest.matches(b"abcd")


def test_exact_rules_override_the_recorded_tolerance() -> None:
    loose = {"kind": "abs", "value": 0.5}
    case = {"op": "image.resize", "params": {"method": "bilinear"}, "tolerance": loose}
    assert judge.tolerance_of(case) == EXACT
    assert judge.tolerance_of({**case, "params": {"antialias": True}}).value == 0.5
    assert judge.tolerance_of({**case, "params": {"method": "area"}}).value == 0.5
    assert judge.tolerance_of({**case, "op": "io.decode_png"}) == EXACT


CASE = {
    "id": "t",
    "op": "reshape",
    "inputs": {"tensor": {"dtype": "int32", "shape": [1], "data": [1]}},
    "params": {"shape": [2]},
    "tolerance": {"kind": "exact", "value": 0},
    "expect_error": {"class": "ValueError", "must_mention": ["1 values"], "tf_message": ""},
}


def _judge(error: Exception | None, *, reference: bool = False) -> list[str]:
    outcome = Outcome(error=error, message=str(error))
    return judge.problems(CASE, outcome, DECODER, reference=reference)


def test_errors_are_judged_by_class_words_and_names() -> None:
    class Derived(ValueError):
        pass

    assert _judge(Derived("reshape: 1 Values")) == []
    assert "expected ValueError, got a value" in _judge(None)[0]
    assert "raised KeyError" in _judge(KeyError("reshape: 1 values"))[0]
    assert "lacks '1 values'" in _judge(ValueError("reshape fails"))[0]
    assert "names no file" in _judge(ValueError("found 1 values"))[0]
    assert _judge(ValueError("found 1 values"), reference=True) == []


def test_an_unknown_op_fails(tmp_path: Path) -> None:
    case = {**CASE, "op": "x.nothing", "expect": None}
    del case["expect_error"]
    outcome = run(case, None, DECODER, tmp_path)
    assert isinstance(outcome.error, LookupError) and "x.nothing" in outcome.message
    assert judge.problems(case, outcome, DECODER, reference=False)


def test_a_wrong_expectation_is_noticed() -> None:
    case = copy.deepcopy(cases.by_id("dataset.range"))
    decoder = cases.decoder()
    value = decoder.decode(case["expect"])
    assert judge.problems(case, Outcome(value=value), decoder, reference=False) == []
    case["expect"]["dict"]["epochs"]["list"][0]["list"][3]["data"] = [30]
    found = judge.problems(case, Outcome(value=value), decoder, reference=False)
    assert len(found) == 1 and "result['epochs'][0][3]" in found[0]


def test_the_folder_of_the_case_is_written_as_root() -> None:
    strings = np.array([b"/case/x/a.jpg"], dtype=object)
    assert without_root(["/case/x/b", strings], "/case/x")[0] == "{ROOT}/b"
    assert without_root(strings, "/case/x")[0] == b"{ROOT}/a.jpg"
