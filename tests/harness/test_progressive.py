"""Progressive selection: playing on with the point that has been best so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtl.data.preparation import prepared_data
from omtl.data.streams import Tasks
from omtl.experiment.selection import as_played, path, select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.protocols.cumulative import play_grid
from omtl.protocols.setting import Setting
from omtl.tables.scoring import numbers_at
from omtl.util.errors import UserError

RULE = SelectionSpec.named("progressive")


def drawn(seed: int, n_points: int, n_checkpoints: int, by_task: bool) -> Result:
    """Return random mistakes of a grid on three tasks, which end at different times."""
    rng = np.random.default_rng(seed)
    came = rng.integers(1, 6, size=(n_checkpoints, 3))
    wrong = rng.binomial(came, 0.4, size=(n_points, n_checkpoints, 3))
    at, seen = wrong.cumsum(axis=1), came.cumsum(axis=0)
    arrays: dict[str, Any] = {
        "mistakes": at[:, -1],
        "examples": seen[-1],
        "seen": seen.sum(axis=1),
        "checkpoint_mistakes": at.sum(axis=2),
        "updates": at[:, -1],
        "diverged": np.zeros(n_points, dtype=int),
    }
    more = {"checkpoint_by_task": at, "seen_by_task": seen} if by_task else {}
    return Result(arrays | more, {})


def number(result: Result, metric: str = "mistakes", task: str = "all") -> float:
    """Return what the rule reports."""
    chosen = select([result], [{}] * len(result.arrays["diverged"]), RULE)
    return float(numbers_at([result], chosen, metric, RULE, task)[0])


cases = given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 12), st.booleans())
quickly = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@quickly
@cases
def test_it_is_the_sum_over_the_stretches(seed: int, n: int, c: int, by_task: bool) -> None:
    """As a loop counts it: one point makes its plain number, and no path is out of range."""
    result = drawn(seed, n, c, by_task)
    at = result.arrays["checkpoint_mistakes"]
    total, point = at[n // 2, 0], n // 2
    for k in range(1, c):
        point = min(range(n), key=lambda p, k=k: at[p, k - 1])
        total += at[point, k] - at[point, k - 1]
    assert number(result) == total
    assert number(result, "error") == pytest.approx(100.0 * total / result.arrays["seen"][-1])
    assert select([result], [{}] * n, RULE).tolist() == [point]
    made = np.diff(at, axis=1, prepend=0)
    assert made.min(axis=0).sum() <= total <= made.max(axis=0).sum()
    if n == 1:
        assert total == result.arrays["mistakes"].sum()
    if by_task:
        tasks = [number(result, task=f"task{k}") for k in (1, 2, 3)]
        assert sum(tasks) == total
        ace = np.mean(100.0 * np.array(tasks) / result.arrays["examples"])
        assert number(result, "ace") == pytest.approx(ace)
    curve = as_played(result, point, RULE).arrays["checkpoint_mistakes"][point]
    assert curve[-1] == total


@pytest.mark.parametrize("rule", [{}, {"target": "worst_task"}, {"tasks": (2,)}])
def test_it_does_not_look_ahead(rule: dict[str, Any]) -> None:
    """Labels after a checkpoint change nothing of what was chosen before."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 4)), np.repeat(np.arange(3), 30)
    y = np.where(X @ rng.normal(size=4) + rng.normal(size=90) > 0.0, 1.0, -1.0)

    def played(labels: np.ndarray) -> tuple[Setting, Result]:
        tasks = prepared_data(Tasks(X, labels, task, ("a", "b", "c")))
        protocol = {"stream": "rounds", "checkpoints": 10, "by_task": True}
        setting = Setting(tasks, protocol, {}, lambda *_, **__: np.random.default_rng(1))
        learners = [PassiveAggressive(C=C) for C in (1e-3, 1e-2, 0.1, 1.0)]
        return setting, Result(play_grid(learners, setting), {})

    setting, result = played(y)
    before = path(result, replace(RULE, **rule))
    assert len(set(before.tolist())) > 1
    for k, seen in enumerate(result.arrays["seen"][:-1]):
        later = setting.stream.example[seen:]
        flipped = y.copy()
        flipped[later] *= -1.0
        after = path(played(flipped)[1], replace(RULE, **rule))
        np.testing.assert_array_equal(after[: k + 2], before[: k + 2])


def test_a_point_that_diverges_is_left() -> None:
    """An error of NaN is never the smallest, and is infinite where the path met it."""
    result = drawn(0, 2, 3, by_task=False)
    result.arrays["checkpoint_absolute"] = np.array([[1.0, np.nan, np.nan], [2.0, 3.0, 5.0]])
    rule = SelectionSpec.named("progressive_absolute")
    assert path(result, rule).tolist() == [1, 0, 1]


def test_what_has_no_values_at_checkpoints_is_refused() -> None:
    """It is named, and what could be asked for instead."""
    result = drawn(0, 2, 5, by_task=False)
    with pytest.raises(UserError, match="has no nsv, of which the protocol keeps no values"):
        number(result, "nsv")
    for metric, task in (("ace", "all"), ("error", "task2")):
        with pytest.raises(UserError, match=f"has no {metric} of each task"):
            number(result, metric, task)
    with pytest.raises(UserError, match="does not measure auc"):
        number(result, "auc")
