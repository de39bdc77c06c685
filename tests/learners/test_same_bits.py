"""Every estimator learns the same bits, whatever surrounds the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bits
import pytest

SURROUNDINGS = {
    "hash seed": {"PYTHONHASHSEED": "7"},
    "time zone": {"TZ": "Asia/Kolkata"},
    "locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8"},
    "one thread": {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "generic CPU": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}
SOME = ["PassiveAggressive", "COML", "AKLO-sample"]
"""Rows of their own, a matrix of tasks, and examples that are drawn."""

PYTHONS = "OMTL_PYTHONS"
"""Variable with interpreters, separated by colons, that have the packages of estimators."""


def learnt(variants: list[str], python: str = sys.executable, **around: str) -> list[str]:
    """Return what a process prints in its surroundings."""
    script = str(Path(bits.__file__))
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, script, *variants],
        env=plain | around,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_some_learn_the_same_bits_in_other_surroundings() -> None:
    """All those that need no other compiled code, at once."""
    around = SURROUNDINGS["hash seed"] | SURROUNDINGS["time zone"] | SURROUNDINGS["locale"]
    assert learnt(SOME, **around, **SURROUNDINGS["one thread"]) == [*bits.lines(SOME)]


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_all_learn_the_same_bits_in_other_surroundings(around: str) -> None:
    assert learnt([], **SURROUNDINGS[around]) == [*bits.lines()]


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.skipif(PYTHONS not in os.environ, reason=f"name interpreters by {PYTHONS}")
def test_all_learn_the_same_bits_on_other_versions_of_python() -> None:
    expected = [*bits.lines()]
    for python in os.environ[PYTHONS].split(os.pathsep):
        assert learnt([], python) == expected, python
