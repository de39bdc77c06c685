"""Every estimator learns the same bits, whatever surrounds it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bits
import numpy as np
import pytest
from environments import python
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

FORKED = """
import os, sys
from bits import lines

def show():
    print(*lines(sys.argv[1:]), sep="\\n", flush=True)

show()
if not os.fork():
    show()
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_some_learn_the_same_bits_in_forks_and_other_surroundings() -> None:
    """All those that need no other compiled code, at once."""
    around = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path(bits.__file__).parent}"}
    for name in ("hash seed", "time zone", "locale", "one thread"):
        around |= SURROUNDINGS[name]
    some = [" ".join(case) for case in COMPILED]
    found = python("-c", FORKED, *some, env=around).stdout.splitlines()
    assert found == 2 * [*bits.lines(some)]


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_all_learn_the_same_bits_in_other_surroundings(around: str) -> None:
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = python(bits.__file__, env=alone | SURROUNDINGS[around])
    assert done.stdout.splitlines() == [*bits.lines()]


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
