"""C-ADMM against its authors' program (Alberta-Lee/NC-24 at 2f1c9e5, ``src/multi_task.py``)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from omtl.kernel.rules import Shape
from omtl.learners.admm import CADMM
from omtl.reference import GivenExample
from omtl.reference.admm import cadmm

GOLDEN = json.loads(Path("tests/golden/admm.json").read_text(encoding="utf-8"))
"""For each setting, the program's mistakes by task in 40 rounds, and its weights at the end."""


@pytest.mark.parametrize("of", GOLDEN, ids=lambda of: f"rho={of['args'][0]}")
def test_c_admm_is_its_authors_program(of: dict[str, list]) -> None:
    """The same predictions in each round, and the same weights at the end."""
    n_tasks, n_rounds, n_features = 4, 40, 6
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_tasks, n_rounds, n_features))
    rng.normal(size=(n_tasks, n_rounds))
    truth = rng.normal(size=n_features)
    y = np.where(X @ truth + rng.normal(size=(n_tasks, n_rounds)) > 0, 1.0, -1.0)
    shape = Shape(n_tasks, n_features, np.eye(n_tasks))
    probes = [[GivenExample(row, 1.0, k, 0) for row in np.eye(n_features)] for k in range(n_tasks)]
    rounds = [
        [GivenExample(X[k, t], y[k, t], k, 0) for k in range(n_tasks)] for t in range(n_rounds)
    ]
    last = [example for of_task in probes for example in of_task]
    scores = [step.score for step in cadmm(CADMM(*of["args"]), [*rounds, last], shape)]
    predicted = np.where(np.reshape(scores[: n_tasks * n_rounds], (n_rounds, -1)) >= 0, 1.0, -1.0)
    assert (predicted != y.T).sum(axis=0).tolist() == of["mistakes"]
    weights = np.reshape(scores[n_tasks * n_rounds :], (n_tasks, n_features))
    np.testing.assert_allclose(weights, of["w"], rtol=1e-9)
