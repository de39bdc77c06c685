"""Every estimator learns the same bits, whatever surrounds it."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bits
import numpy as np
import pytest
from environments import ended, python
from estimator_cases import COMPILED, blobs
from sklearn.base import clone

from omtl.sklearn import AKLO, NS, PassiveAggressive
from omtl.util.paths import ROOT

SURROUNDINGS = {
    "hash seed": {"PYTHONHASHSEED": "7"},
    "time zone": {"TZ": "Asia/Kolkata"},
    "locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8"},
    "one thread": {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "generic CPU": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}
PYTHONS = "OMTL_PYTHONS"
"""Variable with interpreters, separated by colons, that have the packages of estimators."""


def learnt(cases: list[str], interpreter: str = sys.executable, **around: str) -> list[str]:
    """Return what a process prints in its surroundings."""
    script = str(Path(bits.__file__))
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return ended(interpreter, script, *cases, env=plain | around).stdout.splitlines()


def test_some_learn_the_same_bits_in_other_surroundings() -> None:
    """All those that need no other compiled code, at once."""
    around = SURROUNDINGS["hash seed"] | SURROUNDINGS["time zone"] | SURROUNDINGS["locale"]
    some = [" ".join(case) for case in COMPILED]
    assert learnt(some, **around, **SURROUNDINGS["one thread"]) == [*bits.lines(some)]


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
    for interpreter in os.environ[PYTHONS].split(os.pathsep):
        assert learnt([], interpreter) == expected, interpreter


MODELS = [PassiveAggressive(), NS(), AKLO(n_examples=dict.fromkeys(range(4), 30))]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_threads_get_the_same_bits(model: PassiveAggressive) -> None:
    """Those that learn copies, and those that ask one that has learnt."""
    X, y, task = blobs()
    fitted = clone(model).fit(X, y, task)
    expected = fitted.decision_function(X, task)

    def scores(number: int) -> np.ndarray:
        asked = fitted if number % 2 else clone(model).fit(X, y, task)
        return asked.decision_function(X, task)

    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(scores, range(40)):
            np.testing.assert_array_equal(found, expected)


FORKED = """
import os
from bits import lines
cases = ["PassiveAggressive dense", "NS dense"]
ours = [*lines(cases)]
for _ in range(3):
    if not os.fork():
        os._exit([*lines(cases)] != ours)
    assert os.wait()[1] == 0
print("alive")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_learn_the_same_bits() -> None:
    around = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path(bits.__file__).parent}"}
    assert python("-c", FORKED, env=around).stdout == "alive\n"
