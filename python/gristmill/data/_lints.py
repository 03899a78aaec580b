"""Remarks on plans that run but rarely do what was meant.

Each is told once per place through the logger ``"gristmill"``, with the user's line and the fix. A
remark has a name; ``GRISTMILL_SILENCE=name,other`` in the environment (or ``all``) keeps it back,
and so does a `logging.Filter` that looks at the ``lint`` attribute of the record.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gristmill import _native
from gristmill._log import warn

if TYPE_CHECKING:
    from types import FrameType

SILENCE = "GRISTMILL_SILENCE"


class Lint(NamedTuple):
    """One kind of remark.

    Attributes:
        name: What silences it.
        message: What is wrong, with places for what was found.
        fix: What to write instead.
    """

    name: str
    message: str
    fix: str


LINTS = {
    lint.name: lint
    for lint in (
        Lint(
            "shuffle-split",
            "there are {cuts} of one dataset that is shuffled anew in every pass (the shuffle at "
            "{shuffle}): they share elements",
            "split before shuffle, or shuffle(…, reshuffle_each_iteration=False)",
        ),
        Lint(
            "repeat-before-shuffle",
            "shuffle after repeat mixes the epochs: an element may come twice before another one "
            "comes at all",
            "put shuffle before repeat",
        ),
        Lint(
            "float-image-dtype",
            "convert_image_dtype does not scale floats, and this {dtype} image holds 0 to {top} "
            "(it was made of {source} by {op})",
            "call convert_image_dtype on the {source} image, before {op}; or divide by {top}",
        ),
        Lint(
            "absent-feature",
            "feature '{key}' is declared but none of the {count} records looked at in {where} has "
            "it, so that its default stands in for it; they have {present}",
            "{hint}",
        ),
        Lint(
            "partial-batch",
            "the last batch has {rows} rows and the others {size}: a compiled step is compiled "
            "twice, and {rows} rows may not divide over the devices",
            "batch({size}, drop_remainder=True)",
        ),
        Lint(
            "cache-after-random",
            "cache keeps what the random op at {site} gave in the first pass: every epoch sees the "
            "same augmentation",
            "put cache before the map that augments",
        ),
        Lint(
            "glob-no-match",
            "a dataset of no files: {patterns} matched none; {nearest}",
            "patterns take *, ? and [...], and a path must match as a whole",
        ),
        Lint(
            "keras-batch-size",
            "batch_size={size} has no effect: the dataset comes in batches of its own",
            "leave it out, and set the size by Dataset.batch",
        ),
    )
}

_told: set[tuple[str, str]] = set()
# Packages whose lines are not the user's.
_BELOW = ("gristmill", "keras", "jax")


def _line() -> str:
    """Returns ``file.py:41`` of the innermost caller outside `_BELOW`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _BELOW:
            return f"{frame.f_code.co_filename.rpartition(os.sep)[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def tell(name: str, site: str | None = None, /, **found: Any) -> None:
    """Logs a remark, unless it is silenced or was made for that place before.

    Args:
        name: A key of `LINTS`.
        site: The user's line; that of the innermost caller outside this package if not given.
        **found: What the message names.
    """
    lint = LINTS[name]
    where = site or _line()
    if (name, where) in _told:
        return
    _told.add((name, where))
    silenced = {part.strip() for part in os.environ.get(SILENCE, "").split(",")}
    if name in silenced or "all" in silenced:
        return
    text = f"{lint.message.format(**found)}, at {where}\n  hint: {lint.fix.format(**found)}"
    warn(f"{text}\n  ({SILENCE}={name} silences this)", lint=name)


class Parse(NamedTuple):
    """A parse of the records of files.

    Attributes:
        paths: Some of the files, in order.
        keys: Declared features that are no error where they are absent.
        site: The user's line.
    """

    paths: tuple[str, ...]
    keys: tuple[str, ...]
    site: str


# Files that are looked into; so many records and bytes of all together.
PEEK_FILES = 8
_PEEK_RECORDS = 256
_PEEK_BYTES = 4 << 20
_peeked: set[Parse] = set()


def peek(parses: Sequence[Parse]) -> None:
    """Looks whether the features of parses occur in some records, once for each parse."""
    for parse in parses:
        if parse not in _peeked:
            _peeked.add(parse)
            _peek(parse)


def _first_records(path: str, share: int) -> Iterator[bytes]:
    """Yields the first records of a file: its share of what is looked at."""
    records = _native.Plan.tf_record(
        _native.Value.from_strings([], [os.fsencode(path)]), None, True
    ).iterate(None)
    count = size = 0
    try:
        while count * share < _PEEK_RECORDS and size * share < _PEEK_BYTES:
            values = records.next()
            if values is None:
                return
            (data,) = values[0].strings()
            yield data
            count += 1
            size += len(data)
    finally:
        records.close()


def _peek(parse: Parse) -> None:
    # What is read from a pipe is gone from it.
    paths = [path for path in parse.paths if os.path.isfile(path)]  # noqa: PTH113
    present: set[str] = set()
    count = 0
    try:
        for path in paths:
            for data in _first_records(path, len(paths)):
                present |= set(_native.decode_example(data) or ())
                count += 1
                if present.issuperset(parse.keys):
                    return
    except Exception:
        # What is wrong with the file is told by the pass itself.
        return
    absent = [key for key in parse.keys if key not in present]
    if not count or not absent:
        return
    import difflib

    # A name that is nearly one of those present is the likelier mistake.
    near = {key: difflib.get_close_matches(key, present, 1) for key in absent}
    key = next((k for k in absent if near[k]), absent[0])
    hint = f"did you mean '{near[key][0]}'?" if near[key] else "correct the name or leave it out"
    names = ", ".join(f"'{name}'" for name in sorted(present)) or "no feature"
    tell(
        "absent-feature",
        parse.site,
        key=key,
        count=count,
        where=paths[0] if len(paths) == 1 else f"{len(paths)} files such as {paths[0]}",
        present=names,
        hint=hint,
    )


_unmatched: list[str] = []


def matched_none(patterns: Sequence[str]) -> None:
    """Remembers that a glob gave nothing: a dataset made of it is worth a remark."""
    _unmatched[:] = patterns


def no_files() -> None:
    """Remarks that a dataset is made of an empty list, if a glob has just matched nothing."""
    if _unmatched:
        patterns = ", ".join(f"'{p}'" for p in _unmatched)
        tell("glob-no-match", patterns=patterns, nearest=nearest(_unmatched[0]))


def nearest(pattern: str) -> str:
    """Says which folder on the way to a pattern exists, and what is in it."""
    if "://" in pattern:
        return f"nothing is known of {pattern.partition('://')[0]}:// paths near it"
    folder = os.path.dirname(pattern)  # noqa: PTH120, a pattern is no path
    while folder and (any(c in folder for c in "*?[") or not _native.isdir(folder)):
        shorter = os.path.dirname(folder)  # noqa: PTH120
        if shorter == folder:
            break
        folder = shorter
    names = [name for name, _ in _native.listdir(folder or ".")]
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    holds = f"holds {len(names)} entries ({shown})" if names else "is empty"
    return f"the nearest folder that exists, '{folder or '.'}', {holds}"


def _random() -> Any:
    """Python's module of random numbers if it is loaded: what has not loaded it has not drawn."""
    module = sys.modules.get("random")
    return module if hasattr(module, "getstate") else None


def _numpy_random() -> Any:
    """NumPy's module of random numbers if it is loaded, and not on its way on another thread."""
    module = sys.modules.get("numpy.random")
    whole = all(hasattr(module, name) for name in ("Generator", "RandomState", "get_state"))
    return module if whole else None


def _generators(func: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Finds the random generators of NumPy and Python that a function refers to by name."""
    func = getattr(func, "func", func)
    func = getattr(func, "__func__", func)
    code = getattr(func, "__code__", None)
    if code is None:
        return []
    named: dict[str, Any] = {}
    names = set(code.co_names)
    for const in code.co_consts:
        names |= set(getattr(const, "co_names", ()))
    for name in names:
        named[name] = func.__globals__.get(name)
    for name, cell in zip(code.co_freevars, func.__closure__ or (), strict=True):
        try:
            named[name] = cell.cell_contents
        except ValueError:
            continue
    random, numpy = _random(), _numpy_random()
    kinds: tuple[type, ...] = ()
    # The system's own source has no state that would tell.
    stateless: tuple[type, ...] = ()
    if random is not None:
        kinds, stateless = (random.Random,), (random.SystemRandom,)
    if numpy is not None:
        kinds += (numpy.Generator, numpy.RandomState)
    return [
        (name, value)
        for name, value in named.items()
        if isinstance(value, kinds) and not isinstance(value, stateless)
    ]


def _plain(state: Any) -> Any:
    """A state of NumPy's, in a form whose parts can be compared at once."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state


def _fingerprint(generators: list[tuple[str, Any]]) -> dict[str, Any]:
    """The states of random generators, by the name that a message gives them."""
    states: dict[str, Any] = {}
    random, numpy = _random(), _numpy_random()
    if random is not None:
        states["random"] = random.getstate()
    if numpy is not None:
        states["np.random"] = _plain(numpy.get_state(legacy=False))
    for name, generator in generators:
        if hasattr(generator, "getstate"):
            states[name] = generator.getstate()
        elif hasattr(generator, "bit_generator"):
            states[name] = _plain(generator.bit_generator.state)
        else:
            states[name] = _plain(generator.get_state(legacy=False))
    return states


_swapping = threading.RLock()


def without_foreign_draws(func: Callable[..., Any], where: str, run: Callable[[], Any]) -> Any:
    """Traces a function and refuses that it draws from NumPy's or Python's random generators.

    A function is called once, so that what it drew would be the same for every element.

    Args:
        func: The function.
        where: The transformation, for the message.
        run: Traces the function, from the start each time.

    Returns:
        What the first ``run`` returned.

    Raises:
        TypeError: If a generator has moved. Where there are other Python threads, which may have
            drawn, the function must do it again, and on this thread, when it is traced once more.
    """
    generators = _generators(func)
    traced, moved = _moved(generators, run)
    if moved and threading.active_count() > 1:
        own = {name for name, _ in generators}
        again: list[str] = []
        drawn = _drawn(lambda: again.extend(_moved(generators, run)[1]))
        moved = [*drawn, *(name for name in again if name in own)]
    if not moved:
        return traced
    code = getattr(func, "__code__", None)
    place = (
        f"{code.co_filename.rpartition(os.sep)[2]}:{code.co_firstlineno}"
        if code is not None
        else _line()
    )
    raise TypeError(
        f"the function given to Dataset.{where}() at {place} draws from {moved[0]}: it is called "
        "once, so that every element gets the same number\n"
        "  hint: draw with gm.random or gm.image.random_*"
    )


def _moved(generators: list[tuple[str, Any]], run: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Runs, and names the generators that were drawn from meanwhile."""
    before = _fingerprint(generators)
    result = run()
    after = _fingerprint(generators)
    moved = [name for name in before if before[name] != after[name]]
    if after.keys() - before.keys():
        # The function loaded a module, as NumPy loads its generators when they are first asked for:
        # what was drawn then shows when it is done again.
        moved += _moved(generators, run)[1]
    return result, moved


def _drawn(run: Callable[[], Any]) -> set[str]:
    """Runs, and names the modules whose random functions this very thread called meanwhile."""
    here, found = threading.get_ident(), set()

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == here:
                found.add(name)
            return function(*args, **kwargs)

        return call

    random, numpy = _random(), _numpy_random()
    modules: list[tuple[str, Any, type]] = []
    if random is not None:
        modules.append(("random", random, random.Random))
    if numpy is not None:
        modules.append(("np.random", numpy, numpy.RandomState))
    with _swapping:
        functions = [
            (module, attribute, name, value)
            for name, module, kind in modules
            for attribute, value in vars(module).items()
            if isinstance(getattr(value, "__self__", None), kind)
            and attribute not in ("getstate", "get_state")
        ]
        try:
            for module, attribute, name, value in functions:
                setattr(module, attribute, noting(name, value))
            run()
        finally:
            for module, attribute, _, value in functions:
                setattr(module, attribute, value)
    return found
