"""Checks a wheel as a user meets it: size, contents, and a quick start in a fresh environment.

python tools/check_wheel.py FOLDER

FOLDER holds the wheel (the newest counts). It is installed into an environment of another Python
than this one if the machine has one (from 3.10 on), since one wheel is meant for all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_MB = 20
OLDEST = (3, 10)
NEEDED = [
    "gristmill/__init__.py",
    "gristmill/_native.abi3.so",
    "gristmill/_native.pyi",
    "gristmill/py.typed",
    "licenses/LICENSE-APACHE",
    "licenses/LICENSE-MIT",
    "licenses/THIRD-PARTY-NOTICES.txt",
    "entry_points.txt",
]
QUICK_START = """
import gristmill as gm

squares = gm.data.Dataset.range(6).map(lambda n: n * n).batch(4)
assert [b.tolist() for b in squares.as_numpy_iterator()] == [[0, 1, 4, 9], [16, 25]]

with gm.io.TFRecordWriter("numbers.tfrecord") as writer:
    for n in range(3):
        feature = {"n": gm.train.Feature(int64_list=gm.train.Int64List(value=[n]))}
        example = gm.train.Example(features=gm.train.Features(feature=feature))
        writer.write(example.SerializeToString())
spec = gm.infer_spec("numbers.tfrecord")
records = gm.data.TFRecordDataset("numbers.tfrecord")
numbers = records.map(lambda r: gm.io.parse_single_example(r, spec)["n"])
assert [int(n) for n in numbers] == [0, 1, 2]

image = gm.random.uniform([8, 8, 3], maxval=256, dtype=gm.int32, seed=1)
jpeg = gm.io.encode_jpeg(gm.cast(image, gm.uint8))
assert gm.image.resize(gm.io.decode_jpeg(jpeg), [4, 4]).shape == [4, 4, 3]
"""


def newest(folder: Path) -> Path:
    """The newest wheel in a folder."""
    wheels = sorted(folder.glob("gristmill-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit(f"there is no wheel in {folder}: make wheel builds one")
    return wheels[-1]


def check_contents(wheel: Path) -> None:
    """Refuses a wheel that is too large, lacks a file, or is for one Python only."""
    megabytes = wheel.stat().st_size / 1e6
    if megabytes >= MOST_MB:
        raise SystemExit(f"{wheel.name} has {megabytes:.1f} MB, more than {MOST_MB}")
    if "abi3" not in wheel.name:
        raise SystemExit(f"{wheel.name} is not for the stable ABI")
    names = zipfile.ZipFile(wheel).namelist()
    missing = [need for need in NEEDED if not any(name.endswith(need) for name in names)]
    if missing:
        raise SystemExit(f"{wheel.name} lacks {', '.join(missing)}")
    print(f"{wheel.name}: {megabytes:.1f} MB, {len(names)} files")


def version_of(python: str) -> tuple[int, ...]:
    """The version of an interpreter, ``()`` if it does not run."""
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()


def another_python() -> str:
    """An interpreter of another version than this one, or this one."""
    names = [shutil.which(f"python3.{minor}") for minor in range(20, 9, -1)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names += [str(path) for path in sorted(pyenv.glob("3.*/bin/python3"), reverse=True)]
    for name in filter(None, names):
        version = version_of(name)
        if version >= OLDEST and version != sys.version_info[:2]:
            return name
    print("no other Python on this machine: the wheel is tried with this one")
    return sys.executable


def try_out(wheel: Path, python: str) -> None:
    """Installs the wheel into a fresh environment and runs a quick start and the command."""
    with tempfile.TemporaryDirectory() as top:
        place = Path(top)

        def run(*command: object) -> str:
            words = [str(word) for word in command]
            done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
            return done.stdout

        run(python, "-m", "venv", place / "env")
        programs = place / "env" / "bin"
        run(programs / "pip", "install", "--quiet", wheel.resolve())
        (place / "quick_start.py").write_text(QUICK_START, encoding="utf-8")
        run(programs / "python", "quick_start.py")
        told = run(programs / "gristmill", "info", "numbers.tfrecord")
        if "3 records" not in told:
            raise SystemExit(f"gristmill info says {told!r}")
        version = ".".join(map(str, version_of(python)))
        print(f"ran with Python {version}: {run(programs / 'gristmill', '--version')}", end="")


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    wheel = newest(Path(sys.argv[1]))
    check_contents(wheel)
    try_out(wheel, another_python())


if __name__ == "__main__":
    main()
