"""Learners that do what their authors' programs do."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_sets import real

from omtl.api.comparisons import compare
from omtl.data.examples import Examples, examples_of
from omtl.data.networks import mixing_matrix
from omtl.data.preparation import prepare
from omtl.data.rows import SparseRows, rows_of, square_norms
from omtl.data.streams import Stream
from omtl.experiment.composition import composed
from omtl.experiment.playing import compute
from omtl.experiment.selection import select
from omtl.kernel.loop import run
from omtl.kernel.losses import ABSOLUTE
from omtl.kernel.play import TINY
from omtl.kernel.rules import Play, Shape
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.learners.peers import Humble, Peer
from omtl.measures.metrics import METRICS
from omtl.protocols.heldout import HeldOutPart
from omtl.protocols.regression import measure_errors

T, N, D = 40, 25, 10

PROGRAM = {
    ParameterFree(loss=ABSOLUTE): (
        [3.56160515117, 2.57119211227, 2.23023095915, 2.0096223209, 1.85960165943],
        [1.75050353542, 1.67614010634, 1.62913646706, 1.56870678482, 1.52849703664],
        1.17843130455,
    ),
    ParameterFree(loss=ABSOLUTE, refined=True): (
        [2.83508973052, 2.29612689452, 2.0570789365, 1.90646305814, 1.82653022249],
        [1.74361419277, 1.6780333774, 1.64521273843, 1.59695458036, 1.57505320693],
        1.08326259467,
    ),
    ParameterFree(loss=ABSOLUTE, wealth=100.0, bias_wealth=20.0): (
        [3.06676134168, 2.70152980053, 2.40242898889, 2.21921478318, 2.10537110325],
        [2.03559626398, 1.97136367424, 1.93886492009, 1.91039610935, 1.8727044246],
        1.34938009165,
    ),
    ParameterFree(loss=ABSOLUTE, refined=True, wealth=100.0, bias_wealth=20.0): (
        [5.21149224081, 4.72571068507, 4.40731078665, 4.3431542276, 4.18264437121],
        [4.15643560229, 4.03400580971, 3.96876602239, 3.94198225114, 3.88595116155],
        1.80788601422,
    ),
    LazyParameterFree(loss=ABSOLUTE): (
        [3.83818702991, 3.63947030747, 3.69111009686, 3.64115126516, 3.64573340571],
        [3.60825885416, 3.46922858518, 3.39173366897, 3.33763010297, 3.36523089563],
        3.09403624681,
    ),
    LazyParameterFree(loss=ABSOLUTE, refined=True): (
        [3.6989720534, 3.50081480037, 3.47359542994, 3.3704621608, 3.26849081601],
        [3.13645693329, 2.90706412627, 2.709254518, 2.53853871371, 2.40271062451],
        2.15573073247,
    ),
}
"""Mean absolute errors of the first 100, 200, ... examples, and the last mean test error.

``fit`` of ParameterFreeAggressiveClassic, -AggressiveVariation, -LazyClassic and -LazyVariation
(dstamos/Parameter-free-MTL at 75e27e0, src/parameter_free_aggressive_mtl.py, SHA-256 a9e0e3dc…, and
src/parameter_free_lazy_mtl.py, f893de5f…) was run on the stream of the test below, task after task,
with the first 5 examples of each task as its test examples; where initial wealths are named, with
these as its ``inner_wealth_range`` and ``meta_wealth_range``.
"""


@pytest.mark.parametrize("learner", PROGRAM, ids=str)
def test_errors_are_those_of_the_authors_program(learner: Any) -> None:
    """Regression with the absolute loss: 40 tasks of 25 examples about a common weight vector."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((T, N, D))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    W = 4.0 + rng.standard_normal((T, D))
    y = (np.einsum("tnd,td->tn", X, W) + rng.standard_normal((T, N))).ravel()
    rows = np.ascontiguousarray(X.reshape(T * N, D))
    task = np.repeat(np.arange(T), N)
    examples = Examples(rows_of(rows), y, task, square_norms(rows))
    stream = Stream(
        start=np.arange(T * N + 1),
        example=np.arange(T * N),
        node=np.zeros(T * N, dtype=np.int64),
        checkpoint=np.arange(100, T * N + 1, 100),
    )
    held_out = np.flatnonzero(np.arange(T * N) % N < 5)
    part = HeldOutPart(examples, stream, Shape(T, D, mixing_matrix(T)), held_out)
    found = measure_errors(learner, part)
    *means, test = PROGRAM[learner]
    np.testing.assert_allclose(
        found.checkpoint_absolute / stream.checkpoint, np.concatenate(means), rtol=1e-9
    )
    errors = np.abs(found.sums / N - y[found.held_out])
    assert errors.mean() == pytest.approx(test, rel=1e-9)
    np.testing.assert_allclose(found.absolute.sum(), found.checkpoint_absolute[-1])
    slow = measure_errors(learner, part, compiled=False)
    for name in ("absolute", "square", "sums"):
        np.testing.assert_allclose(getattr(slow, name), getattr(found, name), rtol=1e-9)


TRACE = json.loads((Path(__file__).parents[1] / "golden").joinpath("peers.json").read_text("utf-8"))
"""Digests of the program's trace, and how they were made."""


class Asking:
    """The recorder (`omtl.kernel.loop`) of who was asked: counts before each example."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.peers: list[int] = []

    def begin(self) -> int:
        """Return what is so far: nothing."""
        return 0

    def scored(self, so_far: int, play: Play, *rest: Any) -> int:
        """Note the counts before the example."""
        del rest
        self.asked.append(int(play.state.asked.sum()))
        self.peers.append(int(play.state.peers.sum()))
        return so_far


@pytest.mark.usefixtures("real_home")
@pytest.mark.parametrize(
    ("name", "learner", "zero"),
    [
        ("PEER", Peer(1.0, 5.0, on_mistakes=True), TINY),
        ("HUMBLE", Humble(1.0, float(np.log(30.0)), scaled=True), -TINY),
    ],
)
def test_learner_does_what_the_authors_program_does(name: str, learner: Any, zero: float) -> None:
    """14,820 examples of 29 tasks: the same labels asked for, the same answers of peers."""
    tasks = prepare(real("landmine", tasks="all"), normalise="unit", bias=True)
    n, K = tasks.y.size, len(tasks.names)
    examples = examples_of(tasks)
    order = np.random.default_rng(24).permutation(n)
    stream = Stream(np.arange(n + 1), order, np.zeros(n, dtype=np.int64), np.array([n]))
    shape = Shape(K, tasks.X.shape[1], mixing_matrix(K), isinstance(examples.rows, SparseRows))
    state, asking = learner.new_state(shape), Asking()
    run(learner, state, examples, stream, asking, compiled=False, zero=zero)
    trace = TRACE[name]
    for what in ("asked", "peers"):
        counts = [*getattr(asking, what), int(getattr(state, what).sum())]
        assert counts[-1] == trace[what]
        assert (
            hashlib.sha256(bytes(np.diff(counts).tolist())).hexdigest()
            == (trace[f"sha256_of_{what}"])
        )
    assert state.wrong.tolist() == trace["wrong"]
    final = state.tau @ state.w if name == "HUMBLE" else state.w
    np.testing.assert_allclose(np.linalg.norm(final, axis=1), trace["norms"], rtol=1e-8)


SMALL = "{n_tasks: 6, n_examples: 10, n_features: 4, component: 4.0}"


def result(*overrides: str) -> tuple[Any, Any]:
    """Return an experiment, and its first repeat."""
    words = ["dataset=biased_tasks", f"dataset.options={SMALL}", "protocol=regression"]
    one = composed([*words, *overrides]).experiment
    return one, compute(one.unit(0, 0))


def test_errors_are_measured() -> None:
    _, found = result("algorithm=parameter_free_refined", "protocol.test_share=0.25")
    arrays = found.arrays
    assert arrays["examples"].tolist() == [7] * 6  # a quarter of 10, rounded up, is held out
    assert arrays["seen"][-1] == 42
    assert sorted(arrays["order"]) == list(range(6))
    assert arrays["checkpoint_absolute"][0, -1] == pytest.approx(arrays["absolute"][0].sum())
    assert METRICS["absolute_error"].of(arrays, 0, None) == pytest.approx(
        arrays["absolute"][0].sum() / 42
    )
    assert METRICS["square_error"].of(arrays, 0, 2) == pytest.approx(arrays["square"][0, 2] / 7)
    assert METRICS["test_absolute_error"].of(arrays, 0, None) == pytest.approx(
        arrays["test_absolute"][0].mean()
    )


@pytest.mark.parametrize("rule", ["oracle_absolute", "prefix_absolute"])
def test_rules_look_at_absolute_errors(rule: str) -> None:
    config = composed(["dataset=biased_tasks", "protocol=regression", f"selection={rule}"])
    one, found = result("algorithm=gd")
    (chosen,) = select([found], one.points, config.selection)
    seen = found.arrays["seen"]
    part = seen.size - 1 if rule == "oracle_absolute" else np.searchsorted(seen, 0.1 * seen[-1])
    assert chosen == np.argmin(found.arrays["checkpoint_absolute"][:, part])


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
