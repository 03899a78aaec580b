"""Executes one recorded case against the module under test."""

from __future__ import annotations

import gzip
import logging
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from golden import subject, wire
from golden.core import Decoder
from golden.params import ROOT, Params

#: One element more than this from a pass without a ``limit`` is a runaway dataset.
RUNAWAY = 100_000


@dataclass
class Outcome:
    """What a case gave: a value, or an error and the part of the value that came before it."""

    value: Any = None
    error: BaseException | None = None
    message: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass
class Run:
    """One case being run: its JSON, and where its files live."""

    case: Mapping[str, Any]
    tf: Any
    decoder: Decoder
    root: Path
    partial: Any = None

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the case, as JSON."""
        return dict(self.case["params"])

    def build(self, value: Any) -> Any:
        """A parameter for the module under test."""
        return Params(self.tf, self.decoder, str(self.root)).build(value)

    def input(self, name: str) -> Any:
        """An input as NumPy arrays and Python structures, or ``None`` when the case has none."""
        value = self.case["inputs"].get(name)
        return None if value is None else self.decoder.decode(value)


def run(case: Mapping[str, Any], tf: Any, decoder: Decoder, root: Path) -> Outcome:
    """Runs ``case`` in the empty folder ``root``; errors of the module are part of the outcome."""
    this = Run(case, tf, decoder, root)
    seeded = case["params"].get("global_seed") is not None or "set_seed" in str(case["params"])
    outcome = Outcome()
    handler = _Collect(outcome.warnings)
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _write_files(this)
            if case["params"].get("global_seed") is not None:
                tf.random.set_seed(case["params"]["global_seed"])
            try:
                outcome.value = without_root(subject.to_plain(_dispatch(this)), str(root))
            except Exception as error:  # judged by the caller
                outcome.error = error
                outcome.message = str(error).replace(str(root), ROOT)
                outcome.value = without_root(subject.to_plain(this.partial), str(root))
        outcome.warnings.extend(str(w.message) for w in caught)
    finally:
        logging.getLogger().removeHandler(handler)
        if seeded:
            tf.random.set_seed(None)
    return outcome


class _Collect(logging.Handler):
    """Keeps the text of warnings that arrive through ``logging``."""

    def __init__(self, into: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._into = into

    def emit(self, record: logging.LogRecord) -> None:
        self._into.append(record.getMessage())


def without_root(value: Any, root: str) -> Any:
    """``value`` with the folder of the case replaced by ``{ROOT}`` in every string."""
    if isinstance(value, str):
        return value.replace(root, ROOT)
    if isinstance(value, dict):
        return {name: without_root(part, root) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(without_root(part, root) for part in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        out = np.empty(value.shape, dtype=object)
        for at in np.ndindex(value.shape):
            item = value[at]
            out[at] = item.replace(root.encode(), ROOT.encode()) if type(item) is bytes else item
        return out
    return value


def _write_files(this: Run) -> None:
    for name, content in (this.input("files") or {}).items():
        path = this.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[()])


def _dispatch(this: Run) -> Any:
    op = this.case["op"]
    if not op.startswith("x."):
        return _plain_op(this)
    if op not in SPECIAL:
        raise LookupError(f"the runner knows no op {op!r}, expected one of {sorted(SPECIAL)}")
    return SPECIAL[op](this)


def _plain_op(this: Run) -> Any:
    function = this.tf
    for part in this.case["op"].split("."):
        function = getattr(function, part)
    inputs = {name: subject.to_subject(this.tf, this.input(name)) for name in this.case["inputs"]}
    return function(**inputs, **this.build(this.params))


# Record files -------------------------------------------------------------------------------------


def _tfrecord_write(this: Run) -> bytes:
    path = this.root / "written.tfrecord"
    compression = this.params.get("compression_type")
    with this.tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in this.input("records"):
            writer.write(record)
    data = path.read_bytes()
    if compression == "GZIP":
        return gzip.decompress(data)
    return zlib.decompress(data) if compression == "ZLIB" else data


def _tfrecord_read(this: Run) -> Any:
    paths = []
    for name in sorted(this.case["inputs"]):
        path = this.root / f"{name}.tfrecord"
        path.write_bytes(this.input(name)[()])
        paths.append(str(path))
    records: list[bytes] = []
    this.partial = _string_array(records)
    try:
        for record in this.tf.data.TFRecordDataset(paths, **this.build(this.params)):
            records.append(record.numpy())
    finally:
        this.partial = _string_array(records)
    return this.partial


def _string_array(strings: list[bytes]) -> Any:
    out = np.empty(len(strings), dtype=object)
    out[:] = strings
    return out


# Examples -----------------------------------------------------------------------------------------


def _example_serialize(this: Run) -> bytes:
    if this.params.get("set_features") is False:
        return wire.serialize(this.tf.train.Example())
    features = wire.features(this.tf, this.input("features"))
    return wire.serialize(this.tf.train.Example(features=features))


def _sequence_example_serialize(this: Run) -> bytes:
    named: dict[str, Any] = {}
    if (context := this.input("context")) is not None:
        named["context"] = wire.features(this.tf, context)
    if (lists := this.input("feature_lists")) is not None:
        named["feature_lists"] = wire.feature_lists(this.tf, lists)
    return wire.serialize(this.tf.train.SequenceExample(**named))


def _example_decode(this: Run) -> Any:
    example = this.tf.train.Example.FromString(this.input("serialized")[()])
    return wire.plain_features(example.features)


def _sequence_example_decode(this: Run) -> Any:
    example = this.tf.train.SequenceExample.FromString(this.input("serialized")[()])
    return {
        "context": wire.plain_features(example.context),
        "feature_lists": wire.plain_feature_lists(example.feature_lists),
    }


def _to_dense(this: Run) -> Any:
    serialized = subject.to_subject(this.tf, this.input("serialized"))
    parsed = this.tf.io.parse_single_example(serialized, this.build(this.params["features"]))
    default = {k: v for k, v in this.build(this.params).items() if k == "default_value"}
    return {
        name: this.tf.sparse.to_dense(value, **default) if hasattr(value, "indices") else value
        for name, value in parsed.items()
    }


# Datasets -----------------------------------------------------------------------------------------


def _dataset(this: Run) -> Any:
    steps = Params(this.tf, this.decoder, str(this.root))
    made = steps.dataset(this.params["steps"])
    if isinstance(made, tuple | list):
        found: list[Any] = []
        this.partial = {"datasets": found}
        for one in made:
            facts: dict[str, Any] = {}
            found.append(facts)
            _observe(this, one, facts)
        return this.partial
    facts = {}
    this.partial = facts
    _observe(this, made, facts)
    return facts


def _observe(this: Run, dataset: Any, facts: dict[str, Any]) -> None:
    """Puts passes, spec, cardinality and attributes of ``dataset`` into ``facts``, as they come."""
    epochs: list[list[Any]] = []
    facts["epochs"] = epochs
    if this.params.get("meta", True):
        facts["element_spec"] = subject.spec_to_plain(dataset.element_spec)
        facts["cardinality"] = int(dataset.cardinality())
    for name in this.params.get("attrs", []):
        facts[name] = getattr(dataset, name)
    limit = this.params.get("limit")
    for _ in range(this.params.get("epochs", 1)):
        elements: list[Any] = []
        epochs.append(elements)
        iterator = iter(dataset)
        while limit is None or len(elements) < limit:
            try:
                element = next(iterator)
            except StopIteration:
                break
            elements.append(subject.to_plain(element))
            if len(elements) > RUNAWAY:
                raise OverflowError(f"a pass gave more than {RUNAWAY} elements")


def _dataset_reduce(this: Run) -> Any:
    steps = Params(this.tf, this.decoder, str(this.root))
    dataset = steps.dataset(this.params["steps"])
    state, function = (this.build(this.params[n]) for n in ("initial_state", "reduce_func"))
    return dataset.reduce(state, function)


def _script(this: Run) -> Any:
    names: dict[str, Any] = {"tf": this.tf, "np": np}
    source = this.params["py"].replace(ROOT, str(this.root))
    exec(compile(source, f"<{this.case['id']}>", "exec"), names)
    return names["result"]


SPECIAL: dict[str, Callable[[Run], Any]] = {
    "x.tfrecord_write": _tfrecord_write,
    "x.tfrecord_read": _tfrecord_read,
    "x.example_serialize": _example_serialize,
    "x.example_decode": _example_decode,
    "x.sequence_example_serialize": _sequence_example_serialize,
    "x.sequence_example_decode": _sequence_example_decode,
    "x.to_dense": _to_dense,
    "x.dataset": _dataset,
    "x.dataset_reduce": _dataset_reduce,
    "x.script": _script,
}
