"""Real files that others made: records, features and pixels are those that TensorFlow gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden import subject


@pytest.fixture(scope="module")
def tf() -> Any:
    """The module under test."""
    return subject.module()


def _expected(folder: Path) -> dict[str, Any]:
    facts = json.loads((folder / "expected.json").read_text())
    assert isinstance(facts, dict) and facts
    return facts


def _report(problems: Iterable[str]) -> None:
    """Fails with every problem at once: one damaged file must not hide the next."""
    found = list(problems)
    assert not found, f"{len(found)} differ:\n" + "\n".join(found)


# Record files -------------------------------------------------------------------------------------


def _read(tf: Any, path: Path, compression: str) -> tuple[list[bytes], Exception | None]:
    records: list[bytes] = []
    try:
        for record in tf.data.TFRecordDataset(str(path), compression_type=compression):
            records.append(record.numpy())
    except Exception as error:
        return records, error
    return records, None


def _record_problems(tf: Any, path: Path, facts: dict[str, Any], compression: str) -> list[str]:
    records, error = _read(tf, path, compression)
    problems = []
    if (error is None) != (facts["error"] is None):
        problems.append(f"{path.name}: expected error {facts['error']}, found {error!r}")
    if error is not None and facts["error"] is not None:
        kind, _, words = facts["error"].partition(": ")
        if kind not in {c.__name__ for c in type(error).__mro__} or words not in str(error):
            problems.append(f"{path.name}: expected {facts['error']}, found {error!r}")
    found = (len(records), hashlib.sha256(b"".join(records)).hexdigest())
    if found != (facts["records"], facts["payload_sha256"]):
        problems.append(f"{path.name}: expected {facts['records']} records, found {found}")
    return problems


def test_record_files_hold_the_recorded_payloads(tf: Any, testdata: Path) -> None:
    folder = testdata / "data" / "tfrecords"
    _report(
        problem
        for name, facts in _expected(folder).items()
        for problem in _record_problems(
            tf, folder / name, facts, facts["compression"].replace("NONE", "")
        )
    )


def test_compressed_files_are_read_without_being_told(tf: Any, testdata: Path) -> None:
    if subject.is_reference():
        pytest.xfail("TensorFlow never looks at the head of a file")
    folder = testdata / "data" / "tfrecords"
    _report(
        problem
        for name, facts in _expected(folder).items()
        if facts["compression"] != "NONE" and facts["error"] is None
        for problem in _record_problems(tf, folder / name, facts, "")
    )


def _summary(messages: Iterable[Any], total: int) -> dict[str, Any]:
    """Kinds, lengths and absences of every feature over all messages."""
    seen: dict[str, dict[str, Any]] = {}
    for features in messages:
        for key in features.feature:
            feature = features.feature[key]
            kind = feature.WhichOneof("kind") or "unset"
            length = 0 if kind == "unset" else len(getattr(feature, kind).value)
            one = seen.setdefault(key, {"kinds": set(), "lengths": [], "present": 0})
            one["kinds"].add(kind.removesuffix("_list"))
            one["lengths"].append(length)
            one["present"] += 1
    return {
        key: {
            "kinds": sorted(one["kinds"]),
            "min_len": min(one["lengths"]),
            "max_len": max(one["lengths"]),
            "missing": total - one["present"],
        }
        for key, one in seen.items()
    }


def test_examples_hold_the_recorded_features(tf: Any, testdata: Path) -> None:
    folder = testdata / "data" / "tfrecords"
    classes = {
        "example": lambda data: tf.train.Example.FromString(data).features,
        "sequence_example": lambda data: tf.train.SequenceExample.FromString(data).context,
    }
    problems = []
    for name, facts in _expected(folder).items():
        if facts["kind"] not in classes or facts["error"] is not None:
            continue
        records, _ = _read(tf, folder / name, facts["compression"].replace("NONE", ""))
        found = _summary(map(classes[facts["kind"]], records), len(records))
        wanted = {
            key: {
                "kinds": sorted(one.get("kinds", [one["kind"]])),
                **{n: one[n] for n in ("min_len", "max_len", "missing")},
            }
            for key, one in facts["features"].items()
        }
        if found != wanted:
            keys = [k for k in {*found, *wanted} if found.get(k) != wanted.get(k)]
            problems.append(
                f"{name}: {[(k, wanted.get(k), found.get(k)) for k in sorted(keys)[:3]]}"
            )
    _report(problems)


# Images -------------------------------------------------------------------------------------------


def _decoders(tf: Any) -> dict[str, Any]:
    jpeg = tf.io.decode_jpeg
    return {
        "decode_image": tf.io.decode_image,
        "decode_image_c3_noanim": lambda data: tf.io.decode_image(
            data, channels=3, expand_animations=False
        ),
        "decode_jpeg_c3": lambda data: jpeg(data, channels=3),
        "decode_jpeg_c3_accurate": lambda data: jpeg(
            data, channels=3, dct_method="INTEGER_ACCURATE"
        ),
        "decode_jpeg_c3_recover": lambda data: jpeg(data, channels=3, try_recover_truncated=True),
    }


def _pixels(call: Any, data: bytes) -> dict[str, Any]:
    try:
        image = np.asarray(call(data))
    except Exception as error:
        return {"error": [c.__name__ for c in type(error).__mro__]}
    digest = hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()
    return {"shape": list(image.shape), "dtype": image.dtype.name, "sha256": digest}


def _image_problems(tf: Any, path: Path, facts: dict[str, Any]) -> Iterable[str]:
    data = path.read_bytes()
    for name, call in _decoders(tf).items():
        wanted, found = facts[name], _pixels(call, data)
        if "error" in wanted:
            if wanted["error"] not in found.get("error", []):
                yield f"{path.name} {name}: expected {wanted['error']}, found {found}"
        elif wanted != found:
            yield f"{path.name} {name}: expected {wanted}, found {found}"


def test_images_decode_to_the_recorded_pixels_or_errors(tf: Any, testdata: Path) -> None:
    folder = testdata / "data" / "images"
    _report(
        problem
        for name, facts in _expected(folder).items()
        for problem in _image_problems(tf, folder / name, facts)
    )


def test_photos_decode_to_the_recorded_pixels(tf: Any, testdata: Path) -> None:
    folder = testdata / "data" / "flowers"
    facts = _expected(folder)
    problems = []
    for name, one in facts["files"].items():
        data = (folder / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == one["file_sha256"], f"{name} is another file"
        image = tf.io.decode_jpeg(data, channels=3).numpy()
        digest = hashlib.sha256(image.tobytes()).hexdigest()
        accurate = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE").numpy()
        found = (list(image.shape), digest, hashlib.sha256(accurate.tobytes()).hexdigest())
        wanted = (
            one["decode_jpeg_c3"]["shape"],
            one["decode_jpeg_c3"]["sha256"],
            one["decode_jpeg_c3_accurate_sha256"],
        )
        if found != wanted:
            problems.append(f"{name}: expected {wanted}, found {found}")
    _report(problems)


def test_class_folders_hold_the_recorded_files(tf: Any, testdata: Path) -> None:
    folder = testdata / "data" / "flowers"
    facts = _expected(folder)
    found: dict[str, dict[str, int]] = {}
    for path in tf.data.Dataset.list_files(f"{folder}/*/*.jpg", shuffle=False).as_numpy_iterator():
        name = Path(path.decode()).parent.name
        one = found.setdefault(name, {"files": 0, "bytes": 0})
        one["files"] += 1
        one["bytes"] += len(tf.io.read_file(path.decode()).numpy())
    assert found == facts["classes"]
