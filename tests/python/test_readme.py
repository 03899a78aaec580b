"""What README.md and the other pages say is true: their Python runs, what they name exists."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gristmill as gm

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
]
#: A fenced block of Python or shell, and the fenced text right behind it if there is one: what it
#: prints.
BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _photos(folder: Path) -> None:
    """Twenty small JPEGs in two class folders."""
    pixels = np.random.default_rng(0)
    for name in ("daisy", "rose"):
        (folder / name).mkdir(parents=True)
        for i in range(10):
            image = pixels.integers(0, 256, (40 + i, 60, 3), dtype=np.uint8)
            jpeg = gm.io.encode_jpeg(gm.constant(image)).numpy()
            (folder / name / f"{i}.jpg").write_bytes(jpeg)


def _shell(source: str) -> None:
    """Runs the command line's own commands; of the others, checks what can be checked."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for line in source.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gristmill"]:
            command = "import sys; from gristmill._tools import main; sys.exit(main())"
            done = subprocess.run(
                [sys.executable, "-c", command, *words[1:]],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{line}: {done.stderr}"
        elif words[:1] == ["make"]:
            assert words[1] in targets, line
        else:
            assert not words or words[:2] == ["pip", "install"], line


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    pytest.importorskip(
        "keras", reason="the README trains with Keras on JAX: pip install keras jax"
    )
    _photos(tmp_path / "flowers")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "readme"}
    blocks = BLOCK.findall(_text("README.md"))
    assert len(blocks) >= 12
    for language, source, printed in blocks:
        if language == "sh":
            _shell(source)
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, "train.py", "exec"), names)
        if printed:
            assert out.getvalue().strip() == printed.strip(), source


def test_what_the_readme_calls_missing_is_missing() -> None:
    section = _text("README.md").partition("## Not there yet")[2].partition("\n- `cache(")[0]
    methods, _, classes = section.partition("Classes of `gm.data`")
    methods = methods.partition(":")[2]
    listed = [(gm.data.Dataset, name) for name in re.findall(r"`(\w+)`", methods)]
    listed += [(gm.data, name) for name in re.findall(r"`([A-Z]\w+)`", classes)]
    there = [name for owner, name in listed if hasattr(owner, name)]
    assert there == [], "these have come: take them out of 'Not there yet' in README.md"


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_exist(page: str) -> None:
    tops = "crates|python|tests|tools|docs|bench|fuzz|xtask"
    words = set(re.findall(rf"`((?:{tops})/[\w./-]+)`", _text(page)))
    missing = sorted(word for word in words if not (ROOT / word).exists())
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", _text(page))
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_a_page_names_exist(page: str) -> None:
    """`path/file.rs` and `path/file.py`, then `::name`, is a test or function of that file."""
    named = re.findall(r"`([\w./-]+\.(?:rs|py))::(\w+)`", _text(page))
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not re.search(rf"\b(?:fn|def) {name}\b", (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []
