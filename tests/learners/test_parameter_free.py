"""Learners that do what their authors' programs do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from omtl.api.comparisons import compare
from omtl.data.networks import mixing_matrix
from omtl.data.preparation import prepare
from omtl.data.rows import Examples, SparseRows, examples_of, rows_of, square_norms
from omtl.data.streams import one_by_one
from omtl.kernel.loop import run
from omtl.kernel.losses import ABSOLUTE
from omtl.kernel.play import TINY
from omtl.kernel.rules import Shape
from omtl.learners.admm import CADMM
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.learners.peers import Humble, Peer
from omtl.protocols.heldout import HeldOutPart
from omtl.protocols.regression import measure_errors
from omtl.reference import GivenExample
from omtl.reference.admm import cadmm

T, N, D = 40, 25, 10
LEARNERS = {each.__name__: each for each in (ParameterFree, LazyParameterFree)}

GOLDEN = Path(__file__).parents[1] / "golden"
PROGRAM = json.loads((GOLDEN / "parameter_free.json").read_text("utf-8"))["program"]
"""Learners, with the errors that their authors' program makes with the absolute loss."""


@pytest.mark.parametrize("known", PROGRAM, ids=lambda of: f"{of['learner']} {of['options']}")
def test_errors_are_those_of_the_authors_program(known: dict[str, Any]) -> None:
    """Regression with the absolute loss: 40 tasks of 25 examples about a common weight vector."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((T, N, D))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    W = 4.0 + rng.standard_normal((T, D))
    y = (np.einsum("tnd,td->tn", X, W) + rng.standard_normal((T, N))).ravel()
    rows = np.ascontiguousarray(X.reshape(T * N, D))
    task = np.repeat(np.arange(T), N)
    examples = Examples(rows_of(rows), y, task, square_norms(rows))
    stream = one_by_one(np.arange(T * N), np.arange(100, T * N + 1, 100))
    learner = LEARNERS[known["learner"]](loss=ABSOLUTE, **known["options"])
    held_out = np.flatnonzero(np.arange(T * N) % N < 5)
    part = HeldOutPart(
        examples, stream, Shape(T, D, mixing_matrix(T), n_examples=(N,) * T), held_out
    )
    found = measure_errors(learner, part, compiled=False)
    means = found["checkpoint_absolute"] / stream.checkpoint
    np.testing.assert_allclose(means, known["means"], rtol=1e-9)
    assert found["test_absolute"].mean() == pytest.approx(known["test"], rel=1e-9)
    np.testing.assert_allclose(found["absolute"].sum(), found["checkpoint_absolute"][-1])


TRACE = json.loads((GOLDEN / "peers.json").read_text("utf-8"))
"""Digests of the program's trace, and how they were made."""


@pytest.mark.parametrize(
    ("name", "learner", "zero"),
    [
        ("PEER", Peer(1.0, 5.0, on_mistakes=True), TINY),
        ("HUMBLE", Humble(1.0, float(np.log(30.0)), scaled=True), -TINY),
    ],
)
def test_learner_does_what_the_authors_program_does(
    name: str, learner: Any, zero: float, real: Callable[..., Any]
) -> None:
    """14,820 examples of 29 tasks: the same labels asked for, the same answers of peers."""
    tasks = prepare(real("landmine", tasks="all"), normalise="unit", bias=True)
    n, K = tasks.y.size, len(tasks.names)
    examples = examples_of(tasks)
    order = np.random.default_rng(24).permutation(n)
    stream = one_by_one(order, np.array([n]))
    shape = Shape(K, tasks.X.shape[1], mixing_matrix(K), isinstance(examples.rows, SparseRows))
    state = learner.new_state(shape)
    before: list[tuple[int, int]] = []

    def scored(so_far: int, *_: Any) -> int:
        before.append((int(state.asked.sum()), int(state.peers.sum())))
        return so_far

    asking = SimpleNamespace(begin=lambda: 0, scored=scored)
    run(learner, state, examples, stream, asking, compiled=False, zero=zero)
    trace = TRACE[name]
    for what, so_far in zip(("asked", "peers"), zip(*before, strict=True), strict=True):
        counts = [*so_far, int(getattr(state, what).sum())]
        assert counts[-1] == trace[what]
        digest = hashlib.sha256(bytes(np.diff(counts).tolist())).hexdigest()
        assert digest == trace[f"sha256_of_{what}"]
    assert state.wrong.tolist() == trace["wrong"]
    final = state.tau @ state.w if name == "HUMBLE" else state.w
    np.testing.assert_allclose(np.linalg.norm(final, axis=1), trace["norms"], rtol=1e-8)


SMALL = "{n_tasks: 6, n_examples: 10, n_features: 4, component: 4.0}"


@pytest.mark.usefixtures("slowly")
def test_regressors_are_compared() -> None:
    found = compare(
        "parameter_free",
        "biased_tasks",
        f"dataset.options={SMALL}",
        protocol="regression",
        repeats=3,
        metric="absolute_error",
    )
    assert set(found.frame["algorithm"]) == {"parameter_free", "gd", "gd_pooled"}


ADMM = json.loads((GOLDEN / "admm.json").read_text("utf-8"))
"""For each setting, the program's mistakes by task in 40 rounds, and its weights at the end."""


@pytest.mark.parametrize("of", ADMM, ids=lambda of: f"rho={of['args'][0]}")
def test_c_admm_is_its_authors_program(of: dict[str, list]) -> None:
    """The same predictions in each round, and the same weights at the end."""
    n_tasks, n_rounds, n_features = 4, 40, 6
    every = range(n_tasks)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_tasks, n_rounds, n_features))
    rng.normal(size=(n_tasks, n_rounds))
    truth = rng.normal(size=n_features)
    y = np.where(X @ truth + rng.normal(size=(n_tasks, n_rounds)) > 0, 1.0, -1.0)
    shape = Shape(n_tasks, n_features, np.eye(n_tasks))
    rounds = [[GivenExample(X[k, t], y[k, t], k, 0) for k in every] for t in range(n_rounds)]
    probes = [GivenExample(row, 1.0, k, 0) for k in every for row in np.eye(n_features)]
    scores = [step.score for step in cadmm(CADMM(*of["args"]), [*rounds, probes], shape)]
    predicted = np.where(np.reshape(scores[: n_tasks * n_rounds], (n_rounds, -1)) >= 0, 1.0, -1.0)
    assert (predicted != y.T).sum(axis=0).tolist() == of["mistakes"]
    weights = np.reshape(scores[n_tasks * n_rounds :], (n_tasks, n_features))
    np.testing.assert_allclose(weights, of["w"], rtol=1e-9)
