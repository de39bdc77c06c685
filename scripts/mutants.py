"""Mutants: small changes of the code that the tests must notice; made and tried by mutmut.

    python -m scripts.mutants --count 300 --seed 0

mutmut changes the modules that ``[tool.mutmut]`` of pyproject.toml names, in a copy of the project
in ``mutants/``, and notes which tests call which function. Then a sample of its mutants is tried,
each by the tests that call its function. Prints how many were noticed, and those that were not:
``mutmut show NAME`` shows the change. The copy and the notes stay there for the next time.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MUTANTS = ROOT / "mutants"
NOBODY = "no mutant has this name"
SURVIVED, UNTESTED = 0, 33
"""mutmut's codes of mutants that no test noticed, and of those that no test calls."""


def mutmut(*names: str, errors: int | None = None) -> None:
    """Let mutmut try mutants."""
    command = [sys.executable, "-m", "mutmut", "run", *names]
    subprocess.run(command, cwd=ROOT, check=False, stderr=errors)


def codes() -> dict[str, int | None]:
    """Return mutmut's codes of all mutants by their names; None of those that it has not tried."""
    found: dict[str, int | None] = {}
    for path in sorted(MUTANTS.rglob("*.py.meta")):
        if (ROOT / path.relative_to(MUTANTS)).with_suffix("").exists():
            found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def table(tried: dict[str, int | None]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: by folder, how many mutants were noticed."""
    counts = Counter((".".join(name.split(".")[:-2]) or name, code) for name, code in tried.items())
    yield "| folder | mutants | noticed | survived | called by no test |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for folder in sorted({folder for folder, _ in counts}):
        its = {code: n for (place, code), n in counts.items() if place == folder}
        total, survived, untested = sum(its.values()), its.get(SURVIVED, 0), its.get(UNTESTED, 0)
        noticed = total - survived - untested
        yield f"| {folder} | {total} | {noticed} | {survived} | {untested} |"


def main() -> int:
    """Try a sample of mutants; return 1 if fewer than nine in ten are noticed."""
    top = argparse.ArgumentParser(description="Change the code, and see whether tests notice.")
    top.add_argument("--count", type=int, default=300, help="size of the sample; default: 300")
    top.add_argument("--seed", type=int, default=0, help="of the sample; default: 0")
    top.add_argument("--only", default="", help="how the mutants' names begin; default: any")
    given = top.parse_args()
    print("changing the code, and noting which tests call which function", file=sys.stderr)
    mutmut(NOBODY, errors=subprocess.DEVNULL)  # makes mutants, runs all tests, and finds no name
    if not (MUTANTS / "mutmut-stats.json").exists():
        print("the tests do not pass without a change: there is nothing to measure")
        return 1
    names = [name for name in sorted(codes()) if name.startswith(given.only)]
    sample = random.Random(given.seed).sample(names, min(given.count, len(names)))
    mutmut(*sample)
    results = codes()
    tried = {name: results[name] for name in sample}
    missed = sorted(name for name, code in tried.items() if code in (SURVIVED, UNTESTED))
    print(*table(tried), *missed, sep="\n")
    return int(len(missed) > len(tried) / 10)


if __name__ == "__main__":
    raise SystemExit(main())
