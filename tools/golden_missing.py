"""Prints the ids of the recorded cases that do not pass, for ``allow_missing.txt``.

python tools/golden_missing.py [--why] [--ops]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from golden import cases, judge, subject
from golden.run_case import run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--why", action="store_true", help="say what is wrong with each case")
    parser.add_argument("--ops", action="store_true", help="count failing cases by op instead")
    options = parser.parse_args()
    tf, decoder = subject.module(), cases.decoder()
    failed: Counter[str] = Counter()
    required = 0
    for case in cases.load():
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(case, tf, decoder, Path(folder).resolve())
        found = judge.problems(case, outcome, decoder, reference=subject.is_reference())
        if not found:
            continue
        failed[case["op"]] += 1
        required += cases.is_required(case)
        if not options.ops:
            why = f"  # {found[0]}" if options.why else ""
            must = "  # REQUIRED" if cases.is_required(case) else ""
            print(f"{case['id']}{must}{why}", flush=True)
    if options.ops:
        for op, count in failed.most_common():
            print(f"{count:4} {op}")
    total = len(cases.load())
    print(
        f"{total - failed.total()} of {total} cases pass; {required} required ones do not",
        file=sys.stderr,
    )
    return 1 if required else 0


if __name__ == "__main__":
    sys.exit(main())
