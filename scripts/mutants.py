"""Mutants: small changes of the code that the tests must notice, made by mutmut.

    python -m scripts.mutants --count 300 --seed 0

mutmut changes the modules that ``[tool.mutmut]`` of pyproject.toml names, in a copy of the project
in ``mutants/``, and notes which tests call which function. Then a sample of its mutants is tried,
each by the tests that call its function, in a process that has cached nothing. Prints how many were
noticed, and those that were not: ``mutmut show NAME`` shows the change. The copy, the notes and the
mutants tried so far are kept there, so that a stopped run resumes; delete the folder after changes
of code or tests.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parent.parent
MUTANTS = ROOT / "mutants"
NOTES = MUTANTS / "mutmut-stats.json"
TRIED = MUTANTS / "tried.csv"
IN_PROGRAMS = """
import os
if os.environ.get("MUTANT_UNDER_TEST") == "stats":
    del os.environ["MUTANT_UNDER_TEST"]
"""
"""What programs that tests start begin with: mutmut notes calls in its own process alone."""

SECONDS = "100"
"""How long a test may take; the slowest that are run take 15 seconds without a change."""


def run_module(name: str, *words: str, **around: str) -> int:
    """Run a Python module where also programs that it starts have the changed code."""
    return subprocess.run(
        [sys.executable, "-m", name, *words],
        cwd=MUTANTS if around else ROOT,
        env=os.environ | {"PYTHONPATH": str(MUTANTS)} | around,
        check=False,
        capture_output=bool(around),
    ).returncode


def is_noticed(mutant: str, notes: dict[str, dict[str, Any]]) -> bool:
    """Return whether a test of its function fails or does not end, the fast ones first.

    Functions that run on import have no tests of their own: there all files of tests are imported.
    """
    seconds, function = notes["duration_by_test"], mutant.rpartition("__mutmut_")[0]
    tests = notes["tests_by_mangled_function_name"].get(function, [])
    words = ("-x", "-p", "no:cacheprovider", "--timeout", SECONDS)
    words += tuple(sorted(tests, key=seconds.__getitem__))
    if tests and run_module("pytest", *words, MUTANT_UNDER_TEST=mutant):
        return True
    return bool(run_module("pytest", "--collect-only", MUTANT_UNDER_TEST=mutant))


def try_mutants(sample: list[str], jobs: int | None) -> pd.DataFrame:
    """Return which mutants of a sample are noticed, each noted as soon as it is tried."""
    notes = json.loads(NOTES.read_text(encoding="utf-8"))
    if not TRIED.exists():
        TRIED.write_text("mutant,noticed\n", encoding="utf-8")
    left = sorted({*sample} - {*pd.read_csv(TRIED)["mutant"]}, key=sample.index)
    with ThreadPool(jobs) as pool, TRIED.open("a", encoding="utf-8") as file:
        ends = pool.imap(partial(is_noticed, notes=notes), left)
        for mutant, noticed in zip(left, ends, strict=True):
            print(f"{mutant},{noticed}", file=file, flush=True)
    tried = pd.read_csv(TRIED)
    return tried[tried["mutant"].isin(sample)]


def main() -> int:
    """Try a sample of mutants; return 1 if fewer than nine in ten are noticed."""
    top = argparse.ArgumentParser(description="Change the code, and see whether tests notice.")
    top.add_argument("--count", type=int, default=300, help="size of the sample; default: 300")
    top.add_argument("--seed", type=int, default=0, help="of the sample; default: 0")
    top.add_argument("--jobs", type=int, help="mutants tried at once; default: one per core")
    given = top.parse_args()
    if not NOTES.exists():
        MUTANTS.mkdir(exist_ok=True)
        (MUTANTS / "sitecustomize.py").write_text(IN_PROGRAMS, encoding="utf-8")
        run_module("mutmut", "run", "no mutant has this name")  # makes them, and runs all tests
    if not NOTES.exists():
        print("the tests do not pass without a change: there is nothing to measure")
        return 1
    made = [json.loads(path.read_text("utf-8")) for path in MUTANTS.rglob("*.py.meta")]
    names = sorted(name for each in made for name in each["exit_code_by_key"])
    sample = random.Random(given.seed).sample(names, min(given.count, len(names)))
    tried = try_mutants(sample, given.jobs)
    folder = tried["mutant"].str.extract(r"^(omtl\.\w+|\w+)", expand=False)
    print(tried.groupby(folder)["noticed"].agg(mutants="size", noticed="sum").to_string())
    print(f"{tried['noticed'].mean():.1%} of {len(tried)} mutants were noticed; not:")
    print(*tried["mutant"][~tried["noticed"]].sort_values(), sep="\n")
    return int(tried["noticed"].mean() < 0.9)


if __name__ == "__main__":
    raise SystemExit(main())
