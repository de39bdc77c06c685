"""Our baselines, beside plain transcriptions, and in every table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from small_tables import BASELINES

from omtl.data.examples import examples_of
from omtl.data.preparation import in_order, prepared_data
from omtl.data.streams import Tasks, dealt_rounds, in_given_order, rounds
from omtl.experiment.playing import new_learner
from omtl.experiment.specs import AlgorithmSpec
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from omtl.learners.arow import AROW
from omtl.learners.majority import Majority
from omtl.tables.cells import planned
from omtl.tables.plan import describe, descriptions, published
from omtl.tables.request import Request
from omtl.tables.verdict import OURS

COMPARED = [name for name in descriptions("table") if name != "omtrsl-table1"]


def tasks_of(X: np.ndarray | sparse.csr_array, y: np.ndarray, task: np.ndarray) -> Tasks:
    """Return tasks with names."""
    return Tasks(X, y, task, tuple(f"task {k}" for k in range(task.max() + 1)))


@pytest.mark.parametrize("name", BASELINES)
def test_features_of_one_example_alone_do_not_matter(name: str) -> None:
    """Without them, and with their part of the norms, the mistakes are the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.5)
    own = np.diag(rng.normal(size=60))
    task = np.tile([0, 1, 2], 20)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    whole = tasks_of(sparse.csr_array(np.hstack([X, own])), y, task)
    stream = rounds(whole, np.random.default_rng(1), np.random.default_rng(2))
    reduced, ordered = in_order(prepared_data(whole), stream)
    assert reduced.rows.indices.max() < 8
    algorithm = AlgorithmSpec.named(name)
    for point in ({"eta": 0.3}, {"r": 0.5}, {}):
        if set(point) == set(algorithm.grid):
            learner = new_learner(algorithm, {**algorithm.fixed, **point})
    shapes = [Shape(3, n, np.eye(1), sparse=True) for n in (68, 8)]
    one, _ = play(learner, examples_of(whole), stream, shapes[0])
    other, _ = play(learner, reduced, ordered, shapes[1])
    np.testing.assert_array_equal(one.mistakes, other.mistakes)
    np.testing.assert_array_equal(one.updates, other.updates)
    np.testing.assert_allclose(one.checkpoint_loss, other.checkpoint_loss, rtol=1e-9)


def test_majority_by_hand() -> None:
    """+1 before the first label and at a tie; each task by its own labels; no support vectors."""
    y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    tasks = tasks_of(np.ones((7, 2)), np.append(y, -1.0), np.array([0] * 6 + [1]))
    stream = dealt_rounds(in_given_order(tasks), np.random.default_rng(0))
    trace, state = play(Majority(), examples_of(tasks), stream, Shape(2, 2, np.eye(1)))
    # Task 0: +1 (tie), −1, −1, −1, +1 (tie), +1; task 1: +1.
    assert trace.mistakes.tolist() == [1 + 0 + 1 + 1 + 0 + 1, 1]
    assert trace.updates.tolist() == [0, 0]
    assert state.surplus.tolist() == [0.0, -1.0]


def test_arow_trusts_more_and_more() -> None:
    """Variances fall from 1 and stay positive, however little r is."""
    rng = np.random.default_rng(3)
    tasks = tasks_of(
        5.0 * rng.normal(size=(400, 3)), rng.choice([-1.0, 1.0], 400), np.zeros(400, int)
    )
    stream = rounds(tasks, rng, np.random.default_rng(0))
    _, state = play(AROW(1e-3), examples_of(tasks), stream, Shape(1, 3, np.eye(1)))
    assert np.all((state.drop > 0.9) & (state.drop < 1.0))


@pytest.mark.parametrize("table", COMPARED)
def test_every_table_has_our_baselines_in_every_column(table: str) -> None:
    """After the paper's cells, with nothing printed; a table of real targets names its own."""
    cells, description = planned(table, Request("as_written")), describe("table", table)
    algorithms = pd.Series([experiment.algorithm.name for experiment in cells["experiment"]])
    if description.baselines == "none":  # it says so, with why
        assert not set(algorithms) & set(BASELINES)
        return
    numbers = published(table)
    ours = cells[len(numbers) :]
    is_ours = cells["kind"] == OURS
    assert is_ours.tolist() == [False] * len(numbers) + [True] * len(ours)
    columns = {(n["dataset"], n["task"], n["metric"]) for n in numbers}
    names = [row.algorithm for row in description.rows if row.ours]
    assert names
    assert set(names) >= set(BASELINES) or description.protocol == "regression"
    for name in names:
        mine = cells[is_ours & (algorithms == name)][["dataset", "task", "metric"]]
        assert set(mine.itertuples(index=False, name=None)) == columns
        assert len(mine) == len(columns)
    assert not ours[["published_mean", "published_std", "tuned_by"]].any(axis=None)
