"""Says whether the outcome of a case is the recorded one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from golden import cases
from golden.better import BETTER, Better
from golden.core import EXACT, Decoder, Tolerance, difference
from golden.run_case import Outcome

#: Error classes that may stand for a recorded one: protobuf's has no place in a package without it.
_STANDS_FOR = {"DecodeError": {"DecodeError", "DataLossError", "InvalidArgumentError"}}

#: Ops whose values are the same bit for bit, whatever tolerance the case allows.
_BIT_EXACT = re.compile(r"image\.convert_image_dtype|io\.decode_\w+|image\.decode_\w+")
_RESIZES = ("image.resize", "image.resize_with_pad")


def tolerance_of(case: Mapping[str, Any]) -> Tolerance:
    """The tolerance of a case, tightened to exact where the rule is one of exact arithmetic."""
    recorded = Tolerance(case["tolerance"]["kind"], case["tolerance"].get("value", 0.0))
    op, params = case["op"], case["params"]
    if _BIT_EXACT.fullmatch(op):
        return EXACT
    if op in _RESIZES and not params.get("antialias", False):
        return EXACT if params.get("method", "bilinear") in ("bilinear", "nearest") else recorded
    if op == "x.dataset" and params["steps"][0][0] == "image_dataset_from_directory":
        method = params["steps"][0][1].get("interpolation", "bilinear")
        return EXACT if method in ("bilinear", "nearest") else recorded
    return recorded


def problems(
    case: Mapping[str, Any], outcome: Outcome, decoder: Decoder, *, reference: bool
) -> list[str]:
    """What is wrong with ``outcome``; empty when the case holds.

    With ``reference`` the outcome is that of TensorFlow itself: cases that this package answers
    better than TensorFlow are then judged by what TensorFlow gave, and an error need not name a
    file, feature or op of its own accord.
    """
    if "observed" in case:
        return [] if outcome.error is None else [f"raised {_told(outcome)}"]
    better = None if reference else BETTER.get(case["id"])
    if better is not None:
        value = better.value or cases.by_id(better.like or case["id"])["expect"]
        if better.then_error:
            case = {**case, "expect": value}
            return list(_error_problems(case, outcome, decoder, reference=reference))
        return [
            *_value_problems(value, case, outcome, decoder),
            *_warning_problems(better, outcome),
        ]
    if "expect_error" in case:
        return list(_error_problems(case, outcome, decoder, reference=reference))
    return list(_value_problems(case["expect"], case, outcome, decoder))


def _told(outcome: Outcome) -> str:
    return f"{type(outcome.error).__name__}: {outcome.message}"


def _value_problems(
    expect: Any, case: Mapping[str, Any], outcome: Outcome, decoder: Decoder
) -> Iterator[str]:
    if outcome.error is not None:
        yield f"expected a value, raised {_told(outcome)}"
        return
    found = difference(decoder.decode(expect), outcome.value, tolerance_of(case))
    if found is not None:
        yield found


def _warning_problems(better: Better, outcome: Outcome) -> Iterator[str]:
    if better.warns and not any(better.warns in text for text in outcome.warnings):
        yield f"expected a warning that mentions {better.warns!r}, found {outcome.warnings}"


def _error_problems(
    case: Mapping[str, Any], outcome: Outcome, decoder: Decoder, *, reference: bool
) -> Iterator[str]:
    expected = case["expect_error"]
    if outcome.error is None:
        yield f"expected {expected['class']}, got a value"
        return
    classes = {c.__name__ for c in type(outcome.error).__mro__}
    if not classes & _STANDS_FOR.get(expected["class"], {expected["class"]}):
        yield f"expected {expected['class']}, raised {_told(outcome)}"
    text = outcome.message.lower()
    for words in expected["must_mention"]:
        if words.lower() not in text:
            yield f"the message lacks {words!r}: {outcome.message}"
    if not reference and not any(name in text for name in names(case)):
        yield f"the message names no file, feature, argument or op: {outcome.message}"
    if "expect" in case:
        before = difference(decoder.decode(case["expect"]), outcome.value, tolerance_of(case))
        if before is not None:
            yield f"before the error: {before}"


def names(case: Mapping[str, Any]) -> set[str]:
    """Lower-case words of which an error of this case has to say at least one."""
    op, params, inputs = case["op"], case["params"], case["inputs"]
    found = {op.rsplit(".", 1)[-1]}
    found |= {name for name in (*params, *inputs) if name != "files"}
    for argument in ("features", "context_features", "sequence_features"):
        for key in params.get(argument, {}):
            found |= {f"key: {key}", f"key {key}", f"feature: {key}", f"'{key}'", f'"{key}"'}
    if op.startswith("x.tfrecord"):
        found = {f"{name}.tfrecord" for name in inputs}
    if op.endswith("example_decode"):
        found.add("example")
    for name, arguments in params.get("steps", []):
        found |= {name, name.replace("_", " "), *arguments}
    for path in inputs.get("files", {}).get("dict", {}):
        found.add(path.rsplit("/", 1)[-1])
    if op == "x.script":
        found |= {"dataset", "generator", "predicate"}
    return {name.lower() for name in found if not name.startswith("$")}
