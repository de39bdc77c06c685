"""Forward and backward transfer, beside plain equations."""

from __future__ import annotations

import numpy as np
import pytest
from test_heldout import setting_for, some_tasks

from omtl.data.streams import one_by_one
from omtl.kernel.loop import run
from omtl.kernel.play import new_trace
from omtl.learners.lifelong import AKLO
from omtl.learners.perceptron import Perceptron
from omtl.protocols import heldout, transfer
from omtl.protocols.setting import Setting
from omtl.protocols.splits import areas
from omtl.util.errors import UserError


def setting(stream: str = "lifelong") -> Setting:
    """Return a repeat of three related tasks."""
    return setting_for(some_tasks(), stream=stream, folds=0, sampling="stratified", timed=False)


def by_hand(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Return the transfer of one perceptron for all tasks, from all areas of the definition."""
    [part] = heldout.split_parts(setting)
    X, y, task = part.examples.rows.X, part.examples.y, part.examples.task
    learnt = part.stream.example
    order = list(dict.fromkeys(task[learnt].tolist()))
    w, R = np.zeros(X.shape[1]), []
    for k in [None, *order]:
        for i in learnt[task[learnt] == k]:
            w = w + y[i] * X[i] if y[i] * (w @ X[i]) <= 0.0 else w
        R.append(areas(X[part.held_out] @ w, part.y, part.task, 3))
    forward, backward = np.full((2, 3), np.nan)
    for i, k in enumerate(order):
        forward[k] = R[i][k] - R[0][k] if i else np.nan
        backward[k] = R[-1][k] - R[i + 1][k] if i < 2 else np.nan
    return forward, backward


def test_transfer_is_as_defined() -> None:
    """One perceptron for all tasks carries over what it has learnt, and forgets."""
    pooled, own = Perceptron(1.0, 0.0, pooled=True), Perceptron(1.0, 0.0)
    found = transfer.play_grid([pooled, own], setting())
    forward, backward = by_hand(setting())
    np.testing.assert_allclose(found["forward"][0], forward, rtol=1e-12)
    np.testing.assert_allclose(found["backward"][0], backward, rtol=1e-12)
    assert np.nanmean(forward) > 0.1  # the tasks are alike
    assert set(found["forward"][1][~np.isnan(forward)]) == {0.0}  # of perceptrons of their own
    assert set(found["backward"][1][~np.isnan(backward)]) == {0.0}
    plain = heldout.play_grid([pooled, own], setting())
    assert {name: found[name].tolist() for name in plain} == {
        name: array.tolist() for name, array in plain.items()
    }


def test_a_look_at_a_later_task_does_not_begin_it() -> None:
    """AKLO's base for the last task is of those before it, with equal weights as it begins."""
    learner = AKLO(lam=0.1)
    [part] = heldout.split_parts(setting())
    found = transfer.transfer(learner, part)
    task = part.examples.task[part.stream.example]
    before = part.stream.example[task != task[-1]]
    state = learner.new_state(part.shape)
    stream = one_by_one(before, np.array([before.size]))
    run(learner, state, part.examples, stream, new_trace(3, 1))
    W = (state.scale[:, None] * state.total.vectors)[:2]
    vote = np.clip((part.examples.rows.X[part.held_out] @ W.T).mean(axis=1), -1.0, 1.0)
    expected = areas(vote, part.y, part.task, 3)[task[-1]] - 0.5
    assert found["forward"][task[-1]] == pytest.approx(expected, rel=1e-9)


def test_alternating_tasks_are_refused() -> None:
    with pytest.raises(UserError, match="stream=lifelong"):
        transfer.play_grid([Perceptron(1.0, 0.0)], setting("rounds"))
