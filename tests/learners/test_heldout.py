"""Splits, folds, areas under curves; protocols of held-out examples, of batches, of transfer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH
from miniature import a_setting
from scipy import sparse
from sklearn.metrics import roc_auc_score

from omtl.data.preparation import with_unit_rows
from omtl.data.streams import Tasks, one_by_one
from omtl.kernel.loop import run
from omtl.kernel.play import new_trace
from omtl.learners.batch import ITL
from omtl.learners.lifelong import AKLO
from omtl.learners.perceptron import Perceptron
from omtl.protocols import batch, heldout, transfer
from omtl.protocols.setting import Setting
from omtl.protocols.splits import SAMPLINGS, areas, folds, split

pytestmark = pytest.mark.usefixtures("slowly")


def some_tasks(seed: int = 0, sizes: tuple[int, ...] = (40, 57, 33), rare: float = 0.3) -> Tasks:
    """Return tasks of unequal sizes that a linear score can learn."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.normal(size=(n, 6))
    y = np.where(
        X @ rng.normal(size=6) + rng.normal(size=n) > np.quantile(X[:, 0], 1 - rare), 1, -1
    )
    task = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return Tasks(X, y, task, tuple(f"task {k}" for k in range(len(sizes))))


def setting_for(tasks: Tasks, **changed: Any) -> Setting:
    """Return a repeat of the protocol on tasks."""
    return a_setting(tasks, "heldout", seed=1, **({"n_train": 20} | changed))


# Splits


@THOROUGH
@given(st.integers(0, 10**6), st.integers(1, 32), st.sampled_from(SAMPLINGS), st.floats(0.02, 0.98))
def test_split_is_a_partition(seed: int, n_train: int, sampling: str, rare: float) -> None:
    """So many training examples of each task, all others for the test, classes as asked for."""
    tasks = some_tasks(seed, rare=rare)
    train, test = split(tasks, n_train, sampling, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(tasks.y.size))
    np.testing.assert_array_equal(np.bincount(tasks.task[train]), n_train)
    for k in range(3):
        own = tasks.task == k
        share = np.mean(tasks.y[own] > 0)
        got = np.sum(tasks.y[train][tasks.task[train] == k] > 0)
        if sampling == "stratified":
            assert abs(got - n_train * share) <= 0.5 + 1e-9
        if sampling == "balanced":
            rarer = min(np.sum(tasks.y[own] > 0), np.sum(tasks.y[own] < 0))
            fits = n_train - rarer // 2 <= np.sum(own) - rarer  # what the other class can give
            if fits:
                assert min(got, n_train - got) == min(n_train // 2, rarer // 2)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_folds_hold_out_each_example_once(sampling: str) -> None:
    """Folds are of equal size in each task, and with strata in each class, give or take one."""
    tasks = some_tasks()
    train, _ = split(tasks, 27, sampling, np.random.default_rng(0))
    parts = folds(tasks, train, 5, sampling, np.random.default_rng(1))
    np.testing.assert_array_equal(
        np.sort(np.concatenate([held for _, held in parts])), np.sort(train)
    )
    for learnt, held in parts:
        np.testing.assert_array_equal(np.sort(np.concatenate([learnt, held])), np.sort(train))
    for k in range(3):
        sizes = [np.sum(tasks.task[held] == k) for _, held in parts]
        assert max(sizes) - min(sizes) <= 1
        if sampling != "plain":
            rare = [np.sum((tasks.task[held] == k) & (tasks.y[held] > 0)) for _, held in parts]
            assert max(rare) - min(rare) <= 1


# Areas


@THOROUGH
@given(st.integers(0, 10**6), st.integers(1, 200), st.integers(1, 6), st.booleans())
def test_areas_are_those_of_scikit_learn(seed: int, n: int, n_tasks: int, ties: bool) -> None:
    """With and without ties; nan where a task has one class, or no example."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=n), 1 if ties else 12)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    task = rng.integers(0, n_tasks, n)
    got = areas(scores, y, task, n_tasks)
    for k in range(n_tasks):
        own = task == k
        if len(np.unique(y[own])) < 2:
            assert np.isnan(got[k])
        else:
            np.testing.assert_allclose(got[k], roc_auc_score(y[own], scores[own]), rtol=1e-12)


# The protocol


def weights_by_hand(tasks: Tasks, order: np.ndarray, learner: Perceptron) -> np.ndarray:
    """Return the weights of a perceptron after some examples, by the plain equations."""
    W = np.zeros((len(tasks.names), tasks.X.shape[1]))
    for i in order:
        x, y, k = tasks.X[i], tasks.y[i], tasks.task[i]
        if y * (W[k] @ x) <= learner.margin:
            W[slice(None) if learner.pooled else k] += learner.eta * y * x
    return W


def areas_by_hand(W: np.ndarray, tasks: Tasks, held_out: np.ndarray) -> np.ndarray:
    """Return the area of each task whose held-out examples are scored by w·x."""
    task = tasks.task[held_out]
    scores = np.einsum("ij,ij->i", tasks.X[held_out], W[task])
    return areas(scores, tasks.y[held_out], task, len(tasks.names))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_areas_of_the_last_weights(as_sparse: bool, sampling: str) -> None:
    """What the protocol gives is what the plain equations give on the same split and stream."""
    tasks = some_tasks()
    fed_tasks = replace(tasks, X=sparse.csr_array(tasks.X)) if as_sparse else tasks
    setting = setting_for(fed_tasks, sampling=sampling)
    learners = [Perceptron(0.1, 1.0), Perceptron(1.0, 0.0)]
    got = heldout.play_grid(learners, setting)
    train, test = split(tasks, 20, sampling, setting.rng("split"))
    order = train[heldout.in_rounds(tasks.taken(train), setting.rng("shuffle", part=0)).example]
    for row, learner in zip(got["auc"], learners, strict=True):
        expected = areas_by_hand(weights_by_hand(tasks, order, learner), tasks, test)
        np.testing.assert_allclose(row, expected, rtol=1e-9)
    np.testing.assert_array_equal(got["examples"], 20)
    assert got["validation"].shape == got["diverged"].shape == got["seconds"].shape == (2,)
    assert np.all(got["seconds"] >= 0.0)
    np.testing.assert_array_equal(got["mistakes"][1], got["updates"][1])


def test_measures() -> None:
    """One curve of all, and accuracies, are what they say."""
    setting = setting_for(some_tasks(), folds=0)
    learner = Perceptron(0.1, 1.0)
    (part,) = heldout.split_parts(setting)
    _, state = heldout.play(learner, part.examples, part.stream, part.shape)
    scores, _ = heldout.scores_of(learner, state, part)
    right = part.y * scores > 0.0
    for measure, expected in {
        "pooled_auc": [roc_auc_score(part.y, scores)] * 3,
        "accuracy": [np.mean(right[part.task == k]) for k in range(3)],
    }.items():
        found = heldout.play_grid([learner], setting_for(some_tasks(), folds=0, test_by=measure))
        np.testing.assert_allclose(found["auc"][0], expected, rtol=1e-12)


def test_norms_of_training_examples_only() -> None:
    """Training is that on unit rows; a test score grows with its row's norm."""
    tasks = some_tasks()
    some = setting_for(tasks, unit_rows_to_learn=True)
    every = setting_for(with_unit_rows(tasks))
    (mine, *_), (its, *_) = heldout.split_parts(some), heldout.split_parts(every)
    learnt, rest = mine.stream.example, mine.held_out
    X, unit = mine.examples.rows.X, its.examples.rows.X
    np.testing.assert_allclose(mine.examples.square_norm[learnt], 1.0)
    np.testing.assert_allclose(X[learnt], unit[learnt], rtol=1e-12)
    norm = np.sqrt(mine.examples.square_norm[rest])
    np.testing.assert_allclose(X[rest], unit[rest] * norm[:, None], rtol=1e-12)


def setting() -> Setting:
    """Return a repeat of three related tasks, one after the other."""
    return setting_for(some_tasks(), stream="lifelong", folds=0, sampling="stratified", timed=False)


def transfer_by_hand(setting: Setting, learner: Perceptron) -> tuple[np.ndarray, np.ndarray]:
    """Return the transfer of a perceptron, from all areas of the definition."""
    [part] = heldout.split_parts(setting)
    rows, y, task = part.examples.rows, part.examples.y, part.examples.task
    tasks, learnt = Tasks(rows.X, y, task, setting.tasks.names), part.stream.example
    begins = np.flatnonzero(np.diff(task[learnt], prepend=-1))
    R = [
        areas_by_hand(weights_by_hand(tasks, learnt[:n], learner), tasks, part.held_out)
        for n in (*begins, learnt.size)
    ]
    forward, backward = np.full((2, 3), np.nan)
    for i, k in enumerate(task[learnt[begins]]):
        forward[k] = R[i][k] - R[0][k] if i else np.nan
        backward[k] = R[-1][k] - R[i + 1][k] if i < 2 else np.nan
    return forward, backward


def test_transfer_is_as_defined() -> None:
    """One perceptron for all tasks carries over what it has learnt, and forgets."""
    pooled, own = Perceptron(1.0, 0.0, pooled=True), Perceptron(1.0, 0.0)
    found = transfer.play_grid([pooled, own], setting())
    forward, backward = transfer_by_hand(setting(), pooled)
    np.testing.assert_allclose(found["forward"][0], forward, rtol=1e-12)
    np.testing.assert_allclose(found["backward"][0], backward, rtol=1e-12)
    assert np.nanmean(forward) > 0.1  # the tasks are alike
    nothing = transfer_by_hand(setting(), own)  # of perceptrons of their own
    for name, expected in zip(("forward", "backward"), nothing, strict=True):
        np.testing.assert_array_equal(found[name][1], expected)
        assert np.nanmax(np.abs(expected)) == 0.0
    plain = heldout.play_grid([pooled, own], setting())
    for name, array in plain.items():
        np.testing.assert_array_equal(found[name], array)


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


def test_batch_learners_are_tested_and_validated_as_defined() -> None:
    """The test, and each fold of the cross-validation, are worked out again."""
    learner, setting = ITL(0.05), a_setting(some_tasks(), "batch_80", n_train=20, folds=2)
    tasks, arrays = setting.tasks, batch.play_grid([learner], setting)
    train, test = split(tasks, 20, "plain", setting.rng("split"))

    def again(learnt: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        fit = learner.fit(tasks.taken(learnt), np.random.default_rng(0))
        return areas_by_hand(fit.weights, tasks, held_out)

    assert arrays["examples"].tolist() == [20] * 3
    np.testing.assert_allclose(arrays["auc"][0], again(train, test))
    parts = folds(tasks, train, 2, "plain", setting.rng("folds"))
    expected = np.nanmean([again(*part) for part in parts])
    np.testing.assert_allclose(arrays["validation"][0], expected)
